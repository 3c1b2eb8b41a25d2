import { type Kysely, sql } from 'kysely';
import { spendTokens } from '../../model/rate-limit.js';
import type { DeliveryTarget, Lane, LeasedDelivery, LeaseRequest, Settlement } from '../store.js';
import type { SqlContext } from './context.js';
import type { SqlDialect } from './dialect.js';
import { type DueLane, findDueLanes, holdLimits, isFull, isLimited } from './due-lanes.js';
import type { KnownEndpoint } from './endpoint-cache.js';
import { fromJson } from './rows.js';
import type { MessageRow, PayloadRow, Tables } from './schema.js';
import { changesOf, rawRows, type Steps } from './steps.js';
import { take, type TakeOrder, type Taken } from './take.js';

/** By how much a lease outlasts the deadline of an endpoint that has its own. */
const SETTLING_MS = 15_000;

/** How long a worker that counts what is taken against a limit keeps the others from it. */
const COUNTED_MS = 10;

interface LeaseOrder extends LeaseRequest {
  owner: string;
  now: number;
  /** What the owner settles at the same time: not to be taken again, though its lease may have run out. */
  settling?: readonly Settlement[];
}

/** Finds the lanes with due work, lets `share` say how much of each, and takes that much, oldest first. */
export function* lease(
  db: Kysely<Tables>,
  context: SqlContext,
  { owner, now, leaseMs, share, settling = [] }: LeaseOrder,
): Steps<{ leased: LeasedDelivery[]; nextAt: number | null }> {
  const { dialect } = context;
  const due = yield* findDueLanes(db, now);
  const { abandoned } = due;
  let { lanes } = due;
  let shares = share(lanes);
  const later = [due.nextAt, shares.nextAt];
  const limited = dialect.concurrent
    ? lanes.filter((lane) => isLimited(lane) && (shares.quotas.has(lane.endpointId) || isFull(lane)))
    : [];
  if (limited.length > 0) {
    const held = yield* holdLimits(db, dialect, limited, now);
    lanes = [...lanes.filter((lane) => !isLimited(lane)), ...held];
    const hoped = shares.quotas;
    shares = share(lanes);
    const isLess = limited.some(({ endpointId: id }) => (shares.quotas.get(id) ?? 0) < (hoped.get(id) ?? 0));
    // Those that were not looked at may have what it lacks; and what another counts at this moment may have room by then.
    later.push(shares.nextAt, isLess || held.length < limited.length ? now + COUNTED_MS : null);
  }
  const { quotas } = shares;
  const given = lanes.filter(({ endpointId }) => quotas.has(endpointId));
  const targets = yield* readTargets(db, context, given, now);

  const orders = [...quotas].flatMap(([endpointId, quota]): TakeOrder[] => {
    const target = targets.get(endpointId);
    if (!target) return [];
    const until = now + leaseMsOf(target, leaseMs);
    return [{ endpointId, quota, until, abandoned: abandoned.has(endpointId) }];
  });
  const taken = yield* take(db, dialect, orders, { owner, now, settling });
  // Another worker was there first.
  if (orders.length > 0 && taken.length === 0) later.push(now + COUNTED_MS);
  const counts = new Map<string, number>();
  for (const row of taken) counts.set(row.endpoint_id, (counts.get(row.endpoint_id) ?? 0) + 1);
  yield* spendRates(db, lanes, counts, now);

  const messages = yield* readMessages(db, dialect, taken);
  const leased = taken.flatMap((row): LeasedDelivery[] => {
    const target = targets.get(row.endpoint_id);
    const message = messages.get(row.message_id);
    if (!target || !message) return [];
    return [
      {
        messageId: row.message_id,
        endpointId: row.endpoint_id,
        fence: row.fence,
        takeovers: row.taken_over ? row.takeovers : 0,
        attemptCount: row.attempt_count,
        scheduleStep: row.schedule_step,
        trigger: row.trigger,
        webhookId: row.webhook_id ?? row.message_id,
        dueAt: row.due_at,
        expiresAt: row.expires_at,
        message,
        target,
      },
    ];
  });
  const times = later.filter((time) => time !== null);
  return { leased, nextAt: times.length > 0 ? Math.min(...times) : null };
}

/** How long a lease lasts, in milliseconds. */
export function leaseMsOf({ endpoint: { timeoutMs } }: DeliveryTarget, leaseMs: number): number {
  return timeoutMs === null ? leaseMs : Math.max(leaseMs, timeoutMs + SETTLING_MS);
}

/** What is given a share, with the secrets that sign at this moment; without what is deleted meanwhile. */
export function* readTargets(
  db: Kysely<Tables>,
  { endpointCache }: SqlContext,
  lanes: readonly DueLane[],
  now: number,
): Steps<Map<string, DeliveryTarget>> {
  const known = yield* endpointCache.read(
    db,
    lanes.map(({ endpointId, revision }) => ({ id: endpointId, revision })),
  );
  const targets = new Map<string, DeliveryTarget>();
  for (const lane of lanes) {
    const found = known.get(lane.endpointId);
    if (found) targets.set(lane.endpointId, targetOf(found, lane, now));
  }
  return targets;
}

/** Where the deliveries of a lane go. */
export function targetOf(
  { endpoint, secrets }: KnownEndpoint,
  { failingSince, slowStep }: Pick<DueLane, 'failingSince' | 'slowStep'>,
  now: number,
): DeliveryTarget {
  const live = secrets.filter(({ expiresAt }) => expiresAt === null || expiresAt > now);
  return { endpoint, secrets: live.map(({ id, secret }) => ({ id, secret })), failingSince, slowStep };
}

function* readMessages(
  db: Kysely<Tables>,
  dialect: SqlDialect,
  taken: readonly Taken[],
): Steps<Map<string, LeasedDelivery['message']>> {
  if (taken.length === 0) return new Map();
  const ids = dialect.tableOf(
    [...new Set(taken.map((row) => row.message_id))].map((id) => [id]),
    { id: 'text' },
  );
  const found = yield* rawRows(
    db,
    sql<Omit<MessageRow, 'status' | 'idempotency_key' | 'expires_at' | 'finished_at'> & PayloadRow>`
    select m.id, m.tenant_id, m.type, m.channels, m.created_at, m.trace_context, p.payload
    from hookplane_messages m join hookplane_payloads p on p.message_id = m.id
    where m.id in (select id from ${ids} as r)`,
  );
  return new Map(
    found.map((row) => [
      row.id,
      {
        id: row.id,
        tenantId: row.tenant_id,
        type: row.type,
        channels: fromJson<string[]>(row.channels),
        createdAt: row.created_at,
        payload: row.payload,
        traceContext: row.trace_context,
      },
    ]),
  );
}

/** Rates are spent in the transaction that takes the deliveries, so that they hold whatever number of processes take. */
function* spendRates(
  db: Kysely<Tables>,
  lanes: readonly Lane[],
  counts: ReadonlyMap<string, number>,
  now: number,
): Steps<void> {
  const tenants = new Map<string, { lane: Lane; count: number }>();
  for (const lane of lanes) {
    const count = counts.get(lane.endpointId) ?? 0;
    if (count === 0) continue;
    if (lane.rateLimit) {
      yield* changesOf(
        db
          .updateTable('hookplane_endpoints')
          .set({ rate_used: spendTokens(lane.rateLimit, lane.rateUsed, now, count) })
          .where('id', '=', lane.endpointId),
      );
    }
    if (lane.tenantRateLimit && lane.tenantId !== null) {
      tenants.set(lane.tenantId, { lane, count: count + (tenants.get(lane.tenantId)?.count ?? 0) });
    }
  }
  for (const [tenantId, { lane, count }] of tenants) {
    yield* changesOf(
      db
        .updateTable('hookplane_tenants')
        .set({ rate_used: spendTokens(lane.tenantRateLimit!, lane.tenantRateUsed, now, count) })
        .where('id', '=', tenantId),
    );
  }
}
