import type { Compilable, CompiledQuery, Kysely, RawBuilder } from 'kysely';
import type { Tables } from './schema.js';

export type ColumnKind = 'text' | 'integer' | 'real';

export interface BulkInsert {
  table: keyof Tables;
  columns: Readonly<Record<string, ColumnKind>>;
  /** Columns that have the same in all rows, in SQL. */
  constants?: Readonly<Record<string, string>>;
}

/** An insert that passes over rows whose key is taken, in the table or by a row before. */
export interface BulkClaim extends BulkInsert {
  /** A column that tells the rows apart. */
  identity: string;
}

export interface BulkUpdate {
  table: keyof Tables;
  set: Readonly<Record<string, ColumnKind>>;
  /** Columns of `set` that keep what they have where the new value is null. */
  keep?: readonly string[];
  key: Readonly<Record<string, ColumnKind>>;
  /** SQL that must hold of the row beside. */
  condition?: string;
}

type Rows = readonly (readonly unknown[])[];

/** Rows to insert, each an array of values in the order of the columns. */
export interface RowsOf {
  into: BulkInsert;
  /** How many there are. */
  count: number;
  /** Made when they are inserted: of many, those of one table while the database inserts those of another. */
  rows(): Rows;
}

/** Rows that are inserted only if something holds at that moment. */
export interface ConditionalInsert {
  /** Selects a row if it does. */
  condition: RawBuilder<unknown>;
  inserts: readonly RowsOf[];
  /** A `select` that is made as well if it does. */
  announcement: RawBuilder<unknown> | null;
}

/** What a database is asked to do next. */
export type Operation =
  | { kind: 'rows'; query: CompiledQuery }
  | { kind: 'changes'; query: CompiledQuery }
  | { kind: 'command'; query: CompiledQuery }
  | { kind: 'inserts'; inserts: readonly RowsOf[] }
  | { kind: 'claim'; claim: BulkClaim; rows: Rows }
  | { kind: 'update'; update: BulkUpdate; rows: Rows }
  | { kind: 'together'; operations: readonly Operation[] };

/**
 * The statements of a transaction, one after the other, as a generator: the same text serves a driver that answers at
 * once and one that has to be awaited. On SQLite a whole transaction so runs without giving way to other code of the
 * process, which could otherwise slip statements of its own into it, or wait for a lock that it holds.
 */
export type Steps<T> = Generator<Operation, T, unknown>;

/** The rows of a `select`, or of a statement with `returning`. */
export function* rowsOf<Row>(query: Compilable<Row>): Steps<Row[]> {
  return (yield { kind: 'rows', query: query.compile() }) as Row[];
}

export function* firstOf<Row>(query: Compilable<Row>): Steps<Row | undefined> {
  return (yield* rowsOf(query))[0];
}

/** The row of a statement that always has one. */
export function* rowOf<Row>(query: Compilable<Row>): Steps<Row> {
  const row = yield* firstOf(query);
  if (row === undefined) throw new Error('A statement that always has a row had none');
  return row;
}

/** The rows of SQL that is written whole. */
export function* rawRows<Row>(db: Kysely<Tables>, query: RawBuilder<Row>): Steps<Row[]> {
  return (yield { kind: 'rows', query: query.compile(db) }) as Row[];
}

/** Runs a statement that returns no rows; answers how many it changed. */
export function* changesOf(query: Compilable<unknown>): Steps<number> {
  return (yield { kind: 'changes', query: query.compile() }) as number;
}

export function* rawChanges(db: Kysely<Tables>, query: RawBuilder<unknown>): Steps<number> {
  return (yield { kind: 'changes', query: query.compile(db) }) as number;
}

/** Runs a statement whose answer tells nothing. */
export function* command(db: Kysely<Tables>, query: RawBuilder<unknown>): Steps<void> {
  yield { kind: 'command', query: query.compile(db) };
}

/** Inserts rows into several tables, in no order that could be relied upon. */
export function* insertRows(...given: readonly RowsOf[]): Steps<void> {
  const inserts = given.filter(({ count }) => count > 0);
  if (inserts.length > 0) yield { kind: 'inserts', inserts };
}

/** Makes steps that do not need each other's answers: where the driver pipelines, in as many round trips as the longest has. */
export function* together<T extends readonly unknown[]>(
  ...given: { [Index in keyof T]: Steps<T[Index]> }
): Steps<T> {
  const all = given as readonly Steps<unknown>[];
  const states = all.map((steps) => steps.next());
  for (;;) {
    const open = states.flatMap((state, index) => (state.done ? [] : { index, operation: state.value }));
    if (open.length === 0) return states.map(({ value }) => value) as unknown as T;
    const operations = open.map(({ operation }) => operation);
    const answers = (yield { kind: 'together', operations }) as unknown[];
    for (const [at, { index }] of open.entries()) states[index] = all[index]!.next(answers[at]);
  }
}

/**
 * Inserts those rows whose key is free.
 * @returns for each whether it was
 */
export function* claimRows(claim: BulkClaim, rows: Rows): Steps<boolean[]> {
  return rows.length > 0 ? ((yield { kind: 'claim', claim, rows }) as boolean[]) : [];
}

/**
 * Updates at most one row for each array of values: those of `set` first, then those of `key`.
 * @returns for each whether there was such a row
 */
export function* updateRows(update: BulkUpdate, rows: Rows): Steps<boolean[]> {
  return rows.length > 0 ? ((yield { kind: 'update', update, rows }) as boolean[]) : [];
}

/**
 * Makes the steps of a transaction. Where the database breaks one off in favour of another (a deadlock, say), it is made
 * again: it must leave nothing behind outside the database.
 */
export type Work<T> = () => Steps<T>;

/** Thrown by steps that found what cannot be unless another transaction came in between: they are made again. */
export class TransactionConflict extends Error {}

/** An open database: it builds statements, and runs their steps. */
export interface SqlConnection {
  /** Builds statements in the database's dialect; it runs none. */
  db: Kysely<Tables>;
  read<T>(work: Work<T>): Promise<T>;
  /** Reads pages of lists: in the order of the indexes that have it. */
  walk<T>(work: Work<T>): Promise<T>;
  /** In one transaction, durable when it returns. */
  write<T>(work: Work<T>): Promise<T>;
  /** In one transaction that a power failure, but nothing less, may undo: for what is safe to do twice. */
  writeRelaxed<T>(work: Work<T>): Promise<T>;
  /**
   * In one transaction of one statement, which is sent with its beginning and its end: one round trip. Absent where the
   * steps of a transaction cost none.
   * @param onSend called before it is sent: from there on it may be made, though it is told to have failed
   * @returns false where the condition does not hold, or another transaction has inserted one of the rows: nothing is
   * inserted then
   */
  insertIf?(given: ConditionalInsert, onSend: () => void): Promise<boolean>;
  /** In one transaction that may take as long as it needs. */
  migrate<T>(work: Work<T>): Promise<T>;
  /**
   * Has `use` run steps in a transaction of the application's that is open: all of them, or where it throws none. What the
   * database or the application's library throws comes through as it is.
   * @throws HookplaneError `INVALID_OPTIONS` for what is no transaction of this database
   */
  within<T>(transaction: unknown, use: (run: <R>(steps: Steps<R>) => Promise<R>) => Promise<T>): Promise<T>;
  /** The same within one call. */
  withinSync<T>(transaction: unknown, use: (run: <R>(steps: Steps<R>) => R) => T): T;
  close(): Promise<void>;
}
