import express from 'express';
import type { Incoming } from '../../lib/admin/incoming.js';
import { createNodeMiddleware } from '../../lib/express/node-bridge.js';
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
