import { createClock, DAY, HOUR, MINUTE, SECOND } from '../support/clock.js';
import { type Answer, startReceiver } from '../support/receiver.js';
import { startSender, type TestSenderOptions } from '../support/sender.js';
import { eventually } from '../support/wait-for.js';
import { takeTurns, untilAttempts, untilStatus } from './probe.js';

const STANDARD = [5, 300, 1800, 7200, 18_000, 36_000, 50_400, 72_000, 86_400];

/** A sender on a clock of its own, an endpoint that answers as is said, and a message on its way to it. */
async function start(answers: Answer[], options: TestSenderOptions = {}, endpointFields = {}) {
  const clock = createClock();
  const receiver = await startReceiver();
  receiver.answer('/', ...answers);
  const sender = await startSender({
    now: clock.now,
    retry: { delaysSeconds: STANDARD, jitter: 0 },
    ...options,
  });
  const endpoint = await sender.endpoints.create({ url: receiver.url(), ...endpointFields });
  const sent = await sender.send({ type: 'a.b', data: 1 });
  const nextAttemptIn = async (): Promise<number> => {
    const { deliveries } = await sender.messages.get(sent.id);
    return Date.parse(deliveries[0]?.nextAttemptAt ?? '') - clock.now();
  };
  return { clock, receiver, sender, endpoint, sent, nextAttemptIn };
}

describe('the schedule', () => {
  test('is at once, then after 5 s, 5 min, 30 min, 2, 5, 10, 14, 20 and 24 h; then the delivery has failed', async () => {
    const { clock, receiver, sender, sent, nextAttemptIn } = await start([500]);
    const waits: number[] = [];
    for (let attempt = 1; attempt <= STANDARD.length; attempt++) {
      await untilAttempts(sender, sent, attempt);
      waits.push((await nextAttemptIn()) / SECOND);
      clock.advance(waits.at(-1)! * SECOND);
    }
    expect(waits).toEqual(STANDARD);
    await untilStatus(sender, sent.id, 'failed');
    const attempts = await untilAttempts(sender, sent, 10);
    expect(attempts.map(({ number, trigger }) => [number, trigger])).toEqual([
      [1, 'send'],
      ...Array.from({ length: 9 }, (_each, index) => [index + 2, 'retry']),
    ]);
    expect(attempts.map(({ nextAttemptAt }) => nextAttemptAt !== null)).toEqual([
      ...Array(9).fill(true),
      false,
    ]);
    clock.advance(30 * DAY);
    await takeTurns(sender);
    expect(receiver.requests()).toHaveLength(10);
    expect(await sender.messages.get(sent.id)).toMatchObject({
      status: 'failed',
      deliveries: [
        { status: 'failed', attemptCount: 10, nextAttemptAt: null, lastError: expect.any(String) },
      ],
    });
  });

  test('makes no attempt a millisecond early', async () => {
    const { clock, receiver, sender, sent } = await start([500]);
    await untilAttempts(sender, sent, 1);
    clock.advance(5 * SECOND - 1);
    await takeTurns(sender);
    expect(receiver.requests()).toHaveLength(1);
    clock.advance(1);
    await receiver.waitFor(2);
  });

  test('signs each attempt anew, with its own time and the same id', async () => {
    const { clock, receiver, sender, sent } = await start([500, 200]);
    await untilAttempts(sender, sent, 1);
    clock.advance(5 * SECOND);
    const [first, second] = await receiver.waitFor(2);
    expect(second?.headers['webhook-id']).toBe(first?.headers['webhook-id']);
    expect(Number(second?.headers['webhook-timestamp']) - Number(first?.headers['webhook-timestamp'])).toBe(
      5,
    );
    expect(second?.headers['webhook-signature']).not.toBe(first?.headers['webhook-signature']);
    expect(second?.rawBody).toEqual(first?.rawBody);
  });

  test("is the endpoint's own where it has one", async () => {
    const own = { retry: { delaysSeconds: [7], jitter: 0 } };
    const { clock, receiver, sender, sent, nextAttemptIn } = await start([500], {}, own);
    await untilAttempts(sender, sent, 1);
    expect(await nextAttemptIn()).toBe(7 * SECOND);
    clock.advance(7 * SECOND);
    await untilStatus(sender, sent.id, 'failed');
    expect(receiver.requests()).toHaveLength(2);
  });

  test('of no waits is one attempt', async () => {
    const { sender, sent, receiver } = await start([500], { retry: { delaysSeconds: [], jitter: 0 } });
    await untilStatus(sender, sent.id, 'failed');
    expect(receiver.requests()).toHaveLength(1);
  });

  test('is moved by its jitter, a tenth by default', async () => {
    const clock = createClock();
    const receiver = await startReceiver();
    receiver.answer('/', 500);
    const sender = await startSender({ now: clock.now });
    await sender.endpoints.create({ url: receiver.url() });
    const sent = await sender.sendMany(Array.from({ length: 50 }, () => ({ type: 'a.b', data: 1 })));
    const waits: number[] = [];
    for (const message of sent) {
      const [attempt] = await untilAttempts(sender, message, 1);
      waits.push(Date.parse(attempt!.nextAttemptAt!) - clock.now());
    }
    expect(Math.min(...waits)).toBeGreaterThanOrEqual(4500);
    expect(Math.max(...waits)).toBeLessThanOrEqual(5500);
    expect(new Set(waits).size).toBeGreaterThan(10);
  });

  test('goes on after a restart', async () => {
    const { clock, receiver, sender, sent } = await start([500, 500, 200]);
    await untilAttempts(sender, sent, 1);
    clock.advance(5 * SECOND);
    await untilAttempts(sender, sent, 2);
    await sender.stop();
    clock.advance(5 * MINUTE);
    const later = await startSender({ file: sender.file, now: clock.now });
    await untilStatus(later, sent.id, 'delivered');
    const attempts = await untilAttempts(later, sent, 3);
    expect(attempts.map(({ number }) => number)).toEqual([1, 2, 3]);
    expect(receiver.requests()).toHaveLength(3);
  });

  test('ends with the first success', async () => {
    const { clock, receiver, sender, sent } = await start([500, 204]);
    await untilAttempts(sender, sent, 1);
    clock.advance(5 * SECOND);
    await untilStatus(sender, sent.id, 'delivered');
    expect(await sender.messages.get(sent.id)).toMatchObject({
      deliveries: [{ status: 'delivered', attemptCount: 2, lastError: null, nextAttemptAt: null }],
    });
    clock.advance(30 * DAY);
    await takeTurns(sender);
    expect(receiver.requests()).toHaveLength(2);
  });

  test('ends when the message expires, without a further attempt', async () => {
    const { clock, receiver, sender, sent } = await start([500], { messageTtlSeconds: 60 });
    await untilAttempts(sender, sent, 1);
    clock.advance(5 * SECOND);
    // The next would be due in five minutes: nobody is shown a time that does not come.
    const [, last] = await untilAttempts(sender, sent, 2);
    expect(last!.nextAttemptAt).toBeNull();
    expect(await sender.messages.get(sent.id)).toMatchObject({
      status: 'failed',
      deliveries: [
        {
          status: 'failed',
          attemptCount: 2,
          nextAttemptAt: null,
          lastError: expect.stringMatching(/answered 500.*expired/),
        },
      ],
    });
    clock.advance(5 * MINUTE);
    await takeTurns(sender);
    expect(receiver.requests()).toHaveLength(2);
  });
});

describe('Retry-After', () => {
  test.each([
    [429, '120', 120 * SECOND],
    [502, '90', 90 * SECOND],
    [503, 'Fri, 01 May 2026 12:02:00 GMT', 2 * MINUTE],
    [504, '600', 10 * MINUTE],
    [503, '1', 5 * SECOND],
    [503, 'Fri, 01 May 2026 11:00:00 GMT', 5 * SECOND],
    [429, '999999', DAY],
    [500, '120', 5 * SECOND],
    [404, '120', 5 * SECOND],
    [503, 'soon', 5 * SECOND],
  ])('of %i with %j makes the next attempt in %i ms', async (status, retryAfter, expected) => {
    const { sender, sent, nextAttemptIn } = await start([{ status, headers: { 'retry-after': retryAfter } }]);
    await untilAttempts(sender, sent, 1);
    expect(await nextAttemptIn()).toBe(expected);
  });

  test('holds back the other messages of the endpoint too, and no other endpoint', async () => {
    const { clock, receiver, sender, sent } = await start([
      { status: 429, headers: { 'retry-after': '60' } },
      200,
    ]);
    await sender.endpoints.create({ url: receiver.url('/other'), types: ['c'] });
    await untilAttempts(sender, sent, 1);
    const second = await sender.send({ type: 'c', data: 2 });
    await receiver.waitFor(1, '/other');
    await takeTurns(sender);
    expect(receiver.requests('/')).toHaveLength(1);
    clock.advance(MINUTE - 1);
    await takeTurns(sender);
    expect(receiver.requests('/')).toHaveLength(1);
    clock.advance(1);
    await untilStatus(sender, sent.id, 'delivered');
    await untilStatus(sender, second.id, 'delivered');
  });
});

describe('an endpoint that has too much to do', () => {
  test('is tried with one request at a time until it answers well', async () => {
    const { clock, receiver, sender, sent } = await start([503, 200]);
    await untilAttempts(sender, sent, 1);
    await sender.sendMany(Array.from({ length: 5 }, () => ({ type: 'a.b', data: 2 })));
    await takeTurns(sender);
    expect(receiver.requests()).toHaveLength(1);
    const held = receiver.hold('/');
    clock.advance(SECOND);
    await receiver.waitFor(2);
    await takeTurns(sender);
    expect(receiver.requests()).toHaveLength(2);
    held.release();
    await receiver.waitFor(6);
  });

  test('is left alone twice as long each time, a minute at the most', async () => {
    const retry = { delaysSeconds: Array(50).fill(0), jitter: 0 };
    const { clock, receiver, sender, sent } = await start([503], { retry });
    for (const [index, seconds] of [1, 2, 4, 8, 16, 32, 60, 60].entries()) {
      await untilAttempts(sender, sent, index + 1);
      clock.advance(seconds * SECOND - 1);
      await takeTurns(sender, 1);
      expect(receiver.requests()).toHaveLength(index + 1);
      clock.advance(1);
    }
    await receiver.waitFor(9);
  });
});

describe('an endpoint that has failed every attempt for five days', () => {
  const DAILY = { retry: { delaysSeconds: Array(20).fill(DAY / SECOND), jitter: 0 } };

  test('is paused as failing, and what it is owed is held', async () => {
    const { clock, receiver, sender, endpoint, sent } = await start([500], DAILY);
    for (let day = 0; day < 5; day++) {
      await untilAttempts(sender, sent, day + 1);
      expect(await sender.endpoints.get(endpoint.id)).toMatchObject({ status: 'active' });
      clock.advance(DAY);
    }
    await untilAttempts(sender, sent, 6);
    expect(await sender.endpoints.get(endpoint.id)).toMatchObject({
      status: 'paused',
      pausedReason: 'failing',
      pausedAt: new Date(clock.now()).toISOString(),
    });
    clock.advance(DAY);
    await takeTurns(sender);
    expect(receiver.requests()).toHaveLength(6);
    expect(await sender.messages.get(sent.id)).toMatchObject({ status: 'pending' });
  });

  test('may have failed them with different messages, and pauses also by one that ends', async () => {
    const { clock, sender, endpoint, sent } = await start([500], { retry: { delaysSeconds: [], jitter: 0 } });
    await untilStatus(sender, sent.id, 'failed');
    clock.advance(5 * DAY);
    const later = await sender.send({ type: 'a.b', data: 2 });
    await untilStatus(sender, later.id, 'failed');
    expect(await sender.endpoints.get(endpoint.id)).toMatchObject({ pausedReason: 'failing' });
  });

  test('is not one that has succeeded in between', async () => {
    const { clock, sender, endpoint, sent } = await start([500, 500, 200, 500], DAILY);
    await untilAttempts(sender, sent, 1);
    clock.advance(DAY);
    await untilAttempts(sender, sent, 2);
    clock.advance(DAY);
    await untilStatus(sender, sent.id, 'delivered');
    clock.advance(4 * DAY);
    const later = await sender.send({ type: 'a.b', data: 2 });
    await untilAttempts(sender, later, 1);
    clock.advance(DAY);
    await untilAttempts(sender, later, 2);
    expect(await sender.endpoints.get(endpoint.id)).toMatchObject({ status: 'active' });
  });

  test('begins anew when it is enabled', async () => {
    const { clock, receiver, sender, endpoint, sent } = await start([500], {
      retry: { delaysSeconds: [0], jitter: 0 },
    });
    await untilStatus(sender, sent.id, 'failed');
    clock.advance(5 * DAY);
    await untilStatus(sender, (await sender.send({ type: 'a.b', data: 2 })).id, 'pending');
    await eventually(async () =>
      expect(await sender.endpoints.get(endpoint.id)).toMatchObject({ pausedReason: 'failing' }),
    );
    await sender.endpoints.enable(endpoint.id);
    await receiver.waitFor(4);
    clock.advance(4 * DAY + 23 * HOUR);
    const third = await sender.send({ type: 'a.b', data: 3 });
    await untilStatus(sender, third.id, 'failed');
    expect(await sender.endpoints.get(endpoint.id)).toMatchObject({ status: 'active', pausedReason: null });
  });
});
