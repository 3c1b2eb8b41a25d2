import type { RawBuilder } from 'kysely';
import type { HookplaneError } from '../../model/errors.js';
import type { Tables } from './schema.js';
import type { ColumnKind, SqlConnection, Steps } from './steps.js';

/** What the shared SQL cannot say in words that both databases know. */
export interface SqlDialect {
  /**
   * A table of rows out of one JSON parameter, an array of arrays, for statements that take many keys at once: their
   * text stays the same for any number of rows, so that it is prepared once.
   */
  jsonRows(
    rows: readonly (readonly unknown[])[],
    columns: Readonly<Record<string, ColumnKind>>,
  ): RawBuilder<unknown>;
  /** Ends a `create table` so that the table is kept in the order of its primary key, where that exists. */
  clustered: RawBuilder<unknown>;
  /** Ends a `select` of rows about to be leased, so that workers do not wait for each other. */
  skipLocked: RawBuilder<unknown>;
  /** Selects one row if the table is there. */
  findTable(name: keyof Tables): RawBuilder<unknown>;
  /** A HookplaneError for a driver's error that means that the store does not answer; null for any other. */
  translateError(error: unknown): HookplaneError | null;
}

type Run = <T>(steps: (db: SqlConnection['db']) => Steps<T>) => Promise<T>;

/** What every part of a SQL store works with. */
export interface SqlContext {
  dialect: SqlDialect;
  read: Run;
  /** In one transaction, durable when it returns. */
  write: Run;
  /** In one transaction that a power failure, but nothing less, may undo: for what is safe to do twice. */
  writeRelaxed: Run;
}
