import { HookplaneError } from '../model/errors.js';
import type { TenantScope } from '../store/store.js';

/** @throws HookplaneError `ENDPOINT_NOT_FOUND` */
export function endpointNotFound(id: string): never {
  throw new HookplaneError('ENDPOINT_NOT_FOUND', `There is no endpoint ${JSON.stringify(id)}`);
}

/** @throws HookplaneError `MESSAGE_NOT_FOUND` */
export function messageNotFound(id: string): never {
  throw new HookplaneError('MESSAGE_NOT_FOUND', `There is no message ${JSON.stringify(id)}`);
}

/** @throws HookplaneError `TENANT_NOT_FOUND` */
export function tenantNotFound(id: string): never {
  throw new HookplaneError('TENANT_NOT_FOUND', `There is no tenant ${JSON.stringify(id)}`);
}

/**
 * The tenant a list is narrowed to.
 * @throws HookplaneError `INVALID_QUERY` when a bound caller names another than its own
 */
export function narrowTenant(tenant: TenantScope, wanted: string | undefined): TenantScope {
  if (tenant !== undefined && wanted !== undefined && wanted !== tenant) {
    throw new HookplaneError('INVALID_QUERY', 'tenantId is not the tenant of the caller: leave it out');
  }
  return tenant ?? wanted;
}
