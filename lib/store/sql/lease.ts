import { type Kysely, type RawBuilder, sql } from 'kysely';
import type { AttemptTrigger } from '../../model/message.js';
import { spendTokens } from '../../model/rate-limit.js';
import type { DeliveryTarget, Lane, LeasedDelivery, LeaseRequest, Shares } from '../store.js';
import type { SqlDialect } from './dialect.js';
import { fromJson, toEndpoint, toRateLimit } from './rows.js';
import { IS_ACTIVE, LEASED_ROWS, lanesOf, WAITING_ROWS } from './lanes.js';
import type { EndpointRow, MessageRow, PayloadRow, Tables } from './schema.js';
import { type BulkUpdate, type Steps, rawRows, changesOf, updateRows } from './steps.js';

/** By how much a lease outlasts the deadline of an endpoint that has its own. */
const SETTLING_MS = 15_000;

/** Finds the lanes with due work, lets `share` say how much of each, and takes that much, oldest first. */
export function* lease(
  db: Kysely<Tables>,
  dialect: SqlDialect,
  { owner, now, leaseMs, share }: LeaseRequest & { owner: string; now: number },
): Steps<{ leased: LeasedDelivery[]; nextAt: number | null }> {
  const waiting = yield* findLanes(db);
  const abandoned = yield* findAbandoned(db, now);
  const dueAt = (id: string) => Math.min(waiting.get(id) ?? Infinity, abandoned.get(id) ?? Infinity);
  const dueIds = [...new Set([...waiting.keys(), ...abandoned.keys()])].filter((id) => dueAt(id) <= now);
  const rows = yield* readLanes(db, dialect, dueIds, now);
  const due = rows.map((row) => toLane(row, dueAt(row.id)));
  const shares = share(due);
  const targets = yield* readTargets(db, dialect, rows, shares, now);

  const taken: Taken[] = [];
  const counts = new Map<string, number>();
  for (const [endpointId, quota] of shares.quotas) {
    const ownTimeout = targets.get(endpointId)?.endpoint.timeoutMs ?? null;
    const fromLane = yield* takeFromLane(db, dialect, {
      endpointId,
      abandoned: abandoned.has(endpointId),
      quota,
      owner,
      now,
      until: now + (ownTimeout === null ? leaseMs : Math.max(leaseMs, ownTimeout + SETTLING_MS)),
    });
    counts.set(endpointId, fromLane.length);
    taken.push(...fromLane);
  }
  yield* spendRates(db, due, counts, now);

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
  const later = [...waiting.values()].filter((firstDue) => firstDue > now);
  if (shares.nextAt !== null) later.push(shares.nextAt);
  return { leased, nextAt: earliest(later) };
}

interface LaneRow extends EndpointRow {
  in_flight: number;
  tenant_rate_per_second: number | null;
  tenant_rate_burst: number | null;
  tenant_rate_used: number | null;
}

/** Lanes, each with the time when its first delivery that nobody holds was or is due. */
function* findLanes(db: Kysely<Tables>): Steps<Map<string, number>> {
  const found = yield* rawRows(
    db,
    sql<{ id: string; first_due: number }>`
      ${lanesOf(WAITING_ROWS)}
      select lane.id,
        (select min(due_at) from hookplane_deliveries where endpoint_id = lane.id and ${WAITING_ROWS}) as first_due
      from lane where lane.id is not null and ${IS_ACTIVE}`,
  );
  return new Map(found.map((row) => [row.id, row.first_due]));
}

/** The same for what is leased for longer than its lease, of which there is hardly ever any. */
function* findAbandoned(db: Kysely<Tables>, now: number): Steps<Map<string, number>> {
  const found = yield* rawRows(
    db,
    sql<{ id: string; first_due: number | null }>`
      ${lanesOf(LEASED_ROWS)}
      select lane.id,
        (select min(due_at) from hookplane_deliveries where endpoint_id = lane.id and lease_until <= ${now}) as first_due
      from lane where lane.id is not null and ${IS_ACTIVE}`,
  );
  return new Map(found.flatMap((row) => (row.first_due === null ? [] : [[row.id, row.first_due]])));
}

/** What sharing has to know of lanes. */
function* readLanes(
  db: Kysely<Tables>,
  dialect: SqlDialect,
  endpointIds: readonly string[],
  now: number,
): Steps<LaneRow[]> {
  if (endpointIds.length === 0) return [];
  const ids = dialect.jsonRows(
    endpointIds.map((id) => [id]),
    { id: 'text' },
  );
  return yield* rawRows(
    db,
    sql<LaneRow>`
      select e.*, t.rate_per_second as tenant_rate_per_second, t.rate_burst as tenant_rate_burst,
        t.rate_used as tenant_rate_used,
        (select count(*) from hookplane_deliveries where endpoint_id = e.id and lease_until > ${now}) as in_flight
      from hookplane_endpoints e left join hookplane_tenants t on t.id = e.tenant_id
      where e.id in (select id from ${ids} as r) and e.status = 'active'
      order by e.id`,
  );
}

/** Not by spreading into Math.min, which fails on very many. */
function earliest(times: readonly number[]): number | null {
  return times.reduce<number | null>((first, time) => (first === null || time < first ? time : first), null);
}

function toLane(row: LaneRow, dueAt: number): Lane {
  return {
    endpointId: row.id,
    tenantId: row.tenant_id,
    dueAt,
    slowUntil: row.slow_until,
    slowStep: row.slow_step,
    inFlight: row.in_flight,
    maxInFlight: row.max_in_flight,
    rateLimit: toRateLimit(row.rate_per_second, row.rate_burst),
    rateUsed: row.rate_used,
    tenantRateLimit: toRateLimit(row.tenant_rate_per_second, row.tenant_rate_burst),
    tenantRateUsed: row.tenant_rate_used,
  };
}

interface Taken {
  message_id: string;
  endpoint_id: string;
  fence: number;
  takeovers: number;
  taken_over: number;
  attempt_count: number;
  schedule_step: number;
  trigger: AttemptTrigger;
  webhook_id: string | null;
  due_at: number;
  expires_at: number;
}

const LEASED: BulkUpdate = {
  table: 'hookplane_deliveries',
  set: { lease_owner: 'text', lease_until: 'integer', fence: 'integer', takeovers: 'integer' },
  key: { message_id: 'text', endpoint_id: 'text' },
};

/** Finds, then marks: on SQLite a tenth of what one `update … where … in (select …) returning …` costs. */
function* takeFromLane(
  db: Kysely<Tables>,
  dialect: SqlDialect,
  lane: { endpointId: string; abandoned: boolean; quota: number; owner: string; now: number; until: number },
): Steps<Taken[]> {
  const takenOver = sql`case when lease_owner <> ${lane.owner} then 1 else 0 end`;
  function* find(rows: RawBuilder<unknown>, quota: number): Steps<Taken[]> {
    return yield* rawRows(
      db,
      sql<Taken>`
        select message_id, endpoint_id, fence + 1 as fence, takeovers + ${takenOver} as takeovers,
          ${takenOver} as taken_over, attempt_count, schedule_step, "trigger", webhook_id, due_at, expires_at
        from hookplane_deliveries where endpoint_id = ${lane.endpointId} and ${rows}
        limit ${quota} ${dialect.skipLocked}`,
    );
  }
  const found = lane.abandoned
    ? yield* find(sql`lease_until <= ${lane.now} order by lease_until`, lane.quota)
    : [];
  if (found.length < lane.quota) {
    const waiting = sql`${WAITING_ROWS} and due_at <= ${lane.now} order by due_at`;
    found.push(...(yield* find(waiting, lane.quota - found.length)));
  }
  yield* updateRows(
    LEASED,
    found.map((row) => [lane.owner, lane.until, row.fence, row.takeovers, row.message_id, row.endpoint_id]),
  );
  return found;
}

/** The endpoints of the lanes that have a share, with the secrets that sign at this moment. */
function* readTargets(
  db: Kysely<Tables>,
  dialect: SqlDialect,
  rows: readonly LaneRow[],
  { quotas }: Shares,
  now: number,
): Steps<Map<string, DeliveryTarget>> {
  const targets = new Map<string, DeliveryTarget>();
  for (const row of rows) {
    if (!quotas.has(row.id)) continue;
    targets.set(row.id, {
      endpoint: toEndpoint(row),
      secrets: [],
      failingSince: row.failing_since,
      slowStep: row.slow_step,
    });
  }
  if (targets.size === 0) return targets;
  const ids = dialect.jsonRows(
    [...targets.keys()].map((id) => [id]),
    { id: 'text' },
  );
  const secrets = yield* rawRows(
    db,
    sql<{ endpoint_id: string; id: string; secret: string }>`
    select s.endpoint_id, s.id, s.secret from hookplane_endpoint_secrets s
    where s.endpoint_id in (select id from ${ids} as r) and (s.expires_at is null or s.expires_at > ${now})
    order by s.created_at desc, s.id desc`,
  );
  for (const { endpoint_id, ...secret } of secrets) targets.get(endpoint_id)?.secrets.push(secret);
  return targets;
}

function* readMessages(
  db: Kysely<Tables>,
  dialect: SqlDialect,
  taken: readonly Taken[],
): Steps<Map<string, LeasedDelivery['message']>> {
  if (taken.length === 0) return new Map();
  const ids = dialect.jsonRows(
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
