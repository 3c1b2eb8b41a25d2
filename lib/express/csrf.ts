import { type CrossSiteOptions, createCrossSiteGuard } from '../admin/authorizers/cross-site.js';
import { invalidOptions } from '../admin/authorizers/invalid-options.js';
import type { RequestHead } from '../admin/lazy-request.js';
import { type KnownKeys, unknownKey } from '../model/known-keys.js';
import type { HostRequest } from './target.js';

/** What Express has on a request beside what every host has. */
type ExpressRequest = HostRequest & { app?: { get?: (setting: string) => unknown } };

const OPTIONS: KnownKeys<CrossSiteOptions> = { trustedOrigins: true, csrf: true };

/** Whether a request that was authenticated by a cookie has to be refused. */
export type CsrfGuard = (head: RequestHead, req: HostRequest) => boolean;

/**
 * The protection against cross-site requests of the authorizers that go by a session: it looks at requests that carry
 * what a browser sends by itself.
 * @throws HookplaneError `INVALID_OPTIONS`
 */
export function createCsrfGuard(options: CrossSiteOptions, where: string): CsrfGuard {
  const problem = unknownKey(options, OPTIONS);
  if (problem !== null) throw invalidOptions(where)(`the second argument ${problem}`);
  const isCrossSite = createCrossSiteGuard(options, where);
  return (head, req) => isAmbient(head.headers) && isCrossSite(head, forwardedHost(req));
}

/** Cookies, and the credentials of Basic, Digest, Negotiate and NTLM, which it keeps; a bearer token it never adds. */
function isAmbient(headers: RequestHead['headers']): boolean {
  const authorization = headers.get('authorization');
  return headers.has('cookie') || (authorization !== null && !/^bearer /i.test(authorization));
}

/** What a proxy that Express trusts (`trust proxy`) was asked for, as Express reads it: the first of several. */
function forwardedHost(req: ExpressRequest): string | undefined {
  const header = trustsPeer(req) ? req.headers['x-forwarded-host'] : undefined;
  return typeof header === 'string' ? header.split(',', 1)[0]?.trim() || undefined : undefined;
}

/** `req.host` of Express would tell, but that of version 4 has no port. Both versions keep the function behind it. */
function trustsPeer({ app, socket }: ExpressRequest): boolean {
  const trust = app?.get?.('trust proxy fn');
  return typeof trust === 'function' && trust.call(app, socket.remoteAddress, 0) === true;
}
