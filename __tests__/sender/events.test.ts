import { createEmitter, type SenderEvents } from '../../lib/sender/events.js';
import { createClock, DAY } from '../support/clock.js';
import { startReceiver } from '../support/receiver.js';
import { recordingLogger, startSender, type TestSender } from '../support/sender.js';
import { applicationDatabase } from '../support/test-store.js';
import { eventually } from '../support/wait-for.js';
import { untilAttempts, untilStatus } from './probe.js';

type Told = { [Name in keyof SenderEvents]: SenderEvents[Name][] };

/** Keeps every event of a sender. */
function listen(sender: TestSender): Told {
  const told: Told = { attempt: [], dead: [], paused: [], recovered: [], error: [] };
  sender.on('attempt', (event) => told.attempt.push(event));
  sender.on('dead', (event) => told.dead.push(event));
  sender.on('paused', (event) => told.paused.push(event));
  sender.on('recovered', (event) => told.recovered.push(event));
  sender.on('error', (event) => told.error.push(event));
  return told;
}

test('"attempt" tells each attempt as it is recorded', async () => {
  const receiver = await startReceiver();
  receiver.answer('/', 500, 200);
  const sender = await startSender({ retry: { delaysSeconds: [0], jitter: 0 } });
  const told = listen(sender);
  await sender.endpoints.create({ url: receiver.url(), tenantId: 'acme' });
  const sent = await sender.send({ type: 'a.b', data: 1, tenantId: 'acme' });
  await untilStatus(sender, sent.id, 'delivered');
  const { attempts } = await sender.messages.attempts(sent.id);
  await eventually(() => expect(told.attempt).toHaveLength(2));
  expect(told.attempt).toEqual(
    attempts.map((attempt) => ({ attempt, messageType: 'a.b', tenantId: 'acme' })),
  );
});

test('"attempt" is told after it is recorded', async () => {
  const receiver = await startReceiver();
  const sender = await startSender();
  const seen: Promise<number>[] = [];
  sender.on('attempt', ({ attempt }) => {
    seen.push(sender.messages.attempts(attempt.messageId).then(({ attempts }) => attempts.length));
  });
  await sender.endpoints.create({ url: receiver.url() });
  await untilAttempts(sender, await sender.send({ type: 'a.b', data: 1 }), 1);
  await eventually(() => expect(seen).toHaveLength(1));
  expect(await Promise.all(seen)).toEqual([1]);
});

test('"dead" tells a delivery whose attempts ran out, once', async () => {
  const receiver = await startReceiver();
  receiver.answer('/', 500);
  const sender = await startSender({ retry: { delaysSeconds: [0], jitter: 0 } });
  const told = listen(sender);
  const endpoint = await sender.endpoints.create({ url: receiver.url(), tenantId: 'acme' });
  const sent = await sender.send({ type: 'a.b', data: 1, tenantId: 'acme' });
  await untilStatus(sender, sent.id, 'failed');
  await eventually(() => expect(told.attempt).toHaveLength(2));
  expect(told.dead).toEqual([
    {
      messageId: sent.id,
      endpointId: endpoint.id,
      messageType: 'a.b',
      tenantId: 'acme',
      error: expect.stringContaining('500'),
    },
  ]);
});

test('"dead" tells one that expired before its turn', async () => {
  const clock = createClock();
  const receiver = await startReceiver();
  const sender = await startSender({ now: clock.now, started: false });
  const told = listen(sender);
  const endpoint = await sender.endpoints.create({ url: receiver.url(), tenantId: 'acme' });
  const sent = await sender.send({ type: 'a.b', data: 1, tenantId: 'acme' });
  clock.advance(30 * DAY);
  await sender.start();
  await untilStatus(sender, sent.id, 'failed');
  await eventually(() =>
    expect(told.dead).toEqual([
      {
        messageId: sent.id,
        endpointId: endpoint.id,
        messageType: 'a.b',
        tenantId: 'acme',
        error: expect.stringMatching(/expired/),
      },
    ]),
  );
  expect(told.attempt).toEqual([]);
  expect(receiver.requests()).toEqual([]);
});

test('"paused" tells an endpoint that its receiver has paused, and not one that an operator has', async () => {
  const receiver = await startReceiver();
  receiver.answer('/', 410);
  const sender = await startSender();
  const told = listen(sender);
  const manual = await sender.endpoints.create({ url: receiver.url(), types: ['none'] });
  await sender.endpoints.disable(manual.id);
  const { id } = await sender.endpoints.create({ url: receiver.url() });
  await untilAttempts(sender, await sender.send({ type: 'a.b', data: 1 }), 1);
  await eventually(() => expect(told.paused).toHaveLength(1));
  expect(told.paused).toEqual([{ endpoint: await sender.endpoints.get(id) }]);
  expect(sender.log).toContainEqual(
    expect.objectContaining({ level: 'warn', fields: { endpointId: id, reason: 'gone' } }),
  );
});

test('"recovered" tells an endpoint that succeeds after it had failed, once, with its first failure', async () => {
  const clock = createClock();
  const receiver = await startReceiver();
  receiver.answer('/', 200, 500, 500, 200);
  const sender = await startSender({ now: clock.now, retry: { delaysSeconds: [0, 0], jitter: 0 } });
  const told = listen(sender);
  const { id } = await sender.endpoints.create({ url: receiver.url() });
  for (const data of [1, 2, 3]) {
    clock.advance(1000);
    await untilStatus(sender, (await sender.send({ type: 'a.b', data })).id, 'delivered');
  }
  await eventually(() => expect(told.attempt).toHaveLength(5));
  const failed = told.attempt.find(({ attempt }) => attempt.status === 'failed');
  expect(told.recovered).toEqual([
    { endpoint: await sender.endpoints.get(id), failingSince: failed!.attempt.startedAt },
  ]);
});

test('"recovered" does not tell an endpoint that was enabled in between', async () => {
  const receiver = await startReceiver();
  receiver.answer('/', 500, 200);
  const sender = await startSender({ retry: { delaysSeconds: [], jitter: 0 } });
  const told = listen(sender);
  const { id } = await sender.endpoints.create({ url: receiver.url() });
  await untilStatus(sender, (await sender.send({ type: 'a.b', data: 1 })).id, 'failed');
  await sender.endpoints.enable(id);
  await untilStatus(sender, (await sender.send({ type: 'a.b', data: 2 })).id, 'delivered');
  await eventually(() => expect(told.attempt).toHaveLength(2));
  expect(told.recovered).toEqual([]);
});

test('"error" tells a store that fails in the background; it is tried again and nothing is lost', async () => {
  const { store, fill, clear } = await applicationDatabase();
  const receiver = await startReceiver();
  const held = receiver.hold('/');
  const sender = await startSender({ store });
  const told = listen(sender);
  await sender.endpoints.create({ url: receiver.url() });
  const sent = await sender.sendMany(Array.from({ length: 20 }, (_each, n) => ({ type: 'a.b', data: n })));
  await receiver.waitFor(20);
  // What comes back is too long for what is left of the disk.
  await fill();
  held.release({ status: 200, body: 'x'.repeat(4096) });
  await eventually(() => expect(told.error.length).toBeGreaterThanOrEqual(1));
  expect(told.error[0]).toMatchObject({ error: { code: 'STORE_UNAVAILABLE' } });
  expect(sender.log).toContainEqual(expect.objectContaining({ level: 'error' }));
  await clear();
  for (const { id } of sent) await untilStatus(sender, id, 'delivered');
  expect(receiver.requests()).toHaveLength(20);
  expect(told.dead).toEqual([]);
});

test('nobody has to listen: an error without a listener is no exception', () => {
  const events = createEmitter(recordingLogger());
  expect(() => events.emit('error', { error: new Error('x'), during: 'turn' })).not.toThrow();
});

test('a listener that throws harms neither other listeners nor the delivery, and is logged', async () => {
  const receiver = await startReceiver();
  const sender = await startSender();
  let heard = 0;
  sender.on('attempt', () => {
    throw new Error('mine');
  });
  sender.on('attempt', () => {
    heard += 1;
  });
  await sender.endpoints.create({ url: receiver.url() });
  const sent = [await sender.send({ type: 'a.b', data: 1 }), await sender.send({ type: 'a.b', data: 2 })];
  for (const { id } of sent) await untilStatus(sender, id, 'delivered');
  await eventually(() => expect(heard).toBe(2));
  expect(sender.log.filter(({ message }) => message.includes('"attempt"'))).toHaveLength(2);
});

test('a listener is told until it ends it, and may be added twice', () => {
  const events = createEmitter(recordingLogger());
  const told: string[] = [];
  const event = { error: null, during: 'turn' } as const;
  const endA = events.on('error', () => told.push('a'));
  const endB = events.on('error', () => told.push('b'));
  events.emit('error', event);
  endA();
  endA();
  events.emit('error', event);
  endB();
  events.emit('error', event);
  expect(told).toEqual(['a', 'b', 'b']);
  expect(events.has('error')).toBe(false);
});

test('nothing that is logged holds a secret or a payload', async () => {
  const receiver = await startReceiver();
  receiver.answer('/', 410);
  const sender = await startSender({ retry: { delaysSeconds: [], jitter: 0 } });
  const { secret } = await sender.endpoints.create({ url: receiver.url() });
  const sent = await sender.send({ type: 'a.b', data: { card: '4111-1111' } });
  await untilStatus(sender, sent.id, 'failed');
  await eventually(() => expect(sender.log.length).toBeGreaterThan(0));
  const text = JSON.stringify(sender.log);
  expect(text).not.toContain('4111');
  expect(text).not.toContain(secret);
});
