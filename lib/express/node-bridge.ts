import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Incoming } from '../admin/incoming.js';
import { errorAnswer, knownAnswer, toResponse } from '../admin/response.js';
import { toIncoming } from './request.js';
import { leavesRest, type NodeHost, writeResponse } from './response.js';
import { parseTarget } from './target.js';

/** What a handler knows of a request beside itself. */
export interface NodeContext {
  /** Below the mount, percent-encoded as it was sent. The authority for routing; `request.url` has been normalised. */
  path: string;
  /** As it was sent, with its `?`. */
  search: string;
  /** As it was sent. The authority over `request.method`: the Fetch standard has no request for TRACE. */
  method: string;
  host: NodeHost;
}

export type NodeHandler = (incoming: Incoming, context: NodeContext) => Promise<Response>;

export interface NodeMiddlewareOptions {
  /**
   * Told of what the handler threw, of an answer that cannot be sent, of a response stream that failed and of a request
   * body that another middleware has lost.
   */
  onError?: ((error: unknown, details: { requestId: string }) => void) | undefined;
}

/**
 * A `node:http` listener that is also Express 4 and 5 and connect middleware. It answers every request below its
 * mount, so `next` is never called: not for an unknown path, nor with an error, whose stack Express would show to the
 * client. The promise never rejects, as Express 4 would leave that unhandled.
 */
export type NodeMiddleware = (
  req: IncomingMessage,
  res: ServerResponse,
  next?: (error?: unknown) => void,
) => Promise<void>;

/**
 * A listener of Node.js for a handler that answers with a Fetch response. An error of the handler's is answered 500
 * without a word about the inside.
 */
export function createNodeMiddleware(
  handler: NodeHandler,
  { onError }: NodeMiddlewareOptions = {},
): NodeMiddleware {
  const closing = new WeakSet<Socket>();

  async function report(error: unknown, requestId: string): Promise<void> {
    try {
      await onError?.(error, { requestId });
    } catch {
      // There is nobody left to tell, and the client gets its answer.
    }
  }

  async function ask(host: NodeHost): Promise<Response> {
    const { req, res } = host;
    const target = parseTarget(req.url ?? '/');
    const incoming = toIncoming(req, res, target, (error) => void report(error, createRequestId()));
    const response: unknown = await handler(incoming, {
      path: target.path,
      search: target.search,
      method: req.method ?? 'GET',
      host,
    });
    if (knownAnswer(response) || response instanceof Response) return response as Response;
    throw new TypeError('The handler did not answer with a Response');
  }

  async function answer(host: NodeHost, response: Response): Promise<void> {
    const closes = await leavesRest(host.req);
    if (closes) closing.add(host.req.socket);
    await writeResponse(host, response, { closes });
  }

  async function answerError(host: NodeHost, requestId: string): Promise<void> {
    try {
      // Not the error itself: here it may be anything, with a code that looks like one of ours.
      if (host.res.headersSent) host.res.destroy();
      else await answer(host, toResponse(errorAnswer(undefined, () => requestId)));
    } catch {
      host.res.destroy();
    }
  }

  return async (req, res) => {
    // It came behind a request whose answer ends the connection, so nobody would learn what it did.
    if (closing.has(req.socket)) return;
    try {
      await answer({ req, res }, await ask({ req, res }));
    } catch (error) {
      const requestId = createRequestId();
      if (!isClientGone(error, res)) void report(error, requestId);
      await answerError({ req, res }, requestId);
    }
  };
}

function createRequestId(): string {
  return `req_${randomUUID()}`;
}

/** A client that leaves while a response is streamed to it is no error of ours. */
function isClientGone(error: unknown, res: ServerResponse): boolean {
  return res.headersSent && (error as { code?: unknown } | null)?.code === 'ERR_STREAM_PREMATURE_CLOSE';
}
