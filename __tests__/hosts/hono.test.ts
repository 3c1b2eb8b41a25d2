import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type HttpBindings, serve } from '@hono/node-server';
import { Hono } from 'hono';
import { cloneRawRequest } from 'hono/request';
import { createAdminHandler } from '../../lib/admin/handler.js';
import { servedPlaneContract } from '../contracts/served-plane.js';
import { send } from '../express/http.js';
import { onCleanUp } from '../support/clean-up.js';
import { startSender } from '../support/sender.js';
import { exampleContract, servedByExample } from './examples.js';

type ServeOptions = Parameters<typeof serve>[0];

function start(app: Hono, options: Partial<ServeOptions> = {}): Promise<number> {
  return new Promise((resolve) => {
    const settings = { fetch: app.fetch, port: 0, hostname: '127.0.0.1', ...options } as ServeOptions;
    const server = serve(settings, ({ port }: AddressInfo) => resolve(port)) as Server;
    onCleanUp('file', 'receiver', async () => {
      server.close();
      server.closeAllConnections();
    });
  });
}

describe('examples/hono/server.mjs', () => {
  exampleContract('hono/server.mjs');
  servedPlaneContract(servedByExample('hono/server.mjs'));
});

describe('a mount of Hono, which strips the prefix', () => {
  servedPlaneContract({
    prefix: '/api/admin',
    serve(sender, options) {
      const admin = createAdminHandler(sender, options);
      return start(new Hono().mount('/api/admin', (request) => admin(request)));
    },
  });
});

describe('a server of Hono that leaves the globals alone', () => {
  servedPlaneContract({
    prefix: '/admin',
    serve(sender, options) {
      const admin = createAdminHandler(sender, { ...options, basePath: '/admin' });
      return start(
        new Hono().all('/admin/*', (c) => admin(c.req.raw)),
        { overrideGlobalObjects: false },
      );
    },
  });
});

describe('a request on Hono', () => {
  it.each(['overridden', 'left alone'])(
    'who is refused has not been read from (globals %s)',
    async (globals) => {
      const sender = await startSender({ started: false });
      const admin = createAdminHandler(sender, { authorize: () => false, basePath: '/admin' });
      const read: boolean[] = [];
      const app = new Hono();
      app.all('/admin/*', async (c) => {
        const answer = await admin(c.req.raw);
        read.push((c.env as HttpBindings).incoming.readableDidRead);
        return answer;
      });
      const port = await start(app, { overrideGlobalObjects: globals === 'overridden' });
      for (const method of ['POST', 'DELETE']) {
        for (const headers of [{ 'content-length': 2 }, { 'transfer-encoding': 'chunked' }]) {
          const sent = { method, path: '/admin/endpoints', headers, body: '{}', chunked: true };
          expect((await send(port, sent)).status).toBe(403);
        }
      }
      expect(read).toEqual([false, false, false, false]);
    },
  );
});

describe('middleware of Hono in front', () => {
  const ENDPOINT = { url: 'https://receiver.test/hook' };
  const order = {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(ENDPOINT),
  };

  it('can tell authorize who the caller is', async () => {
    const sender = await startSender({ started: false });
    const admin = createAdminHandler(sender, {
      authorize: (_request, { host }) => (host as { get(name: string): unknown }).get('user') === 'ada',
      basePath: '/admin',
    });
    const app = new Hono<{ Variables: { user: string | undefined } }>();
    app.use(async (c, next) => {
      c.set('user', c.req.header('x-user'));
      await next();
    });
    app.all('/admin/*', (c) => admin(c.req.raw, { host: c }));
    expect((await app.request('/admin/endpoints', { headers: { 'x-user': 'ada' } })).status).toBe(200);
    expect((await app.request('/admin/endpoints', { headers: { 'x-user': 'eve' } })).status).toBe(403);
  });

  it('that reads the body can hand over a copy', async () => {
    const sender = await startSender({ started: false });
    const onError = jest.fn();
    const admin = createAdminHandler(sender, { authorize: () => true, basePath: '/admin', onError });
    const app = new Hono();
    app.use(async (c, next) => {
      await c.req.text();
      await next();
    });
    app.all('/admin/*', async (c) => admin(await cloneRawRequest(c.req)));
    const api = createAdminHandler(sender, { authorize: () => true, basePath: '/api/admin', onError });
    app.all('/api/admin/*', (c) => api(c.req.raw));
    const port = await start(app);
    expect((await fetch(`http://127.0.0.1:${port}/admin/endpoints`, order)).status).toBe(201);
    expect((await fetch(`http://127.0.0.1:${port}/api/admin/endpoints`, order)).status).toBe(500);
    expect(onError.mock.calls.map(([error]) => String(error))).toEqual([
      expect.stringContaining('has been read before'),
    ]);
  });
});
