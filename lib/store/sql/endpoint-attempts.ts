import { type Kysely, type SelectQueryBuilder, sql } from 'kysely';
import { firstIdAt } from '../../model/ids.js';
import type { Attempt } from '../../model/message.js';
import type { DurationCount } from '../../model/stats.js';
import type { EndpointStore, TenantScope } from '../store.js';
import { boundedPage, unindexed } from './bounded-page.js';
import type { SqlContext } from './context.js';
import { boundsOf } from './page-bounds.js';
import { positionOf, toAttempt } from './rows.js';
import type { AttemptRow, Tables } from './schema.js';
import { firstOf, rowsOf, type Steps } from './steps.js';

/** What endpoints were sent: walks and counts over the index of attempts by endpoint. */
export function endpointAttempts({
  read,
  walk,
}: SqlContext): Pick<EndpointStore, 'attempts' | 'durations' | 'durationsOfAll'> {
  return {
    attempts: ({ tenant, endpointId, status, limit, ...range }) =>
      walk(function* (db) {
        if (!(yield* isVisible(db, tenant, endpointId))) return null;
        return yield* boundedPage<AttemptRow, Attempt>(db, {
          ways: [
            {
              table: sql`hookplane_attempts`,
              key: 'id',
              ranges: [{ endpoint_id: endpointId }],
              where: status === 'failed' ? [sql`status = 'failed'`] : [],
              rest: status === 'succeeded' ? [sql`${unindexed('status')} = 'succeeded'`] : [],
            },
          ],
          columns: sql`hookplane_attempts.*`,
          bounds: boundsOf('att', range),
          limit,
          toItem: toAttempt,
        });
      }),

    durations: ({ endpointId, ...range }) =>
      read((db) =>
        countDurations(
          db,
          began(db.selectFrom('hookplane_attempts as a').where('a.endpoint_id', '=', endpointId), range),
          range.stepMs,
        ),
      ),

    durationsOfAll: ({ tenant, after, limit, most, ...range }) =>
      read(function* (db) {
        const last = yield* firstOf(
          everyEndpoint(db, tenant, after?.id, undefined)
            .orderBy('id')
            .limit(1)
            .offset(limit - 1),
        );
        // A cross join keeps SQLite to this order: endpoints first, and of each the range of the index.
        const attempts = db
          .selectFrom(everyEndpoint(db, tenant, after?.id, last?.id).as('e'))
          .crossJoin('hookplane_attempts as a')
          .whereRef('a.endpoint_id', '=', 'e.id');
        const rows = yield* countDurations(db, began(attempts, range).limit(most + 1), range.stepMs);
        const total = rows.reduce((sum, { count }) => sum + count, 0);
        return { rows: total > most ? null : rows, next: last ? positionOf(last.id) : null };
      }),
  };
}

type Attempts = SelectQueryBuilder<Tables & { a: Tables['hookplane_attempts'] }, 'a', object>;

function began(attempts: Attempts, { since, until }: { since: number; until: number }) {
  return attempts
    .select(['a.started_at', 'a.status', 'a.duration_ms'])
    .where('a.id', '>=', firstIdAt('att', since))
    .where('a.id', '<', firstIdAt('att', until));
}

function* countDurations(
  db: Kysely<Tables>,
  attempts: ReturnType<typeof began>,
  stepMs: number,
): Steps<(DurationCount & { start: number })[]> {
  const step = sql.lit(stepMs);
  const rows = yield* rowsOf(
    db
      .selectFrom(attempts.as('a'))
      .select((eb) => [
        sql<number>`a.started_at / ${step} * ${step}`.as('start'),
        'a.status',
        'a.duration_ms',
        eb.fn.countAll<number>().as('count'),
      ])
      .groupBy([sql`1`, 'a.status', 'a.duration_ms']),
  );
  // Some drivers give 64-bit numbers as text.
  return rows.map((row) => ({
    start: Number(row.start),
    status: row.status,
    durationMs: Number(row.duration_ms),
    count: Number(row.count),
  }));
}

/** Endpoints behind one and up to another, deleted ones among them. */
function everyEndpoint(
  db: Kysely<Tables>,
  tenant: TenantScope,
  after: string | undefined,
  upTo: string | undefined,
) {
  const those = (table: 'hookplane_endpoints' | 'hookplane_deleted_endpoints') => {
    let query = db.selectFrom(table).select('id');
    if (tenant !== undefined) query = query.where('tenant_id', '=', tenant);
    if (after) query = query.where('id', '>', after);
    if (upTo) query = query.where('id', '<=', upTo);
    return query;
  };
  return those('hookplane_endpoints').unionAll(those('hookplane_deleted_endpoints'));
}

function* isVisible(db: Kysely<Tables>, tenant: TenantScope, endpointId: string): Steps<boolean> {
  const found = db.selectFrom('hookplane_endpoints').select('id').where('id', '=', endpointId);
  const query = tenant === undefined ? found : found.where('tenant_id', '=', tenant);
  return (yield* firstOf(query)) !== undefined;
}
