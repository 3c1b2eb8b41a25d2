import { z } from 'zod';
import { AUDITED_OPERATIONS } from '../../model/audit.js';
import { oneOf, pageQuery, rangeQuery, tenantQuery } from '../input.js';
import type { Route } from '../route.js';
import { auditPage } from '../schemas/audit.js';

const id = z
  .string()
  .min(1)
  .refine((text) => !text.includes('\0'), 'must hold no NUL');

export const listAudit: Route = {
  operation: 'audit.list',
  method: 'GET',
  path: '/audit',
  summary: 'List who changed what',
  description:
    'Newest first. One entry for each request that changed something, sent a test or read the secrets of an endpoint; none for one that was refused, failed or found nothing to change. A caller that is bound to a tenant gets what concerns that tenant, whoever did it. The deletion of a tenant ends what such callers are shown; others are still shown all of it.',
  answers: { 200: auditPage },
  errors: [],
  query: {
    ...pageQuery,
    ...tenantQuery,
    actor: { schema: id, description: 'Only what the actor of this id did.' },
    operation: { schema: oneOf(AUDITED_OPERATIONS), description: 'Only this operation.' },
    targetId: { schema: id, description: 'Only what was done to this endpoint, message or tenant.' },
    ...rangeQuery,
  },
  run: async ({ scope, query }) => ({ status: 200, body: await scope.audit.list(query) }),
};
