import { createClock, DAY, HOUR, MINUTE } from '../support/clock.js';
import { startReceiver } from '../support/receiver.js';
import { startSender } from '../support/sender.js';
import { eventually, waitFor } from '../support/wait-for.js';
import { takeTurns, untilAttempts, untilStatus } from './probe.js';

async function paused() {
  const clock = createClock();
  const receiver = await startReceiver();
  const sender = await startSender({ now: clock.now, retry: { delaysSeconds: [60], jitter: 0 } });
  const endpoint = await sender.endpoints.create({ url: receiver.url() });
  await sender.endpoints.disable(endpoint.id);
  return { clock, receiver, sender, endpoint };
}

describe('disabling', () => {
  test('says when and why, and changes nothing more when it is repeated', async () => {
    const { clock, sender, endpoint } = await paused();
    const first = await sender.endpoints.get(endpoint.id);
    expect(first).toMatchObject({
      status: 'paused',
      pausedReason: 'manual',
      pausedAt: new Date(clock.now()).toISOString(),
    });
    clock.advance(MINUTE);
    expect(await sender.endpoints.disable(endpoint.id)).toEqual(first);
  });

  test('of one that its receiver has paused keeps the reason', async () => {
    const receiver = await startReceiver();
    receiver.answer('/', 410);
    const sender = await startSender();
    const { id } = await sender.endpoints.create({ url: receiver.url() });
    await untilAttempts(sender, await sender.send({ type: 'a.b', data: 1 }), 1);
    expect(await sender.endpoints.disable(id)).toMatchObject({ status: 'paused', pausedReason: 'gone' });
  });

  test('of none is not found', async () => {
    const sender = await startSender({ started: false });
    for (const change of [sender.endpoints.disable, sender.endpoints.enable]) {
      await expect(change('ep_none')).rejects.toMatchObject({ code: 'ENDPOINT_NOT_FOUND' });
    }
  });
});

describe('while it is paused', () => {
  test('an endpoint is owed what is sent, and gets nothing', async () => {
    const { receiver, sender } = await paused();
    const sent = await sender.send({ type: 'a.b', data: 1 });
    expect(sent.status).toBe('pending');
    await takeTurns(sender);
    expect(receiver.requests()).toEqual([]);
    expect(await sender.messages.get(sent.id)).toMatchObject({
      status: 'pending',
      deliveries: [{ status: 'pending', attemptCount: 0, lastError: null }],
    });
  });

  test('it can be edited, and its secret rotated', async () => {
    const { receiver, sender, endpoint } = await paused();
    await sender.endpoints.update(endpoint.id, { url: receiver.url('/new') });
    await sender.endpoints.rotateSecret(endpoint.id);
    expect(await sender.endpoints.get(endpoint.id)).toMatchObject({
      status: 'paused',
      url: receiver.url('/new'),
    });
  });

  test('waiting costs nothing: attempts and schedule are where they were', async () => {
    const clock = createClock();
    const receiver = await startReceiver();
    receiver.answer('/', 500, 500, 200);
    const sender = await startSender({ now: clock.now, retry: { delaysSeconds: [60, 600], jitter: 0 } });
    const { id } = await sender.endpoints.create({ url: receiver.url() });
    const sent = await sender.send({ type: 'a.b', data: 1 });
    await untilAttempts(sender, sent, 1);
    await sender.endpoints.disable(id);
    clock.advance(20 * DAY);
    await takeTurns(sender);
    await sender.endpoints.enable(id);
    const [, second] = await untilAttempts(sender, sent, 2);
    expect(second).toMatchObject({ number: 2, trigger: 'retry' });
    expect(Date.parse(second!.nextAttemptAt!) - clock.now()).toBe(10 * MINUTE);
  });

  test('what expires ends, saying so, and is told as dead', async () => {
    const { clock, receiver, sender, endpoint } = await paused();
    const sent = await sender.send({
      type: 'a.b',
      data: 1,
      expiresAt: new Date(clock.now() + HOUR).toISOString(),
    });
    const kept = await sender.send({ type: 'a.b', data: 2 });
    const dead: unknown[] = [];
    sender.on('dead', (event) => dead.push(event));
    clock.advance(HOUR);
    // Expiry is looked for at each heartbeat, and the first is at the start.
    await sender.stop();
    await sender.start();
    await untilStatus(sender, sent.id, 'failed');
    expect(await sender.messages.get(sent.id)).toMatchObject({
      deliveries: [{ status: 'failed', attemptCount: 0, lastError: expect.stringMatching(/expired/) }],
    });
    expect(dead).toEqual([
      {
        messageId: sent.id,
        endpointId: endpoint.id,
        messageType: 'a.b',
        tenantId: null,
        error: expect.stringMatching(/expired/),
      },
    ]);
    expect(await sender.messages.get(kept.id)).toMatchObject({ status: 'pending' });
    expect(receiver.requests()).toEqual([]);
  });

  test('thirty days are the most that anything is held, unless it is said otherwise', async () => {
    const { clock, sender } = await paused();
    const sent = await sender.send({ type: 'a.b', data: 1 });
    clock.advance(30 * DAY - 1);
    await sender.stop();
    await sender.start();
    expect(await sender.messages.get(sent.id)).toMatchObject({ status: 'pending' });
    clock.advance(1);
    await sender.stop();
    await sender.start();
    await untilStatus(sender, sent.id, 'failed');
  });

  test('deleting the endpoint cancels what is held', async () => {
    const { sender, endpoint } = await paused();
    const sent = await sender.send({ type: 'a.b', data: 1 });
    await sender.endpoints.delete(endpoint.id);
    expect(await sender.messages.get(sent.id)).toMatchObject({
      status: 'unrouted',
      deliveries: [{ endpointId: endpoint.id, status: 'canceled', nextAttemptAt: null }],
    });
    await expect(sender.endpoints.get(endpoint.id)).rejects.toMatchObject({ code: 'ENDPOINT_NOT_FOUND' });
    await expect(sender.endpoints.enable(endpoint.id)).rejects.toMatchObject({ code: 'ENDPOINT_NOT_FOUND' });
  });
});

describe('enabling', () => {
  test('lets what was held flow at once, without waiting for a poll', async () => {
    const receiver = await startReceiver();
    const sender = await startSender({ pollIntervalMs: 3_600_000 });
    const { id } = await sender.endpoints.create({ url: receiver.url() });
    await sender.endpoints.disable(id);
    const sent = await sender.sendMany(Array.from({ length: 10 }, (_each, n) => ({ type: 'a.b', data: n })));
    await takeTurns(sender);
    expect(receiver.requests()).toEqual([]);
    expect(await sender.endpoints.enable(id)).toMatchObject({
      status: 'active',
      pausedReason: null,
      pausedAt: null,
    });
    await receiver.waitFor(10);
    for (const message of sent) await untilStatus(sender, message.id, 'delivered');
    expect(receiver.requests()).toHaveLength(10);
  });

  test("keeps to the endpoint's limits", async () => {
    const { clock, receiver, sender, endpoint } = await paused();
    await sender.endpoints.update(endpoint.id, { rateLimit: { perSecond: 1, burst: 2 } });
    await sender.sendMany(Array.from({ length: 5 }, (_each, n) => ({ type: 'a.b', data: n })));
    await sender.endpoints.enable(endpoint.id);
    await receiver.waitFor(2);
    await takeTurns(sender);
    expect(receiver.requests()).toHaveLength(2);
    clock.advance(3000);
    await receiver.waitFor(4);
    await takeTurns(sender);
    expect(receiver.requests()).toHaveLength(4);
  });

  test('of one that is active changes nothing that is seen', async () => {
    const sender = await startSender({ started: false });
    const { secret: _secret, ...endpoint } = await sender.endpoints.create({ url: 'http://127.0.0.1:9999/' });
    const enabled = await sender.endpoints.enable(endpoint.id);
    expect({ ...enabled, updatedAt: endpoint.updatedAt }).toEqual(endpoint);
  });

  test('ends a pause of any reason', async () => {
    const receiver = await startReceiver();
    receiver.answer('/', 410, 200);
    const sender = await startSender({ retry: { delaysSeconds: [0], jitter: 0 } });
    const { id } = await sender.endpoints.create({ url: receiver.url() });
    const sent = await sender.send({ type: 'a.b', data: 1 });
    await eventually(async () =>
      expect(await sender.endpoints.get(id)).toMatchObject({ pausedReason: 'gone' }),
    );
    await sender.endpoints.enable(id);
    await untilStatus(sender, sent.id, 'delivered');
    expect(await sender.endpoints.get(id)).toMatchObject({ status: 'active', pausedReason: null });
  });
});

test('an answer from where an endpoint used to be is not held against where it is now', async () => {
  const receiver = await startReceiver();
  const held = receiver.hold('/old');
  const sender = await startSender();
  const { id } = await sender.endpoints.create({ url: receiver.url('/old') });
  const { id: messageId } = await sender.send({ type: 'a', data: 1 });
  await receiver.waitFor(1, '/old');
  await sender.endpoints.update(id, { url: receiver.url('/new') });
  held.release(410);
  const { attempts } = await waitFor(async () => {
    const page = await sender.messages.attempts(messageId);
    return page.attempts.length > 0 && page;
  });
  expect(attempts[0]).toMatchObject({ responseStatus: 410 });
  expect(await sender.endpoints.get(id)).toMatchObject({ status: 'active', pausedReason: null });
});
