// A filled store behind three servers: Express with routes written by hand, Express with adminMiddleware, and Hono's Node
// server with the Fetch handler. Makes what routes use up when it is told to.
import { randomUUID } from 'node:crypto';
import { serve } from '@hono/node-server';
import express from 'express';
import { Hono } from 'hono';
import { bearerToken, createAdminHandler, createSender } from 'hookplane';
import { adminMiddleware } from 'hookplane/express';
import { bigEndpoint, BIG } from '../size-fill.mjs';
import { sqliteStores } from '../size-stores.mjs';
import { ROUTES, TOKEN } from './routes.mjs';

const [folder, messages] = process.argv.slice(2);
const opened = await sqliteStores(folder).open(Number(messages));
const sender = createSender({
  store: opened.store,
  logger: { error: console.error, warn() {}, info() {}, debug() {} },
});
const { messages: found } = await sender.messages.list({ limit: 1, endpointId: bigEndpoint });
const messageId = found[0].id;

let made = 0;
// Of a tenant that is sent nothing: there are thousands of them in the end.
const anEndpoint = () =>
  sender.endpoints.create({ url: 'https://receiver.example.com/hooks', tenantId: 'made' });
const MAKE = {
  endpoint: async () => (await anEndpoint()).id,
  async paused() {
    const { id } = await anEndpoint();
    await sender.endpoints.disable(id);
    return id;
  },
  async tenant() {
    const id = `made_${process.pid}_${++made}`;
    await sender.tenants.setRateLimit(id, { perSecond: 10 });
    return id;
  },
  message: async () => (await sender.send({ type: 'made.up', tenantId: BIG, data: {} })).id,
};
const KNOWN = { stored: messageId, 'known tenant': 'tenant_mid' };

const authorize = bearerToken(TOKEN);

function written() {
  const router = express.Router();
  router.use(express.json());
  for (const [name, { method, path, plain }] of Object.entries(ROUTES)) {
    router[method.toLowerCase()](path.split('?')[0], async (request, response) => {
      if (request.headers.authorization !== `Bearer ${TOKEN}`) {
        return response.status(401).json({ error: 'no access' });
      }
      // What is to be answered for is recorded, as the control plane does.
      const isRead = method === 'GET' && name !== 'endpoints.secret';
      const scope = isRead ? sender : sender.forCaller({ requestId: randomUUID() });
      const [status, body] = await plain(scope, {
        id: request.params.id ?? bigEndpoint,
        body: request.body,
      });
      if (typeof body === 'string') return response.status(status).type('json').send(body);
      return body === undefined ? response.status(status).end() : response.status(status).json(body);
    });
  }
  return router;
}

const listening = (server) =>
  new Promise((resolve) => server.once('listening', () => resolve(server.address().port)));
const plain = express().use('/admin', written()).listen(0, '127.0.0.1');
const mounted = express().use('/admin', adminMiddleware(sender, { authorize })).listen(0, '127.0.0.1');
const admin = createAdminHandler(sender, { authorize, basePath: '/admin' });
const hono = new Hono().all('/admin/*', (context) => admin(context.req.raw));
const native = serve({ fetch: hono.fetch, port: 0, hostname: '127.0.0.1' });
const ports = await Promise.all([plain, mounted, native].map(listening));

process.on('message', async ({ kind, count }) => {
  const ids = [];
  while (kind in MAKE && ids.length < count) ids.push(await MAKE[kind]());
  process.send({ ids: ids.length > 0 ? ids : [KNOWN[kind] ?? bigEndpoint] });
});
process.on('disconnect', () => process.exit(0));
process.send({ ports, messageId, last: opened.last, made: Object.keys(MAKE) });
