import { type Authorize, decide, type Verdict } from '../../../lib/admin/authorize.js';
import { givenRequest } from '../../../lib/admin/lazy-request.js';

export interface AskedOf {
  method?: string;
  url?: string;
  headers?: Record<string, string> | Headers;
  /** What the host has at hand. */
  host?: unknown;
}

/** What comes of asking an authorizer. */
export function verdictOf(authorize: Authorize, asked: AskedOf = {}): Promise<Verdict> {
  const { method = 'GET', url = 'http://hooks.example/admin/tenants', headers = {}, host } = asked;
  return decide(authorize, givenRequest(new Request(url, { method, headers })), {
    operation: null,
    params: {},
    host,
  });
}

export const bearer = (token: string) => ({ headers: { authorization: `Bearer ${token}` } });

/** The verdict on a caller who may see every tenant, do everything and has no name. */
export const ANYBODY = { allowed: true, tenantId: undefined, actor: undefined, readOnly: false };
