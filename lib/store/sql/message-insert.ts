import { type Kysely, sql } from 'kysely';
import { idempotencyConflict, tenantDeleted } from '../../model/errors.js';
import type { Message } from '../../model/message.js';
import type { Position } from '../../model/page.js';
import { isoTime } from '../../model/time.js';
import type { InsertedMessage, NewMessage } from '../store.js';
import { appendAudit } from './audit.js';
import { deletionsOf, isLeft } from './deleted-tenants.js';
import type { SqlDialect } from './dialect.js';
import { holdTenants } from './locks.js';
import { fromJson, LISTED, toJson, toMessage } from './rows.js';
import type { IdempotencyKeyRow, Tables } from './schema.js';
import { ensureTenants } from './tenants.js';
import {
  type BulkClaim,
  type BulkInsert,
  type BulkUpdate,
  claimRows,
  command,
  type Steps,
  firstOf,
  rawRows,
  insertRows,
  TransactionConflict,
  updateRows,
} from './steps.js';

const MESSAGES: BulkInsert = {
  table: 'hookplane_messages',
  columns: {
    id: 'text',
    tenant_id: 'text',
    type: 'text',
    channels: 'text',
    status: 'text',
    idempotency_key: 'text',
    created_at: 'integer',
    expires_at: 'integer',
    finished_at: 'integer',
    trace_context: 'text',
  },
};

const PAYLOADS: BulkInsert = {
  table: 'hookplane_payloads',
  columns: { message_id: 'text', payload: 'text' },
};

const DELIVERIES: BulkInsert = {
  table: 'hookplane_deliveries',
  columns: {
    message_id: 'text',
    endpoint_id: 'text',
    status: 'text',
    trigger: 'text',
    attempt_count: 'integer',
    schedule_step: 'integer',
    due_at: 'integer',
    expires_at: 'integer',
    fence: 'integer',
    created_at: 'integer',
  },
};

/**
 * What a send stores: the key, the message, its payload, and a delivery for each endpoint it is owed to.
 * @param everyone whether the worker of this process is told as well: it is when nobody else can tell it
 */
export function* insertMessages(
  db: Kysely<Tables>,
  dialect: SqlDialect,
  given: readonly NewMessage[],
  allOrNone: boolean,
  everyone = false,
): Steps<InsertedMessage[]> {
  // From here on none of them can be deleted; of those that were, it is known.
  const held = yield* holdTenants(db, dialect, tenantsOf(given));
  const deletions = yield* deletionsOf(db, dialect, tenantsOf(given));
  const isRefused = (message: NewMessage) => isLeft(deletions, message);
  if (allOrNone && given.some(isRefused)) throw tenantDeleted();
  const present = yield* presentEndpoints(db, dialect, given);
  const messages = given
    .filter((message) => !isRefused(message))
    .map((message) => ({
      ...message,
      endpointIds: message.endpointIds.filter((id) => present.has(id)),
    }));
  const absent = tenantsOf(messages).filter((id) => !held.has(id));
  yield* ensureTenants(db, dialect, absent, messages[0]?.createdAt ?? 0);
  const taken = yield* claimIdempotencyKeys(db, dialect, messages, deletions, allOrNone);
  const fresh = messages.filter((message) => !taken.has(message.id));
  yield* insertRows(
    MESSAGES,
    fresh.map((message) => [
      message.id,
      message.tenantId,
      message.type,
      toJson(message.channels),
      isRouted(message) ? 'pending' : 'unrouted',
      message.idempotencyKey,
      message.createdAt,
      message.expiresAt,
      isRouted(message) ? null : message.createdAt,
      message.traceContext,
    ]),
  );
  yield* insertRows(
    PAYLOADS,
    fresh.map((message) => [message.id, message.payload]),
  );
  yield* insertRows(
    DELIVERIES,
    fresh.flatMap(({ id, endpointIds, createdAt, expiresAt }) =>
      endpointIds.map((endpointId) => [
        id,
        endpointId,
        'pending',
        'send',
        0,
        0,
        createdAt,
        expiresAt,
        0,
        createdAt,
      ]),
    ),
  );
  yield* appendAudit(fresh);
  if (dialect.announceDue && fresh.some(isRouted)) yield* command(db, dialect.announceDue(everyone));
  const accepted = new Map(messages.map((message) => [message.id, taken.get(message.id) ?? stored(message)]));
  return given.map(({ id }) => accepted.get(id) ?? { outcome: 'refused' });
}

function tenantsOf(messages: readonly NewMessage[]): string[] {
  return messages.flatMap((message) => message.tenantId ?? []);
}

/** Those of the messages' endpoints that were not deleted between the matching and this transaction. */
function* presentEndpoints(
  db: Kysely<Tables>,
  dialect: SqlDialect,
  messages: readonly NewMessage[],
): Steps<Set<string>> {
  const ids = [...new Set(messages.flatMap((message) => message.endpointIds))];
  if (ids.length === 0) return new Set();
  const wanted = dialect.tableOf(
    ids.map((id) => [id]),
    { id: 'text' },
  );
  const found = yield* rawRows(
    db,
    sql<{ id: string }>`
    select e.id from ${wanted} as r join hookplane_endpoints e on e.id = r.id`,
  );
  return new Set(found.map((row) => row.id));
}

function isRouted(message: NewMessage): boolean {
  return message.endpointIds.length > 0;
}

function stored(message: NewMessage): InsertedMessage {
  return {
    outcome: 'stored',
    message: {
      id: message.id,
      tenantId: message.tenantId,
      type: message.type,
      channels: message.channels,
      status: isRouted(message) ? 'pending' : 'unrouted',
      idempotencyKey: message.idempotencyKey,
      createdAt: isoTime(message.createdAt),
      expiresAt: isoTime(message.expiresAt),
    },
  };
}

const KEYS: BulkClaim = {
  table: 'hookplane_idempotency_keys',
  columns: {
    tenant_id: 'text',
    key: 'text',
    message_id: 'text',
    fingerprint: 'text',
    created_at: 'integer',
  },
  identity: 'message_id',
};

const INHERITED_KEY: BulkUpdate = {
  table: 'hookplane_idempotency_keys',
  set: { message_id: 'text', fingerprint: 'text', created_at: 'integer', message: 'text' },
  key: { tenant_id: 'text', key: 'text' },
};

type Holder = Pick<IdempotencyKeyRow, 'message_id' | 'fingerprint' | 'created_at' | 'message'>;

/**
 * Writes the keys first and lets the unique constraint decide who was first, in this batch or in another process.
 * Answers, by message id, what became of the messages whose key was taken.
 */
function* claimIdempotencyKeys(
  db: Kysely<Tables>,
  dialect: SqlDialect,
  messages: readonly NewMessage[],
  deletions: ReadonlyMap<string, Position>,
  allOrNone: boolean,
): Steps<Map<string, InsertedMessage>> {
  const taken = new Map<string, InsertedMessage>();
  const keyed = messages
    .filter((message) => message.idempotencyKey !== null)
    // In order, for two transactions that claim the same ones.
    .map((message) => ({ message, name: keyName(message.tenantId ?? '', message.idempotencyKey) }))
    .sort((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0));
  const claimed = yield* claimRows(
    KEYS,
    keyed.map(({ message }) => [
      message.tenantId ?? '',
      message.idempotencyKey,
      message.id,
      message.fingerprint,
      message.createdAt,
    ]),
  );
  if (!claimed.includes(false)) return taken;

  const others = keyed.filter((_, index) => !claimed[index]);
  const holders = yield* readHolders(db, dialect, others);
  const sharedBefore = new Map<string, NewMessage>();
  for (const [index, { message, name }] of keyed.entries()) {
    const first = holders.get(name);
    const inherits =
      first !== undefined &&
      isLeft(deletions, { tenantId: message.tenantId, createdAt: first.created_at, id: first.message_id });
    if (claimed[index] || inherits) {
      const { id, fingerprint, createdAt } = message;
      // Of the tenant that had this id before: not yet purged, and no longer in force.
      if (inherits)
        yield* updateRows(INHERITED_KEY, [
          [id, fingerprint, createdAt, null, message.tenantId ?? '', message.idempotencyKey],
        ]);
      holders.set(name, { message_id: id, fingerprint, created_at: createdAt, message: null });
      sharedBefore.set(id, message);
      continue;
    }
    if (!first) throw goneMeanwhile();
    if (first.fingerprint !== message.fingerprint) {
      if (allOrNone) throw idempotencyConflict(message.idempotencyKey);
      taken.set(message.id, { outcome: 'conflict', messageId: first.message_id });
      continue;
    }
    const row = yield* firstOf(
      db.selectFrom('hookplane_messages as m').select(LISTED).where('m.id', '=', first.message_id),
    );
    const sameBatch = sharedBefore.get(first.message_id);
    const known = row ? toMessage(row) : fromJson<Message>(first.message);
    if (known) taken.set(message.id, { outcome: 'duplicate', message: known });
    else if (sameBatch)
      taken.set(message.id, { ...stored(sameBatch), outcome: 'duplicate' } as InsertedMessage);
    else throw goneMeanwhile();
  }
  return taken;
}

/** Who has the keys, by the name of the key. */
function* readHolders(
  db: Kysely<Tables>,
  dialect: SqlDialect,
  keyed: readonly { message: NewMessage }[],
): Steps<Map<string, Holder>> {
  const keys = dialect.tableOf(
    keyed.map(({ message }) => [message.tenantId ?? '', message.idempotencyKey]),
    { tenant_id: 'text', key: 'text' },
  );
  const found = yield* rawRows(
    db,
    sql<Holder & Pick<IdempotencyKeyRow, 'tenant_id' | 'key'>>`
    select k.tenant_id, k.key, k.message_id, k.fingerprint, k.created_at, k.message
    from ${keys} as r join hookplane_idempotency_keys k on k.tenant_id = r.tenant_id and k.key = r.key
    order by k.tenant_id, k.key ${dialect.forUpdate('k')}`,
  );
  return new Map(found.map((row) => [keyName(row.tenant_id, row.key), row]));
}

function keyName(tenantId: string, key: string | null): string {
  return JSON.stringify([tenantId, key]);
}

/** The key was taken, and is not: another transaction has removed it in between. What is done again finds it free. */
function goneMeanwhile(): Error {
  return new TransactionConflict('An idempotency key was removed while it was read');
}
