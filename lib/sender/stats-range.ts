import { HookplaneError } from '../model/errors.js';
import { STATS_INTERVALS, type StatsInterval, type StatsRequest } from '../model/stats.js';
import { timeRange } from './scope-rules.js';

/** The years that ISO 8601 writes with four digits. */
const FIRST_MS = Date.parse('0000-01-01T00:00:00Z');
const LAST_MS = Date.parse('9999-12-31T23:59:59.999Z');

/** A range of whole intervals. */
export interface StatsRange {
  interval: StatsInterval;
  since: number;
  until: number;
  stepMs: number;
}

/** @throws HookplaneError `INVALID_QUERY` */
export function statsRange({ interval = 'hour', ...request }: StatsRequest, now: number): StatsRange {
  if (!Object.hasOwn(STATS_INTERVALS, interval)) {
    const known = Object.keys(STATS_INTERVALS).join(', ');
    throw new HookplaneError('INVALID_QUERY', `interval must be one of ${known}`);
  }
  const { ms: stepMs, shown, maxRangeMs } = STATS_INTERVALS[interval];
  const asked = timeRange(request.since, request.until);
  if (asked.until === undefined && asked.since !== undefined && asked.since > now) {
    throw new HookplaneError('INVALID_QUERY', 'since is in the future');
  }
  // What begins in this very millisecond has begun.
  const until = Math.ceil((asked.until ?? now + 1) / stepMs) * stepMs;
  const since =
    asked.since === undefined ? until - shown * stepMs : Math.floor(asked.since / stepMs) * stepMs;
  if (since < FIRST_MS || until > LAST_MS) {
    throw new HookplaneError('INVALID_QUERY', 'since and until must be within the years 0000 to 9999');
  }
  // One interval more, so that who asks for the longest range up to now need not look at the clock twice.
  if (until - since > maxRangeMs + stepMs) {
    const days = maxRangeMs / STATS_INTERVALS.day.ms;
    const limit = days === 1 ? 'one day' : `${days} days`;
    throw new HookplaneError(
      'INVALID_QUERY',
      `since is more than ${limit} before until, which is the most for an interval of one ${interval}`,
    );
  }
  return { interval, since, until, stepMs };
}
