import { createDashboard } from '../dashboard/handler.js';
import type { DashboardHandlerOptions } from '../dashboard/options.js';
import { stackOf } from '../model/error-text.js';
import { defaultLogger, type Logger, safeLogger } from '../model/logger.js';
import { pathBelowBase } from './base-path.js';
import { createNodeMiddleware, type NodeMiddleware } from './node-bridge.js';
import { type HostRequest, publicPath } from './target.js';

export interface DashboardMiddlewareOptions extends DashboardHandlerOptions {
  /** @default warnings and errors as Node.js process warnings */
  logger?: Logger;
}

/**
 * The dashboard as middleware for Express 4 and 5, connect and `node:http`: mount it with
 * `app.use('/webhooks', dashboardMiddleware({ adminUrl: '/admin' }))`, beside the control plane. It answers every request
 * below its mount, unknown paths included, so nothing falls through to the host's handlers.
 *
 * The page holds no data, and everybody may load it; what it shows it asks of the control plane, which lets in whom its
 * `authorize` allows.
 * @throws HookplaneError `INVALID_OPTIONS`
 */
export function dashboardMiddleware(options: DashboardMiddlewareOptions): NodeMiddleware {
  const { logger: given = defaultLogger, ...own } = options ?? {};
  const { answer, basePath } = createDashboard(own);
  const logger = safeLogger(given);
  return createNodeMiddleware(
    ({ head }, { method, path, search, host }) =>
      answer({
        method,
        path: basePath === '' ? path : pathBelowBase(basePath, { path, host }),
        publicPath: publicPath(host.req as HostRequest),
        search,
        headers: head.headers,
      }),
    {
      onError: (error, { requestId }) =>
        logger.error('The dashboard failed', { requestId, error: stackOf(error) }),
    },
  );
}
