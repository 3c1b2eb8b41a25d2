import { createClock, SECOND } from '../support/clock.js';
import { startReceiver } from '../support/receiver.js';
import { startSender, type TestSenderOptions } from '../support/sender.js';
import { takeTurns, untilStatus } from './probe.js';

async function start(options: TestSenderOptions = {}) {
  const clock = createClock();
  const receiver = await startReceiver();
  const sender = await startSender({ now: clock.now, ...options });
  return { clock, receiver, sender };
}

const messages = (count: number, fields = {}) =>
  Array.from({ length: count }, (_each, n) => ({ type: 'a.b', data: n, ...fields }));

describe("an endpoint's rate", () => {
  test('lets its burst through at once, and the rest as time allows', async () => {
    const { clock, receiver, sender } = await start();
    await sender.endpoints.create({ url: receiver.url(), rateLimit: { perSecond: 2, burst: 3 } });
    const sent = await sender.sendMany(messages(7));
    await receiver.waitFor(3);
    await takeTurns(sender);
    expect(receiver.requests()).toHaveLength(3);
    clock.advance(SECOND / 2);
    await receiver.waitFor(4);
    await takeTurns(sender);
    expect(receiver.requests()).toHaveLength(4);
    clock.advance(10 * SECOND);
    for (const { id } of sent) await untilStatus(sender, id, 'delivered');
    expect(receiver.requests()).toHaveLength(7);
  });

  test('delays without spending attempts', async () => {
    const { clock, receiver, sender } = await start();
    await sender.endpoints.create({ url: receiver.url(), rateLimit: { perSecond: 0.1 } });
    const [, second] = await sender.sendMany(messages(2));
    await receiver.waitFor(1);
    await takeTurns(sender);
    expect(await sender.messages.get(second!.id)).toMatchObject({ deliveries: [{ attemptCount: 0 }] });
    clock.advance(10 * SECOND);
    await untilStatus(sender, second!.id, 'delivered');
    const { attempts } = await sender.messages.attempts(second!.id);
    expect(attempts).toMatchObject([{ number: 1, trigger: 'send' }]);
  });

  test('counts retries and replays too', async () => {
    const { clock, receiver, sender } = await start({ retry: { delaysSeconds: [0], jitter: 0 } });
    receiver.answer('/', 500);
    await sender.endpoints.create({ url: receiver.url(), rateLimit: { perSecond: 1 } });
    const sent = await sender.send({ type: 'a.b', data: 1 });
    await receiver.waitFor(1);
    await takeTurns(sender);
    expect(receiver.requests()).toHaveLength(1);
    clock.advance(SECOND);
    await untilStatus(sender, sent.id, 'failed');
    await sender.replay({ messageId: sent.id });
    await takeTurns(sender);
    expect(receiver.requests()).toHaveLength(2);
    clock.advance(SECOND);
    await receiver.waitFor(3);
  });

  test('delays no other endpoint', async () => {
    const { receiver, sender } = await start();
    await sender.endpoints.create({ url: receiver.url('/slow'), rateLimit: { perSecond: 1 } });
    await sender.endpoints.create({ url: receiver.url('/quick') });
    await sender.sendMany(messages(20));
    await receiver.waitFor(20, '/quick');
    await receiver.waitFor(1, '/slow');
    expect(receiver.requests('/slow')).toHaveLength(1);
  });

  test('holds for all processes together', async () => {
    const { clock, receiver, sender } = await start();
    await sender.endpoints.create({ url: receiver.url(), rateLimit: { perSecond: 1, burst: 2 } });
    const other = await startSender({ file: sender.file, now: clock.now });
    await sender.sendMany(messages(6));
    await receiver.waitFor(2);
    for (const each of [sender, other]) await takeTurns(each);
    expect(receiver.requests()).toHaveLength(2);
    clock.advance(2 * SECOND);
    await receiver.waitFor(4);
    for (const each of [sender, other]) await takeTurns(each);
    expect(receiver.requests()).toHaveLength(4);
  });

  test('can be raised and cleared, which holds at once', async () => {
    const { receiver, sender } = await start({ pollIntervalMs: 3_600_000 });
    const { id } = await sender.endpoints.create({ url: receiver.url(), rateLimit: { perSecond: 0.001 } });
    await sender.sendMany(messages(5));
    await receiver.waitFor(1);
    await sender.endpoints.update(id, { rateLimit: { perSecond: 0.001, burst: 2 } });
    await receiver.waitFor(2);
    await sender.endpoints.update(id, { rateLimit: null });
    await receiver.waitFor(5);
  });

  test('is used up, however slow the receiver is and however seldom the sender polls', async () => {
    const { receiver, sender } = await start({ pollIntervalMs: 3_600_000, now: Date.now });
    receiver.hold('/');
    await sender.endpoints.create({ url: receiver.url(), rateLimit: { perSecond: 50, burst: 1 } });
    await sender.sendMany(messages(5));
    await receiver.waitFor(5);
  });

  test('of an interval that has no end in digits lets through what it promises', async () => {
    const { clock, receiver, sender } = await start();
    await sender.endpoints.create({ url: receiver.url(), rateLimit: { perSecond: 140, burst: 1 } });
    await sender.sendMany(messages(5));
    for (let count = 1; count <= 5; count++) {
      await receiver.waitFor(count);
      clock.advance(8);
    }
  });
});

describe("a tenant's rate", () => {
  test('is shared by its endpoints, and binds no other tenant', async () => {
    const { clock, receiver, sender } = await start();
    await sender.tenants.setRateLimit('acme', { perSecond: 1, burst: 4 });
    for (const path of ['/a', '/b'])
      await sender.endpoints.create({ url: receiver.url(path), tenantId: 'acme' });
    await sender.endpoints.create({ url: receiver.url('/c'), tenantId: 'other' });
    await sender.sendMany([...messages(6, { tenantId: 'acme' }), ...messages(6, { tenantId: 'other' })]);
    await receiver.waitFor(6, '/c');
    await receiver.waitFor(2, '/a');
    await receiver.waitFor(2, '/b');
    await takeTurns(sender);
    expect([receiver.requests('/a').length, receiver.requests('/b').length]).toEqual([2, 2]);
    clock.advance(2 * SECOND);
    await receiver.waitFor(12);
    await takeTurns(sender);
    expect(receiver.requests()).toHaveLength(12);
  });

  test('goes with its endpoints: the narrower decides', async () => {
    const { receiver, sender } = await start();
    await sender.tenants.setRateLimit('acme', { perSecond: 1, burst: 5 });
    const rateLimit = { perSecond: 1, burst: 2 };
    await sender.endpoints.create({ url: receiver.url('/a'), tenantId: 'acme', rateLimit });
    await sender.endpoints.create({ url: receiver.url('/b'), tenantId: 'acme' });
    await sender.sendMany(messages(9, { tenantId: 'acme' }));
    await receiver.waitFor(5);
    await takeTurns(sender);
    expect([receiver.requests('/a').length, receiver.requests('/b').length]).toEqual([2, 3]);
  });

  test('can be cleared, which holds at once', async () => {
    const { receiver, sender } = await start({ pollIntervalMs: 3_600_000 });
    await sender.endpoints.create({ url: receiver.url(), tenantId: 'acme' });
    await sender.tenants.setRateLimit('acme', { perSecond: 0.001 });
    await sender.sendMany(messages(3, { tenantId: 'acme' }));
    await receiver.waitFor(1);
    expect(await sender.tenants.setRateLimit('acme', { perSecond: null })).toMatchObject({ rateLimit: null });
    await receiver.waitFor(3);
  });
});

describe('maxInFlight', () => {
  test('is how many requests an endpoint has at once', async () => {
    const { receiver, sender } = await start();
    const held = receiver.hold('/');
    await sender.endpoints.create({ url: receiver.url(), maxInFlight: 2 });
    const sent = await sender.sendMany(messages(6));
    await receiver.waitFor(2);
    await takeTurns(sender);
    expect(receiver.requests()).toHaveLength(2);
    held.release();
    for (const { id } of sent) await untilStatus(sender, id, 'delivered');
    expect(receiver.requests()).toHaveLength(6);
  });

  test('counts over all processes together', async () => {
    const { clock, receiver, sender } = await start();
    const held = receiver.hold('/');
    await sender.endpoints.create({ url: receiver.url(), maxInFlight: 3 });
    const other = await startSender({ file: sender.file, now: clock.now });
    const sent = await sender.sendMany(messages(8));
    await receiver.waitFor(3);
    for (const each of [sender, other]) await takeTurns(each);
    expect(receiver.requests()).toHaveLength(3);
    held.release();
    for (const { id } of sent) await untilStatus(sender, id, 'delivered');
  });

  test('of one keeps an endpoint in order: a message goes out when the one before has ended', async () => {
    const { receiver, sender } = await start();
    await sender.endpoints.create({ url: receiver.url(), maxInFlight: 1 });
    const ids: string[] = [];
    for (let n = 0; n < 10; n++) ids.push((await sender.send({ type: 'a.b', data: n })).id);
    const requests = await receiver.waitFor(10);
    expect(requests.map(({ headers }) => headers['webhook-id'])).toEqual(ids);
  });
});

test('a process makes no more requests at once than its concurrency', async () => {
  const { receiver, sender } = await start({ concurrency: 4 });
  const holds = ['/a', '/b', '/c', '/d'].map((path) => receiver.hold(path));
  for (const [index, path] of ['/a', '/b', '/c', '/d'].entries()) {
    await sender.endpoints.create({ url: receiver.url(path), tenantId: `t${index}`, maxInFlight: 50 });
  }
  const sent = await sender.sendMany([0, 1, 2, 3].flatMap((n) => messages(5, { tenantId: `t${n}` })));
  await receiver.waitFor(4);
  // Each tenant has a share, although any of them would have filled the process alone.
  expect(
    receiver
      .requests()
      .map(({ path }) => path)
      .sort(),
  ).toEqual(['/a', '/b', '/c', '/d']);
  for (const { release } of holds) release();
  for (const { id } of sent) await untilStatus(sender, id, 'delivered');
});
