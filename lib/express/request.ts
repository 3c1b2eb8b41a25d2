import type { ServerResponse } from 'node:http';
import type { Incoming } from '../admin/incoming.js';
import { lazyRequest, type RequestHead } from '../admin/lazy-request.js';
import { requestBody } from './body.js';
import { type HostRequest, publicUrl, type Target } from './target.js';

/** The methods that the Fetch standard refuses to build a request with. */
const REFUSED_METHODS = new Set(['CONNECT', 'TRACE', 'TRACK']);
const BODILESS_METHODS = new Set(['GET', 'HEAD', ...REFUSED_METHODS]);
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
  const left = body?.restored ? BODY_FRAMING : NOTHING_LEFT;
  const head = new NodeHead(req, target, left);
  const make = (): Request => {
    const init: RequestInit & { duplex?: 'half' } = {
      // A name that no route has: whoever clones the request must not find a method that some route answers.
      method: refused ? `X-${method}` : method,
      headers: fetchHeaders(req, left),
    };
    if (body) Object.assign(init, { body: body.bytes.stream(), duplex: 'half' });
    const request = new HostedRequest(head.url, init, res);
    return refused ? Object.defineProperty(request, 'method', { value: method }) : request;
  };
  return { ...lazyRequest(head, make), bytes: body?.bytes ?? null };
}

const NOTHING_LEFT: ReadonlySet<string> = new Set();

/** The head as a native request would tell it. */
class NodeHead implements RequestHead {
  readonly method: string;
  readonly headers: RequestHead['headers'];
  readonly #req: HostRequest;
  readonly #target: Target;

  constructor(req: HostRequest, target: Target, left: ReadonlySet<string>) {
    this.#req = req;
    this.#target = target;
    this.method = req.method ?? 'GET';
    const get = (name: string) => headerOf(req, name.toLowerCase(), left) ?? null;
    this.headers = { get, has: (name) => get(name) !== null };
  }

  get url(): string {
    return publicUrl(this.#req, this.#target);
  }
}

function headerOf({ headers }: HostRequest, name: string, left: ReadonlySet<string>): string | undefined {
  // Pseudo-headers of HTTP/2, such as `:path`, are none.
  if (name.startsWith(':') || left.has(name) || !Object.hasOwn(headers, name)) return undefined;
  const value = headers[name];
  return Array.isArray(value) ? value.join(', ') : value;
}

function fetchHeaders(req: HostRequest, left: ReadonlySet<string>): Record<string, string> {
  const headers: Record<string, string> = {};
  for (const name in req.headers) {
    const value = headerOf(req, name, left);
    if (value !== undefined) headers[name] = value;
  }
  return headers;
}

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
