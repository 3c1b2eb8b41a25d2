import { setImmediate } from 'node:timers/promises';
import { startReceiver } from '../support/receiver.js';
import { startSender } from '../support/sender.js';
import { newPlace, storeAt } from '../support/test-store.js';
import { eventually, waitFor } from '../support/wait-for.js';
import { takeTurns, untilAttempts, untilStatus } from './probe.js';

const send = { type: 'a.b', data: 1 };
/** For those who are to log nothing: a sender without a key says so. */
const secretKey = 'ab'.repeat(32);

/** Whether a promise has settled, without waiting for it. */
function watch(promise: Promise<unknown>): { settled: boolean } {
  const state = { settled: false };
  const settle = () => {
    state.settled = true;
  };
  promise.then(settle, settle);
  return state;
}

describe('stopping', () => {
  test('waits for the requests under way, and records them', async () => {
    const receiver = await startReceiver();
    const held = receiver.hold('/');
    const sender = await startSender();
    await sender.endpoints.create({ url: receiver.url() });
    const sent = await sender.send(send);
    await receiver.waitFor(1);
    const stopping = sender.stop();
    const state = watch(stopping);
    const other = await startSender({ file: sender.file, started: false });
    expect(await other.messages.get(sent.id)).toMatchObject({ status: 'pending' });
    expect(state.settled).toBe(false);
    held.release();
    await stopping;
    expect(await other.messages.get(sent.id)).toMatchObject({ status: 'delivered' });
  });

  test('begins no more attempts', async () => {
    const receiver = await startReceiver();
    const held = receiver.hold('/');
    const sender = await startSender();
    await sender.endpoints.create({ url: receiver.url(), maxInFlight: 1 });
    const sent = await sender.sendMany(Array.from({ length: 5 }, () => send));
    await receiver.waitFor(1);
    const stopping = sender.stop();
    held.release();
    await stopping;
    expect(receiver.requests()).toHaveLength(1);
    const later = await startSender({ file: sender.file });
    for (const { id } of sent) await untilStatus(later, id, 'delivered');
    expect(receiver.requests()).toHaveLength(5);
  });

  test('waits no longer than it is told to, and hands back what has not ended, which is taken up at once', async () => {
    const receiver = await startReceiver();
    receiver.hold('/');
    const sender = await startSender();
    const endpoint = await sender.endpoints.create({ url: receiver.url() });
    const sent = await sender.send(send);
    await receiver.waitFor(1);
    const began = performance.now();
    await sender.stop({ drainMs: 50 });
    expect(performance.now() - began).toBeLessThan(5000);
    receiver.answer('/', 200);
    const later = await startSender({ file: sender.file });
    await untilStatus(later, sent.id, 'delivered');
    const { deliveries } = await later.messages.get(sent.id);
    // Whether the first request arrived is not known, so it is no failed attempt.
    expect(deliveries).toMatchObject([{ endpointId: endpoint.id, attemptCount: 1 }]);
    expect(receiver.requests()).toHaveLength(2);
  });

  test('with nothing to wait for is done at once', async () => {
    const sender = await startSender({ pollIntervalMs: 3_600_000 });
    const began = performance.now();
    await sender.stop();
    expect(performance.now() - began).toBeLessThan(5000);
  });

  test('twice, at once or in turn, is stopping once', async () => {
    const receiver = await startReceiver();
    const held = receiver.hold('/');
    const sender = await startSender({ secretKey });
    await sender.endpoints.create({ url: receiver.url() });
    const sent = await sender.send(send);
    await receiver.waitFor(1);
    const both = [sender.stop(), sender.stop()];
    const states = both.map(watch);
    const other = await startSender({ file: sender.file, started: false });
    expect(await other.messages.get(sent.id)).toMatchObject({ status: 'pending' });
    expect(states.map(({ settled }) => settled)).toEqual([false, false]);
    held.release();
    await Promise.all(both);
    await sender.stop();
    expect(sender.log).toEqual([]);
    expect(await other.messages.get(sent.id)).toMatchObject({ status: 'delivered' });
  });

  test('is what the end of an "await using" does', async () => {
    const receiver = await startReceiver();
    const sender = await startSender();
    {
      await using used = sender;
      await used.endpoints.create({ url: receiver.url() });
      await used.send(send);
      await receiver.waitFor(1);
    }
    await expect(sender.send(send)).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' });
  });

  test('of a sender that never started closes its store', async () => {
    const sender = await startSender({ started: false });
    await sender.stop();
    await sender.start();
    await sender.send(send);
    await sender.stop();
  });

  test('waits for the sign of life that it gives, and closes nothing under it', async () => {
    const store = await storeAt(await newPlace());
    const gate = { renewing: false, open: (): void => {}, opened: Promise.resolve() };
    const outbox = {
      ...store.outbox,
      async renew(...args: Parameters<typeof store.outbox.renew>) {
        gate.renewing = true;
        await gate.opened;
        await store.outbox.renew(...args);
      },
    };
    const intervals = jest.spyOn(globalThis, 'setInterval');
    const sender = await startSender({ store: { ...store, outbox }, secretKey });
    const [beat] = intervals.mock.calls.at(-1)!;
    intervals.mockRestore();
    const errors: unknown[] = [];
    sender.on('error', (event) => errors.push(event));
    gate.renewing = false;
    gate.opened = new Promise((resolve) => {
      gate.open = resolve;
    });
    beat();
    await waitFor(() => gate.renewing);
    const stopping = sender.stop();
    const state = watch(stopping);
    // Far more than a stop takes that has nothing to wait for.
    for (let turn = 0; turn < 200; turn++) await setImmediate();
    expect(state.settled).toBe(false);
    gate.open();
    await stopping;
    expect([errors, sender.log]).toEqual([[], []]);
  });

  test('makes no noise', async () => {
    const receiver = await startReceiver();
    const sender = await startSender({ secretKey });
    const errors: unknown[] = [];
    sender.on('error', (event) => errors.push(event));
    await sender.endpoints.create({ url: receiver.url() });
    await Promise.all(Array.from({ length: 100 }, () => sender.send(send)));
    await sender.stop();
    expect(errors).toEqual([]);
    expect(sender.log).toEqual([]);
  });
});

describe('once stopped', () => {
  test('every operation says that the store is not available', async () => {
    const sender = await startSender();
    const { id } = await sender.endpoints.create({ url: 'http://127.0.0.1:9999/', types: ['none'] });
    await sender.stop();
    const scope = sender.forTenant('acme');
    const operations: Promise<unknown>[] = [
      sender.send(send),
      sender.sendMany([send]),
      sender.endpoints.list(),
      sender.endpoints.get(id),
      sender.endpoints.create({ url: 'http://127.0.0.1:9999/' }),
      sender.endpoints.delete(id),
      sender.messages.list(),
      sender.messages.get('msg_a'),
      sender.messages.attempts('msg_a'),
      sender.tenants.list(),
      sender.tenants.setRateLimit('acme', { perSecond: 1 }),
      sender.replay({ messageId: 'msg_a' }),
      sender.reconcile({ endpointId: id, since: '2026-01-01' }),
      scope.send(send),
      scope.endpoints.list(),
    ];
    for (const each of await Promise.allSettled(operations)) {
      expect(each).toMatchObject({ status: 'rejected', reason: { code: 'STORE_UNAVAILABLE' } });
    }
  });

  test('it can be started again, and goes on where it was', async () => {
    const receiver = await startReceiver();
    const sender = await startSender();
    await sender.endpoints.create({ url: receiver.url() });
    for (let round = 1; round <= 3; round++) {
      await sender.send(send);
      await receiver.waitFor(round);
      await sender.stop();
      await sender.start();
    }
    await takeTurns(sender);
    expect(receiver.requests()).toHaveLength(3);
  });
});

describe('starting', () => {
  test('twice, at once or in turn, is starting once', async () => {
    const receiver = await startReceiver();
    const sender = await startSender({ started: false });
    await Promise.all([sender.start(), sender.start()]);
    await sender.start();
    expect(await sender.health()).toMatchObject({ workerCount: 1 });
    await sender.endpoints.create({ url: receiver.url() });
    await untilAttempts(sender, await sender.send(send), 1);
    await takeTurns(sender);
    expect(receiver.requests()).toHaveLength(1);
  });

  test('right after a stop that is not done yet is starting again', async () => {
    const receiver = await startReceiver();
    const held = receiver.hold('/');
    const sender = await startSender();
    await sender.endpoints.create({ url: receiver.url() });
    const first = await sender.send(send);
    await receiver.waitFor(1);
    const stopping = sender.stop();
    const starting = sender.start();
    held.release();
    await Promise.all([stopping, starting]);
    const second = await sender.send(send);
    for (const { id } of [first, second]) await untilStatus(sender, id, 'delivered');
    expect(receiver.requests()).toHaveLength(2);
    expect(await sender.health()).toMatchObject({ ok: true, workerCount: 1 });
  });
});

test('a stop that comes while it starts has the last word', async () => {
  const sender = await startSender({ secretKey, started: false });
  const starting = sender.start();
  await Promise.all([starting, sender.stop()]);
  expect(await sender.health()).toMatchObject({ reason: 'store_unavailable' });
  expect(sender.log).toEqual([]);
  await sender.start();
  expect(await sender.health()).toMatchObject({ ok: true, workerCount: 1 });
});

test('sends that are under way when it stops are stored or refused, never half', async () => {
  const sender = await startSender();
  await sender.endpoints.create({ url: 'http://127.0.0.1:9999/', types: ['none'] });
  const sending = Array.from({ length: 300 }, (_each, n) => sender.send({ type: 'a.b', data: n }));
  const results = Promise.allSettled(sending);
  await sender.stop();
  const stored = (await results).flatMap((each) => (each.status === 'fulfilled' ? each.value.id : []));
  for (const each of await results) {
    if (each.status === 'rejected') expect(each.reason).toMatchObject({ code: 'STORE_UNAVAILABLE' });
  }
  const later = await startSender({ file: sender.file, started: false });
  await eventually(async () => {
    const { messages } = await later.messages.list({ limit: 1000 });
    expect(messages.map(({ id }) => id).sort()).toEqual(stored.sort());
  });
});
