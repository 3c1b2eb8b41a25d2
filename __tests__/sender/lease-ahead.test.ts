import { join } from 'node:path';
import type { Sender } from '../../lib/sender/sender.js';
import { sqliteStore } from '../../lib/store/sqlite.js';
import type { Store, Turn, TurnResult } from '../../lib/store/store.js';
import { startReceiver } from '../support/receiver.js';
import { startSender, temporaryFolder } from '../support/sender.js';
import { eventually } from '../support/wait-for.js';

const batch = (size: number) => Array.from({ length: size }, (_, index) => ({ type: 'a.b', data: index }));

const untilEmpty = (sender: Sender) =>
  eventually(async () => expect(await sender.health()).toMatchObject({ outboxDepth: 0 }));

/** A store on a file of its own, and the turns that a worker takes with it. */
async function recordedStore(): Promise<{ file: string; store: Store; turns: (Turn & TurnResult)[] }> {
  const file = join(await temporaryFolder(), 'hookplane.sqlite');
  const store = sqliteStore({ file });
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

/** An endpoint may hold half of four requests; the first twenty are answered, what follows is held. */
async function startHeld() {
  const receiver = await startReceiver();
  receiver.answer('/', ...Array<number>(20).fill(200));
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
  return { receiver, file, turns, sender, endpoint, release: () => held.splice(0).forEach((end) => end()) };
}

describe('leasing in advance', () => {
  test('spares turns, and never has more under way than an endpoint may hold', async () => {
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
    expect(Math.max(...turns.map(({ leased }) => leased.length))).toBeGreaterThan(2);
    expect(receiver.requests()).toHaveLength(200);
  });

  test('is given up for what waits too long, so that an edit holds for it', async () => {
    const { receiver, turns, sender, endpoint, release } = await startHeld();
    const held = () =>
      turns.reduce(
        (sum, turn) => sum + turn.leased.length - turn.settlements.length - turn.release.length,
        0,
      );
    expect(held()).toBeGreaterThan(2);
    await eventually(() => expect(held()).toBe(2));
    await sender.endpoints.update(endpoint.id, { url: receiver.url('/new') });
    release();
    await untilEmpty(sender);
    expect(receiver.requests('/')).toHaveLength(22);
    expect(receiver.requests('/new')).toHaveLength(38);
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
