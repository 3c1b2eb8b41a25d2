import { createServerAdapter, Response as LightResponse } from '@whatwg-node/server';
import { type AdminHandlerOptions, createControlPlane, type HostContext } from '../admin/handler.js';
import type { Incoming } from '../admin/incoming.js';
import { createReport } from '../admin/report.js';
import { toResponse } from '../admin/response.js';
import { normalizeBasePath } from '../model/base-path.js';
import type { Sender } from '../sender/sender.js';
import { pathBelowBase } from './base-path.js';
import { createNodeMiddleware, type NodeMiddleware } from './node-bridge.js';

export type { FromHostOptions, HostSession } from './authorize.js';
export { fromSession, fromUser } from './authorize.js';
export type { DashboardMiddlewareOptions } from './dashboard.js';
export { dashboardMiddleware } from './dashboard.js';
export type { NodeMiddleware } from './node-bridge.js';

/** `authorize` finds `{ req, res }` of the host framework under `host`, with whatever earlier middleware put there. */
export interface AdminMiddlewareOptions extends AdminHandlerOptions {
  /**
   * The prefix that the host leaves on the path. `app.use('/admin', …)` takes it off and needs none; a route such as
   * `app.all('/admin/*splat', …)` does not, and needs `/admin`.
   * @default ''
   */
  basePath?: string;
}

/**
 * The control plane as middleware for Express 4 and 5, connect and `node:http`: mount it with
 * `app.use('/admin', adminMiddleware(sender, { authorize }))`, before or after body parsers. It answers every request
 * below its mount, unknown paths and errors included, so nothing falls through to the host's handlers.
 * @throws HookplaneError `INVALID_OPTIONS`
 */
export function adminMiddleware(sender: Sender, options: AdminMiddlewareOptions = {}): NodeMiddleware {
  const basePath = normalizeBasePath(options.basePath ?? '');
  const answer = createControlPlane(sender, options);
  const report = createReport(options);
  const adapter = createServerAdapter(
    // The adapter's own Response costs a quarter of the native one. It goes no further than to our writer.
    async (asked) => {
      const { incoming, context } = asked as unknown as Asked;
      return toResponse(await answer(() => incoming, context), LightResponse);
    },
    { fetchAPI: { Request, Response, Headers, URL, ReadableStream } },
  );
  const handle = adapter.handleRequest as unknown as (asked: Asked) => Response | Promise<Response>;
  return createNodeMiddleware(
    async (incoming, context) => {
      const path = basePath === '' ? context.path : pathBelowBase(basePath, context);
      return handle({ incoming, context: { ...context, path } });
    },
    { onError: (error, { requestId }) => report(error, requestId) },
  );
}

/**
 * What goes through the adapter in place of a request, which it hands on unseen. (A context that it is given it copies,
 * property by property, for more than all else that it does.)
 */
interface Asked {
  incoming: Incoming;
  context: HostContext;
}
