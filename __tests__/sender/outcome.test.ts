import type { Endpoint } from '../../lib/model/endpoint.js';
import { foregone, gatherNews, judge, type Outcome } from '../../lib/sender/delivery/outcome.js';
import type { PostResult } from '../../lib/sender/delivery/http-client.js';
import { DEFAULT_RETRY } from '../../lib/sender/delivery/retry.js';
import type { DeliveryTarget, LeasedDelivery } from '../../lib/store/store.js';

const NOW = Date.parse('2026-05-01T12:00:00.000Z');
const SECOND = 1000;
const HOUR = 3600 * SECOND;
const DAY = 24 * HOUR;
const SCHEDULE = { delaysSeconds: [10, 20], jitter: 0 };

const ENDPOINT: Endpoint = {
  id: 'ep_a',
  tenantId: null,
  url: 'https://example.com/hook',
  description: null,
  status: 'active',
  pausedReason: null,
  pausedAt: null,
  types: null,
  channels: null,
  filter: null,
  headers: {},
  metadata: {},
  retry: null,
  rateLimit: null,
  maxInFlight: null,
  timeoutMs: null,
  createdAt: '2026-05-01T12:00:00.000Z',
  updatedAt: '2026-05-01T12:00:00.000Z',
};

function leased(fixture: Partial<LeasedDelivery> = {}, target: Partial<DeliveryTarget> = {}): LeasedDelivery {
  const endpoint = target.endpoint ?? ENDPOINT;
  return {
    messageId: 'msg_a',
    endpointId: endpoint.id,
    fence: 3,
    takeovers: 0,
    attemptCount: 0,
    scheduleStep: 0,
    trigger: 'send',
    webhookId: 'msg_a',
    dueAt: NOW,
    expiresAt: NOW + 30 * DAY,
    message: {
      id: 'msg_a',
      tenantId: null,
      type: 'a.b',
      channels: null,
      createdAt: NOW,
      payload: '{}',
      traceContext: null,
    },
    target: { endpoint, secrets: [], failingSince: null, slowStep: 0, ...target },
    ...fixture,
  };
}

function result(status: number | null, fixture: Partial<PostResult> = {}): PostResult {
  const good = status !== null && status >= 200 && status < 300;
  return {
    startedAt: NOW - 40,
    durationMs: 40,
    remoteAddress: '192.0.2.1',
    status,
    headers: status === null ? null : { a: 'b' },
    body: status === null ? null : 'ok',
    errorKind: good ? null : status === null ? 'timeout' : 'http_status',
    error: good ? null : 'It failed.',
    retryAfter: null,
    ...fixture,
  };
}

const rule = (delivery: LeasedDelivery, answer: PostResult, schedule = SCHEDULE): Outcome =>
  judge(delivery, answer, { schedule, now: NOW, random: () => 0.5 });

describe('an attempt', () => {
  test('that succeeded ends its delivery', () => {
    const outcome = rule(leased({ attemptCount: 2, scheduleStep: 2, trigger: 'retry' }), result(204));
    expect(outcome.settlement).toMatchObject({
      messageId: 'msg_a',
      endpointId: 'ep_a',
      fence: 3,
      status: 'delivered',
      dueAt: NOW,
      lastError: null,
    });
    expect(outcome.settlement.attempt).toEqual({
      id: expect.stringMatching(/^att_/),
      number: 3,
      status: 'succeeded',
      trigger: 'retry',
      startedAt: NOW - 40,
      durationMs: 40,
      requestUrl: 'https://example.com/hook',
      remoteAddress: '192.0.2.1',
      responseStatus: 204,
      responseHeaders: { a: 'b' },
      responseBody: 'ok',
      errorKind: null,
      error: null,
      nextAttemptAt: null,
    });
    expect(outcome.news).toEqual({
      endpointId: 'ep_a',
      url: outcome.leased.target.endpoint.url,
      succeeded: true,
      failedAt: null,
      slowUntil: null,
      slowStep: 0,
      pause: null,
    });
  });

  test('that failed is made again as the schedule says, until that ends', () => {
    const waits = [0, 1, 2].map((step) => {
      const { settlement } = rule(leased({ scheduleStep: step, attemptCount: step }), result(500));
      expect(settlement).toMatchObject({ scheduleStep: step + 1, lastError: 'It failed.' });
      expect(settlement.attempt).toMatchObject({
        status: 'failed',
        number: step + 1,
        errorKind: 'http_status',
      });
      expect(settlement.attempt?.nextAttemptAt).toBe(
        settlement.status === 'pending' ? settlement.dueAt : null,
      );
      return [settlement.status, settlement.dueAt - NOW];
    });
    expect(waits).toEqual([
      ['pending', 10 * SECOND],
      ['pending', 20 * SECOND],
      ['failed', 0],
    ]);
  });

  test('is one of ten by the default schedule, over 75 hours and 35 minutes', () => {
    const waits: number[] = [];
    for (let step = 0; ; step++) {
      const { settlement } = rule(leased({ scheduleStep: step }), result(null), {
        ...DEFAULT_RETRY,
        jitter: 0,
      });
      if (settlement.status === 'failed') break;
      waits.push(settlement.dueAt - NOW);
    }
    const [s, m, h] = [SECOND, 60 * SECOND, HOUR];
    expect(waits).toEqual([5 * s, 5 * m, 30 * m, 2 * h, 5 * h, 10 * h, 14 * h, 20 * h, 24 * h]);
  });

  test("follows the endpoint's own schedule when it has one", () => {
    const endpoint = { ...ENDPOINT, retry: { delaysSeconds: [0.5], jitter: 0 } };
    expect(rule(leased({}, { endpoint }), result(500)).settlement).toMatchObject({
      status: 'pending',
      dueAt: NOW + 500,
    });
    expect(rule(leased({ scheduleStep: 1 }, { endpoint }), result(500)).settlement.status).toBe('failed');
    const never = { ...ENDPOINT, retry: { delaysSeconds: [], jitter: 0 } };
    expect(rule(leased({}, { endpoint: never }), result(500)).settlement.status).toBe('failed');
  });

  test('moves its next by the jitter, up or down', () => {
    const schedule = { delaysSeconds: [100], jitter: 0.2 };
    const at = (random: number) =>
      judge(leased(), result(500), { schedule, now: NOW, random: () => random }).settlement.dueAt - NOW;
    expect([at(0), at(0.5), at(1)]).toEqual([80 * SECOND, 100 * SECOND, 120 * SECOND]);
  });

  test.each([
    ['timeout', null],
    ['dns', null],
    ['connect', null],
    ['tls', null],
    ['reset', null],
    ['blocked_address', null],
    ['invalid_response', null],
    ['transform', null],
    ['redirect', 302],
    ['redirect', 304],
    ['http_status', 400],
    ['http_status', 401],
    ['http_status', 404],
    ['http_status', 410],
    ['http_status', 500],
  ] as const)('that ended in %s (%j) is retried', (errorKind, status) => {
    const { settlement } = rule(leased(), result(status, { errorKind }));
    expect(settlement).toMatchObject({ status: 'pending', dueAt: NOW + 10 * SECOND });
    expect(settlement.attempt).toMatchObject({ status: 'failed', errorKind, responseStatus: status });
  });
});

describe('an attempt whose next would come too late', () => {
  const endingAt = (expiresAt: number, answer = result(500)) =>
    rule(leased({ expiresAt }), answer).settlement;

  test('is the last: the delivery has failed, and says that it will have expired', () => {
    for (const expiresAt of [NOW + 10 * SECOND, NOW + 1, NOW - 1]) {
      const settlement = endingAt(expiresAt);
      expect(settlement).toMatchObject({
        status: 'failed',
        dueAt: NOW,
        lastError: 'It failed. The message will have expired before another attempt is due.',
      });
      expect(settlement.attempt).toMatchObject({ error: 'It failed.', nextAttemptAt: null });
    }
  });

  test('is followed by one that is due before the end', () => {
    expect(endingAt(NOW + 10 * SECOND + 1)).toMatchObject({
      status: 'pending',
      dueAt: NOW + 10 * SECOND,
      lastError: 'It failed.',
      attempt: { nextAttemptAt: NOW + 10 * SECOND },
    });
  });

  test('is the last too when Retry-After puts the next off beyond the end', () => {
    const answer = result(503, { retryAfter: '3600' });
    expect(endingAt(NOW + HOUR, answer)).toMatchObject({
      status: 'failed',
      attempt: { nextAttemptAt: null },
    });
    expect(endingAt(NOW + HOUR + 1, answer)).toMatchObject({ status: 'pending', dueAt: NOW + HOUR });
  });

  test('is a success all the same when it succeeded', () => {
    expect(endingAt(NOW + 1, result(200))).toMatchObject({ status: 'delivered', lastError: null });
  });

  test('whose schedule has ended says nothing of an end', () => {
    const { settlement } = rule(leased({ scheduleStep: 2, expiresAt: NOW + 1 }), result(500));
    expect(settlement).toMatchObject({ status: 'failed', lastError: 'It failed.' });
  });
});

describe('Retry-After', () => {
  const dueAfter = (status: number, retryAfter: string | null) =>
    rule(leased(), result(status, { retryAfter })).settlement.dueAt - NOW;

  test.each([429, 502, 503, 504])('puts off the next attempt after %i, by seconds or a date', (status) => {
    expect(dueAfter(status, '120')).toBe(120 * SECOND);
    expect(dueAfter(status, new Date(NOW + 60 * SECOND).toUTCString())).toBe(60 * SECOND);
  });

  test('never brings it forward', () => {
    expect(dueAfter(503, '1')).toBe(10 * SECOND);
    expect(dueAfter(503, '0')).toBe(10 * SECOND);
    expect(dueAfter(503, new Date(NOW - 60 * SECOND).toUTCString())).toBe(10 * SECOND);
  });

  test('puts it off by a day at most', () => {
    expect(dueAfter(429, '99999999')).toBe(DAY);
    expect(dueAfter(429, new Date(NOW + 90 * DAY).toUTCString())).toBe(DAY);
  });

  test('is not heeded on any other status', () => {
    for (const status of [400, 404, 410, 500, 501, 505, 301])
      expect(dueAfter(status, '120')).toBe(10 * SECOND);
  });

  test('that is nonsense counts for nothing', () => {
    for (const text of ['soon', '-5', '1.5', '']) expect(dueAfter(503, text)).toBe(10 * SECOND);
  });

  test('does not bring back a delivery whose schedule has ended', () => {
    const { settlement } = rule(leased({ scheduleStep: 2 }), result(503, { retryAfter: '60' }));
    expect(settlement.status).toBe('failed');
  });
});

describe('what it says of its endpoint', () => {
  const newsOf = (answer: PostResult, target: Partial<DeliveryTarget> = {}) =>
    rule(leased({}, target), answer).news;

  test('a failure is told with its time', () => {
    expect(newsOf(result(500))).toMatchObject({
      succeeded: false,
      failedAt: NOW - 40,
      slowUntil: null,
      pause: null,
    });
  });

  test.each([429, 502, 503, 504])(
    '%i slows it down for as long as it asks, or for longer each time',
    (status) => {
      expect(newsOf(result(status, { retryAfter: '7' }), { slowStep: 2 })).toMatchObject({
        slowUntil: NOW + 7 * SECOND,
        slowStep: 2,
      });
      const steps = [0, 1, 2, 5, 6, 50].map(
        (slowStep) => newsOf(result(status), { slowStep }).slowUntil! - NOW,
      );
      expect(steps).toEqual([1, 2, 4, 32, 60, 60].map((seconds) => seconds * SECOND));
    },
  );

  test('a Retry-After that asks for less, or for a time that has passed, leaves it at that', () => {
    for (const retryAfter of ['0', '3', new Date(NOW - 60 * SECOND).toUTCString()])
      expect(newsOf(result(503, { retryAfter }), { slowStep: 2 }).slowUntil).toBe(NOW + 4 * SECOND);
  });

  test('no other answer slows it down', () => {
    for (const status of [200, 400, 404, 410, 500, null]) expect(newsOf(result(status)).slowUntil).toBeNull();
  });

  test('410 pauses it as gone', () => {
    expect(newsOf(result(410)).pause).toMatchObject({ reason: 'gone' });
  });

  test('a failure pauses it as failing after five days of nothing else', () => {
    const pausedAfter = (ms: number | null) =>
      newsOf(result(500), { failingSince: ms === null ? null : NOW - ms }).pause?.reason ?? null;
    expect([
      pausedAfter(null),
      pausedAfter(0),
      pausedAfter(5 * DAY - 1),
      pausedAfter(5 * DAY),
      pausedAfter(9 * DAY),
    ]).toEqual([null, null, null, 'failing', 'failing']);
  });

  test('a success pauses nothing', () => {
    expect(newsOf(result(200), { failingSince: NOW - 9 * DAY }).pause).toBeNull();
  });
});

test('a delivery that expired before its turn ends without an attempt', () => {
  const { settlement, news } = foregone(leased({ attemptCount: 4, scheduleStep: 4, expiresAt: NOW }), {
    schedule: SCHEDULE,
    now: NOW,
    random: Math.random,
  })!;
  expect(settlement).toMatchObject({
    status: 'failed',
    dueAt: NOW,
    attempt: null,
    scheduleStep: 4,
    fence: 3,
  });
  expect(settlement.lastError).toMatch(/expired/);
  expect(gatherNews([{ leased: leased(), settlement, news }])).toEqual([]);
});

describe('a delivery whose workers died', () => {
  const lostAt = (fixture: Partial<LeasedDelivery>, target: Partial<DeliveryTarget> = {}, random = 0.5) =>
    foregone(leased({ takeovers: 2, ...fixture }, target), {
      schedule: SCHEDULE,
      now: NOW,
      random: () => random,
    })!;

  test('has failed an attempt, without a request', () => {
    const { settlement } = lostAt({ attemptCount: 1, scheduleStep: 1 });
    const error = 'The process that was delivering it ended before its outcome was known.';
    expect(settlement).toMatchObject({
      status: 'pending',
      dueAt: NOW + 20 * SECOND,
      attemptCount: 2,
      scheduleStep: 2,
      lastError: error,
      lost: true,
      attempt: {
        number: 2,
        status: 'failed',
        errorKind: 'reset',
        error,
        durationMs: 0,
        responseStatus: null,
      },
    });
    expect(rule(leased(), result(500)).settlement.lost).toBe(false);
    expect(rule(leased(), result(200)).settlement.lost).toBe(false);
  });

  test('waits for anything from no time to twice the time, so that those that died with it do not meet it again', () => {
    const waits = [0, 0.5, 1].map((random) => lostAt({}, {}, random).settlement.dueAt - NOW);
    expect(waits).toEqual([0, 10 * SECOND, 20 * SECOND]);
    const endpoint = { ...ENDPOINT, retry: { delaysSeconds: [60], jitter: 0 } };
    expect(lostAt({}, { endpoint }, 1).settlement.dueAt).toBe(NOW + 120 * SECOND);
  });

  test('has failed when its schedule has ended', () => {
    expect(lostAt({ scheduleStep: 2 }).settlement.status).toBe('failed');
  });

  test('is not held against its endpoint', () => {
    for (const failingSince of [null, NOW - 9 * DAY]) {
      const { leased: own, settlement, news } = lostAt({}, { failingSince });
      expect(own.target.endpoint).toEqual(ENDPOINT);
      expect(gatherNews([{ leased: own, settlement, news }])).toEqual([]);
    }
  });
});

describe('the news of a batch', () => {
  const troubled = { failingSince: NOW - HOUR };
  const of = (answer: PostResult, target: Partial<DeliveryTarget> = {}) => rule(leased({}, target), answer);

  test('leaves out what changes nothing', () => {
    expect(gatherNews([])).toEqual([]);
    expect(gatherNews([of(result(500), troubled)])).toEqual([]);
  });

  test('tells every success, since what was not known of at its lease may have failed meanwhile', () => {
    for (const target of [{}, troubled, { slowStep: 2 }]) {
      expect(gatherNews([of(result(200), target), of(result(200), target)])).toMatchObject([
        { endpointId: 'ep_a', succeeded: true },
      ]);
    }
  });

  test('tells a success that came with failures, and the furthest slow-down that was known', () => {
    const batch = [of(result(500)), of(result(200), { slowStep: 2 }), of(result(503), { slowStep: 1 })];
    expect(gatherNews(batch)).toMatchObject([{ succeeded: true, slowStep: 2 }]);
    expect(gatherNews(batch.reverse())).toMatchObject([{ succeeded: true, slowStep: 2 }]);
  });

  test('tells the first failure after success, the earliest of several', () => {
    const first = of(result(500, { startedAt: NOW - 500 }));
    const second = of(result(null, { startedAt: NOW - 900 }));
    expect(gatherNews([first, second, of(result(500))])).toMatchObject([
      { failedAt: NOW - 900, succeeded: false },
    ]);
  });

  test('is one piece an endpoint', () => {
    const other = { endpoint: { ...ENDPOINT, id: 'ep_b' } };
    const gathered = gatherNews([
      of(result(500)),
      of(result(503), other),
      of(result(410)),
      of(result(500), other),
    ]);
    expect(gathered.map(({ endpointId }) => endpointId).sort()).toEqual(['ep_a', 'ep_b']);
  });

  test('keeps the longest of several requests to slow down', () => {
    const answers = ['5', '60', '7'].map((retryAfter) => of(result(503, { retryAfter })));
    expect(gatherNews(answers)).toMatchObject([{ slowUntil: NOW + 60 * SECOND }]);
  });

  test('keeps that it is gone, in whatever order', () => {
    const failing = of(result(500), { failingSince: NOW - 6 * DAY });
    const gone = of(result(410), { failingSince: NOW - 6 * DAY });
    for (const batch of [
      [failing, gone],
      [gone, failing],
    ]) {
      expect(gatherNews(batch)).toMatchObject([{ pause: { reason: 'gone' } }]);
    }
  });
});
