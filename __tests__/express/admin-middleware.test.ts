import { gzipSync } from 'node:zlib';
import express, { type Express, type RequestHandler } from 'express';
import request from 'supertest';
import { createSender } from '../../lib/create-sender.js';
import { type AdminMiddlewareOptions, adminMiddleware } from '../../lib/express/index.js';
import type { Sender } from '../../lib/sender/sender.js';
import { newStore } from '../support/test-store.js';
import { exchange, send, servers } from './http.js';

const serve = servers();
const allow = (): boolean => true;
const ENDPOINT = { url: 'https://receiver.test/hook' };
const eat: RequestHandler = (req, _res, next) => {
  req.resume().once('end', () => next());
};

let sender: Sender;
beforeEach(async () => {
  sender = createSender({ store: await newStore() });
});
afterEach(() => sender.stop());

function mounted(
  options: AdminMiddlewareOptions = { authorize: allow },
  ...before: RequestHandler[]
): Express {
  const app = express();
  for (const step of before) app.use(step);
  return app.use('/admin', adminMiddleware(sender, options));
}

describe('the control plane in Express', () => {
  it.each<[string, RequestHandler[]]>([
    ['no parser', []],
    ['express.json()', [express.json()]],
    ['express.raw()', [express.raw({ type: '*/*' })]],
    ['express.text()', [express.text({ type: '*/*' })]],
  ])('creates an endpoint behind %s, and tells where it is', async (_name, before) => {
    const app = mounted({ authorize: allow }, ...before);
    const created = await request(app).post('/admin/endpoints').send(ENDPOINT).expect(201);
    expect(created.headers.location).toBe(`/admin/endpoints/${created.body.id}`);
    const read = await request(app)
      .get(created.headers.location as string)
      .expect(200);
    expect(read.body).toMatchObject({ id: created.body.id, ...ENDPOINT });
  });

  it('refuses everybody without an authorize callback', async () => {
    const warn = jest.spyOn(process, 'emitWarning').mockImplementation();
    const { body } = await request(mounted({})).post('/admin/endpoints').send(ENDPOINT).expect(403);
    warn.mockRestore();
    expect(body).toMatchObject({ errorCode: 'FORBIDDEN' });
  });

  it('never reads the body of a caller whom it refuses', async () => {
    const didRead: boolean[] = [];
    const app = mounted({ authorize: () => false }, (req, res, next) => {
      res.once('finish', () => didRead.push(req.readableDidRead));
      next();
    });
    await request(app).post('/admin/endpoints').send(ENDPOINT).expect(403);
    expect(didRead).toEqual([false]);
  });

  it('shows authorize the request that Express has', async () => {
    const app = mounted(
      { authorize: (_request, { host }) => (host as { req: { user?: string } }).req.user === 'ada' },
      (req, _res, next) => {
        Object.assign(req, { user: req.headers['x-user'] });
        next();
      },
    );
    await request(app).get('/admin/endpoints').set('x-user', 'ada').expect(200);
    await request(app).get('/admin/endpoints').set('x-user', 'eve').expect(403);
  });

  it.each<[string, RequestHandler[]]>([
    ['no parser', []],
    ['express.json()', [express.json()]],
  ])('leaves the body to the route when authorize has read it behind %s', async (_name, before) => {
    const read: string[] = [];
    const authorize = async (given: Request): Promise<boolean> => {
      read.push(await given.text());
      return true;
    };
    const app = mounted({ authorize }, ...before);
    const { body } = await request(app).post('/admin/endpoints').send(ENDPOINT).expect(201);
    expect([read, body.url]).toEqual([[JSON.stringify(ENDPOINT)], ENDPOINT.url]);
  });

  it.each(['{}', ''])('takes the body %p for a route that needs none', async (body) => {
    const app = mounted({ authorize: allow }, express.json());
    await request(app).post('/admin/keys/symmetric').type('json').send(body).expect(201);
  });

  it('answers an unknown path itself', async () => {
    const fellThrough = jest.fn();
    const app = mounted().use(fellThrough);
    const { body } = await request(app).get('/admin/nowhere').expect(404);
    expect(body).toMatchObject({ errorCode: 'ROUTE_NOT_FOUND' });
    expect(fellThrough).not.toHaveBeenCalled();
  });

  it.each(['PUT', 'TRACE', 'PROPFIND'])(
    'answers the method %s with those that the path has',
    async (method) => {
      const port = await serve(mounted());
      const { status, headers, text } = await send(port, { method, path: '/admin/endpoints' });
      expect([status, headers.allow]).toEqual([405, 'GET, HEAD, POST']);
      expect(JSON.parse(text)).toMatchObject({ errorCode: 'METHOD_NOT_ALLOWED' });
    },
  );

  it('answers a HEAD as it does a GET, without the body', async () => {
    const { status, headers, text } = await request(mounted()).head('/admin/endpoints');
    expect([status, headers['content-type'], text]).toEqual([
      200,
      'application/json; charset=utf-8',
      undefined,
    ]);
  });

  it.each(['/admin/endpoints/../tenants/t1', '/admin/endpoints/%2e%2e/health', '/admin/endpoints/%E0%A4%A'])(
    'refuses the path %s',
    async (path) => {
      expect((await send(await serve(mounted()), { path })).status).toBe(400);
    },
  );

  it('takes an escaped slash for a part of an id', async () => {
    const { text } = await send(await serve(mounted()), { path: '/admin/tenants/a%2Fb' });
    expect(JSON.parse(text)).toMatchObject({ errorCode: 'TENANT_NOT_FOUND' });
  });

  it('routes by the target, whatever the Host says', async () => {
    const port = await serve(mounted());
    const head =
      'DELETE /admin/tenants/t1 HTTP/1.1\r\nHost: evil.test/admin/health?\r\nConnection: close\r\n\r\n';
    expect(await exchange(port, head)).toContain('TENANT_NOT_FOUND');
  });

  it('counts a repeated query key as two', async () => {
    const { body } = await request(mounted()).get('/admin/endpoints?limit=1&limit=2').expect(400);
    expect(body).toMatchObject({ errorCode: 'INVALID_QUERY' });
  });

  it('does not take a form for JSON', async () => {
    const app = mounted({ authorize: allow }, express.urlencoded({ extended: true }));
    await request(app).post('/admin/endpoints').type('form').send(ENDPOINT).expect(415);
  });

  it('does not inflate a body, but takes one that a parser has inflated', async () => {
    const port = await serve(mounted());
    const parsing = await serve(mounted({ authorize: allow }, express.json()));
    const headers = { 'content-type': 'application/json', 'content-encoding': 'gzip' };
    const sent = {
      method: 'POST',
      path: '/admin/endpoints',
      headers,
      body: gzipSync(JSON.stringify(ENDPOINT)),
    };
    expect([(await send(port, sent)).status, (await send(parsing, sent)).status]).toEqual([415, 201]);
  });

  it.each([false, true])('answers a body beyond the limit 413 and closes (chunked: %p)', async (chunked) => {
    const port = await serve(mounted());
    const body = JSON.stringify({ ...ENDPOINT, description: 'x'.repeat(1_000_000) });
    const headers = { 'content-type': 'application/json' };
    const answer = await send(port, { method: 'POST', path: '/admin/endpoints', headers, body, chunked });
    expect([answer.status, answer.headers.connection]).toEqual([413, 'close']);
  });

  it('holds its limit behind a parser with a larger one', async () => {
    const app = mounted({ authorize: allow, maxBodyBytes: 100 }, express.json());
    await request(app)
      .post('/admin/endpoints')
      .send({ ...ENDPOINT, description: 'x'.repeat(100) })
      .expect(413);
  });

  it('says at once which option is wrong', () => {
    expect(() => adminMiddleware(sender, { basePath: 'admin' })).toThrow(/basePath/);
  });
});

describe('basePath', () => {
  const options = { authorize: allow, basePath: '/admin/' };

  it.each<[string, (app: Express) => void, string]>([
    [
      'a route with a wildcard',
      (app) => app.all('/admin/*splat', adminMiddleware(sender, options)),
      '/admin',
    ],
    ['a mount of the same path', (app) => app.use('/admin', adminMiddleware(sender, options)), '/admin'],
    ['no mount path', (app) => app.use(adminMiddleware(sender, options)), '/admin'],
    [
      'a route in a router, relative to it',
      (app) => app.use('/api', express.Router().all('/admin/*splat', adminMiddleware(sender, options))),
      '/api/admin',
    ],
    [
      'a mount that takes the whole path off',
      (app) => app.use('/admin/*splat', adminMiddleware(sender, options)),
      '/admin',
    ],
  ])('makes the routes reachable under %s', async (_how, mount, prefix) => {
    const app = express();
    mount(app);
    const { body } = await request(app).get(`${prefix}/endpoints?limit=1`).expect(200);
    expect(body).toEqual({ endpoints: [], nextCursor: null });
    await request(app).get(`${prefix}/admin/endpoints`).expect(404);
  });

  it('answers nothing outside it', async () => {
    const port = await serve(adminMiddleware(sender, options));
    for (const path of ['/endpoints', '/adminendpoints', '/', '/health', '/other/admin/endpoints']) {
      const { status, text } = await send(port, { path });
      expect([path, status, JSON.parse(text).errorCode]).toEqual([path, 404, 'ROUTE_NOT_FOUND']);
    }
    expect((await send(port, { path: '/admin/endpoints' })).status).toBe(200);
  });

  it.each(['/web hooks', '/web%20hooks', '/ü/x'])(
    'may be written %s or as a URL spells it',
    async (basePath) => {
      const app = express().use(adminMiddleware(sender, { authorize: allow, basePath }));
      const path = new URL(`http://localhost${basePath}/endpoints`).pathname;
      expect((await send(await serve(app), { path })).status).toBe(200);
    },
  );

  it('is matched whole', async () => {
    const app = express().use(adminMiddleware(sender, options));
    await request(app).get('/adminendpoints').expect(404);
  });

  it('leaves dot segments for the control plane to refuse', async () => {
    const app = express().all('/admin/*splat', adminMiddleware(sender, options));
    expect((await send(await serve(app), { path: '/admin/x/../endpoints' })).status).toBe(400);
  });
});

describe('a body that another middleware has lost', () => {
  const lost = expect.stringContaining('neither req.body nor req.rawBody');
  const post = (options: AdminMiddlewareOptions): request.Test =>
    request(mounted({ authorize: allow, ...options }, eat))
      .post('/admin/endpoints')
      .send(ENDPOINT);

  it('is refused, and onError says why', async () => {
    const onError = jest.fn();
    await post({ onError }).expect(400);
    expect(onError.mock.calls).toEqual([
      [expect.objectContaining({ message: lost }), { requestId: expect.stringMatching(/^req_/) }],
    ]);
  });

  it('is told to the logger when there is no onError', async () => {
    const logger = { error: jest.fn(), warn: jest.fn(), info: jest.fn(), debug: jest.fn() };
    await post({ logger }).expect(400);
    expect(logger.error.mock.calls).toEqual([
      ['The control plane failed', { requestId: expect.any(String), error: lost }],
    ]);
  });

  it('is a process warning when there is neither', async () => {
    const warn = jest.spyOn(process, 'emitWarning').mockImplementation();
    await post({}).expect(400);
    expect(warn.mock.calls).toEqual([[lost, 'HookplaneWarning']]);
    warn.mockRestore();
  });
});
