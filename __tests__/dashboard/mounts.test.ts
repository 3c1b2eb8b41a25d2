import http, { type RequestListener } from 'node:http';
import middie from '@fastify/middie';
import connect from 'connect';
import express from 'express';
import Fastify from 'fastify';
import helmet from 'helmet';
import Koa from 'koa';
import request from 'supertest';
import { dashboardMiddleware } from '../../lib/express/index.js';
import type { HookplaneModuleOptions } from '../../lib/nest/index.js';
import { exchange, servers } from '../express/http.js';
import { stacks, startApp } from '../nest/kit.js';
import { onCleanUp } from '../support/clean-up.js';
import { recordingLogger, startSender } from '../support/sender.js';
import { useBuiltPage } from './built-page.js';

useBuiltPage();

// The types of Express 5 serve for both: what the tests use of Express 4 is the same.
const express4 = jest.requireActual<typeof express>('express4');
const listen = servers();

const dashboard = (basePath?: string) =>
  dashboardMiddleware({ adminUrl: '/admin', theme: { '--hp-accent': 'red' }, ...(basePath && { basePath }) });

interface Mount {
  name: string;
  /** The public path of the dashboard. */
  at: string;
  listener(): RequestListener | Promise<RequestListener>;
}

const mounts: Mount[] = [
  { name: 'Express 5', at: '/webhooks', listener: () => express().use('/webhooks', dashboard()) },
  { name: 'Express 4', at: '/webhooks', listener: () => express4().use('/webhooks', dashboard()) },
  {
    name: 'nested routers of Express',
    at: '/api/acme/v1/webhooks',
    listener: () => express().use('/api/:org', express.Router().use('/v1/webhooks', dashboard())),
  },
  {
    name: 'Express, as a route that keeps the prefix',
    at: '/webhooks',
    listener: () => express().all(['/webhooks', '/webhooks/*below'], dashboard('/webhooks')),
  },
  {
    name: 'Express behind parsers, helmet and strict routing',
    at: '/webhooks',
    listener: () => {
      const app = express().enable('strict routing').enable('case sensitive routing');
      return app.use(helmet(), express.json(), express.urlencoded()).use('/webhooks', dashboard());
    },
  },
  { name: 'connect', at: '/webhooks', listener: () => connect().use('/webhooks', dashboard()) },
  { name: 'node:http', at: '/webhooks', listener: () => dashboard('/webhooks') },
  {
    name: 'Koa',
    at: '/webhooks',
    listener: () => {
      const serve = dashboard('/webhooks');
      const app = new Koa().use(async (ctx) => {
        ctx.respond = false;
        await serve(ctx.req, ctx.res);
      });
      return app.callback();
    },
  },
  {
    name: 'Fastify',
    at: '/webhooks',
    listener: async () => {
      const app = Fastify();
      await app.register(middie);
      app.use('/webhooks', dashboard());
      await app.ready();
      onCleanUp('test', 'receiver', () => app.close());
      return app.routing as RequestListener;
    },
  },
  ...stacks.flatMap((stack): Mount[] =>
    [
      { place: 'as it comes', at: '/webhooks' },
      { place: 'below a global prefix', at: '/api/webhooks', useGlobalPrefix: true },
    ].map(({ place, at, useGlobalPrefix }) => ({
      name: `${stack.name}, ${place}`,
      at,
      async listener() {
        const { HookplaneModule } = stack.kit.hookplane;
        const root = HookplaneModule.forRoot({
          sender: await startSender({ started: false }),
          authorize: () => true,
          start: false,
          dashboardPath: '/webhooks',
          dashboard: { theme: { '--hp-accent': 'red' } },
          useGlobalPrefix: useGlobalPrefix ?? false,
        } as HookplaneModuleOptions);
        const { app } = await startApp(stack, root, { prepare: (created) => created.setGlobalPrefix('api') });
        return app.getHttpServer().listeners('request')[0] as RequestListener;
      },
    })),
  ),
];

describe.each(mounts)('mounted in $name', ({ at, listener }) => {
  let url: string;
  beforeEach(async () => {
    url = `http://127.0.0.1:${await listen(await listener())}`;
  });

  it('serves the shell and all that it refers to', async () => {
    const shell = await request(url).get(`${at}/`).set('accept-encoding', 'gzip').expect(200);
    expect(shell.headers).toMatchObject({ 'content-encoding': 'gzip', 'cache-control': 'no-cache' });
    const found = [...shell.text.matchAll(/\s(?:src|href)="([^"]*)"/g)].map(([, to]) => to!);
    expect(found).toContain('./theme.css');
    for (const reference of found) {
      const { pathname } = new URL(reference, `${url}${at}/`);
      const { headers } = await request(url).get(pathname).expect(200);
      expect(Number(headers['content-length'])).toBeGreaterThan(0);
    }
  });

  it('leads to the slash at its end', async () => {
    const { headers } = await request(url).get(`${at}?a=1&a=2`).expect(308);
    expect(headers.location).toBe('./webhooks/?a=1&a=2');
    await request(url).head(at).expect(308);
    await request(url).get(`${at}/?a=1&a=2`).expect(200);
  });

  it('answers conditional requests, HEAD, and 404 and 405 by itself', async () => {
    const { headers } = await request(url).head(`${at}/`).set('accept-encoding', 'gzip').expect(200);
    expect(Number(headers['content-length'])).toBeGreaterThan(0);
    await request(url)
      .get(`${at}/`)
      .set({ 'accept-encoding': 'gzip', 'if-none-match': headers.etag! })
      .expect(304);
    await request(url).get(`${at}/nowhere`).expect(404, 'Not found\n');
    const refused = await request(url).post(`${at}/`).send({ a: 1 }).expect(405);
    expect(refused.headers.allow).toBe('GET, HEAD');
  });

  it('sends its own policy and keeps others’ headers', async () => {
    const { headers } = await request(url).get(`${at}/`);
    expect(headers['content-security-policy']).toMatch(
      /^default-src 'none'; script-src 'self'; style-src 'self';/,
    );
    expect(headers).toMatchObject({ 'x-frame-options': 'DENY', 'cross-origin-opener-policy': 'same-origin' });
  });

  it('has nothing outside its own files', async () => {
    const port = Number(new URL(url).port);
    for (const path of [
      '/../admin',
      '/assets/../../package.json',
      '/assets/%2e%2e/x',
      '//evil.test/',
      '/%2f',
    ]) {
      const answer = await exchange(
        port,
        `GET ${at}${path} HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n`,
      );
      expect(answer).toMatch(/^HTTP\/1\.1 (?:404|400) /);
      expect(answer).not.toContain('location:');
    }
  });
});

describe('behind helmet', () => {
  it('replaces the headers that both have, and leaves the others', async () => {
    const app = express().use(helmet()).use('/webhooks', dashboard());
    const { headers } = await request(app).get('/webhooks/').expect(200);
    expect(headers['content-security-policy']).not.toContain('upgrade-insecure-requests');
    expect(headers['content-security-policy']).not.toContain('unsafe');
    expect(headers['strict-transport-security']).toContain('max-age');
    expect(headers['x-dns-prefetch-control']).toBe('off');
  });
});

describe('an absolute request target and a Host of any kind', () => {
  it('change nothing of what is served', async () => {
    const port = await listen(express().use('/webhooks', dashboard()));
    const ask = (target: string, host: string) =>
      exchange(port, `GET ${target} HTTP/1.1\r\nhost: ${host}\r\nconnection: close\r\n\r\n`);
    expect(await ask('http://evil.test/webhooks/', 'good.test')).toMatch(/^HTTP\/1\.1 200 /);
    expect(await ask('http://evil.test/webhooks', 'good.test')).toContain('location: ./webhooks/\r\n');
    expect(await ask('/webhooks', 'evil.test/x?')).toContain('location: ./webhooks/\r\n');
  });
});

describe('a package whose page is missing', () => {
  it('is answered 500 without a word about the inside, and logged', async () => {
    const logger = recordingLogger();
    await jest.isolateModulesAsync(async () => {
      jest.doMock('#dashboard-page', () => {
        throw new Error('Cannot find /secret/page.cjs');
      });
      const fresh = require('../../lib/express/index.js') as {
        dashboardMiddleware: typeof dashboardMiddleware;
      };
      const server = http.createServer(fresh.dashboardMiddleware({ adminUrl: '/admin', logger }));
      const { text } = await request(server).get('/').expect(500);
      expect(text).not.toContain('secret');
      jest.dontMock('#dashboard-page');
    });
    expect(logger.entries).toMatchObject([
      {
        level: 'error',
        message: 'The dashboard failed',
        fields: { error: expect.stringContaining('/secret/page.cjs') },
      },
    ]);
  });
});
