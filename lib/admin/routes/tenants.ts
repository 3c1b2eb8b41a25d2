import { HookplaneError } from '../../model/errors.js';
import { pageQuery } from '../input.js';
import type { Route, RouteInput } from '../route.js';

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
  body: 'required',
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
  query: pageQuery,
  run: async ({ scope, query }) => ({ status: 200, body: await scope.tenants.list(query) }),
};

export const getTenant: Route = {
  operation: 'tenants.get',
  method: 'GET',
  path: '/tenants/:id',
  run: async ({ scope, params }) => ({ status: 200, body: await scope.tenants.get(params.id!) }),
};
