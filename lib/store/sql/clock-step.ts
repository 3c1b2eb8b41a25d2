import { type Kysely, sql } from 'kysely';
import type { SqlDialect } from './dialect.js';
import { LEASED_ROWS, lanesOf, WAITING_ROWS } from './lanes.js';
import type { Tables } from './schema.js';
import { changesOf, rawChanges, rawRows, type Steps } from './steps.js';

/** Smaller steps are waited out. */
const NOTICEABLE_MS = 10_000;
/** Longer than a worker goes without renewing its leases: none that lives loses one to the correction. */
const SAFE_LEASE_MS = 15_000;

/**
 * Notices by a sign of life from the future that the clock was set back, and sets back with it what was reckoned by the
 * old one: it would otherwise wait until the clock is there again, a day if it was a day. What was reckoned by the new
 * one in the meantime cannot always be told apart; a retry of that moment may then come early.
 */
export function* followClock(db: Kysely<Tables>, dialect: SqlDialect, now: number): Steps<void> {
  // Locked: of several workers that notice, one sets back, and the others then find nothing of the future any more.
  const ahead = yield* rawRows(
    db,
    sql<{ heartbeat_at: number }>`
    select heartbeat_at from hookplane_workers where heartbeat_at >= ${now + NOTICEABLE_MS}
    order by id ${dialect.forUpdate()}`,
  );
  if (ahead.length === 0) return;
  const step = ahead.reduce((latest, row) => Math.max(latest, row.heartbeat_at), now) - now;
  yield* rawChanges(
    db,
    sql`
    update hookplane_deliveries set due_at = due_at - ${step}
    where (message_id, endpoint_id) in (
      ${lanesOf(WAITING_ROWS)}
      select d.message_id, d.endpoint_id
      from lane join hookplane_deliveries d on d.endpoint_id = lane.id and d.status = 'pending' and d.lease_until is null
        and d.due_at > ${now})`,
  );
  yield* rawChanges(
    db,
    sql`
    update hookplane_deliveries
    set lease_until = case when lease_until > ${now + step + SAFE_LEASE_MS} then lease_until - ${step}
      else ${now + SAFE_LEASE_MS} end
    where ${LEASED_ROWS} and lease_until > ${now + step}`,
  );
  yield* changesOf(
    db
      .updateTable('hookplane_endpoints')
      .set((eb) => ({ slow_until: eb('slow_until', '-', step) }))
      .where('slow_until', '>', now),
  );
  // A bucket is never emptier than this.
  const tooEmpty = sql<boolean>`rate_used > ${now} + rate_burst * 1000.0 / rate_per_second`;
  for (const table of ['hookplane_endpoints', 'hookplane_tenants'] as const) {
    yield* changesOf(
      db
        .updateTable(table)
        .set((eb) => ({ rate_used: eb('rate_used', '-', step) }))
        .where(tooEmpty),
    );
  }
  // While something is left of a tenant, it is known by this time: only then may it be used again.
  yield* changesOf(
    db
      .updateTable('hookplane_deleted_tenants')
      .set({ at: now })
      .where('tenant_id', 'is', null)
      .where('at', '>', now),
  );
  // The minutes that come again are sampled again.
  yield* changesOf(db.deleteFrom('hookplane_depth_samples').where('at', '>', now));
  // Of all, those of the dead too, so that nobody notices it again.
  yield* changesOf(
    db.updateTable('hookplane_workers').set({ heartbeat_at: now }).where('heartbeat_at', '>', now),
  );
}
