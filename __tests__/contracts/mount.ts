import { EventEmitter, once } from 'node:events';
import http, { type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http';
import type { NodeMiddleware } from '../../lib/express/node-bridge.js';
import { type Echo, echo } from '../express/echo.js';
import { type Answer, close, listen, open, type Sent, send } from '../express/http.js';
import { type FetchHandler, fetchMiddleware } from '../support/fetch-middleware.js';

export type Step = (req: IncomingMessage, res: ServerResponse, next: (error?: unknown) => void) => void;

export interface Host {
  name: string;
  /** The public path at which `listener` mounts. */
  prefix: string;
  /** It answers a path with a broken escape itself, before any middleware. */
  refusesBrokenEscapes?: boolean;
  /** Builds a server that runs `before`, then the middleware, then `after` for what comes through it. */
  listener(
    middleware: NodeMiddleware,
    around: { before: Step[]; after: Step },
  ): RequestListener | Promise<RequestListener>;
}

export interface Parser {
  name: string;
  steps: Step[];
  /** It refuses JSON that is neither an object nor an array, before the middleware sees it. */
  objectsOnly?: boolean;
}

const JSON_TYPE = { 'content-type': 'application/json' };
const FORM_TYPE = { 'content-type': 'application/x-www-form-urlencoded' };

/**
 * What a mounted middleware promises, whatever it is mounted in and whatever has read the body before it. It is given
 * Node.js's request and response, so this covers what Fetch-native hosts do by themselves: paths and queries as they were
 * sent, parsers, headers and cookies that are there already, the signal. What callers may rely on everywhere is in
 * `served-plane.ts`.
 */
export function mountContract(host: Host, parser: Parser): void {
  let server: http.Server;
  let port: number;
  let handler: FetchHandler;
  const handling = new EventEmitter();
  const onError = jest.fn();
  const after = jest.fn<void, Parameters<Step>>((_req, res) => {
    res.writeHead(418).end('came through');
  });

  beforeAll(async () => {
    const middleware = fetchMiddleware((request, context) => handler(request, context), { onError });
    const earlier: Step = (_req, res, next) => {
      res.setHeader('x-frame-options', 'DENY');
      res.setHeader('cache-control', 'public');
      res.setHeader('set-cookie', 'earlier=1');
      next();
    };
    server = http.createServer(
      await host.listener(middleware, { before: [earlier, ...parser.steps], after }),
    );
    port = await listen(server);
  });
  afterAll(() => close(server));
  beforeEach(() => {
    handler = echo;
    jest.clearAllMocks();
  });

  const ask = (sent: Sent): Promise<Answer> =>
    send(port, { ...sent, path: `${host.prefix}${sent.path ?? '/'}` });
  const heard = async (sent: Sent): Promise<Echo> => JSON.parse((await ask(sent)).text) as Echo;
  const heardBody = async (body: string, sent: Sent = {}): Promise<string> =>
    (await heard({ method: 'POST', headers: JSON_TYPE, body, ...sent })).body;

  it('gives the path below the mount and the public URL', async () => {
    const { path, url } = await heard({ path: '/messages/m1' });
    expect({ path, url }).toEqual({
      path: '/messages/m1',
      url: `http://127.0.0.1:${port}${host.prefix}/messages/m1`,
    });
  });

  it('gives the root of the mount as a slash', async () => {
    const echoed = JSON.parse((await send(port, { path: host.prefix || '/' })).text) as Echo;
    expect(echoed.path).toBe('/');
  });

  it('keeps an escaped slash escaped', async () => {
    expect((await heard({ path: '/endpoints/a%2Fb' })).path).toBe('/endpoints/a%2Fb');
  });

  it('hands over dot segments as they were sent', async () => {
    expect((await heard({ path: '/a/../b/%2e%2E/.//' })).path).toBe('/a/../b/%2e%2E/.//');
  });

  if (!host.refusesBrokenEscapes) {
    it('hands over broken escapes as they were sent', async () => {
      expect((await heard({ path: '/a/%E0%A4%A/b' })).path).toBe('/a/%E0%A4%A/b');
    });
  }

  it('keeps the query as it was sent, repeated keys and brackets included', async () => {
    const { url } = await heard({ path: '/x?type=a&type=b&c[d]=e&t=1%2B2&empty=' });
    expect(url.slice(url.indexOf('?'))).toBe('?type=a&type=b&c[d]=e&t=1%2B2&empty=');
  });

  it('keeps the query of the bare mount', async () => {
    const { text } = await send(port, { path: `${host.prefix || '/'}?limit=1` });
    const { path, url } = JSON.parse(text) as Echo;
    expect([path, new URL(url).search]).toEqual(['/', '?limit=1']);
  });

  it.each(['{"a":[1,{"b":null}]}', '{}', '[]'])('delivers the JSON body %s', async (body) => {
    expect(await heardBody(body)).toBe(body);
  });

  if (!parser.objectsOnly) {
    it.each(['null', '"str"', '7', 'false'])('delivers the JSON body %s', async (body) => {
      expect(await heardBody(body)).toBe(body);
    });
  }

  it('delivers a chunked JSON body', async () => {
    expect(await heardBody('{"a":1}', { chunked: true })).toBe('{"a":1}');
  });

  it('delivers an empty body as empty', async () => {
    expect(await heardBody('')).toBe('');
  });

  it('delivers an empty chunked body as empty', async () => {
    expect(await heardBody('', { chunked: true })).toBe('');
  });

  it('delivers the body to a clone, as bytes, too', async () => {
    handler = async (request) => {
      const copy = request.clone();
      const bytes = Buffer.from(await copy.arrayBuffer()).toString();
      return Response.json([bytes, await request.json()]);
    };
    const answer = await ask({ method: 'POST', headers: JSON_TYPE, body: '{"a":1}' });
    expect(JSON.parse(answer.text)).toEqual(['{"a":1}', { a: 1 }]);
  });

  it('leaves a form a form', async () => {
    const { body, headers } = await heard({ method: 'POST', headers: FORM_TYPE, body: 'a=1&b=x+y&b=%26' });
    expect([headers['content-type'], body]).toEqual([FORM_TYPE['content-type'], 'a=1&b=x+y&b=%26']);
  });

  it('ignores the body of a GET', async () => {
    const { method, body } = await heard({ headers: JSON_TYPE, body: '{"a":1}' });
    expect([method, body]).toEqual(['GET', '']);
  });

  it('answers an unknown path itself', async () => {
    handler = async () => new Response('no such route', { status: 404 });
    const { status, text } = await ask({ path: '/nowhere' });
    expect([status, text]).toEqual([404, 'no such route']);
    expect(after).not.toHaveBeenCalled();
  });

  it('keeps the headers that were set before it, and takes precedence where it names one', async () => {
    handler = async () => new Response('x', { headers: { 'cache-control': 'no-store' } });
    const { headers } = await ask({});
    expect(headers).toMatchObject({ 'x-frame-options': 'DENY', 'cache-control': 'no-store' });
  });

  it('adds its cookies to those set before it', async () => {
    handler = async () => {
      const response = new Response('x');
      response.headers.append('set-cookie', 'a=1; Path=/');
      response.headers.append('set-cookie', 'b=2');
      return response;
    };
    expect((await ask({})).headers['set-cookie']).toEqual(['earlier=1', 'a=1; Path=/', 'b=2']);
  });

  it('answers a HEAD without a body', async () => {
    handler = async () => new Response('text', { headers: { 'x-seen': 'yes' } });
    const { status, headers, text } = await ask({ method: 'HEAD' });
    expect([status, headers['x-seen'], text]).toEqual([200, 'yes', '']);
  });

  it('answers a 204 without a body or a length', async () => {
    handler = async () => new Response(null, { status: 204 });
    const { status, headers, text } = await ask({ method: 'DELETE' });
    expect([status, headers['content-length'], text]).toEqual([204, undefined, '']);
  });

  it('answers an error of the handler itself, in JSON and without a stack', async () => {
    const error = new Error('secret detail');
    handler = async () => {
      throw error;
    };
    const { status, headers, text } = await ask({ method: 'POST', headers: JSON_TYPE, body: '{}' });
    expect([status, headers['content-type']]).toEqual([500, 'application/json; charset=utf-8']);
    expect(JSON.parse(text)).toEqual({
      errorCode: 'INTERNAL',
      error: 'Internal error',
      requestId: expect.stringMatching(/^req_/),
    });
    expect(onError.mock.calls).toEqual([[error, { requestId: JSON.parse(text).requestId }]]);
    expect(after).not.toHaveBeenCalled();
  });

  it('serves the next request of a kept-alive connection after a body that nobody looked at', async () => {
    const agent = new http.Agent({ keepAlive: true, maxSockets: 1 });
    handler = async (request, context) =>
      request.method === 'POST' ? new Response('no', { status: 403 }) : echo(request, context);
    const denied = await ask({ method: 'POST', headers: JSON_TYPE, body: '{"a":1}', agent });
    const next = await ask({ path: '/after', agent });
    agent.destroy();
    expect([denied.status, (JSON.parse(next.text) as Echo).path]).toEqual([403, '/after']);
  });

  it('aborts the signal of the request when the client leaves', async () => {
    const entered = once(handling, 'entered');
    handler = async ({ signal }) => {
      handling.emit('entered', signal);
      await once(signal, 'abort');
      return new Response('too late');
    };
    const request = open(port, { method: 'POST', path: `${host.prefix}/x`, headers: JSON_TYPE });
    request.on('error', () => {});
    request.end('{"a":1}');
    const [signal] = (await entered) as [AbortSignal];
    expect(signal.aborted).toBe(false);
    const aborted = once(signal, 'abort');
    request.destroy();
    await aborted;
    expect(signal.reason).toMatchObject({ name: 'AbortError' });
  });

  it('leaves the signal alone when the response is complete', async () => {
    const entered = once(handling, 'entered');
    handler = async ({ signal }, { host: { res } }) => {
      handling.emit('entered', signal, once(res, 'close'));
      return new Response('done');
    };
    await ask({ method: 'POST', headers: JSON_TYPE, body: '{}' });
    const [signal, closed] = (await entered) as [AbortSignal, Promise<unknown>];
    await closed;
    expect(signal.aborted).toBe(false);
  });
}
