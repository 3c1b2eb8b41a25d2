/** Runs statements in a transaction of PostgreSQL that is open, for a library that is not known here. */
export interface TransactionExecutor {
  /** Runs one statement that has `$1` and so on for those in `params`, texts or null; answers its rows, by the names of columns. */
  execute(sql: string, params: (string | null)[]): PromiseLike<readonly object[]>;
}

/** What is used of a client of `pg`, and of an `EntityManager` or `QueryRunner` of TypeORM. A pool is none. */
interface QueryingTransaction {
  query(text: string, values: (string | null)[]): PromiseLike<unknown>;
  totalCount?: never;
}

interface KyselyTransaction {
  readonly isTransaction: true;
  withoutPlugins(): { executeQuery(query: never): PromiseLike<{ rows: unknown[] }> };
}

interface KnexTransaction {
  isCompleted(): boolean;
  raw(sql: string, bindings: (string | null)[]): PromiseLike<unknown>;
}

interface DrizzleTransaction {
  readonly _: object;
  execute(query: never): PromiseLike<unknown>;
  rollback(): never;
}

interface PrismaTransaction {
  $queryRawUnsafe(query: string, ...values: (string | null)[]): PromiseLike<unknown>;
}

/**
 * An open transaction of the application's, on the database of its `postgresStore`: the client of `pg` that has begun
 * it, the transaction that Kysely, Knex, Drizzle or Prisma hands to its callback, the `EntityManager` or `QueryRunner` of
 * TypeORM, or an executor made for any other library.
 */
export type Transaction =
  | QueryingTransaction
  | KyselyTransaction
  | KnexTransaction
  | DrizzleTransaction
  | PrismaTransaction
  | TransactionExecutor;

/** A database of better-sqlite3 that has a transaction open, on the file of the application's `sqliteStore`. */
export interface SqliteTransaction {
  readonly inTransaction: boolean;
  prepare(source: string): unknown;
  pragma(source: string): unknown;
}
