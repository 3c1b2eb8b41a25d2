import { type Kysely, sql } from 'kysely';
import type { Lane } from '../store.js';
import type { SqlDialect } from './dialect.js';
import { IS_ACTIVE, LEASED_ROWS, lanesOf, WAITING_ROWS } from './lanes.js';
import { lockFree } from './locks.js';
import { toRateLimit } from './rows.js';
import type { EndpointRow, Tables } from './schema.js';
import { rawRows, type Steps } from './steps.js';

/**
 * What sharing has to know of the lanes of these endpoints, and what a delivery has to know of its endpoint. A paused
 * endpoint's lane is passed over, which is all that holds its deliveries; and so is one with a limit that another worker
 * counts at this moment.
 */
export function* readDueLanes(
  db: Kysely<Tables>,
  dialect: SqlDialect,
  endpointIds: readonly string[],
  now: number,
): Steps<{ rows: LaneRow[]; passedOver: boolean }> {
  const rows = yield* readLanes(db, dialect, endpointIds, now);
  const limited = dialect.concurrent ? rows.filter((row) => countsOwn(row) || countsTenant(row)) : [];
  if (limited.length === 0) return { rows, passedOver: false };
  const tenants = yield* lockFree(db, dialect, 'hookplane_tenants', [
    ...new Set(limited.flatMap((row) => (countsTenant(row) ? (row.tenant_id ?? []) : []))),
  ]);
  const own = limited.filter(countsOwn).map(({ id }) => id);
  const endpoints = yield* lockFree(db, dialect, 'hookplane_endpoints', own);
  const free = limited.filter(
    (row) =>
      (!countsOwn(row) || endpoints.has(row.id)) && (!countsTenant(row) || tenants.has(row.tenant_id ?? '')),
  );
  // Read again under the lock: what another worker has counted until then is seen.
  const counted = yield* readLanes(
    db,
    dialect,
    free.map(({ id }) => id),
    now,
  );
  const current = new Map(counted.map((row) => [row.id, row]));
  const counts = new Set(limited.map(({ id }) => id));
  return {
    rows: rows.flatMap((row) => (counts.has(row.id) ? (current.get(row.id) ?? []) : row)),
    passedOver: free.length < limited.length,
  };
}

function countsOwn(row: LaneRow): boolean {
  // One at a time goes to an endpoint that has asked to be left alone.
  return row.rate_per_second !== null || row.max_in_flight !== null || row.slow_step > 0;
}

function countsTenant(row: LaneRow): boolean {
  return row.tenant_rate_per_second !== null;
}

export interface LaneRow extends EndpointRow {
  in_flight: number;
  tenant_rate_per_second: number | null;
  tenant_rate_burst: number | null;
  tenant_rate_used: number | null;
}

/** Lanes, each with the time when its first delivery that nobody holds was or is due. */
export function* findLanes(db: Kysely<Tables>): Steps<Map<string, number>> {
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
export function* findAbandoned(db: Kysely<Tables>, now: number): Steps<Map<string, number>> {
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

function* readLanes(
  db: Kysely<Tables>,
  dialect: SqlDialect,
  endpointIds: readonly string[],
  now: number,
): Steps<LaneRow[]> {
  if (endpointIds.length === 0) return [];
  const ids = dialect.tableOf(
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

export function toLane(row: LaneRow, dueAt: number): Lane {
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
