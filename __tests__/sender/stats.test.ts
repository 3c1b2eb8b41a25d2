import type { AttemptStatsRequest, StatsBucket } from '../../lib/model/stats.js';
import { createStatsCache } from '../../lib/sender/stats-cache.js';
import type { NewAttempt, Store } from '../../lib/store/store.js';
import { attemptOf, lease, settle, settlementOf } from '../contracts/store/fixtures.js';
import { createClock, DAY, HOUR, MINUTE } from '../support/clock.js';
import { startSender } from '../support/sender.js';
import { newPlace, newStore, storeAt } from '../support/test-store.js';

const NOW = Date.parse('2026-05-01T12:12:00.000Z');
/** A deadline of 60 s and a lease of 60 s. */
const SETTLED = 2 * MINUTE;

/** The ranges that a store was asked to count; one that counts an attempt and an endpoint at a time, where it may. */
function countingStore(store: Store, oneByOne = false) {
  const counted: { since: number; until: number; tenant: string | undefined }[] = [];
  const endpoints: Store['endpoints'] = {
    ...store.endpoints,
    durationsOfAll(query) {
      counted.push(query);
      if (!oneByOne) return store.endpoints.durationsOfAll(query);
      const most = query.most > 1_000_000 ? query.most : 1;
      return store.endpoints.durationsOfAll({ ...query, limit: 1, most });
    },
  };
  const taken = () => counted.splice(0);
  return {
    store: { ...store, endpoints },
    /** How much time was counted since it was asked last. */
    countedMs: () => taken().reduce((sum, { since, until }) => sum + until - since, 0),
    taken,
  };
}

async function start(place?: string) {
  const clock = createClock(NOW);
  const inner = await (place ? storeAt(place) : newStore());
  const { store, countedMs, taken } = countingStore(inner);
  const sender = await startSender({ store, started: false, now: clock.now });
  const endpointOf = async (tenantId: string | null) =>
    (await sender.endpoints.create({ url: 'https://example.com/hook', tenantId })).id;
  /** Records attempts to all endpoints of a tenant as a worker would. */
  async function record(tenantId: string | null, ...attempts: Partial<NewAttempt>[]): Promise<void> {
    await sender.sendMany(attempts.map(() => ({ type: 'a.b', data: 1, tenantId })));
    const leased = await lease(inner, { now: clock.now() });
    const settlements = leased.map((each, index) =>
      settlementOf(each, { attempt: attemptOf(each, attempts[index % attempts.length]) }),
    );
    await settle(inner, settlements, { now: clock.now() });
  }
  /** The intervals that have attempts, as `succeeded + failed`. */
  const found = async (request?: AttemptStatsRequest, scope: Pick<typeof sender, 'stats'> = sender) => {
    const { buckets } = await scope.stats(request);
    return Object.fromEntries(
      buckets.flatMap(({ start, succeeded, failed }) =>
        succeeded + failed === 0 ? [] : [[start.slice(11, 16), `${succeeded}+${failed}`]],
      ),
    );
  };
  return { clock, sender, endpointOf, record, found, countedMs, taken };
}

describe('the stats of a scope', () => {
  test('are those of all its endpoints together, with percentiles over all of them', async () => {
    const { sender, endpointOf, record, found } = await start();
    for (const tenant of ['acme', 'acme', 'other', null]) await endpointOf(tenant);
    await record('acme', { startedAt: NOW, durationMs: 10 });
    await record('other', { startedAt: NOW, durationMs: 40, status: 'failed' });
    await record(null, { startedAt: NOW - HOUR, durationMs: 1 });
    const { buckets } = await sender.stats();
    expect(buckets).toHaveLength(24);
    expect(buckets.at(-1)).toEqual({
      start: '2026-05-01T12:00:00.000Z',
      succeeded: 2,
      failed: 1,
      p50DurationMs: 10,
      p95DurationMs: 40,
      outboxDepth: null,
      oldestPendingAge: null,
    });
    expect(await found()).toEqual({ '11:00': '1+0', '12:00': '2+1' });
    expect(await found({}, sender.forTenant('acme'))).toEqual({ '12:00': '2+0' });
    expect(await found({ tenantId: 'other' })).toEqual({ '12:00': '0+1' });
    expect(await found({}, sender.forTenant('nobody'))).toEqual({});
  });

  test('are of another tenant for nobody who is bound to one', async () => {
    const { sender } = await start();
    await expect(sender.forTenant('acme').stats({ tenantId: 'other' })).rejects.toMatchObject({
      code: 'INVALID_QUERY',
    });
  });

  test('are per minute, hour and day, in ranges that are widened and limited as those of an endpoint', async () => {
    const { sender, endpointOf } = await start();
    const id = await endpointOf('acme');
    for (const request of [
      { interval: 'minute' as const },
      { interval: 'day' as const },
      { since: '2026-04-20T10:30:00Z', until: '2026-04-27T10:30:00Z' },
    ]) {
      expect(await sender.stats(request)).toMatchObject(await sender.endpoints.stats(id, request));
    }
    await expect(sender.stats({ since: '2026-01-01' })).rejects.toMatchObject({ code: 'INVALID_QUERY' });
  });

  test('are whole, however little of them is counted at once', async () => {
    const { store } = countingStore(await newStore(), true);
    const sender = await startSender({ store, started: false, now: () => NOW });
    for (let index = 0; index < 3; index++) await sender.endpoints.create({ url: 'https://example.com/' });
    const offsets = [0, 1, 1, 999, 1000, 5 * MINUTE, HOUR, 3 * HOUR + 1];
    await sender.sendMany(offsets.map(() => ({ type: 'a.b', data: 1 })));
    const leased = await lease(store, { now: NOW });
    const attempts = leased.map((each, index) =>
      attemptOf(each, { startedAt: NOW - offsets[index % offsets.length]!, durationMs: index }),
    );
    await settle(
      store,
      leased.map((each, index) => settlementOf(each, { attempt: attempts[index]! })),
      { now: NOW },
    );
    const { buckets } = await sender.stats();
    const counts = buckets.map(({ succeeded }) => succeeded).filter((count) => count > 0);
    expect(counts).toEqual([3, 3, 18]);
  });

  test('go on counting what an endpoint was sent that is deleted', async () => {
    const { sender, endpointOf, record, found } = await start();
    const id = await endpointOf('acme');
    await record('acme', { startedAt: NOW });
    await sender.endpoints.delete(id);
    expect(await found({ tenantId: 'acme' })).toEqual({ '12:00': '1+0' });
    expect(await found()).toEqual({ '12:00': '1+0' });
  });

  test('may be changed by who has them, without harm to others', async () => {
    const { endpointOf, record, sender, found } = await start();
    await endpointOf('acme');
    await record('acme', { startedAt: NOW - HOUR });
    for (const _each of [1, 2]) {
      const { buckets } = await sender.stats();
      for (const bucket of buckets) bucket.succeeded = 99;
    }
    expect(await found()).toEqual({ '11:00': '1+0' });
  });
});

describe('asking again', () => {
  test('counts the intervals alone that are not over', async () => {
    const { clock, sender, endpointOf, record, found, countedMs } = await start();
    await endpointOf('acme');
    await record('acme', { startedAt: NOW - 2 * HOUR });
    expect(await found()).toEqual({ '10:00': '1+0' });
    expect(countedMs()).toBe(24 * HOUR);
    clock.advance(5000);
    await record('acme', { startedAt: NOW });
    expect(await found()).toEqual({ '10:00': '1+0', '12:00': '1+0' });
    expect(countedMs()).toBe(HOUR);
    await sender.stats({ interval: 'minute' });
    expect(countedMs()).toBe(HOUR);
    clock.advance(5000);
    await sender.stats({ interval: 'minute' });
    // The present minute, and those that ended within the last two.
    expect(countedMs()).toBe(3 * MINUTE);
  });

  test('finds what was recorded within a deadline and a lease of the end of its interval', async () => {
    const { clock, endpointOf, record, found } = await start();
    await endpointOf('acme');
    const noon = Date.parse('2026-05-01T12:00:00Z');
    clock.advance(noon + SETTLED - 1 - NOW);
    expect(await found()).toEqual({});
    await record('acme', { startedAt: noon - 1 });
    clock.advance(1);
    expect(await found()).toEqual({ '11:00': '1+0' });
  });

  test('finds what was recorded later still when the interval has been over for twice as long', async () => {
    const { clock, endpointOf, record, found, countedMs } = await start();
    await endpointOf('acme');
    expect(await found({ interval: 'minute' })).toEqual({});
    // By a worker that was suspended for ten minutes.
    await record('acme', { startedAt: NOW - 10 * MINUTE });
    clock.advance(10 * MINUTE - 61_000);
    expect(await found({ interval: 'minute' })).toEqual({});
    clock.advance(MINUTE);
    expect(await found({ interval: 'minute' })).toEqual({ '12:02': '1+0' });
    countedMs();
    clock.advance(1000);
    await found({ interval: 'minute' });
    expect(countedMs()).toBeLessThan(8 * MINUTE);
  });

  test('does not trust what was counted after the time that it is', async () => {
    const { clock, found, countedMs } = await start();
    await found();
    countedMs();
    clock.advance(-1000);
    await found();
    expect(countedMs()).toBe(24 * HOUR);
  });

  test('of several at once lets one count', async () => {
    const { sender, countedMs } = await start();
    await Promise.all(Array.from({ length: 5 }, () => sender.stats()));
    expect(countedMs()).toBe(24 * HOUR + 4 * HOUR);
  });

  test('knows one tenant from another, and from everybody', async () => {
    const { sender, endpointOf, record, found, taken } = await start();
    await endpointOf('acme');
    await endpointOf('other');
    await record('acme', { startedAt: NOW - 2 * HOUR });
    for (const _each of [1, 2]) {
      expect(await found()).toEqual({ '10:00': '1+0' });
      expect(await found({ tenantId: 'other' })).toEqual({});
      expect(await found({}, sender.forTenant('acme'))).toEqual({ '10:00': '1+0' });
    }
    taken();
    // Whoever asks for a tenant is answered what is remembered of it.
    expect(await found({ tenantId: 'acme' })).toEqual({ '10:00': '1+0' });
    expect(taken().every(({ since }) => since >= NOW - HOUR)).toBe(true);
  });
});

describe('a tenant that is deleted', () => {
  test('is counted no more, for itself and for everybody, at once', async () => {
    const { clock, sender, endpointOf, record, found } = await start();
    await endpointOf('acme');
    const gone = await endpointOf('acme');
    await endpointOf('other');
    await record('acme', { startedAt: NOW - 2 * HOUR });
    await record('other', { startedAt: NOW - 2 * HOUR });
    await sender.endpoints.delete(gone);
    expect(await found()).toEqual({ '10:00': '3+0' });
    expect(await found({ tenantId: 'acme' })).toEqual({ '10:00': '2+0' });
    await sender.tenants.delete('acme');
    expect(await found()).toEqual({ '10:00': '1+0' });
    expect(await found({ tenantId: 'acme' })).toEqual({});
    clock.advance(1);
    await endpointOf('acme');
    expect(await found({ tenantId: 'acme' })).toEqual({});
  });

  test('is counted no more for everybody, whatever process has deleted it and however its clock goes', async () => {
    const file = await newPlace();
    const { clock, sender, endpointOf, record, found } = await start(file);
    const elsewhere = await startSender({ file, started: false, now: () => clock.now() - 50 });
    for (const tenant of ['acme', 'other', 'third']) {
      await endpointOf(tenant);
      await record(tenant, { startedAt: NOW - 2 * HOUR });
    }
    await sender.tenants.delete('acme');
    expect([await found(), await found({}, elsewhere)]).toEqual([{ '10:00': '2+0' }, { '10:00': '2+0' }]);
    await elsewhere.tenants.delete('other');
    expect([await found(), await found({}, elsewhere)]).toEqual([{ '10:00': '1+0' }, { '10:00': '1+0' }]);
  });

  test('is nothing to one of its id, also when another process has deleted it', async () => {
    const file = await newPlace();
    const { clock, endpointOf, record, found } = await start(file);
    const elsewhere = await startSender({ file, started: false, now: clock.now });
    await endpointOf('acme');
    await record('acme', { startedAt: NOW - 2 * HOUR });
    expect(await found({ tenantId: 'acme' })).toEqual({ '10:00': '1+0' });
    clock.advance(1);
    await elsewhere.tenants.delete('acme');
    expect(await found({ tenantId: 'acme' })).toEqual({});
    await endpointOf('acme');
    expect(await found({ tenantId: 'acme' })).toEqual({});
  });
});

describe('what is remembered', () => {
  const everybody = { tenant: undefined, version: '' };
  const bucket: StatsBucket = {
    start: '',
    succeeded: 1,
    failed: 0,
    p50DurationMs: 1,
    p95DurationMs: 1,
  };
  const hour = (index: number) => ({
    interval: 'hour' as const,
    start: index * HOUR,
    end: (index + 1) * HOUR,
  });

  test('is bounded: what was used least lately is forgotten', () => {
    const cache = createStatsCache(SETTLED, 3);
    for (const index of [0, 1, 2]) cache.set(everybody, hour(index), bucket, 10 * HOUR);
    cache.get(everybody, hour(0), 10 * HOUR);
    cache.set(everybody, hour(3), bucket, 10 * HOUR);
    const kept = [0, 1, 2, 3].filter((index) => cache.get(everybody, hour(index), 10 * HOUR));
    expect(kept).toEqual([0, 2, 3]);
  });

  test('holds for a day at most', () => {
    const cache = createStatsCache(SETTLED);
    cache.set(everybody, hour(0), bucket, 20 * DAY);
    expect(cache.get(everybody, hour(0), 21 * DAY - 1)).toEqual(bucket);
    expect(cache.get(everybody, hour(0), 21 * DAY)).toBeUndefined();
  });
});
