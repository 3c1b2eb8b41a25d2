import { AsyncLocalStorage, AsyncResource } from 'node:async_hooks';
import { setTimeout } from 'node:timers/promises';
import { createSender } from '../../lib/create-sender.js';
import { HookplaneError } from '../../lib/model/errors.js';
import type { Sender } from '../../lib/sender/sender.js';
import { onCleanUp } from '../support/clean-up.js';
import { type Clock, createClock, SECOND } from '../support/clock.js';
import { failingStore, type Fault } from '../support/failing-store.js';
import { newPlace, onPostgres, rowsAt, storeAt } from '../support/test-store.js';
import { type Receiver, startReceiver } from '../support/receiver.js';
import { recordingLogger } from '../support/sender.js';

/** Every method that the story below has need of. */
const METHODS = [
  'open',
  'endpoints.get',
  'endpoints.secrets',
  'endpoints.rotateSecret',
  'messages.insert',
  'messages.owner',
  'messages.removeFinished',
  'tenants.purge',
  'audit.removeBefore',
  'depths.has',
  'depths.owed',
  'depths.add',
  'depths.removeBefore',
  'outbox.turn',
  'outbox.renew',
  'outbox.cancelOrphans',
  'outbox.expire',
  'outbox.requeue',
  'outbox.depth',
  'workers.beat',
  'workers.countSince',
  'workers.leave',
  'close',
];

const UNAVAILABLE = new HookplaneError('STORE_UNAVAILABLE', 'The store does not answer');
/** What a driver throws, and no dialect has translated. */
const RAW = Object.assign(new Error('unable to open database file'), { code: 'SQLITE_ERROR' });

/** What a stop calls, and nothing else. */
const OF_STOP = ['workers.leave', 'close'];

// A test tells dozens of stories.
jest.setTimeout(120_000);

/** Stories mostly wait. */
const AT_ONCE = 8;
/** How long to wait between two looks, and how many make a second: no lease is to end while its worker waits for the store. */
const LOOK_MS = onPostgres ? 25 : 10;
const LOOKS_A_SECOND = 4;
/** Which calls are made to fail: of PostgreSQL, where a story takes several times as long, each third. */
const STRIDE = onPostgres ? 3 : 1;

let receiver: Receiver;
let stories = 0;
const calls = new Map<string, number>();

/** The timer of a heartbeat, the only interval of a sender. */
interface Heart {
  beat(): void;
  everyMs: number;
  /** By the clock of its story. */
  next: number;
}

/** Each story has hearts of its own, which beat when it says so: its time does not pass in those told beside it. */
const own = new AsyncLocalStorage<{ hearts: Set<Heart>; now: () => number }>();

beforeAll(async () => {
  receiver = await startReceiver('file');
  const begin = (beat: () => void, everyMs: number) => {
    const { hearts, now } = own.getStore()!;
    const heart: Heart = { beat, everyMs, next: now() + everyMs };
    hearts.add(heart);
    return heart;
  };
  jest.spyOn(globalThis, 'setInterval').mockImplementation(begin as unknown as typeof setInterval);
  jest
    .spyOn(globalThis, 'clearInterval')
    .mockImplementation((heart) => void own.getStore()!.hearts.delete(heart as unknown as Heart));
  for (const [method, count] of await tell()) calls.set(method, count);
});
afterAll(() => void jest.restoreAllMocks());

/**
 * Start, send, sendMany, deliver, retry, heartbeat, expire, replay, rotate, stop and start again, with a fault on the
 * way. Whoever is refused asks again. An exception or a rejection that nobody handles fails the test by itself.
 * @returns how often each method was called
 */
async function tell(fault?: Fault): Promise<ReadonlyMap<string, number>> {
  const clock = createClock();
  const hearts = new Set<Heart>();
  return own.run({ hearts, now: clock.now }, () => tellWith(clock, hearts, fault));
}

async function tellWith(
  clock: Clock,
  hearts: ReadonlySet<Heart>,
  fault?: Fault,
): Promise<ReadonlyMap<string, number>> {
  const place = await newPlace();
  const real = await storeAt(place);
  const failing = failingStore(real, fault);
  const logger = recordingLogger();
  const settings = {
    allowHttp: true,
    allowTargets: ['127.0.0.1'],
    now: clock.now,
    logger,
    pollIntervalMs: 100,
    timeoutMs: 15_000,
    leaseMs: 21_000,
    retry: { delaysSeconds: [5], jitter: 0 },
  };
  const sender = createSender({ ...settings, store: failing.store });
  const witness = createSender({ ...settings, store: real });
  // With the hearts of its own story.
  onCleanUp(
    'test',
    'sender',
    AsyncResource.bind(() => sender.stop({ drainMs: 100 })),
  );

  stories += 1;
  const story = stories;
  const path = (name: string) => `/${story}/${name}`;
  const create = (name: string) =>
    witness.endpoints.create({ url: receiver.url(path(name)), types: [name], tenantId: 'acme' });
  const good = await create('good');
  await create('flaky');
  await create('slow');
  const paused = await create('late');
  await witness.endpoints.disable(paused.id);
  receiver.answer(path('flaky'), 500, 200);

  let told = 0;
  sender.on('error', () => {
    told += 1;
  });
  const outage = failing.struck.then(async () => {
    if (!fault?.lasting) return;
    expect(await sender.health()).toMatchObject({ ok: false, reason: 'store_unavailable' });
    failing.restore();
  });

  /** Asks until it is not refused; a refusal is the store's own, by its code. */
  async function insist<T>(ask: () => Promise<T>): Promise<T> {
    for (;;) {
      try {
        return await ask();
      } catch (error) {
        expect(fault && error).toBe(fault?.error);
        told += 1;
        await outage;
      }
    }
  }
  function pass(ms: number): void {
    clock.advance(ms);
    for (const heart of hearts) {
      for (; heart.next <= clock.now(); heart.next += heart.everyMs) heart.beat();
    }
  }
  /** Time passes when waiting alone does not help. */
  async function until(holds: () => unknown): Promise<void> {
    for (let round = 1; !(await holds()); round++) {
      if (round > 100 * LOOKS_A_SECOND) throw new Error(`Nothing came of it: ${holds.toString()}`);
      await setTimeout(LOOK_MS);
      if (round % LOOKS_A_SECOND === 0) pass(SECOND);
    }
  }
  const owed: { id: string; name: string; times: number }[] = [];
  async function send(name: string, fields = {}): Promise<string> {
    const { id } = await insist(() =>
      sender.send({ type: name, data: {}, tenantId: 'acme', idempotencyKey: `${owed.length}`, ...fields }),
    );
    owed.push({ id, name, times: name === 'flaky' ? 2 : 1 });
    return id;
  }
  const arrivals = (id: string, name: string) =>
    receiver.requests(path(name)).filter(({ headers }) => headers['webhook-id'] === id).length;
  const statusOf = async (id: string) => (await witness.messages.get(id)).status;
  const untilDelivered = (id: string) => until(async () => (await statusOf(id)) === 'delivered');

  await insist(() => sender.start());
  const first = await send('good');
  await untilDelivered(first);
  for (const { id } of await insist(() =>
    sender.sendMany([1, 2, 3].map((data) => ({ type: 'good', data, tenantId: 'acme' }))),
  )) {
    owed.push({ id, name: 'good', times: 1 });
  }
  const flaky = await send('flaky');
  await until(async () => (await witness.messages.attempts(flaky)).attempts.length > 0);
  pass(5 * SECOND);
  await untilDelivered(flaky);

  const held = receiver.hold(path('slow'));
  const slow = await send('slow');
  await until(() => arrivals(slow, 'slow') > 0);
  pass(5 * SECOND);
  const late = await send('late', { expiresAt: new Date(clock.now() + 28 * SECOND).toISOString() });
  // Longer than a lease, in steps that leave time for it to be renewed.
  for (let step = 0; step < 4; step++) {
    pass(7 * SECOND);
    await witness.health();
  }
  await until(async () => (await statusOf(late)) === 'failed');
  held.release();
  await untilDelivered(slow);

  await insist(() => sender.replay({ messageId: first, endpointId: good.id }));
  owed[0]!.times += 1;
  await until(() => arrivals(first, 'good') > 1);
  await insist(() => sender.endpoints.rotateSecret(good.id));
  await untilDelivered(await send('good'));

  const cut = receiver.hold(path('slow'));
  const last = await send('slow');
  owed.at(-1)!.times += 1;
  await until(() => arrivals(last, 'slow') > 0);
  await insist(() => sender.stop({ drainMs: 20 }));
  cut.release();
  await insist(() => sender.start());
  await untilDelivered(last);
  await until(async () => {
    const { ok, reason } = await sender.health();
    if (reason === 'store_unavailable') told += 1;
    return ok;
  });
  await until(async () => {
    const { hookplane_deliveries: rows } = await rowsAt(place);
    return rows!.every((row) => row.lease_until === null && row.status !== 'pending');
  });
  await expectDeliveries(witness, owed, arrivals, fault?.when === 'after' ? 1 : 0);
  // How often the heart beats and turns are taken is a matter of time.
  if (fault && !OF_STOP.includes(fault.method)) {
    await until(async () => {
      await sender.health();
      return failing.calls.get(fault.method)! >= fault.call;
    });
  }
  await insist(() => sender.stop());
  if (fault) {
    await failing.struck;
    await outage;
    expect(told + logger.entries.length).toBeGreaterThan(0);
  }
  return new Map(failing.calls);
}

async function expectDeliveries(
  witness: Sender,
  owed: readonly { id: string; name: string; times: number }[],
  arrivals: (id: string, name: string) => number,
  duplicates: number,
): Promise<void> {
  let more = 0;
  for (const { id, name, times } of owed) {
    const { status } = await witness.messages.get(id);
    expect({ name, status }).toEqual({ name, status: name === 'late' ? 'failed' : 'delivered' });
    if (name === 'late') continue;
    expect(arrivals(id, name)).toBeGreaterThanOrEqual(times);
    more += arrivals(id, name) - times;
    const { attempts } = await witness.messages.attempts(id);
    expect(new Set(attempts.map((attempt) => attempt.id)).size).toBe(attempts.length);
  }
  expect(more).toBeLessThanOrEqual(duplicates);
}

test('the story calls every method that is made to fail, and no other', () => {
  expect([...calls.keys()].sort()).toEqual([...METHODS].sort());
});

describe.each(METHODS)('when %s fails', (method) => {
  /** Calls once before they have happened and once after they have; by turns for a moment and until it is restored. */
  async function walk(when: Fault['when']): Promise<void> {
    const count = calls.get(method) ?? 0;
    expect(count).toBeGreaterThan(0);
    const failing = Array.from({ length: Math.ceil(count / STRIDE) }, (_, index) => 1 + index * STRIDE);
    for (let first = 0; first < failing.length; first += AT_ONCE) {
      const tales = failing.slice(first, first + AT_ONCE).map((call) => tellOf(call, count, when));
      // All to their ends: none may go on when the test is over.
      await Promise.allSettled(tales);
      await Promise.all(tales);
    }
  }

  function tellOf(call: number, count: number, when: Fault['when']): Promise<unknown> {
    const lasting = (call % 2 === 1) === (when === 'before');
    const error = lasting ? UNAVAILABLE : RAW;
    return tell({ method, call, when, error, lasting }).catch((cause) => {
      throw new Error(`The call ${call} of ${count}, ${when}, ${lasting ? 'lasting' : 'once'}`, { cause });
    });
  }

  test('at any call, nothing is lost, left leased or sent twice', () => walk('before'));

  test('after any call has happened, nothing is lost or left leased, and one delivery at most is made twice', () =>
    walk('after'));
});
