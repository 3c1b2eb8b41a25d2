import { z } from 'zod';
import { AUDITED_OPERATIONS, type AuditActor, type AuditEntry } from '../../model/audit.js';
import { component, EXAMPLE, nextCursor, schemaOf, time } from './component.js';

export const actor = component(
  schemaOf<AuditActor>()(
    z.object({
      id: z.string().describe('What identifies it for good: the id of a user, the name of a token.'),
      name: z.string().nullable().describe('For people; null when the application gives none.'),
    }),
  ),
  { id: 'Actor', description: 'A caller, as the application names it.' },
);

const entry = component(
  schemaOf<AuditEntry>()(
    z.object({
      id: z.string().describe('`aud_…`'),
      at: time.describe('When it was done.'),
      requestId: z.string().nullable().describe('The same for all that one request did.'),
      actor: actor
        .nullable()
        .describe('Who did it; null when the application does not say who its callers are.'),
      tenantId: z
        .string()
        .nullable()
        .describe('Whose it was, though the tenant may be gone by now; null for what is no tenant’s.'),
      operation: z.enum(AUDITED_OPERATIONS).describe('What was done, by the name of the operation.'),
      targetId: z.string().describe('The endpoint, message or tenant that it was done to.'),
      changes: z
        .array(z.string())
        .describe('The names of the fields that were set, `secret` among them; never their values.'),
    }),
  ),
  {
    id: 'AuditEntry',
    description: 'Something that a caller did: a change, a test, or the reading of a secret.',
    examples: [
      {
        id: 'aud_01jf0odng08k2vqg4t5u6b7c8d',
        at: '2026-01-15T12:00:00.000Z',
        requestId: 'req_01jf0odng08k2vqg4t5u6b7c8d',
        actor: { id: 'user_17', name: 'Ada' },
        tenantId: 'acme',
        operation: 'endpoints.update',
        targetId: EXAMPLE.endpointId,
        changes: ['url', 'headers'],
      },
    ],
  },
);

export const auditPage = component(
  schemaOf<{ entries: AuditEntry[]; nextCursor: string | null }>()(
    z.object({ entries: z.array(entry).describe('Newest first.'), nextCursor }),
  ),
  { id: 'AuditPage', description: 'A page of the audit log.' },
);
