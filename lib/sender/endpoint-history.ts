import { setImmediate } from 'node:timers/promises';
import { HookplaneError } from '../model/errors.js';
import type { EndpointOperations } from '../model/scope.js';
import { countAttempts, type DurationCount, STATS_INTERVALS, type StatsRequest } from '../model/stats.js';
import { isoTime } from '../model/time.js';
import type { TenantScope } from '../store/store.js';
import type { SenderCore } from './core.js';
import { decodeCursor, encodeCursor, type Listing, pageLimit } from './cursor.js';
import { endpointNotFound, timeRange } from './scope-rules.js';

/**
 * How much time is counted in one statement. An endpoint that is sent a million messages a day has some forty thousand
 * attempts in an hour: index entries that are counted within a tenth of a second, in which a process that keeps its
 * store in a file does nothing else.
 */
const PIECE_MS = 3_600_000;

/** The years that ISO 8601 writes with four digits. */
const FIRST_MS = Date.parse('0000-01-01T00:00:00Z');
const LAST_MS = Date.parse('9999-12-31T23:59:59.999Z');

export function historyOperations(
  core: SenderCore,
  tenant: TenantScope,
): Pick<EndpointOperations, 'attempts' | 'stats'> {
  return {
    async attempts(id, request = {}) {
      const { status, since, until } = request;
      const listing: Listing = { name: 'attempts of an endpoint', filters: { id, status, since, until } };
      const query = {
        tenant,
        endpointId: id,
        status,
        ...timeRange(since, until),
        after: decodeCursor(listing, request.cursor),
        limit: pageLimit(request.limit),
      };
      const page = (await (await core.ready()).endpoints.attempts(query)) ?? endpointNotFound(id);
      return { attempts: page.rows, nextCursor: encodeCursor(listing, page.next) };
    },

    async stats(id, request = {}) {
      const { interval, since, until, stepMs } = wholeIntervals(request, core.options.now());
      const store = await core.ready();
      if (!(await store.endpoints.get(tenant, id))) endpointNotFound(id);
      const counted = new Map<number, DurationCount[]>();
      for (let start = since; start < until; start += stepMs) counted.set(start, []);
      await core.countInTurn(async () => {
        for (let start = since; start < until; start += PIECE_MS) {
          const end = Math.min(until, start + PIECE_MS);
          const found = await store.endpoints.durations({ endpointId: id, since: start, until: end, stepMs });
          for (const { start: bucket, ...count } of found) counted.get(bucket)?.push(count);
          // Between pieces everybody else has a turn.
          await setImmediate();
        }
      });
      const buckets = [...counted].map(([start, counts]) => ({
        start: isoTime(start),
        ...countAttempts(counts),
      }));
      return { interval, since: isoTime(since), until: isoTime(until), buckets };
    },
  };
}

/** @throws HookplaneError `INVALID_QUERY` */
function wholeIntervals({ interval = 'hour', ...request }: StatsRequest, now: number) {
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
