import { setImmediate } from 'node:timers/promises';
import type { Turn, TurnResult } from '../../lib/store/store.js';
import { startReceiver } from '../support/receiver.js';
import { startSender } from '../support/sender.js';
import { newPlace, storeAt } from '../support/test-store.js';
import { eventually } from '../support/wait-for.js';
import { untilStatus } from './probe.js';

const send = { type: 'a.b', data: 1 };

/** A worker that has nothing to do, what its turns lease, and a store whose next sends can be made to wait, or to fail. */
async function startIdle(options: Parameters<typeof startSender>[0] = {}) {
  const file = await newPlace();
  const store = await storeAt(file);
  const turns: (Turn & TurnResult)[] = [];
  let before = async () => {};
  const outbox: typeof store.outbox = {
    ...store.outbox,
    async turn(turn) {
      const result = await store.outbox.turn(turn);
      turns.push({ ...turn, ...result });
      return result;
    },
  };
  const messages: typeof store.messages = {
    ...store.messages,
    async insert(...given) {
      const wait = before;
      const inserted = await store.messages.insert(...given);
      await wait();
      return inserted;
    },
  };
  const receiver = await startReceiver();
  const sender = await startSender({ file, store: { ...store, outbox, messages }, ...options });
  await eventually(() => expect(turns.length).toBeGreaterThan(0));
  return {
    receiver,
    sender,
    file,
    leasedByTurns: () => turns.flatMap(({ leased }) => leased.map(({ messageId }) => messageId)),
    /** What the sends that are stored from now on wait for, before they are told so. */
    holdAnswers(wait: () => Promise<void>) {
      before = wait;
    },
  };
}

/** A promise that is waited for, and what ends it. */
function gate() {
  let open = () => {};
  const waiting = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { wait: () => waiting, open };
}

describe('what is sent to a worker that has nothing else to do', () => {
  test('is delivered and recorded without a turn that looks for it', async () => {
    const { sender, receiver, leasedByTurns } = await startIdle();
    await sender.endpoints.create({ url: receiver.url('/a') });
    await sender.endpoints.create({ url: receiver.url('/b') });
    const one = await sender.send(send);
    const many = await sender.sendMany([send, send]);
    for (const { id } of [one, ...many]) await untilStatus(sender, id, 'delivered');
    expect(receiver.requests()).toHaveLength(6);
    expect(leasedByTurns()).toEqual([]);
    const { attempts } = await sender.messages.attempts(one.id);
    expect(attempts).toMatchObject([{ number: 1, trigger: 'send' }, { number: 1 }]);
  });

  test('is tried again as its schedule says when that fails', async () => {
    const { sender, receiver, leasedByTurns } = await startIdle({
      retry: { delaysSeconds: [0.01], jitter: 0 },
    });
    receiver.answer('/', 500);
    await sender.endpoints.create({ url: receiver.url() });
    const { id } = await sender.send(send);
    await untilStatus(sender, id, 'failed');
    const { attempts } = await sender.messages.attempts(id);
    expect(attempts.map(({ number, trigger }) => [number, trigger])).toEqual([
      [1, 'send'],
      [2, 'retry'],
    ]);
    expect(leasedByTurns()).toEqual([id]);
  });

  test('waits for its turn where there is more of it than requests are free', async () => {
    const { sender, receiver, leasedByTurns } = await startIdle({ concurrency: 4 });
    await sender.endpoints.create({ url: receiver.url() });
    const sent = await sender.sendMany(Array.from({ length: 5 }, () => send));
    for (const { id } of sent) await untilStatus(sender, id, 'delivered');
    expect(new Set(leasedByTurns()).size).toBe(5);
  });

  test('leaves to others what the share of one endpoint does not let it have', async () => {
    const { sender, receiver, leasedByTurns } = await startIdle({ concurrency: 4 });
    const held = receiver.hold('/');
    await sender.endpoints.create({ url: receiver.url() });
    await sender.sendMany([send, send, send]);
    await receiver.waitFor(2);
    expect(leasedByTurns()).toEqual([]);
    held.release();
    await receiver.waitFor(3);
    expect(leasedByTurns()).toHaveLength(1);
  });

  test('comes behind what was sent before and waits', async () => {
    const { sender, receiver } = await startIdle({ concurrency: 8 });
    const held = receiver.hold('/');
    await sender.endpoints.create({ url: receiver.url(), maxInFlight: 1 });
    const first = await sender.sendMany([send, send]);
    await receiver.waitFor(1);
    const last = await sender.send(send);
    held.release();
    await receiver.waitFor(3);
    const order = receiver.requests().map(({ headers }) => headers['webhook-id']);
    expect(order).toEqual([...first, last].map(({ id }) => id));
  });

  test('holds its places while it is stored, so that no more requests are made than may be', async () => {
    const { sender, receiver, holdAnswers } = await startIdle({ concurrency: 2 });
    const held = receiver.hold('/');
    for (const tenantId of ['a', 'b', 'c']) await sender.endpoints.create({ url: receiver.url(), tenantId });
    const stored = gate();
    holdAnswers(stored.wait);
    const sends = ['a', 'b', 'c'].map((tenantId) => sender.sendMany([{ ...send, tenantId }]));
    // A turn has looked in between.
    await eventually(async () => expect(await sender.health()).toMatchObject({ outboxDepth: 3 }));
    stored.open();
    await Promise.all(sends);
    await receiver.waitFor(2);
    expect(receiver.requests()).toHaveLength(2);
    held.release();
    await receiver.waitFor(3);
  });

  test('gives its places back when it could not be stored', async () => {
    const { sender, receiver, holdAnswers } = await startIdle({ concurrency: 1 });
    await sender.endpoints.create({ url: receiver.url() });
    holdAnswers(() => Promise.reject(new Error('the answer was lost')));
    await expect(sender.send(send)).rejects.toThrow('the answer was lost');
    holdAnswers(async () => {});
    const { id } = await sender.send(send);
    await untilStatus(sender, id, 'delivered');
  });

  test('is handed back by a sender that is stopped while it is stored, and is taken up at once', async () => {
    const { sender, receiver, file, holdAnswers } = await startIdle();
    await sender.endpoints.create({ url: receiver.url() });
    const stored = gate();
    holdAnswers(stored.wait);
    const sending = sender.send(send);
    await eventually(async () => expect(await sender.health()).toMatchObject({ outboxDepth: 1 }));
    const stopping = sender.stop();
    stored.open();
    const { id } = await sending;
    await stopping;
    expect(receiver.requests()).toEqual([]);
    const other = await startSender({ file });
    await untilStatus(other, id, 'delivered');
    expect(receiver.requests()).toHaveLength(1);
  });

  test('goes where an edit has moved its endpoint while it was stored', async () => {
    const { sender, receiver, holdAnswers } = await startIdle();
    const { id } = await sender.endpoints.create({ url: receiver.url('/old') });
    const stored = gate();
    holdAnswers(stored.wait);
    const sending = sender.send(send);
    await eventually(async () => expect(await sender.health()).toMatchObject({ outboxDepth: 1 }));
    await sender.endpoints.update(id, { url: receiver.url('/new') });
    stored.open();
    await sending;
    await receiver.waitFor(1);
    expect(receiver.requests().map(({ path }) => path)).toEqual(['/new']);
  });

  test.each([429, 410])(
    'waits for what its endpoint has answered %d to while it was stored',
    async (status) => {
      const { sender, receiver, holdAnswers } = await startIdle();
      receiver.answer('/', { status, headers: { 'retry-after': '60' } });
      await sender.endpoints.create({ url: receiver.url() });
      const stored = gate();
      const sends: Promise<unknown>[] = [sender.send(send)];
      await receiver.waitFor(1);
      holdAnswers(stored.wait);
      for (let count = 0; count < 5; count++) sends.push(sender.sendMany([send]));
      await eventually(async () => {
        const { attempts } = await sender.messages.attempts(((await sends[0]) as { id: string }).id);
        expect(attempts).toHaveLength(1);
      });
      stored.open();
      const [, last] = (await Promise.all(sends)) as [unknown, { id: string }[]];
      const { deliveries } = await sender.messages.get(last[0]!.id);
      expect(deliveries).toMatchObject([{ attemptCount: 0 }]);
      expect(receiver.requests()).toHaveLength(1);
    },
  );

  test('lets those go on at once that went without its places when it could not be stored', async () => {
    const { sender, receiver, holdAnswers } = await startIdle({ concurrency: 1, pollIntervalMs: 60_000 });
    await sender.endpoints.create({ url: receiver.url() });
    const stored = gate();
    holdAnswers(() => stored.wait().then(() => Promise.reject(new Error('the answer was lost'))));
    const failing = expect(sender.sendMany([send])).rejects.toThrow('the answer was lost');
    await eventually(async () => expect(await sender.health()).toMatchObject({ outboxDepth: 1 }));
    holdAnswers(async () => {});
    const { id } = await sender.send(send);
    // The turn that it wakes finds no request free.
    for (let count = 0; count < 5; count++) await setImmediate();
    stored.open();
    await failing;
    await untilStatus(sender, id, 'delivered');
  });

  test('leaves to a turn, which it wakes, what an endpoint with a limit is owed', async () => {
    const { sender, receiver, leasedByTurns } = await startIdle({ pollIntervalMs: 60_000 });
    await sender.endpoints.create({ url: receiver.url(), maxInFlight: 1 });
    const { id } = await sender.send(send);
    await untilStatus(sender, id, 'delivered');
    expect(leasedByTurns()).toEqual([id]);
  });

  test('leaves to turns what is owed to more endpoints than there are requests', async () => {
    const { sender, receiver, leasedByTurns } = await startIdle({ concurrency: 2, pollIntervalMs: 60_000 });
    for (let made = 0; made < 3; made++) await sender.endpoints.create({ url: receiver.url() });
    const { id } = await sender.send(send);
    await untilStatus(sender, id, 'delivered');
    expect(leasedByTurns()).toEqual([id, id, id]);
  });
});
