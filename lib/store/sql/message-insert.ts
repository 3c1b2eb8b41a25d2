import { type Kysely, sql } from 'kysely';
import { idempotencyConflict, tenantDeleted } from '../../model/errors.js';
import type { Message } from '../../model/message.js';
import type { Position } from '../../model/page.js';
import { isoTime } from '../../model/time.js';
import type { InsertedMessage, NewMessage } from '../store.js';
import { appendAudit } from './audit.js';
import { deletionsOf, isLeft } from './deleted-tenants.js';
import type { SqlDialect } from './dialect.js';
import { fromJson, LISTED, toJson, toMessage } from './rows.js';
import type { Tables } from './schema.js';
import { ensureTenants } from './tenants.js';
import { type BulkInsert, type Steps, changesOf, firstOf, rowOf, rawRows, insertRows } from './steps.js';

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

/** What a send stores: the key, the message, its payload, and a delivery for each endpoint it is owed to. */
export function* insertMessages(
  db: Kysely<Tables>,
  dialect: SqlDialect,
  given: readonly NewMessage[],
  allOrNone: boolean,
): Steps<InsertedMessage[]> {
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
  yield* ensureTenants(db, tenantsOf(messages), messages[0]?.createdAt ?? 0);
  const taken = yield* claimIdempotencyKeys(db, messages, deletions, allOrNone);
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
  const wanted = dialect.jsonRows(
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

/**
 * Writes the keys first and lets the unique constraint decide who was first, in this batch or in another process.
 * Answers, by message id, what became of the messages whose key was taken.
 */
function* claimIdempotencyKeys(
  db: Kysely<Tables>,
  messages: readonly NewMessage[],
  deletions: ReadonlyMap<string, Position>,
  allOrNone: boolean,
): Steps<Map<string, InsertedMessage>> {
  const taken = new Map<string, InsertedMessage>();
  const sharedBefore = new Map<string, NewMessage>();
  for (const message of messages) {
    if (message.idempotencyKey === null) continue;
    const tenant = message.tenantId ?? '';
    const own = {
      message_id: message.id,
      fingerprint: message.fingerprint,
      created_at: message.createdAt,
      message: null,
    };
    const inserted = yield* firstOf(
      db
        .insertInto('hookplane_idempotency_keys')
        .values({ tenant_id: tenant, key: message.idempotencyKey, ...own })
        .onConflict((conflict) => conflict.columns(['tenant_id', 'key']).doNothing())
        .returning('message_id'),
    );
    if (inserted) {
      sharedBefore.set(message.id, message);
      continue;
    }
    const first = yield* rowOf(
      db
        .selectFrom('hookplane_idempotency_keys')
        .select(['message_id', 'fingerprint', 'created_at', 'message'])
        .where('tenant_id', '=', tenant)
        .where('key', '=', message.idempotencyKey),
    );
    const { created_at: createdAt, message_id: id } = first;
    if (isLeft(deletions, { tenantId: message.tenantId, createdAt, id })) {
      // Of the tenant that had this id before: not yet purged, and no longer in force.
      yield* changesOf(
        db
          .updateTable('hookplane_idempotency_keys')
          .set(own)
          .where('tenant_id', '=', tenant)
          .where('key', '=', message.idempotencyKey),
      );
      sharedBefore.set(message.id, message);
      continue;
    }
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
  }
  return taken;
}
