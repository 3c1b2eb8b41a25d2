import { z } from 'zod';
import type { AttemptStats, StatsBucket } from '../../model/stats.js';
import { component, schemaOf, time } from './component.js';

const bucket = component(
  schemaOf<StatsBucket>()(
    z.object({
      start: time.describe('The beginning of the interval.'),
      succeeded: z.int().describe('Attempts that succeeded.'),
      failed: z.int().describe('Attempts that failed.'),
      p50DurationMs: z
        .int()
        .nullable()
        .describe('Half of the attempts, failed ones among them, took no longer; null when there was none.'),
      p95DurationMs: z.int().nullable().describe('95 of 100 attempts took no longer.'),
    }),
  ),
  { id: 'StatsBucket', description: 'The attempts of one interval.' },
);

const stats = () =>
  schemaOf<AttemptStats>()(
    z.object({
      interval: z.enum(['minute', 'hour', 'day']).describe('How long each interval is.'),
      since: time.describe('The beginning of the first interval.'),
      until: time.describe('The end of the last interval.'),
      buckets: z.array(bucket).describe('One for each interval, oldest first, those without an attempt too.'),
    }),
  );

const example = {
  interval: 'hour' as const,
  since: '2026-01-15T11:00:00.000Z',
  until: '2026-01-15T12:00:00.000Z',
  buckets: [
    {
      start: '2026-01-15T11:00:00.000Z',
      succeeded: 412,
      failed: 3,
      p50DurationMs: 84,
      p95DurationMs: 391,
    },
  ],
};

export const endpointStats = component(stats(), {
  id: 'EndpointStats',
  description: 'How an endpoint has answered. The range is widened to whole intervals.',
  examples: [example],
});

export const attemptStats = component(stats(), {
  id: 'AttemptStats',
  description: 'How attempts have ended. The range is widened to whole intervals.',
  examples: [example],
});
