import type { Decision } from '../../lib/admin/authorize.js';
import { createAdminHandler } from '../../lib/admin/handler.js';
import { createSender } from '../../lib/create-sender.js';
import { newStore } from '../support/test-store.js';
import { failingStore } from '../support/failing-store.js';
import { storeAt } from '../support/test-store.js';
import { expectAnswer, expectError } from './expectations.js';
import { plantAttempt } from './planted.js';
import { answerOf, openPlane, type Plane, requestOf, START, START_ISO } from './plane.js';

const HOUR = 3_600_000;
const at = (ms: number) => new Date(START + ms).toISOString();

async function plant(plane: Plane, tenantId: string) {
  const { id: endpointId } = await plane.sender.endpoints.create({ url: 'https://example.com/', tenantId });
  const { id: messageId } = await plane.sender.send({ type: 'a', data: 1, tenantId });
  return (startedAt: number, status: 'succeeded' | 'failed' = 'failed') =>
    plantAttempt(plane, { messageId, endpointId, status, startedAt: START + startedAt });
}

describe('GET /stats', () => {
  it('answers the last 24 hours of all endpoints, hour by hour', async () => {
    const plane = await openPlane();
    const [acme, other] = [await plant(plane, 'acme'), await plant(plane, 'other')];
    for (const ms of [0, 1]) await acme(ms, 'succeeded');
    await other(2);
    await other(-HOUR);
    const owed = { outboxDepth: null, oldestPendingAge: null };
    const empty = { succeeded: 0, failed: 0, p50DurationMs: null, p95DurationMs: null, ...owed };
    expectAnswer(await plane.ask('GET /stats'), 200, {
      interval: 'hour',
      since: at(-23 * HOUR),
      until: at(HOUR),
      buckets: [
        ...Array.from({ length: 22 }, (_each, index) => ({ start: at((index - 23) * HOUR), ...empty })),
        { start: at(-HOUR), succeeded: 0, failed: 1, p50DurationMs: 12, p95DurationMs: 12, ...owed },
        { start: START_ISO, succeeded: 2, failed: 1, p50DurationMs: 12, p95DurationMs: 12, ...owed },
      ],
    });
  });

  it('takes since, until and interval', async () => {
    const plane = await openPlane();
    const attempt = await plant(plane, 'acme');
    await attempt(61_000, 'succeeded');
    const query = `since=${at(0)}&until=${at(180_000)}&interval=minute`;
    expect((await plane.ask(`GET /stats?${query}`)).body).toMatchObject({
      interval: 'minute',
      since: at(0),
      until: at(180_000),
      buckets: [{ succeeded: 0 }, { succeeded: 1 }, { succeeded: 0 }],
    });
    expect((await plane.ask('GET /stats?interval=day')).body.buckets).toHaveLength(30);
  });

  it('answers the highest of what workers found owed, of a bound caller its own alone', async () => {
    const plane = await openPlane();
    await plant(plane, 'acme');
    const store = await storeAt(plane.sender.file);
    await store.open();
    const total = { depth: 12, oldestAgeMs: 9000 };
    const tenants = [{ tenantId: 'acme', depth: 5, oldestAgeMs: 700 }];
    await store.depths.add({ at: START, countedAt: START, tenants, total });
    await store.close();
    const { body } = await plane.ask('GET /stats?interval=minute');
    expect((body.buckets as unknown[]).slice(-2)).toMatchObject([
      { outboxDepth: null, oldestPendingAge: null },
      { outboxDepth: 12, oldestPendingAge: 9000 },
    ]);
    for (const [route, as] of [
      ['GET /stats'],
      ['GET /stats', 'acme'],
      ['GET /stats?tenantId=acme'],
    ] as const) {
      const { body } = await plane.ask(route, as === undefined ? {} : { as });
      const bound = as !== undefined || route.includes('acme');
      expect((body.buckets as unknown[]).at(-1)).toMatchObject(
        bound ? { outboxDepth: 5, oldestPendingAge: 700 } : { outboxDepth: 12, oldestPendingAge: 9000 },
      );
    }
  });

  it('takes tenantId, of a bound caller its own alone', async () => {
    const plane = await openPlane();
    const [acme, other] = [await plant(plane, 'acme'), await plant(plane, 'other')];
    await acme(0);
    for (const ms of [0, 1, 2]) await other(ms);
    const failed = async (route: string, as?: string) => {
      const { body } = await plane.ask(route, as === undefined ? {} : { as });
      return (body.buckets as { failed: number }[]).at(-1)!.failed;
    };
    expect(await failed('GET /stats')).toBe(4);
    expect(await failed('GET /stats?tenantId=acme')).toBe(1);
    expect(await failed('GET /stats?tenantId=nobody')).toBe(0);
    expect(await failed('GET /stats', 'acme')).toBe(1);
    expect(await failed('GET /stats?tenantId=acme', 'acme')).toBe(1);
    expectError(await plane.ask('GET /stats?tenantId=other', { as: 'acme' }), 'INVALID_QUERY');
  });

  it('refuses a range that is too long', async () => {
    const plane = await openPlane();
    for (const query of ['since=2025-01-01', 'interval=minute&since=2026-01-01&until=2026-01-02T00:02:00Z'])
      expectError(await plane.ask(`GET /stats?${query}`), 'INVALID_QUERY');
    const longest = 'GET /stats?since=2025-12-01&until=2026-01-01';
    expect((await plane.ask(longest)).body.buckets).toHaveLength(31 * 24);
  });
});

describe('GET /caller', () => {
  it.each<[Decision, unknown]>([
    [true, { tenantId: null, readOnly: false, actor: null }],
    [
      { allow: true, tenantId: 'acme', actor: 'ada' },
      { tenantId: 'acme', readOnly: false, actor: { id: 'ada', name: null } },
    ],
    [
      { allow: true, actor: { id: 'u_1', name: 'Zoë' }, readOnly: true },
      { tenantId: null, readOnly: true, actor: { id: 'u_1', name: 'Zoë' } },
    ],
  ])('answers what is known of a caller of the decision %j', async (decision, body) => {
    const { sender } = await openPlane();
    const handler = createAdminHandler(sender, { authorize: () => decision });
    expectAnswer(await answerOf(handler(requestOf('GET /caller'))), 200, body);
  });

  it('answers nobody who may not enter', async () => {
    const { sender } = await openPlane();
    const handler = createAdminHandler(sender, { authorize: () => ({ allow: false, status: 401 }) });
    expectError(await answerOf(handler(requestOf('GET /caller'))), 'UNAUTHORIZED');
  });

  it('asks nothing of the store', async () => {
    const { store, calls } = failingStore(await newStore());
    const handler = createAdminHandler(createSender({ store }), {
      authorize: () => ({ allow: true, tenantId: 'acme' }),
    });
    expect((await answerOf(handler(requestOf('GET /caller')))).status).toBe(200);
    expect([...calls]).toEqual([]);
  });
});
