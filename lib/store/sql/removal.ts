import { type Kysely, type RawBuilder, sql } from 'kysely';
import type { Removal } from '../store.js';
import type { SqlDialect } from './dialect.js';
import { toMessage } from './rows.js';
import type { MessageRow, Tables } from './schema.js';
import { type BulkUpdate, rawChanges, rawRows, type Steps, updateRows } from './steps.js';

/** How many messages are removed in one transaction, and how many rows of other tables, so that none lasts long. */
export const REMOVAL_BATCH = 250;
export const REMOVAL_ROWS = 1000;
/** How long an idempotency key is taken at least, however soon its message is removed. */
const KEY_KEPT_MS = 24 * 3_600_000;

export type RemovedMessage = Omit<MessageRow, 'finished_at' | 'trace_context'>;

/** The columns of {@link RemovedMessage}. */
export const REMOVED_COLUMNS = sql`id, tenant_id, type, channels, status, idempotency_key, created_at, expires_at`;

const KEPT_KEY: BulkUpdate = {
  table: 'hookplane_idempotency_keys',
  set: { message: 'text' },
  key: { tenant_id: 'text', key: 'text', message_id: 'text' },
};

/** Removes a batch of messages that were finished before a time, and of the keys that have outlived their messages. */
export function* removeFinished(
  db: Kysely<Tables>,
  dialect: SqlDialect,
  before: number,
  now: number,
): Steps<Removal> {
  const messages = yield* rawRows(
    db,
    sql<RemovedMessage>`
    select ${REMOVED_COLUMNS} from hookplane_messages
    where finished_at <= ${before} order by finished_at limit ${REMOVAL_BATCH} ${dialect.skipLocked()}`,
  );
  const keysBefore = now - KEY_KEPT_MS;
  const whole = yield* removeMessages(db, dialect, messages, keysBefore);
  const keys = yield* removeKeys(db, dialect, sql`message is not null and created_at <= ${keysBefore}`);
  const endpoints = yield* forgetEndpoints(db, before);
  const more = !whole || [messages.length, keys, endpoints].includes(REMOVAL_BATCH);
  return { removed: whole ? messages.length : 0, more };
}

/** Forgets a batch of the endpoints that were deleted before a time and have no attempts left; answers how many. */
function* forgetEndpoints(db: Kysely<Tables>, before: number): Steps<number> {
  return yield* rawChanges(
    db,
    sql`
    delete from hookplane_deleted_endpoints where id in (
      select e.id from hookplane_deleted_endpoints e where e.deleted_at <= ${before}
        and not exists (select 1 from hookplane_attempts a where a.endpoint_id = e.id)
      limit ${REMOVAL_BATCH})`,
  );
}

/**
 * Removes messages that nothing is owed of, or that are no longer to be seen, with all that belongs to them. What they
 * have too much of for one transaction is left to the next, and they with it: the payload goes first, so that they
 * cannot be sent again meanwhile, and the deliveries before the attempts, of which none is recorded without a delivery.
 * @param keysBefore keys that were taken later stay, with what their message was
 * @returns whether they are gone
 */
export function* removeMessages(
  db: Kysely<Tables>,
  dialect: SqlDialect,
  messages: readonly RemovedMessage[],
  keysBefore: number,
): Steps<boolean> {
  if (messages.length === 0) return true;
  const ids = dialect.tableOf(
    messages.map(({ id }) => [id]),
    { id: 'text' },
  );
  yield* rawChanges(db, sql`delete from hookplane_payloads where message_id in (select id from ${ids} as r)`);
  const deliveries = yield* rawChanges(
    db,
    sql`
    delete from hookplane_deliveries where (message_id, endpoint_id) in (
      select d.message_id, d.endpoint_id from ${ids} as r join hookplane_deliveries d on d.message_id = r.id
      limit ${REMOVAL_ROWS})`,
  );
  if (deliveries >= REMOVAL_ROWS) return false;
  const attempts = yield* rawChanges(
    db,
    sql`
    delete from hookplane_attempts where (message_id, id) in (
      select a.message_id, a.id from ${ids} as r join hookplane_attempts a on a.message_id = r.id
      limit ${REMOVAL_ROWS - deliveries})`,
  );
  if (deliveries + attempts >= REMOVAL_ROWS) return false;

  const keyed = messages.filter((message) => message.idempotency_key !== null);
  const keyOf = ({ tenant_id, idempotency_key, id }: RemovedMessage) => [
    tenant_id ?? '',
    idempotency_key,
    id,
  ];
  yield* updateRows(
    KEPT_KEY,
    keyed
      .filter((message) => message.created_at > keysBefore)
      .map((message) => [JSON.stringify(toMessage(message)), ...keyOf(message)]),
  );
  const keys = keyed.filter((message) => message.created_at <= keysBefore).map(keyOf);
  if (keys.length > 0) {
    const rows = dialect.tableOf(keys, { tenant_id: 'text', key: 'text', message_id: 'text' });
    yield* rawChanges(
      db,
      sql`
      delete from hookplane_idempotency_keys where (tenant_id, key) in (
        select k.tenant_id, k.key from ${rows} as r
        join hookplane_idempotency_keys k on k.tenant_id = r.tenant_id and k.key = r.key and k.message_id = r.message_id)`,
    );
  }
  yield* rawChanges(db, sql`delete from hookplane_messages where id in (select id from ${ids} as r)`);
  return true;
}

/** Removes a batch of idempotency keys; answers how many there were. */
export function removeKeys(
  db: Kysely<Tables>,
  dialect: SqlDialect,
  which: RawBuilder<unknown>,
): Steps<number> {
  return removeBatch(db, dialect, 'hookplane_idempotency_keys', ['tenant_id', 'key'], which, REMOVAL_BATCH);
}

/** Removes at most `limit` rows of a table, which the columns of `key` tell apart; answers how many there were. */
export function* removeBatch(
  db: Kysely<Tables>,
  dialect: SqlDialect,
  table: keyof Tables,
  key: readonly string[],
  which: RawBuilder<unknown>,
  limit: number,
): Steps<number> {
  const [name, columns] = [sql.table(table), sql.join(key.map((column) => sql.ref(column)))];
  return yield* rawChanges(
    db,
    sql`
    delete from ${name} where (${columns}) in (
      select ${columns} from ${name} where ${which} limit ${limit} ${dialect.skipLocked()})`,
  );
}
