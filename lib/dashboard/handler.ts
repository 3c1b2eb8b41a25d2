import { pathBelow } from '../model/base-path.js';
import { chooseEncoding, namesTag } from './negotiation.js';
import { type DashboardHandlerOptions, resolveDashboard } from './options.js';
import { loadPage, type Page, type PageFile } from './page.js';
import { securityHeaders } from './policy.js';

export type DashboardHandler = (request: Request) => Promise<Response>;

/**
 * The dashboard as a Fetch handler: a page that holds no data. It asks the control plane, from the visitor's browser and
 * with what the visitor has: a cookie of the application, or a token that is typed in. Everybody may load it, so it says
 * nothing but where the control plane is.
 *
 * It answers GET and HEAD below its mount, and rejects only where the package is incomplete.
 * @throws HookplaneError `INVALID_OPTIONS`
 */
export function createDashboardHandler(options: DashboardHandlerOptions): DashboardHandler {
  const dashboard = createDashboard(options);
  return (request) => {
    const { pathname, search } = new URL(request.url);
    const { method, headers } = request;
    const path = pathBelow(dashboard.basePath, pathname);
    return dashboard.answer({ method, path, publicPath: pathname, search, headers });
  };
}

/** A request, as the host knows it. */
export interface DashboardRequest {
  method: string;
  /** Below the mount, with a leading slash; null when it is not below it. */
  path: string | null;
  /** As the visitor's browser has asked for it, the mount included. */
  publicPath: string;
  /** With its `?`; empty when there is none. */
  search: string;
  headers: Pick<Headers, 'get'>;
}

export interface Dashboard {
  basePath: string;
  answer(request: DashboardRequest): Promise<Response>;
}

/**
 * What every kind of host shares.
 * @throws HookplaneError `INVALID_OPTIONS`
 */
export function createDashboard(options: DashboardHandlerOptions): Dashboard {
  const settings = resolveDashboard(options);
  const common = securityHeaders(settings);
  let page: Promise<Page> | undefined;

  function text(status: number, body: string, headers: Record<string, string> = {}): Response {
    return new Response(`${body}\n`, {
      status,
      headers: {
        ...common,
        'content-type': 'text/plain; charset=utf-8',
        'cache-control': 'no-cache',
        ...headers,
      },
    });
  }

  async function answer({ method, path, publicPath, search, headers }: DashboardRequest): Promise<Response> {
    page ??= loadPage(settings);
    const file = path === null ? undefined : (await page).get(path);
    if (!file) return text(404, 'Not found');
    if (method !== 'GET' && method !== 'HEAD') return text(405, 'Method not allowed', { allow: 'GET, HEAD' });
    if (path === '/' && !publicPath.endsWith('/')) {
      return text(308, 'The dashboard has a slash at its end', { location: withSlash(publicPath) + search });
    }
    return serve(file, headers, common);
  }

  return {
    basePath: settings.basePath,
    async answer(request) {
      const response = await answer(request);
      return request.method === 'HEAD' ? new Response(null, response) : response;
    },
  };
}

/**
 * Relative to the URL of the request, whose last segment it repeats: a proxy may have changed what is before it. The
 * dot keeps a colon in the segment from making a scheme of it.
 */
function withSlash(publicPath: string): string {
  return `./${publicPath.slice(publicPath.lastIndexOf('/') + 1)}/`;
}

function serve(file: PageFile, asked: DashboardRequest['headers'], common: Record<string, string>): Response {
  const encoding = chooseEncoding(asked.get('accept-encoding'));
  const etag = `"${file.hash}-${encoding}"`;
  const headers: Record<string, string> = {
    ...common,
    'cache-control': file.immutable ? 'public, max-age=31536000, immutable' : 'no-cache',
    etag,
    vary: 'accept-encoding',
  };
  if (namesTag(asked.get('if-none-match'), etag)) return new Response(null, { status: 304, headers });
  const body = file.bytes[encoding];
  headers['content-type'] = file.type;
  headers['content-length'] = String(body.length);
  if (encoding !== 'identity') headers['content-encoding'] = encoding;
  return new Response(body, { headers });
}
