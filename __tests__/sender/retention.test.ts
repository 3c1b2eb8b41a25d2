import type { Store } from '../../lib/store/store.js';
import { createClock, DAY, HOUR, SECOND } from '../support/clock.js';
import { startReceiver } from '../support/receiver.js';
import { startSender, type TestSender, type TestSenderOptions } from '../support/sender.js';
import { newPlace, storeAt } from '../support/test-store.js';
import { eventually } from '../support/wait-for.js';

const KEYED = { type: 'invoice.paid', data: 1, idempotencyKey: 'key' };

async function start(options: TestSenderOptions = {}) {
  const clock = createClock();
  const receiver = await startReceiver();
  const sender = await startSender({ now: clock.now, ...options });
  const { id } = await sender.endpoints.create({ url: receiver.url() });
  return { clock, receiver, sender, endpointId: id };
}

const idsOf = async (sender: TestSender) => (await sender.messages.list()).messages.map(({ id }) => id);

/** Has a worker look for what is to be removed, as each does every five seconds. */
async function beat(sender: TestSender): Promise<void> {
  await sender.stop();
  await sender.start();
}

async function deliver(sender: TestSender, data: unknown = 1): Promise<string> {
  const { id } = await sender.send({ type: 'invoice.paid', data });
  await eventually(async () => expect(await sender.messages.get(id)).toMatchObject({ status: 'delivered' }));
  return id;
}

test('a message is removed so long after nothing was owed of it, and not after it was sent', async () => {
  const { clock, receiver, sender, endpointId } = await start({ retentionSeconds: 3600 });
  await sender.endpoints.disable(endpointId);
  const { id: held } = await sender.send({ type: 'invoice.paid', data: 'held' });
  const { id: pausedFor } = await sender.send({ type: 'invoice.paid', data: 'owed' });
  clock.advance(2 * HOUR);
  const { id: unrouted } = await sender.send({ type: 'a', data: 1, tenantId: 'nobody' });
  await sender.endpoints.enable(endpointId);
  await receiver.waitFor(2);
  await eventually(async () =>
    expect(await sender.messages.get(held)).toMatchObject({ status: 'delivered' }),
  );
  await eventually(async () =>
    expect(await sender.messages.get(pausedFor)).toMatchObject({ status: 'delivered' }),
  );
  clock.advance(HOUR - SECOND);
  const later = await deliver(sender);
  clock.advance(SECOND);
  await beat(sender);
  await eventually(async () => expect(await idsOf(sender)).toEqual([later]));
  for (const id of [held, pausedFor, unrouted])
    await expect(sender.messages.get(id)).rejects.toMatchObject({ code: 'MESSAGE_NOT_FOUND' });
  expect((await sender.endpoints.attempts(endpointId)).attempts).toHaveLength(1);
});

test('what is owed is not removed, however old it is', async () => {
  const { clock, sender, endpointId } = await start({ retentionSeconds: 60 });
  await sender.endpoints.disable(endpointId);
  const { id } = await sender.send({ type: 'a', data: 1 });
  await sender.send({ type: 'a', data: 1, tenantId: 'nobody' });
  clock.advance(29 * DAY);
  await beat(sender);
  await eventually(async () => expect(await idsOf(sender)).toEqual([id]));
});

test('a message that was replayed is kept as long again', async () => {
  const { clock, sender } = await start({ retentionSeconds: 3600 });
  const [replayed, other] = [await deliver(sender, 1), await deliver(sender, 2)];
  clock.advance(HOUR - SECOND);
  await sender.replay({ messageId: replayed });
  await eventually(async () => expect((await sender.messages.attempts(replayed)).attempts).toHaveLength(2));
  clock.advance(HOUR - SECOND);
  await beat(sender);
  await eventually(async () => expect(await idsOf(sender)).not.toContain(other));
  expect(await idsOf(sender)).toEqual([replayed]);
  clock.advance(SECOND);
  await beat(sender);
  await eventually(async () => expect(await idsOf(sender)).toEqual([]));
});

test('by default it is 30 days for messages and 400 for the audit log', async () => {
  const { clock, sender } = await start();
  await sender.forCaller({}).send({ type: 'a', data: 1, tenantId: 'nobody' });
  clock.advance(30 * DAY - SECOND);
  const kept = await sender.forCaller({}).send({ type: 'a', data: 2, tenantId: 'nobody' });
  clock.advance(SECOND);
  await beat(sender);
  await eventually(async () => expect(await idsOf(sender)).toEqual([kept.id]));
  expect((await sender.audit.list()).entries).toHaveLength(2);
  clock.advance(370 * DAY + SECOND);
  await beat(sender);
  await eventually(async () => {
    const { entries } = await sender.audit.list();
    expect(entries.map(({ targetId }) => targetId)).toEqual([kept.id]);
  });
});

test('by a clock that tells parts of milliseconds it is as long', async () => {
  const clock = createClock();
  const { sender } = await start({ now: () => clock.now() + 0.25 });
  await sender.forCaller({}).send({ type: 'a', data: 1, tenantId: 'nobody' });
  clock.advance(400 * DAY + 1);
  const kept = await sender.forCaller({}).send({ type: 'a', data: 2, tenantId: 'nobody' });
  await beat(sender);
  await eventually(async () => {
    const { entries } = await sender.audit.list();
    expect(entries.map(({ targetId }) => targetId)).toEqual([kept.id]);
  });
});

test('with null, messages and audit are kept for ever', async () => {
  const { clock, sender } = await start({ retentionSeconds: null });
  const { id } = await sender.forCaller({}).send({ type: 'a', data: 1, tenantId: 'nobody' });
  clock.advance(500 * DAY);
  await beat(sender);
  await eventually(async () => expect((await sender.audit.list()).entries).toEqual([]));
  expect(await idsOf(sender)).toEqual([id]);

  const other = await start({ retentionSeconds: 60, auditRetentionSeconds: null });
  await other.sender.forCaller({}).send({ type: 'a', data: 1, tenantId: 'nobody' });
  other.clock.advance(5000 * DAY);
  await beat(other.sender);
  await eventually(async () => expect(await idsOf(other.sender)).toEqual([]));
  expect((await other.sender.audit.list()).entries).toHaveLength(1);
});

test('a send is not repeated within a day under its key, though its message is gone; then it is one anew', async () => {
  const { clock, receiver, sender } = await start({ retentionSeconds: 60 });
  const first = await sender.send(KEYED);
  await eventually(async () =>
    expect(await sender.messages.get(first.id)).toMatchObject({ status: 'delivered' }),
  );
  clock.advance(DAY - SECOND);
  await beat(sender);
  await eventually(async () => expect(await idsOf(sender)).toEqual([]));
  expect(await sender.send(KEYED)).toEqual({ ...first, status: 'delivered', duplicate: true });
  expect(await sender.sendMany([KEYED])).toMatchObject([{ id: first.id, duplicate: true }]);
  await expect(sender.send({ ...KEYED, data: 2 })).rejects.toMatchObject({ code: 'IDEMPOTENCY_CONFLICT' });
  clock.advance(SECOND);
  await beat(sender);
  await eventually(async () => expect(await sender.send(KEYED)).toMatchObject({ duplicate: false }));
  await receiver.waitFor(2);
  expect(receiver.requests()).toHaveLength(2);
});

test('however much there is to remove, messages are delivered meanwhile, and all of it is counted', async () => {
  const { clock, receiver, sender } = await start({ retentionSeconds: 60 });
  const old = Array.from({ length: 2000 }, (_, data) => ({ type: 'a', data, tenantId: 'nobody' }));
  await sender.sendMany(old);
  clock.advance(61 * SECOND);
  let turns = 0;
  const ticking = setInterval(() => {
    turns += 1;
  }, 1);
  await beat(sender);
  const id = await deliver(sender);
  await eventually(async () => expect(await idsOf(sender)).toEqual([id]));
  clearInterval(ticking);
  expect(turns).toBeGreaterThan(0);
  expect(receiver.requests()).toHaveLength(1);
  expect(await sender.metrics()).toContain('hookplane_messages_removed_total 2000');
});

test('two workers remove together what there is', async () => {
  const { clock, sender } = await start({ retentionSeconds: 60 });
  await sender.sendMany(Array.from({ length: 2000 }, (_, data) => ({ type: 'a', data, tenantId: 'nobody' })));
  clock.advance(61 * SECOND);
  const second = await startSender({
    file: sender.file,
    now: clock.now,
    retentionSeconds: 60,
    started: false,
  });
  await Promise.all([beat(sender), second.start()]);
  await eventually(async () => expect(await idsOf(sender)).toEqual([]));
  const removed = (await Promise.all([sender.metrics(), second.metrics()])).map((text) =>
    Number(text.match(/^hookplane_messages_removed_total (\d+)$/m)![1]),
  );
  expect(removed[0]! + removed[1]!).toBe(2000);
});

test('what has expired holds up no start, however long it takes to end it', async () => {
  const inner = await storeAt(await newPlace());
  let go = () => {};
  const held = new Promise<void>((resolve) => {
    go = resolve;
  });
  const outbox: Store['outbox'] = {
    ...inner.outbox,
    expire: (now, limit) => held.then(() => inner.outbox.expire(now, limit)),
  };
  const { clock, sender, endpointId } = await start({ store: { ...inner, outbox }, started: false });
  const expiring = Array.from({ length: 1200 }, (_, data) => ({ type: 'a', data }));
  await sender.endpoints.disable(endpointId);
  await sender.sendMany(expiring);
  clock.advance(31 * DAY);
  let dead = 0;
  sender.on('dead', () => void dead++);
  await sender.start();
  expect(dead).toBe(0);
  go();
  await eventually(() => expect(dead).toBe(1200));
});

test('a store that fails it is told of, and it is tried again', async () => {
  const inner = await storeAt(await newPlace());
  let fails = true;
  const messages: Store['messages'] = {
    ...inner.messages,
    removeFinished: (before, now) =>
      fails ? Promise.reject(new Error('not now')) : inner.messages.removeFinished(before, now),
  };
  const { clock, sender } = await start({ store: { ...inner, messages }, retentionSeconds: 60 });
  const told: unknown[] = [];
  sender.on('error', (event) => told.push(event));
  await sender.send({ type: 'a', data: 1, tenantId: 'nobody' });
  clock.advance(61 * SECOND);
  await beat(sender);
  await eventually(() => expect(told).toContainEqual({ error: new Error('not now'), during: 'sweep' }));
  expect(await sender.metrics()).toMatch(/during="sweep"\} [1-9]/);
  expect(await idsOf(sender)).toHaveLength(1);
  fails = false;
  await beat(sender);
  await eventually(async () => expect(await idsOf(sender)).toEqual([]));
});
