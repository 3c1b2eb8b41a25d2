import { type Kysely, sql } from 'kysely';
import type { EndpointStore, TenantScope } from '../store.js';
import type { SqlContext } from './dialect.js';
import { endingAt } from './page-bounds.js';
import { toAttempt, toPage } from './rows.js';
import type { Tables } from './schema.js';
import { firstOf, rowsOf, type Steps } from './steps.js';

/** What an endpoint was sent: a walk and a count over the index of attempts by endpoint. */
export function endpointAttempts({ read }: SqlContext): Pick<EndpointStore, 'attempts' | 'durations'> {
  return {
    attempts: ({ tenant, endpointId, status, since, until, after, limit }) =>
      read(function* (db) {
        if (!(yield* isVisible(db, tenant, endpointId))) return null;
        let query = db.selectFrom('hookplane_attempts').selectAll().where('endpoint_id', '=', endpointId);
        // Written out: the index of those that failed serves only a statement that is seen to ask for them.
        if (status === 'failed') query = query.where(sql<boolean>`status = 'failed'`);
        else if (status !== undefined) query = query.where('status', '=', status);
        if (since !== undefined) query = query.where('started_at', '>=', since);
        if (until !== undefined) query = query.where('started_at', '<', endingAt(until, after));
        if (after) query = query.where(sql<boolean>`(started_at, id) < (${after.ms}, ${after.id})`);
        const rows = yield* rowsOf(
          query
            .orderBy('started_at', 'desc')
            .orderBy('id', 'desc')
            .limit(limit + 1),
        );
        return toPage(rows, limit, (row) => ({ ms: row.started_at, id: row.id }), toAttempt);
      }),

    durations: ({ endpointId, since, until, stepMs }) =>
      read(function* (db) {
        const step = sql.lit(stepMs);
        const rows = yield* rowsOf(
          db
            .selectFrom('hookplane_attempts')
            .select((eb) => [
              sql<number>`started_at / ${step} * ${step}`.as('start'),
              'status',
              'duration_ms',
              eb.fn.countAll<number>().as('count'),
            ])
            .where('endpoint_id', '=', endpointId)
            .where('started_at', '>=', since)
            .where('started_at', '<', until)
            .groupBy([sql`1`, 'status', 'duration_ms']),
        );
        // Some drivers give 64-bit numbers as text.
        return rows.map((row) => ({
          start: Number(row.start),
          status: row.status,
          durationMs: Number(row.duration_ms),
          count: Number(row.count),
        }));
      }),
  };
}

function* isVisible(db: Kysely<Tables>, tenant: TenantScope, endpointId: string): Steps<boolean> {
  const found = db.selectFrom('hookplane_endpoints').select('id').where('id', '=', endpointId);
  const query = tenant === undefined ? found : found.where('tenant_id', '=', tenant);
  return (yield* firstOf(query)) !== undefined;
}
