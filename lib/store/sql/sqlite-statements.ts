import type { CompiledQuery, SqliteDatabase } from 'kysely';
import type { BulkInsert, BulkUpdate, Operation, RowsOf, Steps } from './steps.js';

/** What is used of a database of better-sqlite3, said here so that its types need not be installed. */
export interface BetterSqlite3Database extends SqliteDatabase {
  readonly inTransaction: boolean;
  pragma(source: string): unknown;
}

interface Statement {
  /** Whether it answers rows. */
  readonly reader: boolean;
  columns(): { name: string }[];
  safeIntegers(on: false): unknown;
  /** From here on it answers rows as arrays. */
  raw(): unknown;
  all(parameters: readonly unknown[]): unknown[][];
  run(parameters: readonly unknown[]): { changes: number | bigint };
}

interface Prepared {
  statement: Statement;
  columns: string[];
}

const MAX_PREPARED = 500;

/** Runs statements on a database, each within the call. */
export interface SqliteStatements {
  /** Runs a statement; answers how many rows it changed. */
  run(text: string, values?: readonly unknown[]): number;
  /** Runs steps to their end. */
  drive<T>(steps: Steps<T>): T;
  /** Forgets what it has prepared. */
  clear(): void;
}

export function sqliteStatements(database: BetterSqlite3Database): SqliteStatements {
  /** Preparing costs more than most statements of the sender take to run. */
  const prepared = new Map<string, Prepared>();

  function prepare(text: string): Prepared {
    let known = prepared.get(text);
    if (!known) {
      if (prepared.size >= MAX_PREPARED) prepared.delete(prepared.keys().next().value as string);
      const statement = database.prepare(text) as unknown as Statement;
      // Whatever the application has set as its default.
      statement.safeIntegers(false);
      if (statement.reader) statement.raw();
      known = { statement, columns: statement.reader ? columnsOf(statement) : [] };
      prepared.set(text, known);
    }
    return known;
  }

  const run = (text: string, values: readonly unknown[] = []) =>
    Number(prepare(text).statement.run(values).changes);

  // One prepared statement, run for each row: several times quicker than one statement over a JSON array, which
  // parses each row once for every column.
  function insert({ into: { table, columns, constants = {} }, rows }: RowsOf): void {
    const names = [...Object.keys(columns), ...Object.keys(constants)];
    const values = [...Object.keys(columns).map(() => '?'), ...Object.values(constants)];
    const { statement } = prepare(
      `insert into ${table} (${names.map(quote).join(', ')}) values (${values.join(', ')})`,
    );
    for (const row of rows()) statement.run(row);
  }

  function claim({ table, columns }: BulkInsert, rows: readonly (readonly unknown[])[]): boolean[] {
    const names = Object.keys(columns);
    const { statement } = prepare(
      `insert into ${table} (${names.map(quote).join(', ')}) values (${names.map(() => '?').join(', ')})
        on conflict do nothing`,
    );
    return rows.map((row) => Number(statement.run(row).changes) > 0);
  }

  function update(
    { table, set, keep = [], key, condition }: BulkUpdate,
    rows: readonly (readonly unknown[])[],
  ): boolean[] {
    const assignments = Object.keys(set).map((name) =>
      keep.includes(name) ? `${quote(name)} = coalesce(?, ${quote(name)})` : `${quote(name)} = ?`,
    );
    const conditions = Object.keys(key).map((name) => `${quote(name)} = ?`);
    if (condition) conditions.push(condition);
    const { statement } = prepare(
      `update ${table} set ${assignments.join(', ')} where ${conditions.join(' and ')}`,
    );
    return rows.map((row) => Number(statement.run(row).changes) > 0);
  }

  /** The driver sets the columns of a row one by one, which costs half as much again as to make arrays of them. */
  function rows({ sql, parameters }: CompiledQuery): unknown[] {
    const known = prepare(sql);
    const found = known.statement.all(parameters);
    // Another process may have added a column since: a `select *` then has one more.
    if (found[0] && found[0].length !== known.columns.length) known.columns = columnsOf(known.statement);
    const { columns } = known;
    return found.map((row) => {
      const record: Record<string, unknown> = {};
      for (let index = 0; index < columns.length; index++) record[columns[index]!] = row[index];
      return record;
    });
  }

  function perform(operation: Operation): unknown {
    switch (operation.kind) {
      case 'rows':
        return rows(operation.query);
      case 'changes':
      case 'command':
        return run(operation.query.sql, operation.query.parameters);
      case 'inserts':
        return operation.inserts.forEach(insert);
      case 'claim':
        return claim(operation.claim, operation.rows);
      case 'update':
        return update(operation.update, operation.rows);
      case 'together':
        return operation.operations.map(perform);
    }
  }

  function drive<T>(steps: Steps<T>): T {
    let step = steps.next();
    while (!step.done) step = steps.next(perform(step.value));
    return step.value;
  }

  return { run, drive, clear: () => prepared.clear() };
}

function columnsOf(statement: Statement): string[] {
  return statement.columns().map(({ name }) => name);
}

function quote(name: string): string {
  return `"${name}"`;
}
