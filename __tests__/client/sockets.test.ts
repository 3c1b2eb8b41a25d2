import { createServer } from 'node:http';
import express from 'express';
import { createAdminClient } from '../../lib/client/index.js';
import { adminMiddleware } from '../../lib/express/index.js';
import { close, listen, servers } from '../express/http.js';
import { startReceiver } from '../support/receiver.js';
import { startSender } from '../support/sender.js';
import { waitFor } from '../support/wait-for.js';
import { rejection } from './connected.js';

const serve = servers();

test('an operator works on an Express application by the client, over real sockets', async () => {
  const receiver = await startReceiver();
  receiver.answer('/', 500, 200);
  const sender = await startSender();
  const app = express();
  app.use(express.json());
  app.use(
    '/ops/admin',
    adminMiddleware(sender, {
      authorize: (request) => request.headers.get('authorization') === 'Bearer token',
    }),
  );
  const port = await serve(app);
  const baseUrl = `http://127.0.0.1:${port}/ops/admin`;
  const admin = createAdminClient({ baseUrl, headers: { authorization: 'Bearer token' } });

  const tenantId = 'acme / ü';
  const endpoint = await admin.endpoints.create({
    tenantId,
    url: receiver.url(),
    retry: { delaysSeconds: [] },
  });
  const sent = await admin.send({ tenantId, type: 'order.created', data: { total: 1 } });
  await waitFor(async () => (await admin.messages.get(sent.id)).status === 'failed');
  for await (const { replayed, total } of admin.replayAll({ endpointId: endpoint.id, since: '2026-01-01' }))
    expect([replayed, total]).toEqual([1, 1]);
  await waitFor(async () => (await admin.messages.get(sent.id)).status === 'delivered');
  expect(await admin.messages.attempts(sent.id, { status: 'succeeded' })).toMatchObject({
    attempts: [{ trigger: 'replay', responseStatus: 200 }],
  });
  expect(await admin.health()).toMatchObject({ ok: true });
  expect(await admin.tenants.delete(tenantId)).toBeUndefined();
  expect(await rejection(admin.tenants.get(tenantId))).toMatchObject({ code: 'TENANT_NOT_FOUND' });

  const stranger = createAdminClient({ baseUrl });
  expect(await rejection(stranger.health())).toMatchObject({ code: 'FORBIDDEN', status: 403 });
});

test('a port where nobody listens is an error that names the reason', async () => {
  const server = createServer();
  const port = await listen(server);
  await close(server);
  const admin = createAdminClient({ baseUrl: `http://127.0.0.1:${port}/admin`, retries: 0 });
  expect(await rejection(admin.endpoints.list())).toMatchObject({
    code: 'NETWORK',
    message: expect.stringMatching(/^GET \/endpoints got no answer: fetch failed \(.*ECONNREFUSED/),
  });
});

test('a page that an application answers in place of the control plane is told from it', async () => {
  const app = express();
  app.use((_req, res) => void res.send('<!doctype html><title>App</title>'));
  const admin = createAdminClient({ baseUrl: `http://127.0.0.1:${await serve(app)}/wrong` });
  expect(await rejection(admin.health())).toMatchObject({
    code: 'UNEXPECTED_ANSWER',
    status: 200,
    message: expect.stringContaining('text/html'),
  });
});
