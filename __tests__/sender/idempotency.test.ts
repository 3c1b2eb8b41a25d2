import { startReceiver } from '../support/receiver.js';
import { startSender } from '../support/sender.js';
import { eventually } from '../support/wait-for.js';

const MESSAGE = { type: 'invoice.paid', data: { id: 7 }, idempotencyKey: 'key' };

test('a second send with the same key answers the first message and stores nothing', async () => {
  const receiver = await startReceiver();
  const sender = await startSender();
  await sender.endpoints.create({ url: receiver.url() });
  const first = await sender.send(MESSAGE);
  await eventually(async () =>
    expect(await sender.messages.get(first.id)).toMatchObject({ status: 'delivered' }),
  );
  const second = await sender.send(MESSAGE);
  expect(first.duplicate).toBe(false);
  expect(second).toEqual({ ...first, status: 'delivered', duplicate: true });
  expect((await sender.messages.list()).messages).toHaveLength(1);
  expect(receiver.requests()).toHaveLength(1);
});

test('fifty that arrive at once are one message, delivered once', async () => {
  const receiver = await startReceiver();
  const sender = await startSender();
  await sender.endpoints.create({ url: receiver.url() });
  const sent = await Promise.all(Array.from({ length: 50 }, () => sender.send(MESSAGE)));
  expect(new Set(sent.map(({ id }) => id)).size).toBe(1);
  expect(sent.filter(({ duplicate }) => !duplicate)).toHaveLength(1);
  await eventually(async () =>
    expect(await sender.messages.get(sent[0]!.id)).toMatchObject({ status: 'delivered' }),
  );
  expect((await sender.messages.list()).messages).toHaveLength(1);
  expect(receiver.requests()).toHaveLength(1);
});

test('also when some come one by one and some as a batch', async () => {
  const sender = await startSender({ started: false });
  const [one, many] = await Promise.all([sender.send(MESSAGE), sender.sendMany([MESSAGE, MESSAGE])]);
  const all = [one, ...many];
  expect(new Set(all.map(({ id }) => id)).size).toBe(1);
  expect(all.filter(({ duplicate }) => !duplicate)).toHaveLength(1);
});

test.each([
  ['another type', { type: 'invoice.sent' }],
  ['other data', { data: { id: 8 } }],
  ['the same data in another order', { data: { b: 1, id: 7 } }],
])('with %s it is a conflict', async (_what, change) => {
  const sender = await startSender({ started: false });
  const first = await sender.send(MESSAGE);
  await expect(sender.send({ ...MESSAGE, ...change })).rejects.toMatchObject({
    code: 'IDEMPOTENCY_CONFLICT',
    message: expect.stringContaining('"key"'),
  });
  expect((await sender.messages.list()).messages.map(({ id }) => id)).toEqual([first.id]);
});

test('a conflict among sends of one moment fails itself alone', async () => {
  const sender = await startSender({ started: false });
  const [first, second, third] = await Promise.allSettled([
    sender.send(MESSAGE),
    sender.send({ ...MESSAGE, data: 'other' }),
    sender.send({ ...MESSAGE, idempotencyKey: 'another' }),
  ]);
  expect(first.status).toBe('fulfilled');
  expect(second).toMatchObject({ status: 'rejected', reason: { code: 'IDEMPOTENCY_CONFLICT' } });
  expect(third.status).toBe('fulfilled');
});

test("a key is a tenant's own", async () => {
  const sender = await startSender({ started: false });
  const ids = new Set<string>();
  for (const tenantId of ['acme', 'other', null]) {
    const sent = await sender.send({ ...MESSAGE, tenantId, data: tenantId });
    expect(sent.duplicate).toBe(false);
    ids.add(sent.id);
  }
  expect(ids.size).toBe(3);
  const again = await sender.forTenant('acme').send({ ...MESSAGE, data: 'acme' });
  expect(again).toMatchObject({ duplicate: true, tenantId: 'acme' });
});

test('without a key, the same sends are different messages', async () => {
  const sender = await startSender({ started: false });
  const { idempotencyKey: _key, ...message } = MESSAGE;
  const [a, b] = [await sender.send(message), await sender.send({ ...message, idempotencyKey: null })];
  expect(a.id).not.toBe(b.id);
});

test('a key outlives the sender that took it', async () => {
  const before = await startSender({ started: false });
  const first = await before.send(MESSAGE);
  await before.stop();
  const after = await startSender({ started: false, file: before.file });
  expect(await after.send(MESSAGE)).toMatchObject({ id: first.id, duplicate: true });
});

test('a send that failed takes no key', async () => {
  let fails = true;
  const sender = await startSender({
    started: false,
    endpointHooks: () => ({
      filterFn() {
        if (fails) throw new Error('not now');
        return true;
      },
    }),
  });
  await sender.endpoints.create({ url: 'http://127.0.0.1:9999/' });
  await expect(sender.send(MESSAGE)).rejects.toThrow('not now');
  fails = false;
  expect(await sender.send(MESSAGE)).toMatchObject({ duplicate: false });
});
