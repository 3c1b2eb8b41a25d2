import express, { type Express } from 'express';
import request from 'supertest';
import type { Sender } from '../../lib/index.js';
import { createTestSender } from '../../lib/testing/index.js';

/** An application that sends webhooks. */
function createApp(sender: Sender): Express {
  const app = express();
  app.post('/orders', express.json(), async (req, res) => {
    const message = await sender.send({ type: 'order.created', tenantId: 'acme', data: req.body });
    res.status(202).json({ messageId: message.id });
  });
  return app;
}

test('an order is announced to its customer', async () => {
  await using sender = await createTestSender();
  await sender.createEndpoint({ tenantId: 'acme', types: ['order.*'] });
  await request(createApp(sender)).post('/orders').send({ total: 42 }).expect(202);
  await sender.deliverDue();
  expect(sender.receiver.requests).toMatchObject([
    { type: 'order.created', payload: { data: { total: 42 } } },
  ]);
});

test('an order that the customer does not take at once is announced again', async () => {
  await using sender = await createTestSender();
  await sender.createEndpoint({ tenantId: 'acme' });
  sender.receiver.respond(500, 200);
  const { body } = await request(createApp(sender)).post('/orders').send({ total: 42 });
  const [attempt] = await sender.deliverDue();
  sender.clock.advanceTo(attempt!.nextAttemptAt!);
  await sender.deliverDue();
  expect((await sender.messages.get(body.messageId)).status).toBe('delivered');
});
