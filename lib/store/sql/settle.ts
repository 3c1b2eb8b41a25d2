import type { Kysely } from 'kysely';
import type { NewAttempt, Settlement, Turn, TurnResult } from '../store.js';
import type { SqlDialect } from './dialect.js';
import { rollUp, rollUpDelivered } from './roll-up.js';
import { toJson } from './rows.js';
import type { Tables } from './schema.js';
import { type BulkInsert, type BulkUpdate, type Steps, firstOf, insertRows, updateRows } from './steps.js';

/**
 * Records outcomes.
 * @returns the indexes of those that were refused
 */
export function* settle(
  db: Kysely<Tables>,
  dialect: SqlDialect,
  { owner, settlements, now }: Pick<Turn, 'owner' | 'settlements' | 'now'>,
): Steps<TurnResult['refused']> {
  if (settlements.length === 0) return [];
  const moved = yield* moveDeliveries(owner, settlements);
  yield* recordAttempts(db, settlements, moved);
  const finished = settlements.flatMap((each, index) =>
    each.status !== 'pending' && moved[index] ? each.messageId : [],
  );
  const simple = yield* rollUpDelivered(finished, now);
  const others = finished.filter((_, index) => !simple[index]);
  yield* rollUp(db, dialect, others, now);
  return [...moved.keys()].filter((index) => !moved[index]);
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
  yield* insertRows({ into: ATTEMPTS, count: rows.length, rows: () => rows });
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
      .where('id', '=', attempt.id),
  );
  if (recorded) return 'nothing';
  return row.payload === null ? 'history' : 'whole';
}
