import type { AttemptStatus } from '../../../lib/model/message.js';
import type { NewAttempt, Store } from '../../../lib/store/store.js';
import {
  addEndpoint,
  addMessages,
  attemptOf,
  lease,
  positionAt,
  settle,
  settlementOf,
  T0,
  walk,
} from './fixtures.js';

const HOUR = 3_600_000;
const MINUTE = 60_000;

/** Delivers to the endpoint once for each attempt, and answers their ids in the same order. */
async function record(
  store: Store,
  endpointId: string,
  attempts: readonly Partial<NewAttempt>[],
): Promise<string[]> {
  await addMessages(store, endpointId, attempts.length);
  const leased = await lease(store, { now: T0 + attempts.length });
  const mine = leased.filter((each) => each.endpointId === endpointId);
  const settlements = mine.map((each, index) =>
    settlementOf(each, { attempt: attemptOf(each, attempts[index]) }),
  );
  await settle(store, settlements);
  return settlements.map(({ attempt }) => attempt!.id);
}

export function endpointAttemptsContract(store: () => Store): void {
  const query = {
    tenant: undefined as string | undefined,
    status: undefined as AttemptStatus | undefined,
    since: undefined as number | undefined,
    until: undefined as number | undefined,
    after: null,
    limit: 100,
  };
  const listed = async (endpointId: string, narrowed: Partial<typeof query> = {}) =>
    (await store().endpoints.attempts({ ...query, ...narrowed, endpointId }))?.rows.map(({ id }) => id);

  describe('listing', () => {
    test('is newest first, whole over pages of any size, however many share a millisecond', async () => {
      const { id } = await addEndpoint(store());
      const ids = await record(
        store(),
        id,
        Array.from({ length: 9 }, (_each, index) => ({ startedAt: T0 + Math.floor(index / 4) })),
      );
      for (const limit of [1, 2, 4, 9, 100]) {
        const rows = await walk(
          async (after) => (await store().endpoints.attempts({ ...query, endpointId: id, after, limit }))!,
        );
        // Ids begin with the time, so their order is that of (time, id).
        expect(rows.map((row) => row.id)).toEqual([...ids].sort().reverse());
      }
    });

    test('shows the whole record, and nothing of another endpoint', async () => {
      const { id } = await addEndpoint(store());
      const other = await addEndpoint(store());
      const [attemptId] = await record(store(), id, [{ durationMs: 7, responseBody: 'Zoë' }]);
      await record(store(), other.id, [{}]);
      const page = await store().endpoints.attempts({ ...query, endpointId: id });
      expect(page).toEqual({
        rows: [
          {
            id: attemptId,
            messageId: expect.stringMatching(/^msg_/),
            endpointId: id,
            number: 1,
            status: 'succeeded',
            trigger: 'send',
            startedAt: '2026-05-01T12:00:00.000Z',
            durationMs: 7,
            requestUrl: 'https://example.com/hook',
            remoteAddress: '192.0.2.1',
            responseStatus: 200,
            responseHeaders: { 'x-a': 'b' },
            responseBody: 'Zoë',
            errorKind: null,
            error: null,
            nextAttemptAt: null,
          },
        ],
        next: null,
      });
    });

    test('is narrowed by status and by the time at which they began', async () => {
      const { id } = await addEndpoint(store());
      const ids = await record(
        store(),
        id,
        (['succeeded', 'failed', 'failed', 'succeeded'] as const).map((status, index) => ({
          status,
          startedAt: T0 + index * 10,
        })),
      );
      const [first, second, third, fourth] = ids;
      expect(await listed(id, { status: 'failed' })).toEqual([third, second]);
      expect(await listed(id, { status: 'succeeded' })).toEqual([fourth, first]);
      expect(await listed(id, { since: T0 + 10 })).toEqual([fourth, third, second]);
      expect(await listed(id, { until: T0 + 20 })).toEqual([second, first]);
      expect(await listed(id, { since: T0 + 10, until: T0 + 20 })).toEqual([second]);
      expect(await listed(id, { status: 'failed', since: T0 + 11, until: T0 + 90 })).toEqual([third]);
      expect(await listed(id, { since: T0 + 31 })).toEqual([]);
    });

    test.each([
      ['another tenant', 'acme'],
      ['no tenant', null],
    ])('shows a tenant nothing of an endpoint of %s', async (_whose, tenantId) => {
      const { id } = await addEndpoint(store(), { tenantId });
      for (const tenant of ['other', '', 'null', 'ACME']) {
        expect(await store().endpoints.attempts({ ...query, tenant, endpointId: id })).toBeNull();
      }
    });

    test('of an endpoint that has none is empty, of one that is not there nothing', async () => {
      const { id } = await addEndpoint(store(), { tenantId: 'acme' });
      expect(await store().endpoints.attempts({ ...query, tenant: 'acme', endpointId: id })).toEqual({
        rows: [],
        next: null,
      });
      expect(await store().endpoints.attempts({ ...query, endpointId: 'ep_none' })).toBeNull();
    });
  });

  describe('counting durations', () => {
    const count = async (endpointId: string, since: number, until: number, stepMs = HOUR) => {
      const found = await store().endpoints.durations({ endpointId, since, until, stepMs });
      return found.sort((a, b) => a.start - b.start || a.durationMs - b.durationMs || a.count - b.count);
    };

    test('groups by step, outcome and duration', async () => {
      const { id } = await addEndpoint(store());
      const other = await addEndpoint(store());
      await record(store(), other.id, [{ durationMs: 1 }]);
      await record(store(), id, [
        { startedAt: T0, durationMs: 5 },
        { startedAt: T0 + HOUR - 1, durationMs: 5 },
        { startedAt: T0 + 1, durationMs: 5, status: 'failed' },
        { startedAt: T0 + 1, durationMs: 60_000, status: 'failed' },
        { startedAt: T0 + HOUR, durationMs: 0 },
      ]);
      expect(await count(id, T0, T0 + 2 * HOUR)).toEqual([
        { start: T0, status: 'failed', durationMs: 5, count: 1 },
        { start: T0, status: 'succeeded', durationMs: 5, count: 2 },
        { start: T0, status: 'failed', durationMs: 60_000, count: 1 },
        { start: T0 + HOUR, status: 'succeeded', durationMs: 0, count: 1 },
      ]);
    });

    test.each([MINUTE, HOUR, 24 * HOUR])('counts steps of %i ms from the epoch', async (stepMs) => {
      const { id } = await addEndpoint(store());
      const startedAt = T0 + 5 * HOUR + 7 * MINUTE + 59_999;
      await record(store(), id, [{ startedAt, durationMs: 3 }]);
      expect(await count(id, T0, T0 + 24 * HOUR, stepMs)).toEqual([
        { start: Math.floor(startedAt / stepMs) * stepMs, status: 'succeeded', durationMs: 3, count: 1 },
      ]);
    });

    test('begins with since and ends before until', async () => {
      const { id } = await addEndpoint(store());
      await record(
        store(),
        id,
        [0, 1, 2, 3].map((offset) => ({ startedAt: T0 + offset, durationMs: offset })),
      );
      const counted = await count(id, T0 + 1, T0 + 3);
      expect(counted.map(({ durationMs }) => durationMs)).toEqual([1, 2]);
      expect(await count(id, T0 + 4, T0 + 9)).toEqual([]);
      expect(await count('ep_none', T0, T0 + 9)).toEqual([]);
    });
  });

  describe('counting durations of all endpoints', () => {
    const range = { since: T0, until: T0 + 2 * HOUR, stepMs: HOUR, limit: 100, most: 1000 };
    const count = async (tenant?: string, narrowed: Partial<typeof range> = {}) => {
      const rows = await walk(async (after) => {
        const page = await store().endpoints.durationsOfAll({ ...range, ...narrowed, tenant, after });
        return { ...page, rows: page.rows! };
      });
      return rows.sort((a, b) => a.start - b.start || a.durationMs - b.durationMs || a.count - b.count);
    };
    const one = { status: 'succeeded', count: 1 };

    test('groups those of a scope by step, outcome and duration', async () => {
      const [first, second, other] = [
        await addEndpoint(store(), { tenantId: 'acme' }),
        await addEndpoint(store(), { tenantId: 'acme' }),
        await addEndpoint(store()),
      ];
      await record(store(), first.id, [
        { startedAt: T0, durationMs: 5 },
        { startedAt: T0 + 1, durationMs: 5, status: 'failed' },
        { startedAt: T0 - 1, durationMs: 9 },
      ]);
      await record(store(), second.id, [
        { startedAt: T0 + HOUR - 1, durationMs: 5 },
        { startedAt: T0 + HOUR, durationMs: 7 },
        { startedAt: T0 + 2 * HOUR, durationMs: 9 },
      ]);
      await record(store(), other.id, [{ startedAt: T0, durationMs: 6 }]);
      const acme = [
        { start: T0, status: 'failed', durationMs: 5, count: 1 },
        { start: T0, status: 'succeeded', durationMs: 5, count: 2 },
        { ...one, start: T0 + HOUR, durationMs: 7 },
      ];
      expect(await count('acme')).toEqual(acme);
      expect(await count('nobody')).toEqual([]);
      const [failed, succeeded, later] = acme;
      expect(await count()).toEqual([failed, succeeded, { ...one, start: T0, durationMs: 6 }, later]);
    });

    test('counts each endpoint once, in pages of any size, deleted ones among them', async () => {
      const ids: string[] = [];
      for (let index = 0; index < 7; index++) {
        // Several are of one millisecond.
        const { id } = await addEndpoint(store(), { tenantId: 'acme', now: T0 + (index >> 1) });
        await record(store(), id, [{ startedAt: T0, durationMs: index }]);
        ids.push(id);
      }
      for (const index of [0, 3, 6]) await store().endpoints.delete('acme', ids[index]!, T0 + 9);
      const all = ids.map((_id, durationMs) => ({ ...one, start: T0, durationMs }));
      for (const limit of [1, 2, 3, 7, 8, 100]) {
        expect(await count('acme', { limit })).toEqual(all);
        expect(await count(undefined, { limit })).toEqual(all);
      }
    });

    test('counts as many as it may, and of more none', async () => {
      const [first, second] = [await addEndpoint(store()), await addEndpoint(store())];
      for (const { id } of [first, second]) await record(store(), id, [{}, {}, {}]);
      const rows = async (most: number) =>
        (await store().endpoints.durationsOfAll({ ...range, tenant: undefined, after: null, most })).rows;
      expect(await rows(6)).toEqual([{ ...one, start: T0, durationMs: 5, count: 6 }]);
      expect(await rows(5)).toBeNull();
    });

    test('leaves out what a tenant was sent that is deleted', async () => {
      const [kept, gone] = [
        await addEndpoint(store(), { tenantId: 'acme' }),
        await addEndpoint(store(), { tenantId: 'acme' }),
      ];
      for (const { id } of [kept, gone]) await record(store(), id, [{ startedAt: T0, durationMs: 5 }]);
      await store().endpoints.delete('acme', gone.id, T0 + 1);
      await store().tenants.delete('acme', positionAt(T0 + 2));
      expect(await count('acme')).toEqual([]);
      expect(await count()).toEqual([]);
    });
  });
}
