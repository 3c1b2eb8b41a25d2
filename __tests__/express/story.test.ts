import express from 'express';
import { Webhook } from 'standardwebhooks';
import request from 'supertest';
import { adminMiddleware } from '../../lib/express/index.js';
import type { Attempt } from '../../lib/model/message.js';
import { startReceiver } from '../support/receiver.js';
import { startSender } from '../support/sender.js';
import { waitFor } from '../support/wait-for.js';

const json = { 'content-type': 'application/json' };

test('an application sends, its receiver fails, it is retried, replayed and reconciled, all by the control plane', async () => {
  const receiver = await startReceiver();
  receiver.answer('/hooks', 500, 503, 200);
  const sender = await startSender({ retry: { delaysSeconds: [0, 0], jitter: 0 } });
  const app = express();
  app.use(express.json());
  app.use('/admin', adminMiddleware(sender, { authorize: () => ({ allow: true, tenantId: 'acme' }) }));
  app.post('/orders', async (req, res) => {
    res.json(await sender.send({ type: 'order.created', tenantId: 'acme', data: req.body }));
  });
  const admin = request(app);
  const since = new Date(Date.now() - 1000).toISOString();

  // An endpoint is made; its secret is shown this once.
  const created = await admin
    .post('/admin/endpoints')
    .set(json)
    .send({ url: receiver.url('/hooks'), types: ['order.*'] });
  expect(created.status).toBe(201);
  const endpoint = created.body as { id: string; secret: string };
  expect((await admin.get(`/admin/endpoints/${endpoint.id}`)).body).not.toHaveProperty('secret');

  // A message fails twice and arrives, signed each time, under one id.
  const sent = await admin.post('/orders').send({ total: 1999, note: 'Zoë 東京' });
  const messageId = sent.body.id as string;
  const attemptsOf = async (count: number) =>
    waitFor(async () => {
      const { body } = await admin.get(`/admin/messages/${messageId}/attempts`);
      return body.attempts.length === count && (body.attempts as Attempt[]);
    });
  const attempts = await attemptsOf(3);
  expect(attempts.map(({ responseStatus, trigger }) => [responseStatus, trigger])).toEqual([
    [500, 'send'],
    [503, 'retry'],
    [200, 'retry'],
  ]);
  const failed = await admin.get(`/admin/messages/${messageId}/attempts?status=failed`);
  expect(failed.body.attempts).toHaveLength(2);
  for (const { rawBody, headers } of receiver.requests('/hooks')) {
    const event = new Webhook(endpoint.secret).verify(rawBody.toString(), headers as Record<string, string>);
    expect(event).toMatchObject({ type: 'order.created', data: { total: 1999, note: 'Zoë 東京' } });
    expect(headers['webhook-id']).toBe(messageId);
  }

  // While the endpoint is paused a message is held; a replay to it is refused.
  await admin.post(`/admin/endpoints/${endpoint.id}/disable`).expect(200);
  await admin.post('/orders').send({ total: 1 }).expect(200);
  const replay = { messageId, endpointId: endpoint.id };
  await admin.post('/admin/replay').set(json).send(replay).expect(409);
  const pending = await admin.get('/admin/messages?status=pending').expect(200);
  expect(pending.body.messages).toHaveLength(1);
  const missing = await admin.post('/admin/reconcile').set(json).send({ endpointId: endpoint.id, since });
  expect(missing.body).toEqual({ messageIds: [pending.body.messages[0].id], nextCursor: null });

  // Enabled again it gets what was held; the first message is replayed to it; then nothing is missing.
  await admin.post(`/admin/endpoints/${endpoint.id}/enable`).expect(200);
  await receiver.waitFor(4, '/hooks');
  const replayed = await admin.post('/admin/replay').set(json).send(replay).expect(200);
  expect(replayed.body).toEqual({ replayed: 1, nextCursor: null });
  const [last] = (await attemptsOf(4)).slice(-1);
  expect(last).toMatchObject({ number: 4, trigger: 'replay', status: 'succeeded' });
  await waitFor(async () => {
    const { body } = await admin.post('/admin/reconcile').set(json).send({ endpointId: endpoint.id, since });
    return body.messageIds.length === 0;
  });
  const health = await admin.get('/admin/health').expect(200);
  expect(health.body).toEqual({ ok: true, outboxDepth: 0, oldestPendingAge: null, workerCount: 1 });

  // Another store of the same file finds all of it.
  await sender.stop();
  const again = await startSender({ file: sender.file, started: false });
  expect((await again.forTenant('acme').messages.list()).messages).toHaveLength(2);
});
