import { rangeQuery, statsQuery, tenantQuery } from '../input.js';
import type { Route } from '../route.js';
import { attemptStats } from '../schemas/stats.js';

export const getStats: Route = {
  operation: 'stats',
  method: 'GET',
  path: '/stats',
  tag: 'messages',
  summary: 'Read how attempts end and what is owed',
  description:
    'Counts the attempts to all endpoints by the time they began; those to endpoints that were deleted count as long as their messages are kept. Default: the last 60 minutes, 24 hours or 30 days. A range may be a day of minutes, or 31 days. Made to be asked every few seconds: intervals that are over are remembered. An attempt that is recorded very late, by a worker that was suspended or after the store was away, may be missing from them for a while. What was owed is the highest of what workers found, one of which looks each minute; it is kept for eight days.',
  answers: { 200: attemptStats },
  errors: [],
  query: { ...tenantQuery, ...rangeQuery, ...statsQuery },
  run: async ({ scope, query }) => ({ status: 200, body: await scope.stats(query) }),
};
