import type { DepthSample, OwedPosition, Store } from '../../../lib/store/store.js';
import { addEndpoint, addMessage, addMessages, lease, newMessage, positionAt, T0 } from './fixtures.js';

const MINUTE = 60_000;
const HOUR = 3_600_000;
/** More than any test stores. */
const ALL = 1000;

export function depthContract(store: () => Store): void {
  /** What is owed by tenant, as `depth since dueAt`, counted so many deliveries at a time. */
  async function owed(limit: number): Promise<{ counted: Record<string, string>; calls: number }> {
    const byTenant = new Map<string, { depth: number; oldest: number }>();
    let after: OwedPosition | null = null;
    let calls = 0;
    do {
      const found: Awaited<ReturnType<Store['depths']['owed']>> = await store().depths.owed(after, limit);
      for (const { tenantId, depth, oldestDueAt } of found.rows) {
        const known = byTenant.get(String(tenantId)) ?? { depth: 0, oldest: oldestDueAt };
        byTenant.set(String(tenantId), {
          depth: known.depth + depth,
          oldest: Math.min(known.oldest, oldestDueAt),
        });
      }
      after = found.next;
      calls += 1;
    } while (after);
    const written = [...byTenant].map(([id, { depth, oldest }]) => [id, `${depth} since ${oldest - T0}`]);
    return { counted: Object.fromEntries(written), calls };
  }

  const add = (
    at: number,
    tenants: Record<string, DepthSample>,
    {
      total = { depth: 9, oldestAgeMs: 9 },
      countedAt = at,
    }: { total?: DepthSample | null; countedAt?: number } = {},
  ) =>
    store().depths.add({
      at,
      countedAt,
      tenants: Object.entries(tenants).map(([tenantId, sample]) => ({ tenantId, ...sample })),
      total,
    });
  const highest = (tenant: string | undefined, range = {}) =>
    store().depths.highest({ tenant, since: T0 - HOUR, until: T0 + HOUR, stepMs: HOUR, ...range });
  const addTenant = (id: string, now = T0 - HOUR) => store().tenants.set(id, {}, now);

  describe('counting what is owed', () => {
    test('is by tenant, those without one too, and of active endpoints', async () => {
      expect(await owed(ALL)).toEqual({ counted: {}, calls: 1 });
      const [a, b] = [
        await addEndpoint(store(), { tenantId: 'acme' }),
        await addEndpoint(store(), { tenantId: 'acme' }),
      ];
      const nobodys = await addEndpoint(store());
      const paused = await addEndpoint(store(), { tenantId: 'other' });
      await addMessage(store(), [a.id, b.id], { tenantId: 'acme', createdAt: T0 + 7 });
      await addMessage(store(), [b.id], { tenantId: 'acme', createdAt: T0 + 5 });
      await addMessage(store(), [nobodys.id], { createdAt: T0 + 3 });
      await addMessage(store(), [paused.id], { tenantId: 'other' });
      await store().endpoints.pause(undefined, paused.id, 'manual', T0);
      expect((await owed(ALL)).counted).toEqual({ acme: '3 since 5', null: '1 since 3' });
    });

    test('is the same however little is counted at once, whenever it is due, in flight or not', async () => {
      const [a, b] = [await addEndpoint(store()), await addEndpoint(store(), { tenantId: 'acme' })];
      await addMessages(store(), a.id, 5);
      await addMessages(store(), b.id, 3);
      for (let index = 0; index < 4; index++) await addMessage(store(), [a.id], { createdAt: T0 + 2 });
      const share = () => ({ quotas: new Map([[a.id, 2]]), nextAt: null });
      expect(await lease(store(), { now: T0 + 9, share })).toHaveLength(2);
      const whole = await owed(ALL);
      expect(whole.counted).toEqual({ null: '9 since 0', acme: '3 since 0' });
      for (const limit of [1, 2, 3]) {
        const pieces = await owed(limit);
        expect(pieces.counted).toEqual(whole.counted);
        expect(pieces.calls).toBeGreaterThan(2);
      }
    });
  });

  describe('samples', () => {
    test('are the highest of each step of time, of one tenant and of all together', async () => {
      await addTenant('acme');
      await add(T0, { acme: { depth: 3, oldestAgeMs: 50 } }, { total: { depth: 10, oldestAgeMs: 90 } });
      await add(
        T0 + MINUTE,
        { acme: { depth: 2, oldestAgeMs: 70 } },
        { total: { depth: 12, oldestAgeMs: 80 } },
      );
      await add(T0 - MINUTE, {}, { total: { depth: 1, oldestAgeMs: 0 } });
      expect(await highest(undefined)).toEqual([
        { start: T0 - HOUR, depth: 1, oldestAgeMs: 0 },
        { start: T0, depth: 12, oldestAgeMs: 90 },
      ]);
      expect(await highest('acme')).toEqual([
        { start: T0 - HOUR, depth: 0, oldestAgeMs: 0 },
        { start: T0, depth: 3, oldestAgeMs: 70 },
      ]);
      expect(await highest('other')).toMatchObject([{ depth: 0 }, { depth: 0 }]);
      const minutes = { since: T0, until: T0 + MINUTE, stepMs: MINUTE };
      expect(await highest('acme', minutes)).toEqual([{ start: T0, depth: 3, oldestAgeMs: 50 }]);
    });

    test('are one a minute: the first that was taken', async () => {
      await addTenant('acme');
      expect(await store().depths.has(T0)).toBe(false);
      await Promise.all([1, 1].map((depth) => add(T0, { acme: { depth, oldestAgeMs: 0 } })));
      await add(T0, { acme: { depth: 7, oldestAgeMs: 7 } }, { total: { depth: 99, oldestAgeMs: 99 } });
      expect(await store().depths.has(T0)).toBe(true);
      expect(await store().depths.has(T0 + MINUTE)).toBe(false);
      expect(await highest('acme')).toMatchObject([{ depth: 1 }]);
      expect(await highest(undefined)).toMatchObject([{ depth: 9 }]);
    });

    test('of tenants alone do not say that the minute has been sampled', async () => {
      await addTenant('acme');
      await add(T0, { acme: { depth: 1, oldestAgeMs: 0 } }, { total: null });
      expect(await store().depths.has(T0)).toBe(false);
      expect(await highest('acme')).toEqual([]);
    });

    test('are removed in batches once they are too old', async () => {
      const ids = Array.from({ length: 1100 }, (_each, index) => `tenant ${index}`);
      // A tenant is there from its first message on.
      await store().messages.insert(
        ids.map((tenantId) => newMessage([], { tenantId })),
        true,
      );
      const tenants = Object.fromEntries(ids.map((id) => [id, { depth: 1, oldestAgeMs: 0 }]));
      await add(T0, tenants);
      await add(T0 + MINUTE, { [ids[0]!]: { depth: 2, oldestAgeMs: 0 } });
      let batches = 1;
      while (await store().depths.removeBefore(T0 + MINUTE)) batches += 1;
      expect(batches).toBe(2);
      const minutes = { since: T0, until: T0 + HOUR, stepMs: MINUTE };
      expect(await highest(ids[0], minutes)).toEqual([{ start: T0 + MINUTE, depth: 2, oldestAgeMs: 0 }]);
      expect(await highest(undefined, minutes)).toHaveLength(1);
    });

    test('of the future are gone when the clock is set back: those minutes come again', async () => {
      await add(T0, {});
      await add(T0 + 2 * MINUTE, {});
      await store().workers.beat('wrk_a', T0 + 2 * MINUTE);
      await store().workers.beat('wrk_b', T0 + MINUTE);
      expect(await store().depths.has(T0)).toBe(true);
      expect(await store().depths.has(T0 + 2 * MINUTE)).toBe(false);
    });
  });

  describe('samples of a tenant that is deleted', () => {
    const SAMPLE = { depth: 3, oldestAgeMs: 5 };

    test('are nothing to the one that has its id next, before the purge and after it', async () => {
      await addTenant('acme');
      await add(T0 - MINUTE, { acme: SAMPLE });
      await add(T0, { acme: SAMPLE });
      // What is more than a batch waits for the purge.
      const messages = Array.from({ length: 251 }, () =>
        newMessage([], { tenantId: 'acme', createdAt: T0 - HOUR }),
      );
      await store().messages.insert(messages, true);
      await store().tenants.delete('acme', positionAt(T0));
      const expectNone = async () => {
        for (const sample of await highest('acme'))
          expect(sample).toMatchObject({ depth: 0, oldestAgeMs: 0 });
      };
      await expectNone();
      await addTenant('acme', T0 + 1);
      await expectNone();
      await add(T0 + MINUTE, { acme: { depth: 1, oldestAgeMs: 2 } });
      while (await store().tenants.purge(T0));
      const minutes = { since: T0 - HOUR, until: T0 + HOUR, stepMs: MINUTE };
      const own = (await highest('acme', minutes)).filter(({ depth }) => depth > 0);
      expect(own).toEqual([{ start: T0 + MINUTE, depth: 1, oldestAgeMs: 2 }]);
      expect(await highest(undefined, minutes)).toHaveLength(3);
    });

    test('are not kept when they were counted before the deletion', async () => {
      await addTenant('acme');
      await store().tenants.delete('acme', positionAt(T0));
      await add(T0, { acme: SAMPLE }, { countedAt: T0 - 1 });
      await addTenant('acme', T0);
      await add(T0 + MINUTE, { acme: SAMPLE }, { countedAt: T0 - 1 });
      expect(await highest('acme')).toMatchObject([{ depth: 0 }]);
      await add(T0 + 2 * MINUTE, { acme: SAMPLE });
      expect(await highest('acme')).toMatchObject([{ depth: 3 }]);
    });
  });
}
