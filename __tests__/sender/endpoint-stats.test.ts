import type { StatsRequest } from '../../lib/model/stats.js';
import { countAttempts } from '../../lib/model/stats.js';
import type { NewAttempt } from '../../lib/store/store.js';
import { attemptOf, lease, settle, settlementOf } from '../contracts/store/fixtures.js';
import { createClock, DAY, HOUR, MINUTE } from '../support/clock.js';
import { startSender } from '../support/sender.js';
import { newStore } from '../support/test-store.js';

/** The sender's clock: twelve minutes past noon. */
const NOW = Date.parse('2026-05-01T12:12:00.000Z');
const iso = (ms: number) => new Date(ms).toISOString();

async function start() {
  const clock = createClock(NOW);
  const store = await newStore();
  const sender = await startSender({ store, started: false, now: clock.now });
  const { id } = await sender.endpoints.create({ url: 'https://example.com/hook', tenantId: 'acme' });
  /** Records attempts as a worker would. */
  async function record(...attempts: Partial<NewAttempt>[]): Promise<void> {
    await sender.sendMany(attempts.map(() => ({ type: 'a.b', data: 1, tenantId: 'acme' })));
    const leased = await lease(store, { now: NOW });
    await settle(
      store,
      leased.map((each, index) => settlementOf(each, { attempt: attemptOf(each, attempts[index]) })),
      { now: NOW },
    );
  }
  const stats = (request?: StatsRequest) => sender.forTenant('acme').endpoints.stats(id, request);
  return { sender, id, record, stats };
}

const nothing = { succeeded: 0, failed: 0, p50DurationMs: null, p95DurationMs: null };

describe('the stats of an endpoint', () => {
  test('are the last 24 hours, each with an entry, the present one included', async () => {
    const { record, stats } = await start();
    await record(
      { startedAt: NOW, durationMs: 30 },
      { startedAt: NOW - MINUTE, durationMs: 10, status: 'failed' },
      { startedAt: NOW - HOUR, durationMs: 7 },
      { startedAt: NOW - 25 * HOUR, durationMs: 1 },
    );
    const { buckets, ...range } = await stats();
    expect(range).toEqual({
      interval: 'hour',
      since: '2026-04-30T13:00:00.000Z',
      until: '2026-05-01T13:00:00.000Z',
    });
    const first = Date.parse(range.since);
    expect(buckets.map(({ start }) => start)).toEqual(
      Array.from({ length: 24 }, (_each, index) => iso(first + index * HOUR)),
    );
    expect(buckets.at(-1)).toEqual({
      start: '2026-05-01T12:00:00.000Z',
      succeeded: 1,
      failed: 1,
      p50DurationMs: 10,
      p95DurationMs: 30,
    });
    expect(buckets.at(-2)).toMatchObject({ succeeded: 1, failed: 0, p50DurationMs: 7, p95DurationMs: 7 });
    for (const { start, ...rest } of buckets.slice(0, -2)) expect(rest).toEqual(nothing);
  });

  test.each([
    ['minute', 60, MINUTE, '2026-05-01T12:13:00.000Z'],
    ['hour', 24, HOUR, '2026-05-01T13:00:00.000Z'],
    ['day', 30, DAY, '2026-05-02T00:00:00.000Z'],
  ] as const)('per %s are the last %i of them', async (interval, count, ms, until) => {
    const { record, stats } = await start();
    const first = Date.parse(until) - count * ms;
    await record(
      { startedAt: first, durationMs: 1 },
      { startedAt: first + ms - 1, durationMs: 3 },
      { startedAt: first - 1, durationMs: 99 },
    );
    const { buckets, ...range } = await stats({ interval });
    expect(range).toEqual({ interval, since: iso(first), until });
    expect(buckets).toHaveLength(count);
    expect(buckets[0]).toEqual({
      start: iso(first),
      succeeded: 2,
      failed: 0,
      p50DurationMs: 1,
      p95DurationMs: 3,
    });
    expect(buckets.reduce((sum, { succeeded }) => sum + succeeded, 0)).toBe(2);
  });

  test('widen a range to whole intervals, and say to which', async () => {
    const { record, stats } = await start();
    await record({ startedAt: NOW - 2 * HOUR, durationMs: 5 });
    const since = iso(NOW - 2 * HOUR + 30 * MINUTE);
    const { buckets, ...range } = await stats({ since, until: iso(NOW - HOUR) });
    expect(range).toMatchObject({ since: '2026-05-01T10:00:00.000Z', until: '2026-05-01T12:00:00.000Z' });
    expect(buckets.map(({ succeeded }) => succeeded)).toEqual([1, 0]);
    const exact = await stats({ since: '2026-05-01T10:00:00Z', until: '2026-05-01T11:00:00Z' });
    expect(exact.buckets.map(({ succeeded }) => succeeded)).toEqual([1]);
    const none = await stats({ since: '2026-05-01T10:00:00Z', until: '2026-05-01T10:00:00Z' });
    expect(none.buckets).toEqual([]);
  });

  test('begin before until when only that is given, and end now when only since is', async () => {
    const { stats } = await start();
    expect(await stats({ until: '2026-04-01' })).toMatchObject({
      since: '2026-03-31T00:00:00.000Z',
      until: '2026-04-01T00:00:00.000Z',
    });
    expect(await stats({ since: '2026-05-01' })).toMatchObject({
      since: '2026-05-01T00:00:00.000Z',
      until: '2026-05-01T13:00:00.000Z',
    });
  });

  test.each([
    ['minute', MINUTE, DAY, 1441, 'one day'],
    ['hour', HOUR, 31 * DAY, 31 * 24 + 1, '31 days'],
    ['day', DAY, 31 * DAY, 32, '31 days'],
  ] as const)('per %s are of no longer a range', async (interval, ms, longest, count, words) => {
    const { stats } = await start();
    const { buckets } = await stats({ interval, since: iso(NOW - longest) });
    expect(buckets).toHaveLength(count);
    await expect(stats({ interval, since: iso(NOW - longest - ms) })).rejects.toMatchObject({
      code: 'INVALID_QUERY',
      message: expect.stringContaining(words),
    });
  });

  test.each([
    [{ since: '2026-05-02' }, /^since is in the future$/],
    [{ since: '2026-04-02', until: '2026-04-01' }, /^since is after until$/],
    [{ since: 'yesterday' }, /^since must be/],
    [{ since: '9999-12-31', until: '9999-12-31T23:59:59.999Z' }, /within the years 0000 to 9999$/],
    [{ until: '0000-01-01' }, /within the years 0000 to 9999$/],
    [{ interval: 'week' as 'day' }, /^interval must be one of minute, hour, day$/],
    [{ interval: 'toString' as 'day' }, /^interval must be/],
  ])('are not of %j', async (request, message) => {
    const { stats } = await start();
    await expect(stats(request)).rejects.toMatchObject({
      code: 'INVALID_QUERY',
      message: expect.stringMatching(message),
    });
  });

  test('are those of the endpoint alone, and of nobody else to see', async () => {
    const { sender, id, record, stats } = await start();
    await record({ startedAt: NOW, durationMs: 5 });
    const other = await sender.endpoints.create({ url: 'https://example.com/', tenantId: 'acme' });
    const { buckets } = await sender.endpoints.stats(other.id);
    expect(buckets.every(({ succeeded }) => succeeded === 0)).toBe(true);
    expect((await stats()).buckets.at(-1)).toMatchObject({ succeeded: 1 });
    for (const scope of [sender.forTenant('other'), sender]) {
      const of = scope === sender ? 'ep_none' : id;
      await expect(scope.endpoints.stats(of)).rejects.toMatchObject({ code: 'ENDPOINT_NOT_FOUND' });
    }
  });
});

describe('percentiles', () => {
  const of = (...durations: number[]) =>
    countAttempts(durations.map((durationMs) => ({ status: 'succeeded', durationMs, count: 1 })));

  test('are those that so many took no longer than', () => {
    expect(of()).toEqual(nothing);
    expect(of(7)).toMatchObject({ p50DurationMs: 7, p95DurationMs: 7 });
    expect(of(9, 1)).toMatchObject({ p50DurationMs: 1, p95DurationMs: 9 });
    expect(of(3, 1, 2)).toMatchObject({ p50DurationMs: 2, p95DurationMs: 3 });
    const hundred = Array.from({ length: 100 }, (_each, index) => 100 - index);
    expect(of(...hundred)).toMatchObject({ p50DurationMs: 50, p95DurationMs: 95 });
    expect(of(...hundred, 101)).toMatchObject({ p50DurationMs: 51, p95DurationMs: 96 });
  });

  test('count what took equally long as often as there is of it, failed or not', () => {
    const counted = countAttempts([
      { status: 'failed', durationMs: 15_000, count: 5 },
      { status: 'succeeded', durationMs: 20, count: 90 },
      { status: 'succeeded', durationMs: 15_000, count: 5 },
    ]);
    expect(counted).toEqual({ succeeded: 95, failed: 5, p50DurationMs: 20, p95DurationMs: 15_000 });
  });
});
