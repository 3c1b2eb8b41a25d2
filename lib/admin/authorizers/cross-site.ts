import { parseUrl } from '../../model/url.js';
import { type Decision, isSafe } from '../authorize.js';
import type { RequestHead } from '../lazy-request.js';
import { invalidOptions } from './invalid-options.js';

/** How an authorizer that goes by what browsers send by themselves tells requests of other sites. */
export interface CrossSiteOptions {
  /**
   * Origins, such as `https://admin.example.com`, whose requests are taken for the application's own where a browser
   * names only its `Origin`: behind a proxy that changes `Host`, say. Browsers that send `Sec-Fetch-Site` are judged by
   * that alone.
   * @default []
   */
  trustedOrigins?: readonly string[];
  /** `false` for a host that has its own protection against cross-site requests. @default true */
  csrf?: boolean;
}

/**
 * Whether a request has to be refused; it is asked for every request.
 * @param publicHost the host that the browser asked, where that is another than the one in the request's URL
 */
export type CrossSiteGuard = (head: RequestHead, publicHost?: string) => boolean;

export const CROSS_SITE: Decision = {
  allow: false,
  status: 403,
  publicMessage: 'The request was made by a page of another site',
};

/**
 * Refuses methods other than GET and HEAD when a page of another site has the browser send them: when
 * `Sec-Fetch-Site` is neither `same-origin` nor `none`, or, without that header, when `Origin` is neither the request's
 * own nor trusted. A request with neither header comes from no browser. (W3C Fetch Metadata; RFC 6454, §7.)
 * @param where names the authorizer in the errors
 * @throws HookplaneError `INVALID_OPTIONS`
 */
export function createCrossSiteGuard(options: CrossSiteOptions, where: string): CrossSiteGuard {
  const { trustedOrigins = [], csrf = true } = options;
  const invalid = invalidOptions(where);
  if (typeof csrf !== 'boolean') throw invalid('csrf must be a boolean');
  if (!Array.isArray(trustedOrigins)) throw invalid('trustedOrigins must be an array of origins');
  const trusted = new Set(trustedOrigins as readonly string[]);
  for (const [index, origin] of trustedOrigins.entries()) {
    const problem = problemOf(origin);
    if (problem !== null) throw invalid(`trustedOrigins[${index}] ${problem}`);
  }
  if (!csrf) return () => false;
  return ({ method, headers, url }, publicHost) => {
    if (isSafe(method)) return false;
    const site = headers.get('sec-fetch-site');
    if (site !== null) return site !== 'same-origin' && site !== 'none';
    const origin = headers.get('origin');
    if (origin === null) return false;
    return !trusted.has(origin) && !isOwn(origin, new URL(url), publicHost);
  };
}

/** Browsers write an origin in one way only, so one that is spelt otherwise would never be met. */
function problemOf(value: unknown): string | null {
  const wanted = 'must be an origin, a scheme and a host such as "https://admin.example.com"';
  const given = typeof value === 'string' ? JSON.stringify(value) : String(value);
  const url = typeof value === 'string' && /^https?:\/\//i.test(value) ? parseUrl(value) : null;
  if (url === null) return `${wanted}, and is ${given}`;
  const { origin } = url;
  return origin === value ? null : `${wanted}: write ${JSON.stringify(origin)} for ${given}`;
}

/** HTTPS may be taken for HTTP, behind a proxy that ends TLS and is not trusted; but not the other way round. */
function isOwn(origin: string, url: URL, publicHost: string | undefined): boolean {
  const from = parseUrl(origin);
  if (from === null) return false;
  const { protocol, host } = from;
  if (protocol !== 'https:' && (protocol !== 'http:' || url.protocol === 'https:')) return false;
  // Read with the scheme of the page, so that `app.example:443` is `https://app.example`.
  return parseUrl(`${protocol}//${publicHost ?? url.host}`)?.host === host;
}
