import { type Kysely, sql } from 'kysely';
import type { Endpoint } from '../../model/endpoint.js';
import type { EndpointNews, TurnResult } from '../store.js';
import type { SqlDialect } from './dialect.js';
import { pauseActive } from './endpoints.js';
import { toEndpoint } from './rows.js';
import type { Tables } from './schema.js';
import { changesOf, firstOf, rawRows, type Steps } from './steps.js';

/** Records what attempts say of their endpoints. */
export function* tellEndpoints(
  db: Kysely<Tables>,
  dialect: SqlDialect,
  news: readonly EndpointNews[],
  now: number,
): Steps<Pick<TurnResult, 'paused' | 'recovered'>> {
  const paused: Endpoint[] = [];
  const recovered: TurnResult['recovered'] = [];
  const succeeded = news.filter((each) => each.succeeded).map(({ endpointId }) => endpointId);
  const unwell = yield* readUnwell(db, dialect, succeeded);
  for (const each of [...news].sort((a, b) => (a.endpointId < b.endpointId ? -1 : 1))) {
    if (each.succeeded && unwell.has(each.endpointId)) {
      recovered.push(...(yield* forgetFailures(db, each, unwell.get(each.endpointId) ?? now)));
    }
    paused.push(...(yield* applyNews(db, each, now)));
  }
  return { paused, recovered };
}

/** Those of the endpoints that have failed or asked to be left alone, with their first failure: hardly ever any. */
function* readUnwell(
  db: Kysely<Tables>,
  dialect: SqlDialect,
  endpointIds: readonly string[],
): Steps<Map<string, number | null>> {
  if (endpointIds.length === 0) return new Map();
  const ids = dialect.tableOf(
    endpointIds.map((id) => [id]),
    { id: 'text' },
  );
  const found = yield* rawRows(
    db,
    sql<{ id: string; failing_since: number | null }>`
    select e.id, e.failing_since from ${ids} as r join hookplane_endpoints e on e.id = r.id
    where e.failing_since is not null or e.slow_until is not null or e.slow_step <> 0`,
  );
  return new Map(found.map((row) => [row.id, row.failing_since]));
}

/** Answers the endpoint if it had failed: of several processes that tell of a success, to one. */
function* forgetFailures(
  db: Kysely<Tables>,
  news: EndpointNews,
  failingSince: number,
): Steps<TurnResult['recovered']> {
  const healthy = newsOf(db, news).set({ failing_since: null, slow_until: null, slow_step: 0 });
  const row = yield* firstOf(healthy.where('failing_since', 'is not', null).returningAll());
  if (row) return [{ endpoint: toEndpoint(row), failingSince }];
  yield* changesOf(healthy);
  return [];
}

/** Answers the endpoint if the news paused it. */
function* applyNews(db: Kysely<Tables>, news: EndpointNews, now: number): Steps<Endpoint[]> {
  const endpoint = newsOf(db, news);
  if (!news.succeeded && news.failedAt !== null) {
    yield* changesOf(endpoint.set({ failing_since: news.failedAt }).where('failing_since', 'is', null));
  }
  if (news.slowUntil !== null) {
    yield* changesOf(
      endpoint.set((eb) => ({
        slow_step: eb('slow_step', '+', 1),
        slow_until: sql<number>`case when slow_until > ${news.slowUntil} then slow_until else ${news.slowUntil} end`,
      })),
    );
  }
  if (!news.pause) return [];
  const before = news.pause.reason === 'failing' ? news.pause.failingBefore : undefined;
  const paused = yield* pauseActive(db, undefined, news.endpointId, news.pause.reason, now, {
    url: news.url,
    failingBefore: before,
  });
  return paused ? [paused] : [];
}

function newsOf(db: Kysely<Tables>, { endpointId, url }: EndpointNews) {
  return db.updateTable('hookplane_endpoints').where('id', '=', endpointId).where('url', '=', url);
}
