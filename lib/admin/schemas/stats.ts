import { z } from 'zod';
import type { AttemptStats, EndpointStats, OutboxStatsBucket, StatsBucket } from '../../model/stats.js';
import { component, schemaOf, time } from './component.js';

const attempts = {
  start: time.describe('The beginning of the interval.'),
  succeeded: z.int().describe('Attempts that succeeded.'),
  failed: z.int().describe('Attempts that failed.'),
  p50DurationMs: z
    .int()
    .nullable()
    .describe('Half of the attempts, failed ones among them, took no longer; null when there was none.'),
  p95DurationMs: z.int().nullable().describe('95 of 100 attempts took no longer.'),
};

const bucket = component(schemaOf<StatsBucket>()(z.object(attempts)), {
  id: 'StatsBucket',
  description: 'The attempts of one interval.',
});

const outboxBucket = component(
  schemaOf<OutboxStatsBucket>()(
    z.object({
      ...attempts,
      outboxDepth: z
        .int()
        .nullable()
        .describe(
          'The most deliveries that were owed to active endpoints when workers looked, which they do once a minute; null when none has looked.',
        ),
      oldestPendingAge: z
        .int()
        .nullable()
        .describe(
          'The longest that a delivery had been due then, in milliseconds; 0 when none was, null when none has looked.',
        ),
    }),
  ),
  { id: 'OutboxStatsBucket', description: 'The attempts of one interval, and what was owed in it.' },
);

const range = {
  interval: z.enum(['minute', 'hour', 'day']).describe('How long each interval is.'),
  since: time.describe('The beginning of the first interval.'),
  until: time.describe('The end of the last interval.'),
};
const EVERY_INTERVAL = 'One for each interval, oldest first, those without an attempt too.';

const example = {
  interval: 'hour' as const,
  since: '2026-01-15T11:00:00.000Z',
  until: '2026-01-15T12:00:00.000Z',
};
const exampleBucket = {
  start: '2026-01-15T11:00:00.000Z',
  succeeded: 412,
  failed: 3,
  p50DurationMs: 84,
  p95DurationMs: 391,
};

export const endpointStats = component(
  schemaOf<EndpointStats>()(z.object({ ...range, buckets: z.array(bucket).describe(EVERY_INTERVAL) })),
  {
    id: 'EndpointStats',
    description: 'How an endpoint has answered. The range is widened to whole intervals.',
    examples: [{ ...example, buckets: [exampleBucket] }],
  },
);

export const attemptStats = component(
  schemaOf<AttemptStats>()(z.object({ ...range, buckets: z.array(outboxBucket).describe(EVERY_INTERVAL) })),
  {
    id: 'AttemptStats',
    description: 'How attempts have ended, and what was owed. The range is widened to whole intervals.',
    examples: [{ ...example, buckets: [{ ...exampleBucket, outboxDepth: 27, oldestPendingAge: 1840 }] }],
  },
);
