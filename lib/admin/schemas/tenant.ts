import { z } from 'zod';
import { rateLimitSetting } from '../../model/rate-limit.js';
import type { Tenant } from '../../model/tenant.js';
import { component, freeForm, nextCursor, schemaOf, time } from './component.js';
import { rateLimit } from './endpoint.js';

export const tenant = component(
  schemaOf<Tenant>()(
    z.object({
      id: z.string().describe('The application’s own name for it.'),
      rateLimit: rateLimit
        .nullable()
        .describe('A ceiling for all endpoints of the tenant together. Null is none.'),
      metadata: freeForm.describe('A JSON object of the application’s own.'),
      createdAt: time.describe('When it was made.'),
      updatedAt: time.describe('When it was last changed.'),
    }),
  ),
  {
    id: 'Tenant',
    description:
      'A customer of the application. Sending needs no record of it; one is made when something about it is set.',
    examples: [
      {
        id: 'acme',
        rateLimit: { perSecond: 20, burst: 40 },
        metadata: {},
        createdAt: '2026-01-15T12:00:00.000Z',
        updatedAt: '2026-01-15T12:00:00.000Z',
      },
    ],
  },
);

export const tenantPage = component(
  schemaOf<{ tenants: Tenant[]; nextCursor: string | null }>()(
    z.object({ tenants: z.array(tenant).describe('Newest first.'), nextCursor }),
  ),
  { id: 'TenantPage', description: 'A page of tenants.' },
);

component(rateLimitSetting, {
  id: 'RateLimitSetting',
  description: 'A ceiling for all endpoints of a tenant together.',
  fields: {
    perSecond: 'Requests a second, on average; null takes the ceiling away.',
    burst:
      'How many may go out at once. Default: `perSecond`, rounded up. To be left out when `perSecond` is null.',
  },
  examples: [{ perSecond: 20, burst: 40 }, { perSecond: null }],
});
