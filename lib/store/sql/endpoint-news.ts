import { type Kysely, sql } from 'kysely';
import type { Endpoint } from '../../model/endpoint.js';
import type { EndpointNews, TurnResult } from '../store.js';
import type { SqlDialect } from './dialect.js';
import { pauseActive } from './pause.js';
import { toEndpoint } from './rows.js';
import type { EndpointRow, Tables } from './schema.js';
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
  const unwell = yield* readUnwell(
    db,
    dialect,
    news.filter((each) => each.succeeded),
  );
  for (const each of [...news].sort((a, b) => (a.endpointId < b.endpointId ? -1 : 1))) {
    const before = each.succeeded ? unwell.get(each.endpointId) : undefined;
    if (before) recovered.push(...(yield* forgetTrouble(db, each, before)));
    paused.push(...(yield* applyNews(db, each, now)));
  }
  return { paused, recovered };
}

type Trouble = Pick<EndpointRow, 'id' | 'failing_since' | 'slow_step'>;

/** Which of those that succeed had not before: hardly ever any, so one look-up for all of them is all that it costs. */
function* readUnwell(
  db: Kysely<Tables>,
  dialect: SqlDialect,
  succeeded: readonly EndpointNews[],
): Steps<Map<string, Trouble>> {
  if (succeeded.length === 0) return new Map();
  const ids = dialect.tableOf(
    succeeded.map(({ endpointId }) => [endpointId]),
    { id: 'text' },
  );
  const found = yield* rawRows(
    db,
    sql<Trouble>`
    select e.id, e.failing_since, e.slow_step from ${ids} as r join hookplane_endpoints e on e.id = r.id
    where e.failing_since is not null or e.slow_step > 0`,
  );
  return new Map(found.map((row) => [row.id, row]));
}

/** Answers the endpoint if it had failed: of several processes that tell of a success, to one. */
function* forgetTrouble(
  db: Kysely<Tables>,
  news: EndpointNews,
  before: Trouble,
): Steps<TurnResult['recovered']> {
  // One that was under way when it asked to be left alone does not say that it need not be.
  if (before.slow_step > 0) {
    const rested = newsOf(db, news).set({ slow_until: null, slow_step: 0 });
    yield* changesOf(rested.where('slow_step', '<=', news.slowStep));
  }
  if (before.failing_since === null) return [];
  const healthy = newsOf(db, news).set({ failing_since: null }).where('failing_since', 'is not', null);
  const row = yield* firstOf(healthy.returningAll());
  return row ? [{ endpoint: toEndpoint(row), failingSince: before.failing_since }] : [];
}

/** Answers the endpoint if the news paused it. */
function* applyNews(db: Kysely<Tables>, news: EndpointNews, now: number): Steps<Endpoint[]> {
  if (!news.succeeded && news.failedAt !== null) {
    yield* changesOf(
      newsOf(db, news).set({ failing_since: news.failedAt }).where('failing_since', 'is', null),
    );
  }
  if (news.slowUntil !== null) {
    yield* changesOf(
      newsOf(db, news).set({
        slow_step: sql<number>`case when slow_step > ${news.slowStep} then slow_step else ${news.slowStep + 1} end`,
        slow_until: sql<number>`case when slow_until > ${news.slowUntil} then slow_until else ${news.slowUntil} end`,
      }),
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
