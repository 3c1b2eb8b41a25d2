import { z } from 'zod';
import type { CallerRecord } from '../../model/caller.js';
import { actor } from './audit.js';
import { component, schemaOf } from './component.js';

export const caller = component(
  schemaOf<CallerRecord>()(
    z.object({
      tenantId: z
        .string()
        .nullable()
        .describe('The tenant that the caller is bound to; null for one that may see every tenant.'),
      readOnly: z
        .boolean()
        .describe('Whether it is refused every method but GET and HEAD, and what shows a signing secret.'),
      actor: actor
        .nullable()
        .describe('Who it is; null when the application does not say who its callers are.'),
    }),
  ),
  {
    id: 'Caller',
    description: 'Who asks, as the application has decided.',
    examples: [{ tenantId: 'acme', readOnly: false, actor: { id: 'user_17', name: 'Ada' } }],
  },
);
