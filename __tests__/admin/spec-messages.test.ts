import { expectAnswer, expectError } from './expectations.js';
import { plantAttempt, plantDeliveries, plantWorker } from './planted.js';
import { openPlane, type Plane, START, START_ISO } from './plane.js';
import { aMessage } from './records.js';

const URL = 'https://example.com/hook';

let plane: Plane;
beforeEach(async () => {
  plane = await openPlane();
});

const at = (ms: number) => new Date(START + ms).toISOString();
const send = async (fields: { type?: string; tenantId?: string; data?: unknown } = {}) =>
  (await plane.sender.send({ type: 'invoice.paid', data: {}, ...fields })).id;

async function listed(query: string): Promise<string[]> {
  const answer = await plane.ask(`GET /messages?${query}`);
  expect(answer.status).toBe(200);
  return (answer.body.messages as { id: string }[]).map(({ id }) => id);
}

describe('§4 GET /messages', () => {
  it('§4 GET /messages answers { messages, nextCursor }, newest first, without payloads', async () => {
    const first = await send();
    plane.clock.advance(1000);
    const second = await send({ type: 'order.sent', tenantId: 'acme' });
    const later = {
      tenantId: 'acme',
      type: 'order.sent',
      createdAt: at(1000),
      expiresAt: at(1000 + 30 * 86_400_000),
    };
    expectAnswer(await plane.ask('GET /messages'), 200, {
      messages: [aMessage({ id: second, ...later }), aMessage({ id: first })],
      nextCursor: null,
    });
  });

  it('§4 GET /messages takes type, which may repeat or hold commas', async () => {
    const a = await send({ type: 'a' });
    const b = await send({ type: 'b.c' });
    await send({ type: 'd' });
    expect(await listed('type=a')).toEqual([a]);
    expect((await listed('type=a&type=b.c')).sort()).toEqual([a, b].sort());
    expect((await listed('type=a,b.c')).sort()).toEqual([a, b].sort());
    expect(await listed('type=b')).toEqual([]);
  });

  it('§4 GET /messages takes status, which may repeat or hold commas', async () => {
    const unrouted = await send();
    await plane.sender.endpoints.create({ url: URL });
    const byStatus: Record<string, string> = { unrouted };
    for (const status of ['pending', 'delivered', 'failed'] as const) {
      byStatus[status] = await send();
      if (status !== 'pending') await plantDeliveries(plane, byStatus[status], status);
    }
    for (const [status, id] of Object.entries(byStatus))
      expect(await listed(`status=${status}`)).toEqual([id]);
    const two = [byStatus.pending!, byStatus.delivered!].sort();
    expect((await listed('status=pending,delivered')).sort()).toEqual(two);
    expect((await listed('status=pending&status=delivered')).sort()).toEqual(two);
    expectError(await plane.ask('GET /messages?status=dead'), 'INVALID_QUERY');
  });

  it('§4 GET /messages takes since, inclusive, and until, exclusive', async () => {
    const ids: string[] = [];
    for (let n = 0; n < 3; n += 1) {
      ids.push(await send());
      plane.clock.advance(1000);
    }
    expect(await listed(`since=${at(1000)}`)).toEqual([ids[2], ids[1]]);
    expect(await listed(`until=${at(1000)}`)).toEqual([ids[0]]);
    expect(await listed(`since=${at(1000)}&until=${at(2000)}`)).toEqual([ids[1]]);
    expect(await listed(`since=${at(1000)}&until=${at(1000)}`)).toEqual([]);
    expect(await listed('since=2026-01-15&until=2026-01-16')).toHaveLength(3);
    expect(await listed('until=2026-01-15')).toEqual([]);
    expect(await listed('since=2026-01-15T14:00:01%2B02:00')).toEqual([ids[2], ids[1]]);
    expect(await listed('since=2026-01-15t06:00:01-06:00')).toEqual([ids[2], ids[1]]);
  });

  it('§4 GET /messages takes limit and cursor beside filters', async () => {
    const older = await send({ type: 'a' });
    plane.clock.advance(1);
    await send({ type: 'b' });
    const newer = await send({ type: 'a' });
    const first = await plane.ask('GET /messages?type=a&limit=1');
    expect(first.body).toEqual({
      messages: [expect.objectContaining({ id: newer })],
      nextCursor: expect.any(String),
    });
    const last = await plane.ask(`GET /messages?type=a&limit=1&cursor=${first.body.nextCursor}`);
    expect(last.body).toEqual({ messages: [expect.objectContaining({ id: older })], nextCursor: null });
  });

  it('§4 GET /messages takes tenantId and endpointId beside what the spec names', async () => {
    const before = await send({ tenantId: 'acme' });
    const endpoint = await plane.sender.endpoints.create({ url: URL, tenantId: 'acme' });
    const after = await send({ tenantId: 'acme' });
    await send({ tenantId: 'other' });
    expect((await listed('tenantId=acme')).sort()).toEqual([before, after].sort());
    expect(await listed(`endpointId=${endpoint.id}`)).toEqual([after]);
    expect(await listed('endpointId=ep_none')).toEqual([]);
    expect(await listed(`endpointId=${endpoint.id}&tenantId=other`)).toEqual([]);
  });
});

describe('§4 GET /messages/:id', () => {
  it('§4 GET /messages/:id answers the message with its payload, as it is delivered', async () => {
    const data = { 'b a': [1, -0.5, null, 'ü'], a: { nested: true } };
    const sent = await plane.sender.send({
      type: 'order.paid',
      data,
      tenantId: 'acme',
      channels: ['eu'],
      idempotencyKey: 'key 1',
      expiresAt: '2026-02-01T00:00:00Z',
    });
    const answer = await plane.ask(`GET /messages/${sent.id}`);
    expectAnswer(answer, 200, {
      ...aMessage({
        id: sent.id,
        type: 'order.paid',
        tenantId: 'acme',
        channels: ['eu'],
        idempotencyKey: 'key 1',
        expiresAt: '2026-02-01T00:00:00.000Z',
      }),
      payload: { type: 'order.paid', timestamp: START_ISO, data },
      deliveries: [],
    });
    // The names in the order in which they were sent.
    const written = '{"b a":[1,-0.5,null,"ü"],"a":{"nested":true}}';
    expect(answer.text).toContain(
      `"payload":{"type":"order.paid","timestamp":"${START_ISO}","data":${written}}`,
    );
  });
});

describe('§4 GET /messages/:id/attempts', () => {
  it('§4 GET /messages/:id/attempts answers the history, oldest first', async () => {
    const { id: endpointId } = await plane.sender.endpoints.create({ url: URL });
    const messageId = await send();
    const second = await plantAttempt(plane, { messageId, endpointId, number: 2, startedAt: START + 9 });
    const first = await plantAttempt(plane, { messageId, endpointId, number: 1, startedAt: START });
    const route = `GET /messages/${messageId}/attempts`;
    const answer = await plane.ask(route);
    expect(answer.body).toEqual({
      attempts: [
        expect.objectContaining({ id: first, number: 1, trigger: 'send' }),
        expect.objectContaining({ id: second, number: 2, trigger: 'retry' }),
      ],
      nextCursor: null,
    });
    const page = await plane.ask(`${route}?limit=1`);
    expect(page.body).toMatchObject({ attempts: [{ id: first }], nextCursor: expect.any(String) });
    const rest = await plane.ask(`${route}?limit=1&cursor=${page.body.nextCursor}`);
    expect(rest.body).toMatchObject({ attempts: [{ id: second }], nextCursor: null });
  });

  it('§4 GET /messages/:id/attempts takes status', async () => {
    const { id: endpointId } = await plane.sender.endpoints.create({ url: URL });
    const messageId = await send();
    const failed = await plantAttempt(plane, { messageId, endpointId, status: 'failed' });
    const succeeded = await plantAttempt(plane, { messageId, endpointId, number: 2, status: 'succeeded' });
    const ids = async (status: string) =>
      (
        (await plane.ask(`GET /messages/${messageId}/attempts?status=${status}`)).body.attempts as {
          id: string;
        }[]
      ).map(({ id }) => id);
    expect(await ids('failed')).toEqual([failed]);
    expect(await ids('succeeded')).toEqual([succeeded]);
    expect(await ids('delivered')).toEqual([succeeded]);
    const wrong = await plane.ask(`GET /messages/${messageId}/attempts?status=dead`);
    expectError(wrong, 'INVALID_QUERY');
  });

  it('§4 GET /messages/:id/attempts is an empty page before the first attempt', async () => {
    const id = await send();
    expectAnswer(await plane.ask(`GET /messages/${id}/attempts`), 200, { attempts: [], nextCursor: null });
  });
});

describe('§4 GET /health', () => {
  it('§4 GET /health is 200 when healthy', async () => {
    await plantWorker(plane);
    expectAnswer(await plane.ask('GET /health'), 200, {
      ok: true,
      outboxDepth: 0,
      oldestPendingAge: null,
      workerCount: 1,
    });
  });

  it('§4 GET /health is 503 with the record when no worker is alive', async () => {
    const record = { ok: false, outboxDepth: 0, oldestPendingAge: null, workerCount: 0, reason: 'no_worker' };
    expectAnswer(await plane.ask('GET /health'), 503, record);
    await plantWorker(plane);
    plane.clock.advance(60_000);
    expectAnswer(await plane.ask('GET /health'), 503, record);
  });

  it('§4 GET /health is 503 with the record when a delivery is overdue', async () => {
    await plane.sender.endpoints.create({ url: URL });
    await send();
    plane.clock.advance(300_001);
    await plantWorker(plane);
    expectAnswer(await plane.ask('GET /health'), 503, {
      ok: false,
      outboxDepth: 1,
      oldestPendingAge: 300_001,
      workerCount: 1,
      reason: 'overdue',
    });
  });

  it('§4 GET /health counts what active endpoints are owed, for a bound caller its own', async () => {
    await plantWorker(plane);
    for (const tenantId of ['acme', 'other']) await plane.sender.endpoints.create({ url: URL, tenantId });
    await send({ tenantId: 'acme' });
    plane.clock.advance(1000);
    for (const n of [1, 2]) await send({ tenantId: 'other', data: n });
    const record = (outboxDepth: number, oldestPendingAge: number | null) => ({
      ok: true,
      outboxDepth,
      oldestPendingAge,
      workerCount: 1,
    });
    expectAnswer(await plane.ask('GET /health'), 200, record(3, 1000));
    expectAnswer(await plane.ask('GET /health', { as: 'acme' }), 200, record(1, 1000));
    expectAnswer(await plane.ask('GET /health', { as: 'other' }), 200, record(2, 0));
    expectAnswer(await plane.ask('GET /health', { as: 'nobody' }), 200, record(0, null));
    const [paused] = (await plane.sender.endpoints.list({ tenantId: 'acme' })).endpoints;
    await plane.sender.endpoints.disable(paused!.id);
    expectAnswer(await plane.ask('GET /health', { as: 'acme' }), 200, record(0, null));
  });
});
