import type { RetrySchedule } from '../../model/endpoint.js';

const DAY_MS = 86_400_000;
/** A receiver may ask for later, not for never. */
const MAX_RETRY_AFTER_MS = DAY_MS;

/**
 * The example schedule of Standard Webhooks 1.0.0: ten attempts over 75 hours and 35 minutes, the first at once. A
 * tenth of jitter keeps the messages of one outage from all coming back in the same second.
 */
export const DEFAULT_RETRY: RetrySchedule = {
  delaysSeconds: [5, 300, 1800, 7200, 18_000, 36_000, 50_400, 72_000, 86_400],
  jitter: 0.1,
};

/**
 * How long to wait after the `failuresSoFar`-th failed attempt (1 after the first); milliseconds, null when the
 * schedule is exhausted.
 *
 * @param random a number from 0 (inclusive) to 1, such as `Math.random`
 */
export function nextDelayMs(
  schedule: RetrySchedule,
  failuresSoFar: number,
  random: () => number,
): number | null {
  if (failuresSoFar < 1) return 0;
  const seconds = schedule.delaysSeconds[failuresSoFar - 1];
  if (seconds === undefined) return null;
  return Math.round(seconds * 1000 * (1 + schedule.jitter * (2 * random() - 1)));
}

const MONTH = '(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)';
const TIME = '\\d{2}:\\d{2}:\\d{2}';
/** The three forms of RFC 9110, §5.6.7, that a recipient must read; `Date.parse` alone takes "1" for a date. */
const IMF_DATE = new RegExp(`^(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun), \\d{2} ${MONTH} \\d{4} ${TIME} GMT$`);
const RFC850_DATE = new RegExp(
  `^(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day, (\\d{2})-(${MONTH})-(\\d{2}) (${TIME}) GMT$`,
);
const ASCTIME_DATE = new RegExp(`^(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun) ${MONTH} [ \\d]\\d ${TIME} \\d{4}$`);

/**
 * What a `Retry-After` header asks for (RFC 9110, §10.2.3): seconds or an HTTP date, in milliseconds from `now`, at
 * most 24 hours, 0 for a date that has passed; null when the header is absent or neither of the two.
 *
 * @param now milliseconds since the epoch
 */
export function retryAfterMs(value: string | null, now: number): number | null {
  const text = value?.trim() ?? '';
  if (/^\d+$/.test(text)) return Math.min(Number(text) * 1000, MAX_RETRY_AFTER_MS);
  const date = httpDate(text, now);
  return Number.isNaN(date) ? null : Math.min(Math.max(date - now, 0), MAX_RETRY_AFTER_MS);
}

/** A receiver can put the next attempt off, never bring it forward: that would turn a header into an attack. */
export function delayAfter(scheduleDelayMs: number, retryAfterMs: number | null): number {
  return Math.max(scheduleDelayMs, retryAfterMs ?? 0);
}

function httpDate(text: string, now: number): number {
  if (IMF_DATE.test(text)) return Date.parse(text);
  if (ASCTIME_DATE.test(text)) return Date.parse(`${text} GMT`);
  const [, day, month, shortYear, time] = RFC850_DATE.exec(text) ?? [];
  if (shortYear === undefined) return Number.NaN;
  // RFC 9110: two digits that would lie more than 50 years ahead mean the century before.
  const thisYear = new Date(now).getUTCFullYear();
  const year = thisYear - (thisYear % 100) + Number(shortYear);
  return Date.parse(`${day} ${month} ${year > thisYear + 50 ? year - 100 : year} ${time} GMT`);
}
