import { type RawBuilder, sql } from 'kysely';

/** Deliveries that wait, and deliveries that are leased: together all that is owed. Each has an index by endpoint. */
export const WAITING_ROWS = sql`status = 'pending' and lease_until is null`;
export const LEASED_ROWS = sql`lease_until is not null`;

/**
 * What waits for one endpoint. A due time is never negative: that it is said makes SQLite, to which the index of an
 * endpoint's deliveries of all times is as good, go by the one of those that wait.
 */
export function waitingFor(endpointId: RawBuilder<unknown> | string): RawBuilder<unknown> {
  return sql`endpoint_id = ${endpointId} and ${WAITING_ROWS} and due_at >= 0`;
}

/**
 * Holds of an active endpoint's lane. That a paused one's is passed over is all that holds its deliveries. A value that is
 * looked up, and not an `exists`, which PostgreSQL may make a join of each lane with every endpoint.
 */
export const IS_ACTIVE = sql`(select status from hookplane_endpoints where id = lane.id) = 'active'`;

/** Begins a statement with `lane`, the endpoints that have such rows, and a null at its end. */
export function lanesOf(rows: RawBuilder<unknown>): RawBuilder<unknown> {
  return sql`with recursive ${lanesNamed('lane', rows)}`;
}

/**
 * The same under a name, for a `with recursive`. It hops from endpoint to endpoint over the index, one look-up each,
 * however many rows each has.
 */
export function lanesNamed(name: string, rows: RawBuilder<unknown>): RawBuilder<unknown> {
  const lane = sql.raw(name);
  return sql`${lane}(id) as (
      select min(endpoint_id) from hookplane_deliveries where ${rows}
      union all
      select (select min(endpoint_id) from hookplane_deliveries where ${rows} and endpoint_id > ${lane}.id)
      from ${lane} where ${lane}.id is not null)`;
}
