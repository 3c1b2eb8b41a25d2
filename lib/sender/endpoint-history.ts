import { setImmediate } from 'node:timers/promises';
import type { EndpointOperations } from '../model/scope.js';
import { countAttempts, type DurationCount } from '../model/stats.js';
import { isoTime } from '../model/time.js';
import type { TenantScope } from '../store/store.js';
import type { SenderCore } from './core.js';
import { decodeCursor, encodeCursor, type Listing, pageLimit } from './cursor.js';
import { endpointNotFound, timeRange } from './scope-rules.js';
import { statsRange } from './stats-range.js';

/**
 * How much time is counted in one statement. An endpoint that is sent a million messages a day has some forty thousand
 * attempts in an hour: index entries that are counted within a tenth of a second, in which a process that keeps its
 * store in a file does nothing else.
 */
const PIECE_MS = 3_600_000;

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
      const { interval, since, until, stepMs } = statsRange(request, core.options.now());
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
