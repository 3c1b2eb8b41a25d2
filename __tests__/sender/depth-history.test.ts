import type { AttemptStatsRequest } from '../../lib/model/stats.js';
import type { SenderScope } from '../../lib/model/scope.js';
import { createClock, DAY, HOUR, MINUTE, SECOND } from '../support/clock.js';
import { failingStore } from '../support/failing-store.js';
import { startSender, type TestSender } from '../support/sender.js';
import { newPlace, storeAt } from '../support/test-store.js';
import { eventually } from '../support/wait-for.js';

const NOON = Date.parse('2026-05-01T12:00:00.000Z');
const MINUTES: AttemptStatsRequest = { interval: 'minute', since: '2026-05-01T12:00:00Z' };

async function start() {
  const clock = createClock(NOON + SECOND);
  const sender = await startSender({ started: false, now: clock.now });
  /** Owes so many messages to an endpoint that is let through none of them. */
  async function owe(tenantId: string | null, count: number): Promise<string> {
    const { id } = await sender.endpoints.create({ url: 'https://example.com/hook', tenantId });
    await sender.sendMany(Array.from({ length: count }, () => ({ type: 'a.b', data: 1, tenantId })));
    return id;
  }
  return { clock, sender, owe, look: () => look(sender, clock.now) };
}

/** Has another worker look, which delivers nothing, and answers how often it has counted. */
async function look({ file }: TestSender, now: () => number): Promise<number> {
  const failing = failingStore(await storeAt(file));
  // A turn would take up what is to be seen waiting.
  const outbox = { ...failing.store.outbox, turn: async () => NOTHING };
  const worker = await startSender({ store: { ...failing.store, outbox }, file, now });
  // The last thing that a sweep does.
  await eventually(() => expect(failing.calls.get('audit.removeBefore')).toBeGreaterThan(0));
  await worker.stop();
  return failing.calls.get('depths.owed') ?? 0;
}

const NOTHING = { refused: [], paused: [], recovered: [], leased: [], nextAt: null };

/** What was owed in each minute or hour that was looked at, as `depth for age`. */
async function found(scope: Pick<SenderScope, 'stats'>, request = MINUTES): Promise<Record<string, string>> {
  const { buckets } = await scope.stats(request);
  return Object.fromEntries(
    buckets.flatMap(({ start, outboxDepth, oldestPendingAge }) =>
      outboxDepth === null ? [] : [[start.slice(11, 16), `${outboxDepth} for ${oldestPendingAge}`]],
    ),
  );
}

test('what is owed is sampled in each minute by one worker, and is null where none has looked', async () => {
  const { clock, sender, owe, look } = await start();
  expect(await look()).toBe(1);
  await owe('acme', 2);
  expect(await look()).toBe(0);
  clock.advance(2 * MINUTE);
  expect(await look()).toBe(1);
  await owe('acme', 5);
  expect(await look()).toBe(0);
  expect(await found(sender)).toEqual({ '12:00': '0 for 0', '12:02': '2 for 120000' });
  const { buckets } = await sender.stats(MINUTES);
  expect(buckets[1]).toMatchObject({ outboxDepth: null, oldestPendingAge: null });
});

test('an interval has the highest that was found in it, each scope its own', async () => {
  const { clock, sender, owe, look } = await start();
  const endpointId = await owe('acme', 3);
  await owe('other', 1);
  await owe(null, 1);
  clock.advance(MINUTE);
  await look();
  await sender.endpoints.delete(endpointId);
  clock.advance(MINUTE);
  await look();
  const hour = { since: '2026-05-01T12:00:00Z' };
  expect(await found(sender, hour)).toEqual({ '12:00': '5 for 120000' });
  expect(await found(sender.forTenant('acme'), hour)).toEqual({ '12:00': '3 for 60000' });
  expect(await found(sender.forTenant('acme'))).toEqual({ '12:01': '3 for 60000', '12:02': '0 for 0' });
  expect(await found(sender, { ...hour, tenantId: 'other' })).toEqual({ '12:00': '1 for 120000' });
  expect(await found(sender.forTenant('nobody'), hour)).toEqual({ '12:00': '0 for 0' });
});

test('is there for a little more than a week', async () => {
  const { clock, sender, owe, look } = await start();
  await owe('acme', 1);
  await look();
  clock.advance(8 * DAY - HOUR);
  await look();
  const ever = { since: '2026-05-01T12:00:00Z' };
  expect(Object.keys(await found(sender, ever))).toEqual(['12:00', '11:00']);
  clock.advance(2 * HOUR);
  await look();
  expect(Object.keys(await found(sender, ever))).toEqual(['11:00', '13:00']);
});

test('goes with its tenant, and what comes later of its id does not see it', async () => {
  const { clock, sender, owe, look } = await start();
  await owe('acme', 4);
  clock.advance(MINUTE);
  await look();
  clock.advance(MINUTE);
  await sender.tenants.delete('acme');
  expect(await found(sender.forTenant('acme'))).toEqual({ '12:01': '0 for 0' });
  clock.advance(SECOND);
  await owe('acme', 1);
  clock.advance(MINUTE);
  await look();
  expect(await found(sender.forTenant('acme'))).toEqual({ '12:01': '0 for 0', '12:03': '1 for 60000' });
});

test('a count that the store breaks off is made again, and none is lost for it', async () => {
  const clock = createClock(NOON);
  const place = await newPlace();
  const error = new Error('as the test says');
  const { store } = failingStore(await storeAt(place), {
    method: 'depths.add',
    call: 1,
    when: 'before',
    error,
    lasting: false,
  });
  const sender = await startSender({ store, file: place, now: clock.now, started: false });
  const failed: string[] = [];
  sender.on('error', ({ during }) => void failed.push(during));
  await sender.start();
  await eventually(() => expect(failed).toEqual(['sweep']));
  expect(await found(sender)).toEqual({});
  await sender.stop();
  await sender.start();
  await eventually(async () => expect(await found(sender)).toEqual({ '12:00': '0 for 0' }));
});
