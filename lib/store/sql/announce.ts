import type { Kysely } from 'kysely';
import type { SqlDialect } from './dialect.js';
import type { Tables } from './schema.js';
import { command, type Steps } from './steps.js';

/**
 * Has workers of other processes look once the transaction is committed: it makes something due, or lets through what
 * was held back. Those of this process are woken by whoever called.
 */
export function* announceDue(db: Kysely<Tables>, dialect: SqlDialect): Steps<void> {
  if (dialect.announceDue) yield* command(db, dialect.announceDue(false));
}
