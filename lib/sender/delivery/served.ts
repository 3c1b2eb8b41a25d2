import type { Served } from './lanes.js';

/** The last lane of very many tenants is not worth remembering: those who have waited longest come round again. */
const MAX_REMEMBERED_TENANTS = 10_000;

/** Remembers who was served last, over the turns of a worker. */
export function createServed() {
  let tenantId: Served['tenantId'];
  const endpointByTenant = new Map<string | null, string>();
  return {
    last: (): Served => ({ tenantId, endpointByTenant }),
    remember(served: Served) {
      tenantId = served.tenantId;
      if (endpointByTenant.size > MAX_REMEMBERED_TENANTS) endpointByTenant.clear();
      for (const [tenant, endpoint] of served.endpointByTenant) endpointByTenant.set(tenant, endpoint);
    },
  };
}
