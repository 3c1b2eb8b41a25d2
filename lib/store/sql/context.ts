import type { SqlDialect } from './dialect.js';
import type { EndpointCache } from './endpoint-cache.js';
import type { ConditionalInsert, SqlConnection, Steps } from './steps.js';

type Run = <T>(steps: (db: SqlConnection['db']) => Steps<T>) => Promise<T>;

/** What every part of a SQL store works with. */
export interface SqlContext {
  dialect: SqlDialect;
  endpointCache: EndpointCache;
  read: Run;
  /** Reads a page of a list. */
  walk: Run;
  /** In one transaction, durable when it returns. */
  write: Run;
  /** Inserts rows in one round trip: see `SqlConnection`. Where there is no such way, it inserts nothing. */
  insertIf(given: ConditionalInsert, onSend: () => void): Promise<boolean>;
  /** In one transaction that a power failure, but nothing less, may undo: for what is safe to do twice. */
  writeRelaxed: Run;
}
