import type { Endpoint } from '../model/endpoint.js';
import { HookplaneError } from '../model/errors.js';
import { parseTime } from '../model/time.js';
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

/**
 * What a list is narrowed to, if it is. Nothing to narrow it to is as likely a slip as a wish for everything.
 * @throws HookplaneError `INVALID_QUERY`
 */
export function namedOf<Name>(
  field: string,
  names: readonly Name[] | undefined,
): readonly Name[] | undefined {
  if (names?.length !== 0) return names;
  throw new HookplaneError('INVALID_QUERY', `${field} must not be empty: leave it out for all of them`);
}

/** @throws HookplaneError `ENDPOINT_DISABLED` */
export function assertActive(endpoint: Endpoint): void {
  if (endpoint.status === 'active') return;
  throw new HookplaneError('ENDPOINT_DISABLED', `The endpoint ${endpoint.id} is paused: enable it first`);
}

/** A range of time as a list is asked for it. @throws HookplaneError `INVALID_QUERY` */
export function timeRange(since: string | undefined, until: string | undefined) {
  const range = { since: queryTime('since', since), until: queryTime('until', until) };
  if (range.since !== undefined && range.until !== undefined && range.since > range.until) {
    throw new HookplaneError('INVALID_QUERY', 'since is after until');
  }
  return range;
}

function queryTime(name: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const time = parseTime(text);
  if ('problem' in time) throw new HookplaneError('INVALID_QUERY', `${name} ${time.problem}`);
  return time.ms;
}
