import type { Kysely } from 'kysely';
import type { InsertedMessage, LeasedDelivery, NewMessage, SendLease } from '../store.js';
import { auditOf } from './audit.js';
import type { SqlContext } from './context.js';
import type { DueLane } from './due-lanes.js';
import { claimIdempotencyKeys } from './idempotency.js';
import { leaseMsOf, readTargets } from './lease.js';
import { type RouteOptions, route, tenantsOf } from './message-routing.js';
import { messageOf, type RoutedMessage, toJson } from './rows.js';
import type { Tables } from './schema.js';
import { type BulkInsert, command, insertRows, type Steps } from './steps.js';
import { ensureTenants } from './tenants.js';

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
    lease_owner: 'text',
    lease_until: 'integer',
  },
};

export interface InsertOptions extends RouteOptions {
  /** Whether the worker of this process is told as well: it is when nobody else can tell it. */
  everyone?: boolean;
}

/** What a send stores: the key, the message, its payload, and a delivery for each endpoint it is owed to. */
export function* insertMessages(
  db: Kysely<Tables>,
  context: SqlContext,
  given: readonly NewMessage[],
  { allOrNone, lease, everyone = false }: InsertOptions,
): Steps<InsertedMessage[]> {
  const { dialect } = context;
  const { held, deletions, messages, open, leasing } = yield* route(db, context, given, { allOrNone, lease });
  const absent = tenantsOf(messages).filter((id) => !held.has(id));
  yield* ensureTenants(db, dialect, absent, messages[0]?.createdAt ?? 0);
  const taken = yield* claimIdempotencyKeys(db, dialect, messages, deletions, allOrNone);
  const fresh = messages.filter((message) => !taken.has(message.id));
  const leased = leasing
    ? yield* leaseOf(db, context, fresh, open, leasing)
    : new Map<string, LeasedDelivery>();
  const deliveries = fresh.flatMap((message) =>
    message.endpointIds.map((endpointId) => ({
      message,
      endpointId,
      own: leased.get(`${message.id} ${endpointId}`),
    })),
  );
  yield* insertRows(
    {
      into: MESSAGES,
      count: fresh.length,
      rows: () =>
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
    },
    {
      into: PAYLOADS,
      count: fresh.length,
      rows: () => fresh.map((message) => [message.id, message.payload]),
    },
    {
      into: DELIVERIES,
      count: deliveries.length,
      rows: () =>
        deliveries.map(({ message, endpointId, own }) => [
          message.id,
          endpointId,
          'pending',
          'send',
          0,
          0,
          message.createdAt,
          message.expiresAt,
          own ? own.fence : 0,
          message.createdAt,
          own && leasing ? leasing.owner : null,
          own && leasing ? leasing.now + leaseMsOf(own.target, leasing.leaseMs) : null,
        ]),
    },
    auditOf(fresh),
  );
  if (dialect.announceDue && deliveries.some(({ own }) => !own))
    yield* command(db, dialect.announceDue(everyone));
  const accepted = new Map(
    messages.map((message) => [message.id, taken.get(message.id) ?? stored(message, leased)]),
  );
  return given.map(({ id }) => accepted.get(id) ?? { outcome: 'refused' });
}

/**
 * What may begin at once of what is about to be stored, by message and endpoint: as many as the lease gives to lanes that
 * are open, those of a lane in the order of their messages.
 */
function* leaseOf(
  db: Kysely<Tables>,
  context: SqlContext,
  fresh: readonly RoutedMessage[],
  open: readonly DueLane[],
  { now, share }: SendLease,
): Steps<Map<string, LeasedDelivery>> {
  const waiting = new Map<string, number>();
  for (const id of fresh.flatMap((message) => message.endpointIds))
    waiting.set(id, (waiting.get(id) ?? 0) + 1);
  const lanes = open.flatMap((lane) => {
    const count = waiting.get(lane.endpointId);
    return count ? { ...lane, waiting: count } : [];
  });
  const leased = new Map<string, LeasedDelivery>();
  if (lanes.length === 0) return leased;
  const quotas = new Map(share(lanes).quotas);
  const given = lanes.filter(({ endpointId }) => quotas.has(endpointId));
  const targets = yield* readTargets(db, context, given, now);
  for (const message of fresh) {
    const { id, tenantId, type, channels, createdAt, expiresAt, payload, traceContext } = message;
    for (const endpointId of message.endpointIds) {
      const [target, left = 0] = [targets.get(endpointId), quotas.get(endpointId)];
      if (!target || left === 0) continue;
      quotas.set(endpointId, left - 1);
      leased.set(`${id} ${endpointId}`, {
        messageId: id,
        endpointId,
        fence: 1,
        takeovers: 0,
        attemptCount: 0,
        scheduleStep: 0,
        trigger: 'send',
        webhookId: id,
        dueAt: createdAt,
        expiresAt,
        message: { id, tenantId, type, channels, createdAt, payload, traceContext },
        target,
      });
    }
  }
  return leased;
}

function isRouted(message: RoutedMessage): boolean {
  return message.endpointIds.length > 0;
}

function stored(message: RoutedMessage, leased: ReadonlyMap<string, LeasedDelivery>): InsertedMessage {
  return {
    outcome: 'stored',
    message: messageOf(message),
    owed: message.endpointIds.length,
    leased: message.endpointIds.flatMap((endpointId) => leased.get(`${message.id} ${endpointId}`) ?? []),
  };
}
