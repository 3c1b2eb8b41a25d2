import { z } from 'zod';
import type { Health } from '../../model/health.js';
import { component, schemaOf } from './component.js';

export const health = component(
  schemaOf<Health>()(
    z.object({
      ok: z.boolean().describe('Whether deliveries flow.'),
      outboxDepth: z
        .int()
        .nullable()
        .describe(
          'Deliveries owed to active endpoints; null when the database does not say. A bound caller’s own.',
        ),
      oldestPendingAge: z
        .int()
        .nullable()
        .describe('For how many milliseconds the most overdue of them has been due; null when none is due.'),
      workerCount: z
        .int()
        .nullable()
        .describe('Live workers of every process; null when the database does not say.'),
      reason: z
        .enum(['store_unavailable', 'migration_required', 'no_worker', 'overdue'])
        .optional()
        .describe('Why it is not ok; absent when it is.'),
    }),
  ),
  {
    id: 'Health',
    description: 'Whether deliveries flow, and what is waiting.',
    examples: [
      { ok: true, outboxDepth: 3, oldestPendingAge: 120, workerCount: 2 },
      { ok: false, outboxDepth: 841, oldestPendingAge: 431_000, workerCount: 2, reason: 'overdue' },
    ],
  },
);
