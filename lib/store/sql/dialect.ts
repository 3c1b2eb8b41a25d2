import type { RawBuilder } from 'kysely';
import type { HookplaneError } from '../../model/errors.js';
import type { Tables } from './schema.js';
import type { ColumnKind } from './steps.js';

/** What the shared SQL cannot say in words that both databases know. */
export interface SqlDialect {
  /**
   * A table of rows, for statements that take many keys at once: it has as many parameters for any number of rows, so
   * that the text of the statement stays the same and is prepared once.
   */
  tableOf(
    rows: readonly (readonly unknown[])[],
    columns: Readonly<Record<string, ColumnKind>>,
  ): RawBuilder<unknown>;
  /** The type of text that is compared byte by byte, as the engine compares it: in it ids are in the order of time. */
  text: RawBuilder<unknown>;
  /** Ends a `create table` so that the table is kept in the order of its primary key, where that exists. */
  clustered: RawBuilder<unknown>;
  /** Ends a `create table` whose rows change all the time. */
  busy: RawBuilder<unknown>;
  /**
   * Whether several transactions write at the same time, each seeing what the others have committed by the statement.
   * What a transaction goes by has to be locked then: see `locks.ts`.
   */
  concurrent: boolean;
  /** Ends a `select` of rows (of the table called `of`) about to be changed; those that are locked are left out. */
  skipLocked(of?: string): RawBuilder<unknown>;
  /** The same, but waits for those that are locked. */
  forUpdate(of?: string): RawBuilder<unknown>;
  /** Selects one row if the table is there. */
  findTable(name: keyof Tables): RawBuilder<unknown>;
  /** What a transaction that migrates begins with: it waits for others that do, and makes what the tables lie in. */
  beforeMigration: readonly RawBuilder<unknown>[];
  /**
   * Tells workers of other processes, once the transaction is committed, that something may have become due; absent
   * where they have to look for it. With `everyone` those of this process as well.
   */
  announceDue?(everyone: boolean): RawBuilder<unknown>;
  /** The time at present, if `given` was the database's by the store's `now`; absent where the caller's counts. */
  latest?(given: number): number;
  /** A HookplaneError for a driver's error that means that the store does not answer; null for any other. */
  translateError(error: unknown): HookplaneError | null;
}
