import type { Route } from '../route.js';

export const getHealth: Route = {
  operation: 'health',
  method: 'GET',
  path: '/health',
  async run({ scope }) {
    const health = await scope.health();
    return { status: health.ok ? 200 : 503, body: health };
  },
};
