import { HookplaneError } from '../../model/errors.js';
import { rateLimitSetting } from '../../model/rate-limit.js';
import { pageQuery } from '../input.js';
import type { Route, RouteInput } from '../route.js';
import { tenant, tenantPage } from '../schemas/tenant.js';

/** The two tenant writes alone refuse another tenant's id with 403 instead of not finding it (spec §5.5). */
function refuseForeignTenant({ scope, params }: Pick<RouteInput, 'scope' | 'params'>): void {
  if (scope.tenantId !== null && scope.tenantId !== params.id) {
    throw new HookplaneError('FORBIDDEN', 'The caller is bound to another tenant');
  }
}

export const setTenantRateLimit: Route = {
  operation: 'tenants.setRateLimit',
  method: 'POST',
  path: '/tenants/:id/rate-limit',
  summary: 'Set the rate limit of a tenant',
  description: 'Makes the record of the tenant if there is none.',
  answers: { 200: tenant },
  errors: ['TENANT_VALIDATION'],
  body: 'required',
  input: rateLimitSetting,
  before: refuseForeignTenant,
  run: async ({ scope, params, body }) => ({
    status: 200,
    body: await scope.tenants.setRateLimit(params.id!, body as { perSecond: number | null }),
  }),
};

export const deleteTenant: Route = {
  operation: 'tenants.delete',
  method: 'DELETE',
  path: '/tenants/:id',
  summary: 'Delete a tenant',
  description:
    'Its endpoints, secrets, messages, deliveries and attempts go with it, for good. What had been sent is gone at once and is removed in the background; the id may be used again.',
  answers: { 204: null },
  errors: ['TENANT_NOT_FOUND'],
  before: refuseForeignTenant,
  async run({ scope, params }) {
    await scope.tenants.delete(params.id!);
    return { status: 204 };
  },
};

export const listTenants: Route = {
  operation: 'tenants.list',
  method: 'GET',
  path: '/tenants',
  summary: 'List tenants',
  description: 'A caller that is bound to a tenant gets that one at most.',
  answers: { 200: tenantPage },
  errors: [],
  query: pageQuery,
  run: async ({ scope, query }) => ({ status: 200, body: await scope.tenants.list(query) }),
};

export const getTenant: Route = {
  operation: 'tenants.get',
  method: 'GET',
  path: '/tenants/:id',
  summary: 'Read a tenant',
  answers: { 200: tenant },
  errors: ['TENANT_NOT_FOUND'],
  run: async ({ scope, params }) => ({ status: 200, body: await scope.tenants.get(params.id!) }),
};
