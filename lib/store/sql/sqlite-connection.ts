import {
  type CompiledQuery,
  DummyDriver,
  Kysely,
  SqliteAdapter,
  type SqliteDatabase,
  SqliteIntrospector,
  SqliteQueryCompiler,
} from 'kysely';
import { HookplaneError } from '../../model/errors.js';
import type { Tables } from './schema.js';
import { createWalFlush, type WalFlush } from './wal-flush.js';
import type { BulkInsert, BulkUpdate, Operation, SqlConnection, Steps, Work } from './steps.js';

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

export interface SqliteConnectionOptions {
  synchronous: 'full' | 'normal';
  keepOpen: boolean;
}

const MAX_PREPARED = 500;

/** Runs steps on a database of better-sqlite3: each to its end at once, in the call. */
export function connectSqlite(
  database: BetterSqlite3Database,
  { synchronous, keepOpen }: SqliteConnectionOptions,
): SqlConnection {
  const wal = synchronous === 'full' ? walFlushOf(database) : undefined;
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

  const run = (text: string, values: readonly unknown[]) =>
    Number(prepare(text).statement.run(values).changes);

  // One prepared statement, run for each row: several times quicker than one statement over a JSON array, which
  // parses each row once for every column.
  function insert({ table, columns }: BulkInsert, rows: readonly (readonly unknown[])[]): void {
    const names = Object.keys(columns);
    const { statement } = prepare(
      `insert into ${table} (${names.map(quote).join(', ')}) values (${names.map(() => '?').join(', ')})`,
    );
    for (const row of rows) statement.run(row);
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
        return run(operation.query.sql, operation.query.parameters);
      case 'insert':
        return insert(operation.insert, operation.rows);
      case 'claim':
        return claim(operation.claim, operation.rows);
      case 'update':
        return update(operation.update, operation.rows);
    }
  }

  function drive<T>(steps: Steps<T>): T {
    let step = steps.next();
    while (!step.done) step = steps.next(perform(step.value));
    return step.value;
  }

  function assertNoTransaction(): void {
    if (!database.inTransaction) return;
    throw new HookplaneError('STORE_UNAVAILABLE', 'The database has a transaction of the application open');
  }

  /**
   * Immediate: every transaction of the store writes. One that begins deferred and becomes a writer fails at once,
   * without waiting, when another process has written in between.
   */
  function transact<T>(steps: Steps<T>): T {
    run('begin immediate', []);
    try {
      const result = drive(steps);
      run('commit', []);
      return result;
    } catch (error) {
      // A full disk has rolled it back already.
      if (database.inTransaction) run('rollback', []);
      throw error;
    }
  }

  /** Does not wait for the disk. What the application writes to a database of its own does, as it is set. */
  function transactRelaxed<T>(steps: Steps<T>): T {
    assertNoTransaction();
    if (synchronous === 'normal') return transact(steps);
    database.pragma('synchronous = normal');
    try {
      return transact(steps);
    } finally {
      database.pragma('synchronous = full');
    }
  }

  async function write<T>(work: Work<T>): Promise<T> {
    const result = transactRelaxed(work());
    await wal?.flush();
    return result;
  }

  return {
    db: new Kysely<Tables>({
      dialect: {
        createAdapter: () => new SqliteAdapter(),
        createDriver: () => new DummyDriver(),
        createIntrospector: (db) => new SqliteIntrospector(db),
        createQueryCompiler: () => new SqliteQueryCompiler(),
      },
    }),
    read: async (work) => drive(work()),
    walk: async (work) => drive(work()),
    write,
    writeRelaxed: async (work) => transactRelaxed(work()),
    migrate: write,
    async close() {
      await wal?.close();
      prepared.clear();
      if (!keepOpen) database.close();
    },
  };
}

function columnsOf(statement: Statement): string[] {
  return statement.columns().map(({ name }) => name);
}

/** None for a database that is in memory alone. */
function walFlushOf(database: BetterSqlite3Database): WalFlush | undefined {
  const files = database.pragma('database_list') as { name: string; file: string }[];
  const file = files.find(({ name }) => name === 'main')?.file;
  if (!file) return undefined;
  return createWalFlush(`${file}-wal`, () => {
    // Readers are not waited for: whoever asks tries again.
    const [set] = database.pragma('busy_timeout') as { timeout: number }[];
    database.pragma('busy_timeout = 0');
    try {
      const [row] = database.pragma('wal_checkpoint(truncate)') as { busy: number }[];
      return row?.busy === 0;
    } finally {
      database.pragma(`busy_timeout = ${set?.timeout ?? 0}`);
    }
  });
}

function quote(name: string): string {
  return `"${name}"`;
}
