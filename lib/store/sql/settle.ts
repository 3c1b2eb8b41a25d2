import { type Kysely, sql } from 'kysely';
import type { Endpoint } from '../../model/endpoint.js';
import type { EndpointNews, Settlement, Turn, TurnResult } from '../store.js';
import type { SqlDialect } from './dialect.js';
import { pauseActive } from './endpoints.js';
import { rollUp, rollUpDelivered } from './roll-up.js';
import { toJson } from './rows.js';
import type { Tables } from './schema.js';
import {
  type BulkInsert,
  type BulkUpdate,
  type Steps,
  firstOf,
  changesOf,
  insertRows,
  updateRows,
} from './steps.js';

/** Records outcomes and what they say of the endpoints. */
export function* settle(
  db: Kysely<Tables>,
  dialect: SqlDialect,
  { owner, settlements, news, now }: Pick<Turn, 'owner' | 'settlements' | 'news' | 'now'>,
): Steps<Pick<TurnResult, 'refused' | 'paused'>> {
  if (settlements.length === 0) return { refused: [], paused: [] };
  const moved = yield* moveDeliveries(owner, settlements);
  yield* recordAttempts(db, settlements, moved);
  const finished = settlements.flatMap((each, index) =>
    each.status !== 'pending' && moved[index] ? each.messageId : [],
  );
  const simple = yield* rollUpDelivered(finished, now);
  const others = finished.filter((_, index) => !simple[index]);
  yield* rollUp(db, dialect, others, now);
  const paused: Endpoint[] = [];
  for (const each of news) paused.push(...(yield* applyNews(db, each, now)));
  const refused = [...moved.keys()].filter((index) => !moved[index]);
  return { refused, paused };
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
  },
  keep: ['delivered_at'],
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

/** Every request that was made is history, whoever holds the lease by now; what was deleted stays deleted. */
function* recordAttempts(
  db: Kysely<Tables>,
  settlements: readonly Settlement[],
  moved: readonly boolean[],
): Steps<void> {
  const rows: unknown[][] = [];
  for (const [index, { messageId, endpointId, attempt }] of settlements.entries()) {
    if (attempt === null) continue;
    if (!moved[index] && !(yield* isThere(db, messageId, endpointId))) continue;
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
      attempt.responseBody,
      attempt.errorKind,
      attempt.error,
      attempt.nextAttemptAt,
    ]);
  }
  yield* insertRows(ATTEMPTS, rows);
}

function* isThere(db: Kysely<Tables>, messageId: string, endpointId: string): Steps<boolean> {
  const row = yield* firstOf(
    db
      .selectFrom('hookplane_deliveries')
      .select('fence')
      .where('message_id', '=', messageId)
      .where('endpoint_id', '=', endpointId),
  );
  return row !== undefined;
}

/** Answers the endpoint if the news paused it. */
function* applyNews(db: Kysely<Tables>, news: EndpointNews, now: number): Steps<Endpoint[]> {
  const endpoint = db
    .updateTable('hookplane_endpoints')
    .where('id', '=', news.endpointId)
    .where('url', '=', news.url);
  if (news.succeeded) {
    yield* changesOf(endpoint.set({ failing_since: null, slow_until: null, slow_step: 0 }));
  } else if (news.failedAt !== null) {
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
