import type { ServerResponse } from 'node:http';
import type { Incoming } from '../admin/incoming.js';
import { lazyRequest, type RequestHead } from '../admin/lazy-request.js';
import { requestBody } from './body.js';
import { type HostRequest, publicUrl, type Target } from './target.js';

/** The methods that the Fetch standard refuses to build a request with. */
const REFUSED_METHODS = new Set(['CONNECT', 'TRACE', 'TRACK']);
const BODILESS_METHODS = new Set(['GET', 'HEAD', ...REFUSED_METHODS]);
/** Those that the Fetch standard writes in capitals, however they came. */
const NORMALIZED_METHODS = new Set(['DELETE', 'GET', 'HEAD', 'OPTIONS', 'POST', 'PUT']);
/** They describe the message as it was sent; a restored body has neither that length nor that encoding. */
const BODY_FRAMING = new Set(['content-length', 'content-encoding', 'transfer-encoding']);

/**
 * The request of a Node.js one. Its URL is for reading, routing goes by `target.path`; its body is read from the socket
 * when somebody reads it; its `signal` aborts when the client leaves before the response is complete.
 * @param onLostBody told when the body is asked for but something before us has read it and kept nothing
 */
export function toIncoming(
  req: HostRequest,
  res: ServerResponse,
  target: Target,
  onLostBody: (error: Error) => void,
): Incoming {
  const method = req.method ?? 'GET';
  const refused = REFUSED_METHODS.has(method.toUpperCase());
  const body = BODILESS_METHODS.has(method.toUpperCase()) ? null : requestBody(req, onLostBody);
  const headers = fetchHeaders(req, body?.restored ? BODY_FRAMING : undefined);
  const url = publicUrl(req, target);
  const get = (name: string): string | null => headers[name.toLowerCase()] ?? null;
  const head: RequestHead = {
    method: NORMALIZED_METHODS.has(method.toUpperCase()) ? method.toUpperCase() : method,
    url,
    headers: { get, has: (name) => get(name) !== null },
  };
  const make = (): Request => {
    const init: RequestInit & { duplex?: 'half' } = {
      // A name that no route has: whoever clones the request must not find a method that some route answers.
      method: refused ? `X-${method}` : method,
      headers,
    };
    if (body) Object.assign(init, { body: body.bytes.stream(), duplex: 'half' });
    const request = new HostedRequest(url, init, res);
    return refused ? Object.defineProperty(request, 'method', { value: method }) : request;
  };
  return { ...lazyRequest(head, make), bytes: body?.bytes ?? null };
}

/**
 * The headers as a native request has them, at the time of the request: what others make of the host's own later changes
 * nothing.
 */
function fetchHeaders(req: HostRequest, left: ReadonlySet<string> | undefined): Record<string, string> {
  const headers: Record<string, string> = Object.create(null);
  for (const given in req.headers) {
    const value = req.headers[given];
    const name = given.toLowerCase();
    // Pseudo-headers of HTTP/2, such as `:path`, are none.
    if (value === undefined || name.startsWith(':') || left?.has(name)) continue;
    const text = (Array.isArray(value) ? value.join(', ') : String(value)).replace(OUTER_SPACE, '');
    headers[name] = name in headers ? `${headers[name]}, ${text}` : text;
  }
  return headers;
}

const OUTER_SPACE = /^[\t\n\r ]+|[\t\n\r ]+$/g;

/** A native one; but the `signal` option costs more than all else of it, and few handlers look at the signal. */
class HostedRequest extends Request {
  readonly #res: ServerResponse;
  #controller: AbortController | undefined;

  constructor(url: string, init: RequestInit, res: ServerResponse) {
    super(url, init);
    this.#res = res;
  }

  override get signal(): AbortSignal {
    this.#controller ??= abortedBy(this.#res);
    return this.#controller.signal;
  }
}

function abortedBy(res: ServerResponse): AbortController {
  const controller = new AbortController();
  const abort = (): void => {
    if (!res.writableFinished) controller.abort(new DOMException('The client went away', 'AbortError'));
  };
  // The response's `close`, not the request's: that one fires as soon as the body has been read.
  if (res.destroyed) abort();
  else res.once('close', abort);
  return controller;
}
