import { type Kysely, type RawBuilder, sql } from 'kysely';
import type { DepthSample, DepthStore, Owed, OwedPosition } from '../store.js';
import type { SqlContext } from './context.js';
import type { SqlDialect } from './dialect.js';
import { LEASED_ROWS, WAITING_ROWS } from './lanes.js';
import { holdTenants } from './locks.js';
import { REMOVAL_ROWS, removeBatch } from './removal.js';
import type { Tables } from './schema.js';
import { firstOf, rawChanges, rawRows, type Steps } from './steps.js';

/** In place of a tenant's id, which is never empty: all together, those without a tenant too. */
const TOTAL = '';

export function depthStore({ read, writeRelaxed, dialect }: SqlContext): DepthStore {
  return {
    has: (at) =>
      read(function* (db) {
        const taken = yield* firstOf(
          db
            .selectFrom('hookplane_depth_samples')
            .select('at')
            .where('tenant_id', '=', TOTAL)
            .where('at', '=', at),
        );
        return taken !== undefined;
      }),

    owed: (after, limit) => read((db) => countOwed(db, after, limit)),

    add: ({ at, countedAt, tenants, total }) =>
      writeRelaxed(function* (db) {
        const ids = tenants.map(({ tenantId }) => tenantId);
        yield* holdTenants(db, dialect, ids);
        const rows = tenants.map((each) => [each.tenantId, each.depth, each.oldestAgeMs]);
        if (rows.length > 0)
          yield* insertSamples(
            db,
            at,
            sql`${samplesTable(dialect, rows)} join hookplane_tenants t on t.id = r.tenant_id
            where t.created_at <= ${countedAt}`,
          );
        if (total) {
          const row = [TOTAL, total.depth, total.oldestAgeMs];
          yield* insertSamples(db, at, sql`${samplesTable(dialect, [row])} where true`);
        }
      }),

    highest: ({ tenant, since, until, stepMs }) =>
      read(function* (db) {
        const step = sql.lit(stepMs);
        const highestOf = function* (which: RawBuilder<unknown>): Steps<(DepthSample & { start: number })[]> {
          const rows = yield* rawRows(
            db,
            sql<{ start: number; depth: number; oldest_age_ms: number }>`
            select at / ${step} * ${step} as start, max(depth) as depth, max(oldest_age_ms) as oldest_age_ms
            from hookplane_depth_samples where ${which} and at >= ${since} and at < ${until} group by 1 order by 1`,
          );
          return rows.map(({ start, depth, oldest_age_ms: oldestAgeMs }) => ({ start, depth, oldestAgeMs }));
        };
        const total = yield* highestOf(sql`tenant_id = ${TOTAL}`);
        if (tenant === undefined) return total;
        // What is left of a tenant that had this id was sampled before this one was made.
        const own = yield* highestOf(
          sql`tenant_id = ${tenant} and at >= (select created_at from hookplane_tenants where id = ${tenant})`,
        );
        const byStart = new Map(own.map((sample) => [sample.start, sample]));
        return total.map(({ start }) => byStart.get(start) ?? { start, depth: 0, oldestAgeMs: 0 });
      }),

    removeBefore: (before) => writeRelaxed((db) => removeSamples(db, dialect, sql`at < ${before}`)),
  };
}

/** Goes through the index of what waits, which has nothing else, so that what a call costs does not grow with it. */
function* countOwed(
  db: Kysely<Tables>,
  after: OwedPosition | null,
  limit: number,
): Steps<{ rows: Owed[]; next: OwedPosition | null }> {
  const from = after ?? { endpointId: '', dueAt: 0 };
  const waiting = sql`${WAITING_ROWS} and (endpoint_id, due_at) >= (${from.endpointId}, ${from.dueAt})`;
  const [behind] = yield* rawRows(
    db,
    sql<{ endpoint_id: string; due_at: number }>`
    select endpoint_id, due_at from hookplane_deliveries where ${waiting}
    order by endpoint_id, due_at limit 1 offset ${limit}`,
  );
  const next = behind ? { endpointId: behind.endpoint_id, dueAt: behind.due_at } : null;
  // Those of one moment are counted together, should there be more of them.
  if (next?.endpointId === from.endpointId && next.dueAt === from.dueAt) next.dueAt += 1;
  const upTo = next ? sql`and (endpoint_id, due_at) < (${next.endpointId}, ${next.dueAt})` : sql``;
  const inFlight = sql`
    union all
    select endpoint_id, count(*), min(due_at) from hookplane_deliveries where ${LEASED_ROWS} group by endpoint_id`;
  // A cross join keeps SQLite to this order.
  const rows = yield* rawRows(
    db,
    sql<{ tenant_id: string | null; depth: number; oldest: number }>`
    select e.tenant_id, sum(o.depth) as depth, min(o.oldest) as oldest
    from (
      select endpoint_id, count(*) as depth, min(due_at) as oldest from hookplane_deliveries
      where ${waiting} ${upTo} group by endpoint_id
      ${after ? sql`` : inFlight}) as o
    cross join hookplane_endpoints e
    where e.id = o.endpoint_id and e.status = 'active' group by e.tenant_id`,
  );
  return {
    rows: rows.map(({ tenant_id: tenantId, depth, oldest: oldestDueAt }) => ({
      tenantId,
      depth,
      oldestDueAt,
    })),
    next,
  };
}

function samplesTable(dialect: SqlDialect, rows: readonly (readonly unknown[])[]): RawBuilder<unknown> {
  return sql`${dialect.tableOf(rows, { tenant_id: 'text', depth: 'integer', age: 'integer' })} as r`;
}

function* insertSamples(db: Kysely<Tables>, at: number, from: RawBuilder<unknown>): Steps<void> {
  yield* rawChanges(
    db,
    sql`
    insert into hookplane_depth_samples (tenant_id, at, depth, oldest_age_ms)
    select r.tenant_id, ${at}, r.depth, r.age from ${from} on conflict do nothing`,
  );
}

/** Removes a batch of samples; answers whether there may be more. */
function* removeSamples(db: Kysely<Tables>, dialect: SqlDialect, which: RawBuilder<unknown>): Steps<boolean> {
  const removed = yield* removeBatch(
    db,
    dialect,
    'hookplane_depth_samples',
    ['tenant_id', 'at'],
    which,
    REMOVAL_ROWS,
  );
  return removed === REMOVAL_ROWS;
}

/** Removes a batch of a tenant's samples up to a time; answers whether there may be more. */
export function removeSamplesOf(
  db: Kysely<Tables>,
  dialect: SqlDialect,
  tenantId: string | null,
  upTo: number,
): Steps<boolean> {
  return removeSamples(db, dialect, sql`tenant_id = ${tenantId} and at <= ${upTo}`);
}
