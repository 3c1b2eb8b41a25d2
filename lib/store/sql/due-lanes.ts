import { type Kysely, type RawBuilder, sql } from 'kysely';
import type { Lane } from '../store.js';
import type { SqlDialect } from './dialect.js';
import { IS_ACTIVE, LEASED_ROWS, lanesNamed, waitingFor, WAITING_ROWS } from './lanes.js';
import { lockFree } from './locks.js';
import type { KnownEndpoint } from './endpoint-cache.js';
import { toRateLimit } from './rows.js';
import type { EndpointRow, Tables } from './schema.js';
import { rawRows, type Steps } from './steps.js';

/** A lane, and what a lease has to know of its endpoint. */
export interface DueLane extends Lane, Pick<EndpointRow, 'revision'> {
  failingSince: number | null;
}

export interface DueLanes {
  lanes: DueLane[];
  /** Those that have something that is leased for longer than its lease. */
  abandoned: Set<string>;
  /** When something else will be due. */
  nextAt: number | null;
}

/**
 * The lanes with due work, as sharing has to know them. A paused endpoint's lane is passed over, which is all that holds
 * its deliveries.
 */
export function* findDueLanes(db: Kysely<Tables>, now: number): Steps<DueLanes> {
  const found = yield* findLanes(db, now);
  const lanes = new Map<string, DueLane>();
  const abandoned = new Set<string>();
  let nextAt: number | null = null;
  for (const row of found) {
    if (row.id === null) {
      nextAt = row.first_due;
      continue;
    }
    if (row.abandoned) abandoned.add(row.id);
    const known = lanes.get(row.id);
    if (!known || row.first_due < known.dueAt) lanes.set(row.id, toLane(row));
  }
  return { lanes: [...lanes.values()], abandoned, nextAt };
}

/** Whether what is leased of the lane counts against a limit. */
export function isLimited(lane: Lane): boolean {
  // One at a time goes to an endpoint that has asked to be left alone.
  return countsOwn(lane) || lane.tenantRateLimit !== null;
}

/** Whether nothing more may be in flight, as far as is known without the lock. */
export function isFull({ maxInFlight, slowStep, inFlight }: Lane): boolean {
  return (maxInFlight !== null && inFlight >= maxInFlight) || (slowStep > 0 && inFlight > 0);
}

function countsOwn(lane: Lane): boolean {
  return lane.rateLimit !== null || lane.maxInFlight !== null || lane.slowStep > 0;
}

/**
 * Keeps other workers from counting these lanes with limits until the transaction ends, and reads them again: what others
 * have counted until then is seen. Without those that another counts at this moment, and those that are not active any
 * more.
 */
export function* holdLimits(
  db: Kysely<Tables>,
  dialect: SqlDialect,
  lanes: readonly DueLane[],
  now: number,
): Steps<DueLane[]> {
  const tenantIds = lanes.flatMap((lane) => (lane.tenantRateLimit ? (lane.tenantId ?? []) : []));
  const tenants = yield* lockFree(db, dialect, 'hookplane_tenants', tenantIds);
  const own = lanes.filter(countsOwn).map(({ endpointId }) => endpointId);
  const endpoints = yield* lockFree(db, dialect, 'hookplane_endpoints', own);
  const held = lanes.filter(
    (lane) =>
      (!countsOwn(lane) || endpoints.has(lane.endpointId)) &&
      (!lane.tenantRateLimit || tenants.has(lane.tenantId ?? '')),
  );
  if (held.length === 0) return [];
  const ids = dialect.tableOf(
    held.map(({ endpointId, dueAt }) => [endpointId, dueAt]),
    { id: 'text', first_due: 'integer' },
  );
  const active = sql`(select id, first_due from ${ids} as lane where ${IS_ACTIVE})`;
  const rows = yield* rawRows(db, sql<LaneRow>`${lanesAs(active, now)}`);
  return rows.map(toLane);
}

/**
 * Which of these endpoints are there, and which of their lanes are open: active, nothing in them is due, and they have no
 * limit that counts.
 */
export function* readLanes(
  db: Kysely<Tables>,
  ids: RawBuilder<unknown>,
  now: number,
): Steps<{ present: Set<string>; open: DueLane[] }> {
  const free = sql`case when ${isFree(now)} then 1 else 0 end`;
  const named = sql`(select id, ${now} as first_due, ${free} as free from ${ids} as lane)`;
  const rows = yield* rawRows(db, sql<LaneRow & { free: number }>`${lanesAs(named, now)}`);
  const there = rows.filter(({ revision }) => revision !== null);
  return {
    present: new Set(there.map(({ id }) => id)),
    open: there
      .filter(({ free }) => free === 1)
      .map(toLane)
      .filter((lane) => !isLimited(lane)),
  };
}

/** Holds of an active endpoint's lane in which nothing is due. */
function isFree(now: number): RawBuilder<boolean> {
  return sql`${IS_ACTIVE} and not exists (
    select 1 from hookplane_deliveries where ${waitingFor(sql`lane.id`)} and due_at <= ${now})`;
}

/** The lane of an endpoint as it mostly is: open, and nothing has failed of late. */
export function openLane({ endpoint, revision }: KnownEndpoint, now: number): DueLane {
  return {
    endpointId: endpoint.id,
    tenantId: endpoint.tenantId,
    revision,
    failingSince: null,
    dueAt: now,
    slowUntil: null,
    slowStep: 0,
    inFlight: 0,
    maxInFlight: null,
    rateLimit: null,
    rateUsed: null,
    tenantRateLimit: null,
    tenantRateUsed: null,
  };
}

/**
 * Holds while the lanes of these endpoints are as {@link openLane} says. Limits of an endpoint's own are none of it: with
 * them goes another revision.
 */
export function areOpen(
  dialect: SqlDialect,
  endpointIds: readonly string[],
  now: number,
): RawBuilder<boolean> {
  const ids = dialect.tableOf(
    endpointIds.map((id) => [id]),
    { id: 'text' },
  );
  return sql`(select count(*) from ${ids} as lane join hookplane_endpoints e on e.id = lane.id
    left join hookplane_tenants t on t.id = e.tenant_id
    where ${isFree(now)} and e.failing_since is null and e.slow_step = 0 and t.rate_per_second is null)
    = ${endpointIds.length}`;
}

interface LaneRow
  extends Pick<
    EndpointRow,
    | 'id'
    | 'tenant_id'
    | 'revision'
    | 'failing_since'
    | 'slow_until'
    | 'slow_step'
    | 'max_in_flight'
    | 'rate_per_second'
    | 'rate_burst'
    | 'rate_used'
  > {
  first_due: number;
  /** null where no limit asks for it. */
  in_flight: number | null;
  tenant_rate_per_second: number | null;
  tenant_rate_burst: number | null;
  tenant_rate_used: number | null;
}

/**
 * Lanes that are due, each with the time since when it is; one that has both what nobody holds and what is leased for
 * longer than its lease, twice. A row without an id tells when the first of the others will be due.
 */
function* findLanes(db: Kysely<Tables>, now: number): Steps<(DueRow | NextDue)[]> {
  return yield* rawRows(
    db,
    sql<DueRow | NextDue>`
      with recursive ${lanesNamed('waiting', WAITING_ROWS)}, ${lanesNamed('leased', LEASED_ROWS)},
      lanes(id, first_due, abandoned) as materialized (
        select lane.id,
          (select min(due_at) from hookplane_deliveries where endpoint_id = lane.id and ${WAITING_ROWS}), 0
        from waiting as lane where lane.id is not null and ${IS_ACTIVE}
        union all
        select lane.id,
          (select min(due_at) from hookplane_deliveries where endpoint_id = lane.id and lease_until <= ${now}), 1
        from leased as lane where lane.id is not null and ${IS_ACTIVE})
      ${lanesAs(
        sql`(
        select id, first_due, abandoned from lanes where first_due <= ${now}
        union all
        select null, min(first_due), 0 from lanes where first_due > ${now})`,
        now,
      )}`,
  );
}

type DueRow = LaneRow & { abandoned: number };
type NextDue = { id: null; first_due: number | null; abandoned: number };

function lanesAs(lanes: RawBuilder<unknown>, now: number): RawBuilder<unknown> {
  return sql`
      select lane.*, e.tenant_id, e.revision, e.failing_since, e.slow_until, e.slow_step, e.max_in_flight,
        e.rate_per_second, e.rate_burst, e.rate_used, t.rate_per_second as tenant_rate_per_second,
        t.rate_burst as tenant_rate_burst, t.rate_used as tenant_rate_used,
        case when e.max_in_flight is not null or e.slow_step > 0 then
          (select count(*) from hookplane_deliveries where endpoint_id = e.id and lease_until > ${now}) end as in_flight
      from ${lanes} as lane left join hookplane_endpoints e on e.id = lane.id
      left join hookplane_tenants t on t.id = e.tenant_id`;
}

function toLane(row: LaneRow): DueLane {
  return {
    endpointId: row.id,
    tenantId: row.tenant_id,
    revision: row.revision,
    failingSince: row.failing_since,
    dueAt: row.first_due,
    slowUntil: row.slow_until,
    slowStep: row.slow_step,
    inFlight: row.in_flight ?? 0,
    maxInFlight: row.max_in_flight,
    rateLimit: toRateLimit(row.rate_per_second, row.rate_burst),
    rateUsed: row.rate_used,
    tenantRateLimit: toRateLimit(row.tenant_rate_per_second, row.tenant_rate_burst),
    tenantRateUsed: row.tenant_rate_used,
  };
}
