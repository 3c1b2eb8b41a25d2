import {
  DummyDriver,
  Kysely,
  SqliteAdapter,
  type SqliteDatabase,
  SqliteIntrospector,
  SqliteQueryCompiler,
} from 'kysely';
import { HookplaneError } from '../../model/errors.js';
import type { Tables } from './schema.js';
import type { BulkInsert, BulkUpdate, Operation, SqlConnection, Steps } from './steps.js';

/** What is used of a database of better-sqlite3, said here so that its types need not be installed. */
export interface BetterSqlite3Database extends SqliteDatabase {
  readonly inTransaction: boolean;
  pragma(source: string): unknown;
}

interface Statement {
  all(parameters: readonly unknown[]): unknown[];
  run(parameters: readonly unknown[]): { changes: number | bigint };
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
  /** Preparing costs more than most statements of the sender take to run. */
  const prepared = new Map<string, Statement>();

  function prepare(text: string): Statement {
    let statement = prepared.get(text);
    if (!statement) {
      if (prepared.size >= MAX_PREPARED) prepared.delete(prepared.keys().next().value as string);
      statement = database.prepare(text) as unknown as Statement;
      prepared.set(text, statement);
    }
    return statement;
  }

  // One prepared statement, run for each row: several times quicker than one statement over a JSON array, which
  // parses each row once for every column.
  function insert({ table, columns }: BulkInsert, rows: readonly (readonly unknown[])[]): void {
    const names = Object.keys(columns);
    const statement = prepare(
      `insert into ${table} (${names.map(quote).join(', ')}) values (${names.map(() => '?').join(', ')})`,
    );
    for (const row of rows) statement.run(row);
  }

  function update(
    { table, key, set, keep = [] }: BulkUpdate,
    rows: readonly (readonly unknown[])[],
  ): boolean[] {
    const assignments = Object.keys(set).map((name) =>
      keep.includes(name) ? `${quote(name)} = coalesce(?, ${quote(name)})` : `${quote(name)} = ?`,
    );
    const conditions = Object.keys(key).map((name) => `${quote(name)} = ?`);
    const statement = prepare(
      `update ${table} set ${assignments.join(', ')} where ${conditions.join(' and ')}`,
    );
    return rows.map((row) => {
      const values = [...row.slice(conditions.length), ...row.slice(0, conditions.length)];
      return Number(statement.run(values).changes) > 0;
    });
  }

  function perform(operation: Operation): unknown {
    switch (operation.kind) {
      case 'rows':
        return prepare(operation.query.sql).all(operation.query.parameters);
      case 'changes':
        return Number(prepare(operation.query.sql).run(operation.query.parameters).changes);
      case 'insert':
        return insert(operation.insert, operation.rows);
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
    prepare('begin immediate').run([]);
    try {
      const result = drive(steps);
      prepare('commit').run([]);
      return result;
    } catch (error) {
      // A full disk has rolled it back already.
      if (database.inTransaction) prepare('rollback').run([]);
      throw error;
    }
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
    read: async (steps) => drive(steps),
    async write(steps) {
      assertNoTransaction();
      return transact(steps);
    },
    async writeRelaxed(steps) {
      assertNoTransaction();
      if (synchronous === 'normal') return transact(steps);
      database.pragma('synchronous = normal');
      try {
        return transact(steps);
      } finally {
        database.pragma('synchronous = full');
      }
    },
    async close() {
      prepared.clear();
      if (!keepOpen) database.close();
    },
  };
}

function quote(name: string): string {
  return `"${name}"`;
}
