import { type AdminClient, isAdminClientError } from '../../client/index.js';
import type { EndpointStats, StatsRequest } from '../../model/stats.js';

/** What the control plane allows whoever is asking. */
export interface Caller {
  /** Null for an operator, who sees every tenant. */
  tenantId: string | null;
  readOnly: boolean;
  actor: { id: string; name?: string | null } | null;
}

/** Calls that a control plane of an earlier version does not have. */
export interface LaterCalls {
  caller?: () => Promise<Caller>;
  stats?: (
    request: StatsRequest & { tenantId?: string },
    options?: { signal?: AbortSignal },
  ) => Promise<EndpointStats>;
}

/** A tenant that nobody is bound to. */
const NOBODY = 'hookplane-dashboard: is the caller bound?';

/** @throws AdminClientError `UNAUTHORIZED`, `FORBIDDEN` and what else keeps a caller from being known */
export async function readCaller(client: AdminClient): Promise<Caller> {
  const { caller } = client as LaterCalls;
  if (caller) {
    try {
      return await caller();
    } catch (error) {
      if (!isAdminClientError(error) || error.code !== 'ROUTE_NOT_FOUND') throw error;
    }
  }
  return inferCaller(client);
}

/** From what the control plane refuses: another tenant's name, and a write that changes nothing. */
async function inferCaller(client: AdminClient): Promise<Caller> {
  const [bound, readOnly] = await Promise.all([
    isRefused(client.endpoints.list({ limit: 1, tenantId: NOBODY }), 'INVALID_QUERY'),
    // The one write that changes nothing and is kept nowhere; callers that may only read are refused it.
    isRefused(client.keys.generateSymmetric(), 'FORBIDDEN'),
  ]);
  const tenantId = bound ? await boundTo(client) : null;
  return { tenantId, readOnly, actor: null };
}

async function isRefused(call: Promise<unknown>, as: 'INVALID_QUERY' | 'FORBIDDEN'): Promise<boolean> {
  try {
    await call;
    return false;
  } catch (error) {
    const code = isAdminClientError(error) ? error.code : null;
    if (code === as) return true;
    throw error;
  }
}

/** A tenant may have no record; then its endpoints and messages name it. */
async function boundTo(client: AdminClient): Promise<string> {
  const { tenants } = await client.tenants.list({ limit: 1 });
  if (tenants[0]) return tenants[0].id;
  const { endpoints } = await client.endpoints.list({ limit: 1 });
  if (endpoints[0]?.tenantId) return endpoints[0].tenantId;
  const { messages } = await client.messages.list({ limit: 1 });
  return messages[0]?.tenantId ?? '';
}
