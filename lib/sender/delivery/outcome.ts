import type { RetrySchedule } from '../../model/endpoint.js';
import { createId } from '../../model/ids.js';
import type { Attempt } from '../../model/message.js';
import { isoTime, isoTimeOrNull } from '../../model/time.js';
import type { EndpointNews, LeasedDelivery, NewAttempt, Settlement } from '../../store/store.js';
import { unsent } from './deliver.js';
import type { PostResult } from './http-client.js';
import { delayAfter, nextDelayMs, retryAfterMs } from './retry.js';

/** An endpoint that has failed every attempt for so long is paused. */
const FAILING_MS = 5 * 86_400_000;

/** Answers by which a receiver says that it has too much to do. */
const OVERLOADED = new Set([429, 502, 503, 504]);
const SLOW_BASE_MS = 1000;
const SLOW_MAX_MS = 60_000;

/** What an attempt means for its delivery and for its endpoint. */
export interface Outcome {
  leased: LeasedDelivery;
  settlement: Settlement;
  news: EndpointNews;
}

export function judge(
  leased: LeasedDelivery,
  result: PostResult,
  { schedule, now, random }: { schedule: RetrySchedule; now: number; random: () => number },
): Outcome {
  const succeeded = result.errorKind === null;
  const status = result.status ?? 0;
  const asked = OVERLOADED.has(status) ? retryAfterMs(result.retryAfter, now) : null;
  const delay = succeeded
    ? null
    : nextDelayMs(leased.target.endpoint.retry ?? schedule, leased.scheduleStep + 1, random);
  const wanted = delay === null ? null : now + delayAfter(delay, asked);
  // There will be none that the message does not live to see: the delivery ends now, and does not wait for nothing.
  const tooLate = wanted !== null && wanted >= leased.expiresAt;
  const nextAt = tooLate ? null : wanted;
  const { messageId, endpointId, fence } = leased;
  return {
    leased,
    settlement: {
      messageId,
      endpointId,
      fence,
      status: succeeded ? 'delivered' : nextAt === null ? 'failed' : 'pending',
      dueAt: nextAt ?? now,
      attemptCount: leased.attemptCount + 1,
      scheduleStep: succeeded ? 0 : leased.scheduleStep + 1,
      lost: false,
      lastError: tooLate
        ? `${result.error} The message will have expired before another attempt is due.`
        : result.error,
      attempt: toAttempt(leased, result, nextAt),
    },
    news: {
      endpointId,
      url: leased.target.endpoint.url,
      succeeded,
      failedAt: succeeded ? null : result.startedAt,
      slowUntil: OVERLOADED.has(status) ? now + Math.max(asked ?? 0, slowdown(leased.target.slowStep)) : null,
      slowStep: leased.target.slowStep,
      pause: succeeded ? null : pauseFor(status, leased, now),
    },
  };
}

/** The record of a request. */
export function toAttempt(
  { attemptCount, trigger, target }: Pick<LeasedDelivery, 'attemptCount' | 'trigger' | 'target'>,
  result: PostResult,
  nextAttemptAt: number | null,
): NewAttempt {
  return {
    id: createId('att', result.startedAt),
    number: attemptCount + 1,
    status: result.errorKind === null ? 'succeeded' : 'failed',
    trigger,
    startedAt: result.startedAt,
    durationMs: result.durationMs,
    requestUrl: target.endpoint.url,
    remoteAddress: result.remoteAddress,
    responseStatus: result.status,
    responseHeaders: result.headers,
    responseBody: result.body,
    errorKind: result.errorKind,
    error: result.error,
    nextAttemptAt,
  };
}

/** The same as it is told to those who ask, and to listeners. Field by field: the rest of an object takes 3 µs to make. */
export function publicAttempt(
  attempt: NewAttempt,
  { messageId, endpointId }: Pick<Attempt, 'messageId' | 'endpointId'>,
): Attempt {
  return {
    id: attempt.id,
    messageId,
    endpointId,
    number: attempt.number,
    status: attempt.status,
    trigger: attempt.trigger,
    startedAt: isoTime(attempt.startedAt),
    durationMs: attempt.durationMs,
    requestUrl: attempt.requestUrl,
    remoteAddress: attempt.remoteAddress,
    responseStatus: attempt.responseStatus,
    responseHeaders: attempt.responseHeaders,
    responseBody: attempt.responseBody,
    errorKind: attempt.errorKind,
    error: attempt.error,
    nextAttemptAt: isoTimeOrNull(attempt.nextAttemptAt),
  };
}

/** How often a delivery is taken up at once from a worker that died: one of those may have died of it. */
const FREE_TAKEOVERS = 1;

const LOST = 'The process that was delivering it ended before its outcome was known.';

/** What is to become of a delivery without a request: its time is over, or its workers have died of it. */
export function foregone(leased: LeasedDelivery, options: Parameters<typeof judge>[2]): Outcome | undefined {
  if (leased.expiresAt <= options.now) return expired(leased, options.now);
  return leased.takeovers > FREE_TAKEOVERS ? lost(leased, options) : undefined;
}

/**
 * A delivery whose workers died one after the other: no request is made, and it waits like one that has failed. All that
 * died with it does, so the waits are spread from no time to twice the time, lest they all meet it again.
 */
function lost(leased: LeasedDelivery, options: Parameters<typeof judge>[2]): Outcome {
  const { target } = leased;
  const retry = { ...(target.endpoint.retry ?? options.schedule), jitter: 1 };
  const spread = { ...leased, target: { ...target, endpoint: { ...target.endpoint, retry } } };
  const { settlement, news } = judge(spread, unsent(options.now, LOST, { errorKind: 'reset' }), options);
  return {
    leased,
    settlement: { ...settlement, lost: true },
    news: { ...news, failedAt: null, pause: null },
  };
}

/** A delivery whose time was over before it was its turn: no request is made. */
function expired(leased: LeasedDelivery, now: number): Outcome {
  const { messageId, endpointId, fence, attemptCount, scheduleStep } = leased;
  return {
    leased,
    settlement: {
      messageId,
      endpointId,
      fence,
      status: 'failed',
      dueAt: now,
      attemptCount,
      scheduleStep,
      lost: false,
      lastError: 'The message expired before it was delivered',
      attempt: null,
    },
    news: {
      endpointId,
      url: leased.target.endpoint.url,
      succeeded: false,
      failedAt: null,
      slowUntil: null,
      slowStep: leased.target.slowStep,
      pause: null,
    },
  };
}

/** Whether what is settled changes nothing for what is leased: see {@link Turn.apart}. */
export function standApart(outcomes: readonly Outcome[]): boolean {
  return outcomes.every(
    ({ leased: { target }, settlement }) =>
      settlement.status === 'delivered' &&
      target.endpoint.maxInFlight === null &&
      target.slowStep === 0 &&
      target.failingSince === null,
  );
}

/** One piece of news an endpoint and URL out of a batch of outcomes, without what would change nothing. */
export function gatherNews(outcomes: readonly Outcome[]): EndpointNews[] {
  const gathered = new Map<string, EndpointNews>();
  for (const { leased, news } of outcomes) {
    const key = `${news.endpointId} ${news.url}`;
    const known = gathered.get(key);
    // The first failure is news only after success. A success always is: others may have failed since its lease.
    const fresh = {
      ...news,
      failedAt: leased.target.failingSince === null ? news.failedAt : null,
    };
    gathered.set(key, known ? merge(known, fresh) : fresh);
  }
  return [...gathered.values()].filter(
    (news) => news.succeeded || news.failedAt !== null || news.slowUntil !== null || news.pause,
  );
}

function merge(a: EndpointNews, b: EndpointNews): EndpointNews {
  const times = [a.failedAt, b.failedAt].filter((time) => time !== null);
  const until = [a.slowUntil, b.slowUntil].filter((time) => time !== null);
  return {
    endpointId: a.endpointId,
    url: a.url,
    succeeded: a.succeeded || b.succeeded,
    failedAt: times.length > 0 ? Math.min(...times) : null,
    slowUntil: until.length > 0 ? Math.max(...until) : null,
    slowStep: Math.max(a.slowStep, b.slowStep),
    pause: a.pause?.reason === 'gone' ? a.pause : (b.pause ?? a.pause),
  };
}

function slowdown(step: number): number {
  return Math.min(SLOW_MAX_MS, SLOW_BASE_MS * 2 ** Math.min(step, 10));
}

function pauseFor(status: number, { target }: LeasedDelivery, now: number): EndpointNews['pause'] {
  const failingBefore = now - FAILING_MS;
  if (status === 410) return { reason: 'gone', failingBefore };
  if (target.failingSince !== null && target.failingSince <= failingBefore)
    return { reason: 'failing', failingBefore };
  return null;
}
