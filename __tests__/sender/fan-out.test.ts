import type { EndpointCreate } from '../../lib/model/endpoint.js';
import type { MessageInput } from '../../lib/model/message.js';
import { startReceiver } from '../support/receiver.js';
import { startSender, type TestSender } from '../support/sender.js';
import { eventually } from '../support/wait-for.js';

const URL = 'http://127.0.0.1:9999/';
const MESSAGE: MessageInput = { type: 'order.paid', data: { status: 'paid', lines: [{ sku: 'a' }] } };

/** Which of the endpoints a message is owed to, by their descriptions. */
async function owedTo(sender: TestSender, message: Partial<MessageInput> = {}): Promise<(string | null)[]> {
  const { id } = await sender.send({ ...MESSAGE, ...message });
  const { deliveries } = await sender.messages.get(id);
  const endpoints = await Promise.all(deliveries.map(({ endpointId }) => sender.endpoints.get(endpointId)));
  return endpoints.map(({ description }) => description).sort();
}

async function senderWith(endpoints: Record<string, Omit<EndpointCreate, 'url'>>): Promise<TestSender> {
  const sender = await startSender({ started: false });
  for (const [description, fields] of Object.entries(endpoints)) {
    await sender.endpoints.create({ url: URL, description, ...fields });
  }
  return sender;
}

test('a message is owed to every endpoint whose types match', async () => {
  const sender = await senderWith({
    all: {},
    star: { types: ['*'] },
    exact: { types: ['order.paid'] },
    below: { types: ['order.*'] },
    several: { types: ['a', 'order.paid'] },
    other: { types: ['invoice.*', 'order'] },
    deeper: { types: ['order.paid.*'] },
  });
  expect(await owedTo(sender)).toEqual(['all', 'below', 'exact', 'several', 'star']);
  expect(await owedTo(sender, { type: 'order' })).toEqual(['all', 'other', 'star']);
  expect(await owedTo(sender, { type: 'order.paid.late' })).toEqual(['all', 'below', 'deeper', 'star']);
});

test('a channel in common is needed only by an endpoint that names channels', async () => {
  const sender = await senderWith({ all: {}, eu: { channels: ['eu'] }, both: { channels: ['eu', 'us'] } });
  expect(await owedTo(sender)).toEqual(['all']);
  expect(await owedTo(sender, { channels: ['us'] })).toEqual(['all', 'both']);
  expect(await owedTo(sender, { channels: ['eu', 'asia'] })).toEqual(['all', 'both', 'eu']);
  expect(await owedTo(sender, { channels: ['asia'] })).toEqual(['all']);
});

test('every clause of a filter must hold', async () => {
  const sender = await senderWith({
    none: {},
    one: { filter: { dataPath: 'status', equals: 'paid' } },
    two: {
      filter: [
        { dataPath: 'status', equals: 'paid' },
        { dataPath: 'lines.0.sku', equals: 'a' },
      ],
    },
    deep: { filter: { dataPath: 'lines', equals: [{ sku: 'a' }] } },
    null: { filter: { dataPath: 'status', equals: null } },
  });
  expect(await owedTo(sender)).toEqual(['deep', 'none', 'one', 'two']);
  expect(await owedTo(sender, { data: { status: 'paid' } })).toEqual(['none', 'one']);
  expect(await owedTo(sender, { data: { status: null } })).toEqual(['none', 'null']);
  expect(await owedTo(sender, { data: 'paid' })).toEqual(['none']);
});

test('types, channels and filter are all needed', async () => {
  const sender = await senderWith({
    picky: { types: ['order.*'], channels: ['eu'], filter: { dataPath: 'status', equals: 'paid' } },
  });
  expect(await owedTo(sender, { channels: ['eu'] })).toEqual(['picky']);
  expect(await owedTo(sender, { channels: ['eu'], type: 'invoice.paid' })).toEqual([]);
  expect(await owedTo(sender, { channels: ['us'] })).toEqual([]);
  expect(await owedTo(sender, { channels: ['eu'], data: {} })).toEqual([]);
});

test("a message is owed to its own tenant's endpoints alone; no tenant is apart", async () => {
  const sender = await senderWith({
    acme: { tenantId: 'acme' },
    other: { tenantId: 'other' },
    nobody: {},
  });
  expect(await owedTo(sender, { tenantId: 'acme' })).toEqual(['acme']);
  expect(await owedTo(sender, { tenantId: 'ACME' })).toEqual([]);
  expect(await owedTo(sender)).toEqual(['nobody']);
  expect(await owedTo(sender, { tenantId: null })).toEqual(['nobody']);
  const scoped = sender.forTenant('other');
  const { id, tenantId } = await scoped.send(MESSAGE);
  expect(tenantId).toBe('other');
  expect((await sender.messages.get(id)).deliveries).toHaveLength(1);
  await expect(scoped.send({ ...MESSAGE, tenantId: 'acme' })).rejects.toMatchObject({
    code: 'MESSAGE_VALIDATION',
    issues: [{ path: 'tenantId' }],
  });
});

test('what an endpoint wants by now decides, not what it wanted once', async () => {
  const sender = await senderWith({ moving: { types: ['a'] } });
  const { endpoints } = await sender.endpoints.list();
  expect(await owedTo(sender)).toEqual([]);
  await sender.endpoints.update(endpoints[0]!.id, { types: ['order.*'] });
  expect(await owedTo(sender)).toEqual(['moving']);
  await sender.endpoints.update(endpoints[0]!.id, {
    types: null,
    filter: { dataPath: 'status', equals: 'x' },
  });
  expect(await owedTo(sender)).toEqual([]);
  await sender.endpoints.update(endpoints[0]!.id, { filter: null });
  expect(await owedTo(sender)).toEqual(['moving']);
  await sender.endpoints.disable(endpoints[0]!.id);
  expect(await owedTo(sender)).toEqual(['moving']);
  await sender.endpoints.delete(endpoints[0]!.id);
  expect(await owedTo(sender)).toEqual([]);
});

test('an endpoint that was made later is owed nothing of before', async () => {
  const sender = await senderWith({});
  const { id } = await sender.send(MESSAGE);
  await sender.endpoints.create({ url: URL });
  expect(await sender.messages.get(id)).toMatchObject({ status: 'unrouted', deliveries: [] });
});

test('each endpoint has attempts of its own: one that fails makes no other receive twice', async () => {
  const receiver = await startReceiver();
  receiver.answer('/bad', 500, 500, 200);
  const sender = await startSender({ retry: { delaysSeconds: [0, 0], jitter: 0 } });
  const good = await sender.endpoints.create({ url: receiver.url('/good') });
  const bad = await sender.endpoints.create({ url: receiver.url('/bad') });
  const { id } = await sender.send(MESSAGE);
  await eventually(async () => expect(await sender.messages.get(id)).toMatchObject({ status: 'delivered' }));
  expect(receiver.requests('/good')).toHaveLength(1);
  expect(receiver.requests('/bad')).toHaveLength(3);
  const { deliveries } = await sender.messages.get(id);
  const counts = new Map(deliveries.map(({ endpointId, attemptCount }) => [endpointId, attemptCount]));
  expect([counts.get(good.id), counts.get(bad.id)]).toEqual([1, 3]);
});

test('each endpoint signs with its own secret', async () => {
  const receiver = await startReceiver();
  const sender = await startSender();
  const a = await sender.endpoints.create({ url: receiver.url('/a') });
  const b = await sender.endpoints.create({ url: receiver.url('/b') });
  expect(a.secret).not.toBe(b.secret);
  await sender.send(MESSAGE);
  await receiver.waitFor(2);
  const [toA] = receiver.requests('/a');
  const [toB] = receiver.requests('/b');
  expect(toA?.rawBody).toEqual(toB?.rawBody);
  expect(toA?.headers['webhook-signature']).not.toBe(toB?.headers['webhook-signature']);
});

test('a message to a hundred endpoints reaches each once', async () => {
  const receiver = await startReceiver();
  const sender = await startSender();
  const paths = Array.from({ length: 100 }, (_each, index) => `/${index}`);
  for (const path of paths) await sender.endpoints.create({ url: receiver.url(path) });
  const { id } = await sender.send(MESSAGE);
  await receiver.waitFor(100);
  await eventually(async () => expect(await sender.messages.get(id)).toMatchObject({ status: 'delivered' }));
  expect(
    receiver
      .requests()
      .map(({ path }) => path)
      .sort(),
  ).toEqual([...paths].sort());
});
