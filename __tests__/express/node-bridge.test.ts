import { once } from 'node:events';
import http from 'node:http';
import tcp from 'node:net';
import connect from 'connect';
import express, { type ErrorRequestHandler, type RequestHandler } from 'express';
import { type FetchHandler, fetchMiddleware } from '../support/fetch-middleware.js';
import { type Echo, echo } from './echo.js';
import { exchange, send, servers } from './http.js';

const serve = servers();
const INTERNAL = {
  errorCode: 'INTERNAL',
  error: 'Internal error',
  requestId: expect.stringMatching(/^req_/),
};

describe('the request', () => {
  it('is a native one, which can be cloned and wrapped', async () => {
    const port = await serve(
      fetchMiddleware(async (request) => {
        const wrapped = new Request(request.clone(), { headers: { 'x-added': '1' } });
        return Response.json([
          request instanceof Request,
          wrapped.headers.get('x-added'),
          await wrapped.text(),
        ]);
      }),
    );
    expect((await send(port, { method: 'POST', body: 'b' })).text).toBe('[true,"1","b"]');
  });

  it('comes with the request and response of the host', async () => {
    const app = express().use((req, res, next) => {
      Object.assign(req, { user: 'ada' });
      Object.assign(res.locals, { tenant: 't1' });
      next();
    });
    const middleware = fetchMiddleware(async (_request, { host: { req, res } }) => {
      const { user } = req as unknown as { user: string };
      const { locals } = res as unknown as { locals: unknown };
      return Response.json({ user, locals });
    });
    const { text } = await send(await serve(app.use(middleware)));
    expect(JSON.parse(text)).toEqual({ user: 'ada', locals: { tenant: 't1' } });
  });

  it('has the headers that Node.js and the middleware before us made of those that were sent', async () => {
    const app = express().use((req, _res, next) => {
      req.headers.authorization = 'Bearer from-cookie';
      req.headers['x-list'] = ['a', 'b'] as unknown as string;
      req.headers['x-gone'] = undefined;
      next();
    });
    const port = await serve(app.use(fetchMiddleware(echo)));
    const headers = { 'x-gone': '1', 'x-multi': ['1', '2'], cookie: ['a=1', 'b=2'], 'x-latin': 'é' };
    const { text } = await send(port, { headers });
    const heard = (JSON.parse(text) as Echo).headers;
    expect(heard).toMatchObject({
      authorization: 'Bearer from-cookie',
      'x-list': 'a, b',
      'x-multi': '1, 2',
      'x-latin': 'é',
      cookie: 'a=1; b=2',
    });
    expect(heard).not.toHaveProperty('x-gone');
  });

  it.each(['PATCH', 'OPTIONS', 'PROPFIND', 'M-SEARCH'])('of the method %s says so', async (method) => {
    const port = await serve(fetchMiddleware(echo));
    const heard = JSON.parse((await send(port, { method })).text) as Echo;
    expect([heard.method, heard.requestMethod]).toEqual([method, method]);
  });

  it('of the method TRACE says so, though there is no such Fetch request, and a clone has no real method', async () => {
    const port = await serve(
      fetchMiddleware(async (request, context) =>
        Response.json([context.method, request.method, request.clone().method], { status: 405 }),
      ),
    );
    const { status, text } = await send(port, { method: 'TRACE' });
    expect([status, text]).toEqual([405, '["TRACE","TRACE","X-TRACE"]']);
  });

  it('of the method CONNECT never arrives, and the server lives on', async () => {
    const port = await serve(fetchMiddleware(echo));
    expect(await exchange(port, 'CONNECT /x HTTP/1.1\r\nHost: a\r\n\r\n')).toBe('');
    expect((await send(port)).status).toBe(200);
  });

  it('has a body that fails for who still reads it when the answer is out', async () => {
    let seen: Promise<unknown> = Promise.resolve();
    let told = () => {};
    const answered = new Promise<void>((resolve) => {
      told = resolve;
    });
    const port = await serve(
      fetchMiddleware(async (request) => {
        seen = request.text().catch((error) => error);
        await once(request.signal, 'abort', { signal: AbortSignal.timeout(20) }).catch(() => {});
        told();
        return new Response('no', { status: 403 });
      }),
    );
    const socket = tcp.connect(port, '127.0.0.1').on('error', () => {});
    socket.write('POST / HTTP/1.1\r\nHost: a\r\nContent-Type: text/plain\r\nContent-Length: 10\r\n\r\nhead ');
    await Promise.all([answered, once(socket, 'data')]);
    socket.write('tail.');
    expect(await seen).toBeInstanceOf(Error);
    socket.destroy();
  });

  it('has one signal, which a clone follows', async () => {
    const port = await serve(
      fetchMiddleware(async (request) => {
        const { signal } = request;
        const clone = request.clone();
        return Response.json([signal === request.signal, signal.aborted, clone.signal.aborted]);
      }),
    );
    expect((await send(port)).text).toBe('[true,false,false]');
  });

  it('whose client has already left has an aborted signal', async () => {
    const aborted = new Promise<boolean>((resolve) => {
      const middleware = fetchMiddleware(async ({ signal }) => {
        resolve(signal.aborted);
        return new Response();
      });
      void serve((req, res) => {
        res.once('close', () => void middleware(req, res));
        req.socket.destroy();
      }).then((port) => http.get({ port, host: '127.0.0.1' }).on('error', () => {}));
    });
    expect(await aborted).toBe(true);
  });
});

describe('an error of the handler', () => {
  const failing: [string, FetchHandler][] = [
    ['rejects with an Error', async () => Promise.reject(new Error('secret detail'))],
    ['rejects with null', async () => Promise.reject(null)],
    ['rejects with undefined', async () => Promise.reject(undefined)],
    ['rejects with { status: 404 }', async () => Promise.reject({ status: 404, message: 'secret detail' })],
    [
      'throws before it returns a promise',
      () => {
        throw new Error('secret detail');
      },
    ],
    ['answers undefined', async () => undefined as unknown as Response],
    ['answers a plain object', async () => ({ status: 200, body: 'secret detail' }) as unknown as Response],
  ];

  describe.each([
    ['Express', (): express.Express => express()],
    ['connect', (): connect.Server => connect()],
  ])('in %s', (_name, createApp) => {
    it.each(failing)('which %s is answered 500 without a word about the inside', async (_how, handler) => {
      const onError = jest.fn();
      const atHost = jest.fn();
      const app = createApp() as express.Express;
      app.use(fetchMiddleware(handler, { onError }));
      app.use(((error, _req, res, _next) => {
        atHost(error);
        res.end('host');
      }) as ErrorRequestHandler);
      const { status, headers, text } = await send(await serve(app));
      expect([status, JSON.parse(text)]).toEqual([500, INTERNAL]);
      expect(headers).toMatchObject({
        'content-type': 'application/json; charset=utf-8',
        'cache-control': 'no-store',
        'x-content-type-options': 'nosniff',
      });
      expect(onError).toHaveBeenCalledTimes(1);
      expect(atHost).not.toHaveBeenCalled();
    });
  });

  it('that is no Response is told as such', async () => {
    const onError = jest.fn();
    const port = await serve(fetchMiddleware(async () => 'text' as unknown as Response, { onError }));
    await send(port);
    expect(String(onError.mock.calls[0]?.[0])).toBe('TypeError: The handler did not answer with a Response');
  });

  it.each([
    [
      'throws',
      (): void => {
        throw new Error('reporter');
      },
    ],
    ['rejects', async (): Promise<void> => Promise.reject(new Error('reporter'))],
  ])('is answered though onError %s', async (_how, onError) => {
    const port = await serve(fetchMiddleware(async () => Promise.reject(new Error('x')), { onError }));
    expect((await send(port)).status).toBe(500);
  });

  it('is answered without an onError', async () => {
    const port = await serve(fetchMiddleware(async () => Promise.reject(new Error('x'))));
    expect(JSON.parse((await send(port)).text)).toEqual(INTERNAL);
  });

  it('answers a HEAD with the status alone', async () => {
    const port = await serve(fetchMiddleware(async () => Promise.reject(new Error('x'))));
    const { status, text } = await send(port, { method: 'HEAD' });
    expect([status, text]).toEqual([500, '']);
  });

  it('after it has begun to answer by itself ends the connection', async () => {
    const onError = jest.fn();
    const port = await serve(
      fetchMiddleware(
        async (_request, { host }) => {
          host.res.write('begun');
          throw new Error('late');
        },
        { onError },
      ),
    );
    await expect(send(port)).rejects.toMatchObject({ code: 'ECONNRESET' });
    expect(onError).toHaveBeenCalledTimes(1);
  });
});

describe('the promise of the middleware', () => {
  it.each<[string, FetchHandler]>([
    ['the handler rejects', async () => Promise.reject(new Error('x'))],
    [
      'the stream fails',
      async () => new Response(new ReadableStream({ pull: () => Promise.reject(new Error('x')) })),
    ],
    ['the answer cannot be sent', async () => new Response('x', { headers: { 'x-b': '\u0001' } })],
  ])('is fulfilled when %s', async (_when, handler) => {
    const middleware = fetchMiddleware(handler);
    const outcome = new Promise((resolve) => {
      void serve((req, res) => {
        middleware(req, res).then(resolve, resolve);
      }).then((port) => send(port).catch(() => {}));
    });
    expect(await outcome).toBeUndefined();
  });

  it('is fulfilled when nothing can be written any more', async () => {
    const middleware = fetchMiddleware(async () => Promise.reject(new Error('x')));
    const port = await serve(async (req, res) => {
      Object.assign(res, {
        setHeader: () => {
          throw new Error('broken');
        },
      });
      await middleware(req, res);
    });
    await expect(send(port)).rejects.toMatchObject({ code: 'ECONNRESET' });
  });
});

it('fits node:http, Express and connect as it is', async () => {
  const middleware = fetchMiddleware(echo);
  const handler: RequestHandler = middleware;
  const connected: connect.NextHandleFunction = middleware;
  expect([handler, connected]).toEqual([middleware, middleware]);
  const server = http.createServer(middleware).listen(0);
  await once(server, 'listening');
  server.close();
});
