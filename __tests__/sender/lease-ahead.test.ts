import type { Sender } from '../../lib/sender/sender.js';
import type { Store, Turn, TurnResult } from '../../lib/store/store.js';
import { startReceiver } from '../support/receiver.js';
import { startSender } from '../support/sender.js';
import { newPlace, storeAt } from '../support/test-store.js';
import { eventually } from '../support/wait-for.js';
import { takeTurns } from './probe.js';

const batch = (size: number) => Array.from({ length: size }, (_, index) => ({ type: 'a.b', data: index }));

const untilEmpty = (sender: Sender) =>
  eventually(async () => expect(await sender.health()).toMatchObject({ outboxDepth: 0 }));

/** A store on a file of its own, and the turns that a worker takes with it. */
async function recordedStore(): Promise<{ file: string; store: Store; turns: (Turn & TurnResult)[] }> {
  const file = await newPlace();
  const store = await storeAt(file);
  const turns: (Turn & TurnResult)[] = [];
  const outbox = {
    ...store.outbox,
    async turn(turn: Turn) {
      const result = await store.outbox.turn(turn);
      turns.push({ ...turn, ...result });
      return result;
    },
  };
  return { file, store: { ...store, outbox }, turns };
}

/** The most deliveries that were leased at once. */
function mostHeld(turns: readonly (Turn & TurnResult)[]): number {
  let held = 0;
  return Math.max(
    ...turns.map(({ settlements, release, leased }) => {
      held += leased.length - settlements.length - release.length;
      return held;
    }),
  );
}

/** An endpoint may hold half of four requests; the first twenty are answered, what follows is held. */
async function startHeld() {
  const receiver = await startReceiver();
  const { file, store, turns } = await recordedStore();
  const sender = await startSender({ file, store, concurrency: 4 });
  const endpoint = await sender.endpoints.create({ url: receiver.url() });
  const held: (() => void)[] = [];
  let answered = 0;
  receiver.answer('/', (_request, response) => {
    answered += 1;
    if (answered <= 20) response.end();
    else held.push(() => response.end());
  });
  await sender.sendMany(batch(60));
  await eventually(() => expect(held).toHaveLength(2));
  const release = () => {
    for (const end of held.splice(0)) end();
  };
  return { receiver, file, turns, sender, endpoint, release };
}

describe('leasing in advance', () => {
  test('spares turns, and never has more under way, nor more unsettled, than an endpoint may have', async () => {
    const receiver = await startReceiver();
    let underWay = 0;
    let most = 0;
    receiver.answer('/', async (_request, response) => {
      underWay += 1;
      most = Math.max(most, underWay);
      await new Promise(setImmediate);
      underWay -= 1;
      response.end();
    });
    const { file, store, turns } = await recordedStore();
    const sender = await startSender({ file, store, concurrency: 4 });
    await sender.endpoints.create({ url: receiver.url() });
    await sender.sendMany(batch(200));
    await untilEmpty(sender);
    expect(most).toBe(2);
    expect(mostHeld(turns)).toBeGreaterThan(2);
    expect(Math.max(...turns.map(({ settlements }) => settlements.length))).toBeLessThanOrEqual(8);
    expect(receiver.requests()).toHaveLength(200);
  });

  test('spares turns where many endpoints wait, and gives each of them its turn', async () => {
    const receiver = await startReceiver();
    let underWay = 0;
    let most = 0;
    const { file, store, turns } = await recordedStore();
    const sender = await startSender({ file, store, concurrency: 8, started: false });
    for (let index = 0; index < 30; index++) {
      receiver.answer(`/${index}`, async (_request, response) => {
        underWay += 1;
        most = Math.max(most, underWay);
        await new Promise(setImmediate);
        underWay -= 1;
        response.end();
      });
      await sender.endpoints.create({ url: receiver.url(`/${index}`) });
    }
    await sender.sendMany(batch(4));
    await sender.start();
    await untilEmpty(sender);
    expect(receiver.requests()).toHaveLength(120);
    expect(most).toBeLessThanOrEqual(8);
    expect(mostHeld(turns)).toBeGreaterThan(8);
    const inTurn = turns.flatMap(({ leased }) => leased.map(({ endpointId }) => endpointId));
    expect(new Set(inTurn.slice(0, 30)).size).toBe(30);
  });

  test('keeps no place from an endpoint that spends tokens, or whose tenant does', async () => {
    const receiver = await startReceiver();
    const sender = await startSender({ concurrency: 16, started: false });
    for (let index = 0; index < 20; index++) {
      await sender.endpoints.create({ url: receiver.url(`/${index}`), tenantId: `t${index}` });
    }
    const rateLimit = { perSecond: 1000, burst: 1000 };
    await sender.endpoints.create({ url: receiver.url('/own'), tenantId: 'a', rateLimit });
    await sender.endpoints.create({ url: receiver.url('/tenant'), tenantId: 'b' });
    await sender.tenants.setRateLimit('b', rateLimit);
    for (const tenantId of ['a', 'b', ...Array.from({ length: 20 }, (_, index) => `t${index}`)])
      await sender.sendMany(batch(20).map((message) => ({ ...message, tenantId })));
    await sender.start();
    await untilEmpty(sender);
    // Each has as many: when three quarters have arrived, so have three quarters of each.
    const early = receiver.requests().slice(0, 330);
    expect(receiver.requests()).toHaveLength(440);
    for (const path of ['/own', '/tenant'])
      expect(early.filter((each) => each.path === path).length).toBeGreaterThanOrEqual(10);
  });

  test('is given up for what waits too long, so that an edit by another process holds for it', async () => {
    const { receiver, file, turns, sender, endpoint, release } = await startHeld();
    const held = () =>
      turns.reduce(
        (sum, turn) => sum + turn.leased.length - turn.settlements.length - turn.release.length,
        0,
      );
    expect(turns.some(({ leased }) => leased.length > 2)).toBe(true);
    await eventually(() => expect(held()).toBe(2));
    const other = await startSender({ file, started: false });
    await other.endpoints.update(endpoint.id, { url: receiver.url('/new') });
    release();
    await untilEmpty(sender);
    expect(receiver.requests('/')).toHaveLength(22);
    expect(receiver.requests('/new')).toHaveLength(38);
  });

  test.each([
    ['pause', (sender: Sender, id: string) => sender.endpoints.disable(id)],
    ['deletion', (sender: Sender, id: string) => sender.endpoints.delete(id)],
    [
      'edit',
      (sender: Sender, id: string) => sender.endpoints.update(id, { url: 'https://receiver.invalid/' }),
    ],
  ])('is given up at a %s of the endpoint', async (_, change) => {
    const { receiver, sender, endpoint, release } = await startHeld();
    await change(sender, endpoint.id);
    release();
    await takeTurns(sender);
    expect(receiver.requests('/')).toHaveLength(22);
  });

  test('ends where the endpoint refuses', async () => {
    const receiver = await startReceiver();
    let answered = 0;
    receiver.answer('/', (_request, response) => {
      answered += 1;
      if (answered > 20) response.writeHead(429, { 'retry-after': '60' });
      response.end();
    });
    const sender = await startSender({ concurrency: 4 });
    await sender.endpoints.create({ url: receiver.url() });
    await sender.sendMany(batch(60));
    await receiver.waitFor(21);
    await takeTurns(sender);
    expect(receiver.requests('/').length).toBeLessThanOrEqual(22);
  });

  test('leaves nothing behind that only the next poll would find, even with a clock that stands still', async () => {
    const receiver = await startReceiver();
    const at = Date.now();
    const sender = await startSender({ concurrency: 4, pollIntervalMs: 3_600_000, now: () => at });
    for (const path of ['/a', '/b', '/c']) {
      await sender.endpoints.create({ url: receiver.url(path), tenantId: 'acme' });
    }
    for (let round = 0; round < 20; round++) {
      await sender.sendMany(batch(1 + (round % 4)).map((message) => ({ ...message, tenantId: 'acme' })));
    }
    await untilEmpty(sender);
    expect(receiver.requests()).toHaveLength(150);
  });

  test('ends with a stop: others deliver the rest at once', async () => {
    const { receiver, file, sender, release } = await startHeld();
    const stopping = sender.stop();
    release();
    await stopping;
    expect(receiver.requests()).toHaveLength(22);
    receiver.answer('/', 200);
    const other = await startSender({ file });
    await untilEmpty(other);
    expect(receiver.requests()).toHaveLength(60);
  });
});
