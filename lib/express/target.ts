import type { IncomingMessage } from 'node:http';
import { parseUrl } from '../model/url.js';

/** What a host framework may have put on the request before us; nothing here is trusted to be there. */
export type HostRequest = IncomingMessage & {
  baseUrl?: unknown;
  originalUrl?: unknown;
  protocol?: unknown;
  body?: unknown;
  rawBody?: unknown;
};

export interface Target {
  /** Below the mount, percent-encoded as it was sent, with a leading slash. */
  path: string;
  /** The query as it was sent, with its `?`; empty when there is none. */
  search: string;
}

const ABSOLUTE_FORM = /^[a-z][a-z0-9+.-]*:\/\/[^/?#]*/i;
const AUTHORITY = /^(?:[a-z0-9][a-z0-9._-]*|\[[0-9a-f:.]+\])(?::\d{1,5})?$/i;

/** Splits a request target. Nothing is decoded or normalised: the path is what a router has to judge. */
export function parseTarget(url: string): Target {
  const originForm = url.startsWith('/') ? url : url.replace(ABSOLUTE_FORM, '');
  const [target = ''] = originForm.split('#', 1);
  const query = target.indexOf('?');
  const path = query === -1 ? target : target.slice(0, query);
  return {
    path: path.startsWith('/') ? path : `/${path}`,
    search: query === -1 ? '' : target.slice(query),
  };
}

/** The public path of the mount itself: `/api/acme/admin` below nested routers, empty for a bare server. */
export function mountPath(req: HostRequest): string {
  if (typeof req.baseUrl === 'string') return req.baseUrl;
  if (typeof req.originalUrl !== 'string') return '';
  // connect keeps no base: it is what the original path has in front of the relative one.
  const original = parseTarget(req.originalUrl).path;
  const { path } = parseTarget(req.url ?? '/');
  if (original.endsWith(path)) return original.slice(0, original.length - path.length);
  return path === '/' ? original : '';
}

/** The path the caller used, as it was sent: what mounts have taken off is in it, a slash at its end, too. */
export function publicPath({ originalUrl, url }: HostRequest): string {
  return parseTarget(typeof originalUrl === 'string' ? originalUrl : (url ?? '/')).path;
}

/** The URL the caller used. For reading only: its path is normalised, and `Host` is the caller's word. */
export function publicUrl(req: HostRequest, target: Target): string {
  return `${scheme(req)}://${authority(req)}${mountPath(req)}${target.path}${target.search}`;
}

function scheme(req: HostRequest): 'http' | 'https' {
  const encrypted = (req.socket as { encrypted?: unknown } | undefined)?.encrypted === true;
  return encrypted || req.protocol === 'https' ? 'https' : 'http';
}

/** A `Host` with a slash or a question mark in it would move the path; two of them leave open which one counts. */
function authority(req: HostRequest): string {
  const host = req.headers.host ?? (req.headers[':authority'] as string | undefined);
  if (!host || !AUTHORITY.test(host) || repeatsHost(req.rawHeaders)) return 'localhost';
  if (host !== lastHost.text) lastHost = { text: host, valid: parseUrl(`http://${host}`) !== null };
  return lastHost.valid ? host : 'localhost';
}

/** The clients of a server nearly all name the same host, and to parse it costs more than all else of the URL. */
let lastHost = { text: '', valid: false };

function repeatsHost(rawHeaders: readonly string[]): boolean {
  let hosts = 0;
  for (let at = 0; at < rawHeaders.length; at += 2) {
    if (rawHeaders[at]?.length === 4 && rawHeaders[at]?.toLowerCase() === 'host') hosts += 1;
  }
  return hosts > 1;
}
