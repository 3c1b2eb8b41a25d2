import express from 'express';
import { bearerToken } from '../../lib/admin/authorizers/bearer-token.js';
import type { Incoming } from '../../lib/admin/incoming.js';
import { createNodeMiddleware } from '../../lib/express/node-bridge.js';
import { adminMiddleware } from '../../lib/express/index.js';
import { startSender } from '../support/sender.js';
import { type Sent, send, servers } from './http.js';

const serve = servers();

const NAMES = [
  'authorization',
  'Content-Type',
  'content-length',
  'content-encoding',
  'transfer-encoding',
  'X-Many',
  'cookie',
  'x-empty',
  'x-absent',
  'constructor',
  '__proto__',
];

/** What head and native request say. */
function told({ head, native }: Incoming) {
  const request = native();
  return [head, request].map(({ method, url, headers }) => ({
    method,
    url: new URL(url).href,
    headers: NAMES.map((name) => [name, headers.get(name), headers.has(name)]),
  }));
}

describe('the head of a request', () => {
  it('says what it said when the request came, as the native one does, whatever becomes of the headers', async () => {
    const heard: unknown[] = [];
    const middleware = createNodeMiddleware(async (incoming, { host: { req } }) => {
      delete req.headers['sec-fetch-site'];
      req.headers.cookie = 'another';
      heard.push(incoming.head.headers.get('Sec-Fetch-Site'), incoming.native().headers.get('cookie'));
      return new Response(null, { status: 204 });
    });
    await send(await serve(middleware), { headers: { 'sec-fetch-site': 'cross-site', cookie: 'a=b' } });
    expect(heard).toEqual(['cross-site', 'a=b']);
  });

  it.each<[string, (headers: Record<string, unknown>) => Record<string, unknown>]>([
    ['inherited', (headers) => Object.create(headers)],
    ['in capitals', ({ cookie, ...rest }) => ({ ...rest, Cookie: cookie })],
    ['twice', (headers) => ({ ...headers, 'X-Many': 'a', 'x-many': 'b' })],
    ['with space around them', (headers) => ({ ...headers, authorization: '\t Bearer x \n' })],
    ['of numbers', (headers) => ({ ...headers, 'x-many': 42 })],
  ])('says what the native one says of headers that middleware has set %s', async (_name, change) => {
    const heard: unknown[] = [];
    const middleware = createNodeMiddleware(async (incoming) => {
      heard.push(...told(incoming));
      return new Response(null, { status: 204 });
    });
    const app = express().use((req, _res, next) => {
      Object.defineProperty(req, 'headers', { value: change(req.headers) });
      next();
    });
    await send(await serve(app.use(middleware)), { headers: { cookie: 'a=b' } });
    const [head, native] = heard;
    expect(native).toMatchObject({ headers: expect.arrayContaining([['cookie', 'a=b', true]]) });
    expect(head).toEqual(native);
  });

  it('is all that a ready-made authorizer needs: a request that no native one can be made of is answered', async () => {
    const sender = await startSender({ started: false });
    const token = 'operator-0123456789';
    const app = express()
      .use((req, _res, next) => {
        req.headers['x-city'] = '\u6771\u4eac';
        next();
      })
      .use(adminMiddleware(sender, { authorize: bearerToken(token) }));
    const port = await serve(app);
    const { status } = await send(port, {
      path: '/endpoints',
      headers: { authorization: `Bearer ${token}` },
    });
    expect(status).toBe(200);
  });

  it.each<[string, Sent]>([
    [
      'without a body',
      { path: '/a%20b/../c?d=e%20f#g', headers: { authorization: 'Bearer x', 'x-empty': '' } },
    ],
    ['with headers that are repeated', { headers: { 'x-many': ['a', 'b'], cookie: ['a=1', 'b=2'] } }],
    ['with a body', { method: 'POST', body: '{}', headers: { 'content-type': 'application/json' } }],
    ['in chunks', { method: 'PUT', body: '{}', chunked: true, headers: { 'content-type': 'text/plain' } }],
    ['of a method that no native one has', { method: 'TRACE' }],
    ['with a host that is none', { headers: { host: 'a/b?c' } }],
  ])('says what the native one says: %s', async (_name, sent) => {
    const heard: unknown[] = [];
    const middleware = createNodeMiddleware(async (incoming) => {
      heard.push(...told(incoming));
      return new Response(null, { status: 204 });
    });
    const parsed = express().use(express.json(), express.text()).use('/mount', middleware);
    for (const port of [
      await serve(middleware),
      await serve(express().use('/mount', middleware)),
      await serve(parsed),
    ]) {
      await send(port, { ...sent, path: `/mount${sent.path ?? '/x'}` });
      const [head, native] = heard.splice(0);
      expect(native).toMatchObject({ method: sent.method ?? 'GET' });
      expect(head).toEqual(native);
    }
  });
});
