import { z } from 'zod';
import type { Route } from '../route.js';

export const getMetrics: Route = {
  operation: 'metrics.get',
  method: 'GET',
  path: '/metrics',
  tag: 'service',
  summary: 'Read the metrics',
  description:
    'In the text format of Prometheus. The store is counted for all processes; what was sent and attempted is counted by the process that answers, since it started. A caller that is bound to a tenant has its own outbox alone.',
  answers: { 200: z.string().describe('Metrics in the text format of Prometheus, version 0.0.4.') },
  mediaType: 'text/plain; version=0.0.4; charset=utf-8',
  errors: [],
  storeless: true,
  run: async ({ scope }) => ({ status: 200, text: await scope.metrics() }),
};
