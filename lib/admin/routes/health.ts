import type { Route } from '../route.js';
import { health } from '../schemas/health.js';

export const getHealth: Route = {
  operation: 'health',
  method: 'GET',
  path: '/health',
  tag: 'service',
  summary: 'Read the health',
  description:
    '200 when deliveries flow, 503 with the same record when they do not. It needs no database to answer.',
  answers: { 200: health, 503: health },
  errors: [],
  storeless: true,
  async run({ scope }) {
    const found = await scope.health();
    return { status: found.ok ? 200 : 503, body: found };
  },
};
