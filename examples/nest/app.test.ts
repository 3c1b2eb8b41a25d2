import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { INestApplication } from '@nestjs/common';
import { Test } from '@nestjs/testing';
import { createSender, sqliteStore, verifySignature } from 'hookplane';
import { HOOKPLANE_SENDER } from 'hookplane/nest';
import request from 'supertest';
import { AppModule } from './app.module.js';

const operator = { authorization: 'Bearer operator-token' };
const customer = { authorization: 'Bearer customer-token' };

let app: INestApplication;
let receiver: Server;
const deliveries: { headers: IncomingHttpHeaders; body: Buffer }[] = [];

beforeAll(async () => {
  receiver = createServer(async (req, res) => {
    deliveries.push({ headers: req.headers, body: Buffer.concat(await req.toArray()) });
    res.end();
    receiver.emit('delivery');
  });
  await once(receiver.listen(0, '127.0.0.1'), 'listening');

  const testing = await Test.createTestingModule({ imports: [AppModule] })
    .overrideProvider(HOOKPLANE_SENDER)
    .useValue(
      createSender({
        store: sqliteStore({ file: ':memory:' }),
        allowHttp: true,
        allowTargets: ['127.0.0.1'],
      }),
    )
    .compile();
  app = await testing.createNestApplication().init();
});

afterAll(async () => {
  await app.close();
  receiver.close();
});

test('an order becomes a signed webhook', async () => {
  const url = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/hooks`;
  const created = await request(app.getHttpServer())
    .post('/admin/endpoints')
    .set(customer)
    .send({ url, types: ['order.*'] })
    .expect(201);
  const delivery = once(receiver, 'delivery');
  const placed = await request(app.getHttpServer())
    .post('/orders')
    .set(customer)
    .send({ item: 'tea', quantity: 2 })
    .expect(202);
  await delivery;
  const [{ headers, body }] = deliveries as [(typeof deliveries)[0]];
  const { id } = verifySignature({ headers, body, secret: created.body.secret });
  expect(id).toBe(placed.body.messageId);
  expect(JSON.parse(body.toString())).toMatchObject({
    type: 'order.created',
    data: { item: 'tea', quantity: 2 },
  });
});

test('a customer sees the messages of their own organisation, an operator those of all', async () => {
  const server = app.getHttpServer();
  const { body } = await request(server).post('/orders').set(operator).send({ item: 'milk', quantity: 1 });
  await request(server).get(`/admin/messages/${body.messageId}`).set(operator).expect(200);
  await request(server).get(`/admin/messages/${body.messageId}`).set(customer).expect(404);
});

test('nobody enters without a token', async () => {
  const server = app.getHttpServer();
  await request(server).post('/orders').send({}).expect(401);
  await request(server).get('/admin/messages').expect(401);
});
