import { type Kysely, sql } from 'kysely';
import type { Endpoint } from '../../model/endpoint.js';
import type { EndpointNews, NewAttempt, Settlement, Turn, TurnResult } from '../store.js';
import type { SqlDialect } from './dialect.js';
import { pauseActive } from './endpoints.js';
import { rollUp, rollUpDelivered } from './roll-up.js';
import { toEndpoint, toJson } from './rows.js';
import type { EndpointRow, Tables } from './schema.js';
import {
  type BulkInsert,
  type BulkUpdate,
  type Steps,
  firstOf,
  changesOf,
  insertRows,
  rawRows,
  updateRows,
} from './steps.js';

/** Records outcomes and what they say of the endpoints. */
export function* settle(
  db: Kysely<Tables>,
  dialect: SqlDialect,
  { owner, settlements, news, now }: Pick<Turn, 'owner' | 'settlements' | 'news' | 'now'>,
): Steps<Pick<TurnResult, 'refused' | 'paused' | 'recovered'>> {
  if (settlements.length === 0) return { refused: [], paused: [], recovered: [] };
  const moved = yield* moveDeliveries(owner, settlements);
  yield* recordAttempts(db, settlements, moved);
  const finished = settlements.flatMap((each, index) =>
    each.status !== 'pending' && moved[index] ? each.messageId : [],
  );
  const simple = yield* rollUpDelivered(finished, now);
  const others = finished.filter((_, index) => !simple[index]);
  yield* rollUp(db, dialect, others, now);
  const paused: Endpoint[] = [];
  const recovered: TurnResult['recovered'] = [];
  const succeeded = news.filter((each) => each.succeeded);
  const troubled = yield* findTroubled(db, dialect, succeeded);
  for (const each of succeeded) {
    const before = troubled.get(each.endpointId);
    if (before) recovered.push(...(yield* forgetTrouble(db, each, before)));
  }
  for (const each of news) paused.push(...(yield* applyNews(db, each, now)));
  const refused = [...moved.keys()].filter((index) => !moved[index]);
  return { refused, paused, recovered };
}

const SETTLED: BulkUpdate = {
  table: 'hookplane_deliveries',
  set: {
    status: 'text',
    trigger: 'text',
    attempt_count: 'integer',
    schedule_step: 'integer',
    due_at: 'integer',
    last_error: 'text',
    delivered_at: 'integer',
    lease_owner: 'text',
    lease_until: 'integer',
    takeovers: 'integer',
  },
  keep: ['delivered_at', 'takeovers'],
  key: { message_id: 'text', endpoint_id: 'text', fence: 'integer', lease_owner: 'text' },
  condition: "status = 'pending'",
};

/** For each, whether it was still the owner's under the same fence. */
function* moveDeliveries(owner: string, settlements: readonly Settlement[]): Steps<boolean[]> {
  const rows = settlements.map((each) => [
    each.status,
    'retry',
    each.attemptCount,
    each.scheduleStep,
    each.dueAt,
    each.lastError,
    each.status === 'delivered' ? each.dueAt : null,
    null,
    null,
    each.lost ? null : 0,
    each.messageId,
    each.endpointId,
    each.fence,
    owner,
  ]);
  return yield* updateRows(SETTLED, rows);
}

const ATTEMPTS: BulkInsert = {
  table: 'hookplane_attempts',
  columns: {
    id: 'text',
    message_id: 'text',
    endpoint_id: 'text',
    number: 'integer',
    status: 'text',
    trigger: 'text',
    started_at: 'integer',
    duration_ms: 'integer',
    request_url: 'text',
    remote_address: 'text',
    response_status: 'integer',
    response_headers: 'text',
    response_body: 'text',
    error_kind: 'text',
    error: 'text',
    next_attempt_at: 'integer',
  },
};

/** Every request that was made is history, whoever holds the lease by now; what was deleted or expunged stays so. */
function* recordAttempts(
  db: Kysely<Tables>,
  settlements: readonly Settlement[],
  moved: readonly boolean[],
): Steps<void> {
  const rows: unknown[][] = [];
  for (const [index, { messageId, endpointId, attempt }] of settlements.entries()) {
    if (attempt === null) continue;
    // What has moved was pending, and so neither deleted nor expunged.
    const kept = moved[index] ? 'whole' : yield* whatIsKept(db, messageId, endpointId, attempt);
    if (kept === 'nothing') continue;
    rows.push([
      attempt.id,
      messageId,
      endpointId,
      attempt.number,
      attempt.status,
      attempt.trigger,
      attempt.startedAt,
      attempt.durationMs,
      attempt.requestUrl,
      attempt.remoteAddress,
      attempt.responseStatus,
      toJson(attempt.responseHeaders),
      kept === 'whole' ? attempt.responseBody : null,
      attempt.errorKind,
      attempt.error,
      attempt.nextAttemptAt,
    ]);
  }
  yield* insertRows(ATTEMPTS, rows);
}

/**
 * What is to be recorded of an attempt whose lease was over: everything, what is left by an expunge, or nothing, because
 * the delivery is gone or because it is recorded already: the answer of the turn that did so was lost.
 */
function* whatIsKept(
  db: Kysely<Tables>,
  messageId: string,
  endpointId: string,
  attempt: NewAttempt,
): Steps<'whole' | 'history' | 'nothing'> {
  const row = yield* firstOf(
    db
      .selectFrom('hookplane_deliveries as d')
      .leftJoin('hookplane_payloads as p', 'p.message_id', 'd.message_id')
      .select('p.message_id as payload')
      .where('d.message_id', '=', messageId)
      .where('d.endpoint_id', '=', endpointId),
  );
  if (!row) return 'nothing';
  const recorded = yield* firstOf(
    db
      .selectFrom('hookplane_attempts')
      .select('id')
      .where('message_id', '=', messageId)
      .where('started_at', '=', attempt.startedAt)
      .where('id', '=', attempt.id),
  );
  if (recorded) return 'nothing';
  return row.payload === null ? 'history' : 'whole';
}

function newsOf(db: Kysely<Tables>, { endpointId, url }: EndpointNews) {
  return db.updateTable('hookplane_endpoints').where('id', '=', endpointId).where('url', '=', url);
}

type Trouble = Pick<EndpointRow, 'id' | 'failing_since' | 'slow_step'>;

/** Which of those that succeed had not before: hardly ever any, so one look-up for all of them is all that it costs. */
function* findTroubled(
  db: Kysely<Tables>,
  dialect: SqlDialect,
  succeeded: readonly EndpointNews[],
): Steps<Map<string, Trouble>> {
  if (succeeded.length === 0) return new Map();
  const ids = dialect.jsonRows(
    succeeded.map(({ endpointId }) => [endpointId]),
    { id: 'text' },
  );
  const found = yield* rawRows(
    db,
    sql<Trouble>`
    select id, failing_since, slow_step from hookplane_endpoints
    where id in (select id from ${ids} as r) and (failing_since is not null or slow_step > 0)`,
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
  const endpoint = newsOf(db, news);
  if (!news.succeeded && news.failedAt !== null) {
    yield* changesOf(endpoint.set({ failing_since: news.failedAt }).where('failing_since', 'is', null));
  }
  if (news.slowUntil !== null) {
    yield* changesOf(
      endpoint.set({
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
