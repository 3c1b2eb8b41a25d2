import { startReceiver } from '../support/receiver.js';
import { aSentence, anId, expectAnswer, expectError, expectIssues } from './expectations.js';
import { plantAttempt } from './planted.js';
import { dump, openPlane, type Plane, START, START_ISO } from './plane.js';

const URL = 'https://example.com/hook';
const HOUR = 3_600_000;

let plane: Plane;
beforeEach(async () => {
  plane = await openPlane();
});

const at = (ms: number) => new Date(START + ms).toISOString();

async function plant() {
  const { id: endpointId, secret } = await plane.sender.endpoints.create({ url: URL });
  const { id: messageId } = await plane.sender.send({ type: 'a', data: 1 });
  const attempt = (startedAt: number, status: 'succeeded' | 'failed' = 'failed') =>
    plantAttempt(plane, { messageId, endpointId, status, startedAt: START + startedAt });
  return { endpointId, messageId, secret, attempt };
}

describe('GET /endpoints/:id/attempts', () => {
  const ids = async (endpointId: string, query = '') => {
    const answer = await plane.ask(`GET /endpoints/${endpointId}/attempts?${query}`);
    expect(answer.status).toBe(200);
    return (answer.body.attempts as { id: string }[]).map(({ id }) => id);
  };

  it('answers what was sent to the endpoint, newest first', async () => {
    const { endpointId, messageId, attempt } = await plant();
    const first = await attempt(0, 'succeeded');
    const second = await attempt(5);
    const answer = await plane.ask(`GET /endpoints/${endpointId}/attempts`);
    const record = {
      messageId,
      endpointId,
      number: 1,
      trigger: 'send',
      durationMs: 12,
      requestUrl: 'https://example.com/none',
      remoteAddress: 'none',
      responseStatus: 500,
      responseHeaders: { 'x-none': 'none' },
      responseBody: 'none',
      nextAttemptAt: null,
    };
    const failure = { status: 'failed', errorKind: 'http_status', error: aSentence };
    const success = { status: 'succeeded', errorKind: null, error: null };
    expectAnswer(answer, 200, {
      attempts: [
        { ...record, ...failure, id: second, startedAt: at(5) },
        { ...record, ...success, id: first, startedAt: at(0) },
      ],
      nextCursor: null,
    });
  });

  it('takes status, in the words of an attempt and of a delivery', async () => {
    const { endpointId, attempt } = await plant();
    const succeeded = await attempt(0, 'succeeded');
    const failed = await attempt(1);
    for (const word of ['succeeded', 'delivered'])
      expect(await ids(endpointId, `status=${word}`)).toEqual([succeeded]);
    expect(await ids(endpointId, 'status=failed')).toEqual([failed]);
  });

  it('takes since, inclusive, until, exclusive, limit and cursor', async () => {
    const { endpointId, attempt } = await plant();
    const [a, b, c] = [await attempt(0), await attempt(1000), await attempt(2000)];
    expect(await ids(endpointId, `since=${at(1000)}`)).toEqual([c, b]);
    expect(await ids(endpointId, `until=${at(1000)}`)).toEqual([a]);
    expect(await ids(endpointId, `since=${at(1000)}&until=${at(2000)}&status=failed`)).toEqual([b]);
    const query = `since=${at(1000)}&limit=1`;
    const first = await plane.ask(`GET /endpoints/${endpointId}/attempts?${query}`);
    expect(await ids(endpointId, `${query}&cursor=${first.body.nextCursor}`)).toEqual([b]);
  });

  it('does not find those of an endpoint that was deleted: they are read by message', async () => {
    const { endpointId, messageId, attempt } = await plant();
    const id = await attempt(0);
    await plane.sender.endpoints.delete(endpointId);
    expectError(await plane.ask(`GET /endpoints/${endpointId}/attempts`), 'ENDPOINT_NOT_FOUND');
    const { attempts } = (await plane.ask(`GET /messages/${messageId}/attempts`)).body;
    expect(attempts).toMatchObject([{ id }]);
  });
});

describe('GET /endpoints/:id/stats', () => {
  it('answers the last 24 hours, hour by hour', async () => {
    const { endpointId, attempt } = await plant();
    for (const ms of [0, 1, 2]) await attempt(ms, 'succeeded');
    await attempt(3);
    await attempt(-HOUR);
    const answer = await plane.ask(`GET /endpoints/${endpointId}/stats`);
    const empty = { succeeded: 0, failed: 0, p50DurationMs: null, p95DurationMs: null };
    // It is noon to the millisecond: the hour that begins now is the last one.
    expectAnswer(answer, 200, {
      interval: 'hour',
      since: at(-23 * HOUR),
      until: at(HOUR),
      buckets: [
        ...Array.from({ length: 22 }, (_each, index) => ({ start: at((index - 23) * HOUR), ...empty })),
        { start: at(-HOUR), succeeded: 0, failed: 1, p50DurationMs: 12, p95DurationMs: 12 },
        { start: START_ISO, succeeded: 3, failed: 1, p50DurationMs: 12, p95DurationMs: 12 },
      ],
    });
  });

  it('takes since, until and interval', async () => {
    const { endpointId, attempt } = await plant();
    await attempt(61_000, 'succeeded');
    const query = `since=${at(0)}&until=${at(180_000)}&interval=minute`;
    const answer = await plane.ask(`GET /endpoints/${endpointId}/stats?${query}`);
    expect(answer.body).toMatchObject({
      interval: 'minute',
      since: at(0),
      until: at(180_000),
      buckets: [{ succeeded: 0 }, { succeeded: 1 }, { succeeded: 0 }],
    });
    const days = await plane.ask(`GET /endpoints/${endpointId}/stats?interval=day`);
    expect(days.body.buckets).toHaveLength(30);
  });

  it('refuses a range that is too long', async () => {
    const { endpointId } = await plant();
    for (const query of [
      'since=2025-01-01',
      'since=2025-11-30&until=2026-01-01',
      'interval=day&since=2025-11-29&until=2026-01-01',
      'interval=minute&since=2026-01-01&until=2026-01-02T00:02:00Z',
    ]) {
      expectError(await plane.ask(`GET /endpoints/${endpointId}/stats?${query}`), 'INVALID_QUERY');
    }
    const longest = `GET /endpoints/${endpointId}/stats?since=2025-12-01&until=2026-01-01`;
    expect((await plane.ask(longest)).body.buckets).toHaveLength(31 * 24);
  });
});

describe('GET /endpoints/:id/secret', () => {
  it('answers the secret', async () => {
    const { endpointId, secret } = await plant();
    expectAnswer(await plane.ask(`GET /endpoints/${endpointId}/secret`), 200, {
      secret,
      previousSecrets: [],
    });
  });

  it('answers those that still sign too, newest first, and until when', async () => {
    const { endpointId, secret: first } = await plant();
    const rotate = async (overlapSeconds: number) => {
      plane.clock.advance(1000);
      const json = { overlapSeconds };
      return (await plane.ask(`POST /endpoints/${endpointId}/rotate-secret`, { json })).body.secret;
    };
    const second = await rotate(60);
    const third = await rotate(10);
    const previous = [
      { secret: second, expiresAt: at(12_000) },
      { secret: first, expiresAt: at(61_000) },
    ];
    const read = async () => (await plane.ask(`GET /endpoints/${endpointId}/secret`)).body;
    expect(await read()).toEqual({ secret: third, previousSecrets: previous });
    plane.clock.advance(10_000);
    expect(await read()).toEqual({ secret: third, previousSecrets: [previous[1]] });
    const fourth = await rotate(0);
    expect(await read()).toEqual({ secret: fourth, previousSecrets: [] });
  });
});

describe('POST /endpoints/:id/test', () => {
  /** The endpoint at a receiver, and a plane that may reach it. */
  async function reachable() {
    const receiver = await startReceiver();
    plane = await openPlane({ endpointHooks: () => ({}) });
    const { id } = await plane.sender.endpoints.create({ url: receiver.url('/hook') });
    return { receiver, id };
  }

  it('answers the attempt, and stores nothing but that it was made', async () => {
    const { receiver, id } = await reachable();
    receiver.answer('/hook', { status: 500, body: 'out of order' });
    const before = await dump(plane);
    expectAnswer(await plane.ask(`POST /endpoints/${id}/test`), 200, {
      id: anId('att'),
      messageId: anId('msg'),
      endpointId: id,
      number: 1,
      status: 'failed',
      trigger: 'test',
      startedAt: START_ISO,
      durationMs: expect.any(Number),
      requestUrl: receiver.url('/hook'),
      remoteAddress: '127.0.0.1',
      responseStatus: 500,
      responseHeaders: expect.any(Object),
      responseBody: 'out of order',
      errorKind: 'http_status',
      error: aSentence,
      nextAttemptAt: null,
    });
    const record: unknown = expect.objectContaining({ operation: 'endpoints.test', target_id: id });
    expect(await dump(plane)).toEqual({ ...before, hookplane_audit_log: [record] });
  });

  it('takes type and data', async () => {
    const { receiver, id } = await reachable();
    await plane.ask(`POST /endpoints/${id}/test`, { json: { type: 'order.paid', data: [1] } });
    expect(JSON.parse(receiver.requests()[0]!.rawBody.toString())).toEqual({
      type: 'order.paid',
      timestamp: START_ISO,
      data: [1],
    });
  });

  it('refuses what is no event, and an endpoint that is paused', async () => {
    const { receiver, id } = await reachable();
    const json = { type: 'no type', colour: 1 };
    expectIssues(await plane.ask(`POST /endpoints/${id}/test`, { json }), 'MESSAGE_VALIDATION', [
      'type',
      'colour',
    ]);
    await plane.ask(`POST /endpoints/${id}/disable`);
    expectError(await plane.ask(`POST /endpoints/${id}/test`), 'ENDPOINT_DISABLED');
    expect(receiver.requests()).toEqual([]);
  });

  it('answers a target that is not allowed with an attempt that says so', async () => {
    const { receiver, id } = await reachable();
    await plane.query('update hookplane_endpoints set url = ?', 'http://10.0.0.1/');
    const answer = await plane.ask(`POST /endpoints/${id}/test`);
    expect(answer).toMatchObject({
      status: 200,
      body: { status: 'failed', errorKind: 'blocked_address', requestUrl: 'http://10.0.0.1/' },
    });
    expect(receiver.requests()).toEqual([]);
  });
});
