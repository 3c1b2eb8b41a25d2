import { type Kysely, type RawBuilder, sql } from 'kysely';
import type { Endpoint } from '../../model/endpoint.js';
import { tenantDeleted } from '../../model/errors.js';
import type { InsertedMessage, LeasedDelivery, NewMessage, SendLease } from '../store.js';
import { auditOf } from './audit.js';
import type { SqlContext } from './context.js';
import { deletionsOf, isLeft } from './deleted-tenants.js';
import type { SqlDialect } from './dialect.js';
import { type DueLane, readLanes } from './due-lanes.js';
import { claimIdempotencyKeys } from './idempotency.js';
import { leaseMsOf, readTargets } from './lease.js';
import { holdTenants } from './locks.js';
import { messageOf, type RoutedMessage, toJson } from './rows.js';
import type { Tables } from './schema.js';
import { type BulkInsert, command, insertRows, rawRows, type Steps, together } from './steps.js';
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

export interface InsertOptions {
  allOrNone: boolean;
  lease?: SendLease | undefined;
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
  const { dialect, endpointCache } = context;
  // Chosen of the endpoints of the last time, which hardly ever change: they are asked about in the same round trip.
  const choice = createChoice();
  const expected = (message: NewMessage) => choice(message, endpointCache.lastOf(message.tenantId));
  const leasing = lease && countOf(given.map(expected)) <= lease.most ? lease : undefined;
  // What was chosen before may have been deleted since. A lease has to know more of all.
  const isLookedAt = ({ owedTo }: NewMessage) => leasing !== undefined || typeof owedTo !== 'function';
  const looked = new Set(given.filter(isLookedAt).flatMap(expected));
  // From here on no tenant can be deleted; of those that were, it is known.
  const [held, deletions, endpoints, lookedAt] = yield* together(
    holdTenants(db, dialect, tenantsOf(given)),
    deletionsOf(db, dialect, tenantsOf(given)),
    endpointsToChooseOf(db, context, given),
    lookAt(db, dialect, looked, leasing),
  );
  const isRefused = (message: NewMessage) => isLeft(deletions, message);
  if (allOrNone && given.some(isRefused)) throw tenantDeleted();
  const chosen = given
    .filter((message) => !isRefused(message))
    .map((message) => ({
      ...message,
      endpointIds: choice(message, endpoints.get(message.tenantId) ?? []),
    }));
  const others = chosen
    .filter(isLookedAt)
    .flatMap(({ endpointIds }) => endpointIds.filter((id) => !looked.has(id)));
  const more = yield* lookAt(db, dialect, new Set(others), leasing);
  const gone = new Set([...lookedAt.gone, ...more.gone]);
  const open = [...lookedAt.open, ...more.open];
  const isThere = (id: string) => !gone.has(id);
  const messages =
    gone.size === 0
      ? chosen
      : chosen.map((message) => ({ ...message, endpointIds: message.endpointIds.filter(isThere) }));
  const absent = tenantsOf(messages).filter((id) => !held.has(id));
  yield* ensureTenants(db, dialect, absent, messages[0]?.createdAt ?? 0);
  const taken = yield* claimIdempotencyKeys(db, dialect, messages, deletions, allOrNone);
  const fresh = messages.filter((message) => !taken.has(message.id));
  const mayLease = leasing && countOf(fresh.map(({ endpointIds }) => endpointIds)) <= leasing.most;
  const leased = mayLease
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
          own && lease ? lease.owner : null,
          own && lease ? lease.now + leaseMsOf(own.target, lease.leaseMs) : null,
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

/** The endpoints of the tenants whose messages choose of them. */
function endpointsToChooseOf(
  db: Kysely<Tables>,
  { endpointCache }: SqlContext,
  messages: readonly NewMessage[],
): Steps<ReadonlyMap<string | null, readonly Endpoint[]>> {
  const choosing = messages.filter(({ owedTo }) => typeof owedTo === 'function');
  return endpointCache.ofTenants(
    db,
    choosing.map(({ tenantId }) => tenantId),
  );
}

/** Has each message choose once of the same endpoints: those that are found mostly are those of the last time. */
function createChoice(): (message: NewMessage, ofTenant: readonly Endpoint[]) => readonly string[] {
  const made = new Map<NewMessage, { ofTenant: readonly Endpoint[]; ids: readonly string[] }>();
  return (message, ofTenant) => {
    if (typeof message.owedTo !== 'function') return message.owedTo;
    let choice = made.get(message);
    if (choice?.ofTenant !== ofTenant) {
      choice = { ofTenant, ids: message.owedTo(ofTenant) };
      made.set(message, choice);
    }
    return choice.ids;
  };
}

function countOf(lists: readonly (readonly string[])[]): number {
  return lists.reduce((sum, list) => sum + list.length, 0);
}

/** Which of the endpoints are not there; and for a lease, the lanes that are open. */
function* lookAt(
  db: Kysely<Tables>,
  dialect: SqlDialect,
  endpointIds: ReadonlySet<string>,
  lease: SendLease | undefined,
): Steps<{ gone: Set<string>; open: DueLane[] }> {
  const gone = new Set(endpointIds);
  if (gone.size === 0) return { gone, open: [] };
  const wanted = dialect.tableOf(
    [...gone].map((id) => [id]),
    { id: 'text' },
  );
  const { present, open } = lease
    ? yield* readLanes(db, wanted, lease.now)
    : { present: yield* readPresent(db, wanted), open: [] };
  for (const id of present) gone.delete(id);
  return { gone, open };
}

function* readPresent(db: Kysely<Tables>, wanted: RawBuilder<unknown>): Steps<Set<string>> {
  const found = yield* rawRows(
    db,
    sql<{ id: string }>`
    select e.id from ${wanted} as r join hookplane_endpoints e on e.id = r.id`,
  );
  return new Set(found.map(({ id }) => id));
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

function tenantsOf(messages: readonly NewMessage[]): string[] {
  return messages.flatMap((message) => message.tenantId ?? []);
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
