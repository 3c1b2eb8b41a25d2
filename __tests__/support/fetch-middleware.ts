import {
  createNodeMiddleware,
  type NodeContext,
  type NodeMiddleware,
  type NodeMiddlewareOptions,
} from '../../lib/express/node-bridge.js';

export type FetchHandler = (request: Request, context: NodeContext) => Promise<Response>;

/** The bridge with a handler that is given the native request. */
export function fetchMiddleware(handler: FetchHandler, options?: NodeMiddlewareOptions): NodeMiddleware {
  return createNodeMiddleware(async (incoming, context) => handler(incoming.native(), context), options);
}
