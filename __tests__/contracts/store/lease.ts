import type { Lane, Store } from '../../../lib/store/store.js';
import {
  addEndpoint,
  addMessage,
  addMessages,
  deliveryOf,
  each,
  finish,
  lanesAt,
  lease,
  LEASE_MS,
  release,
  settle,
  settlementOf,
  T0,
  turn,
} from './fixtures.js';

export function leaseContract(store: () => Store): void {
  describe('the lanes that share is shown', () => {
    test('are the active endpoints with something due, and all that decides whose turn it is', async () => {
      const a = await addEndpoint(store(), {
        tenantId: 'acme',
        rateLimit: { perSecond: 5, burst: 6 },
        maxInFlight: 7,
      });
      const b = await addEndpoint(store());
      const paused = await addEndpoint(store());
      const idle = await addEndpoint(store());
      const later = await addEndpoint(store());
      await store().tenants.set('acme', { rateLimit: { perSecond: 1, burst: 2 } }, T0);
      await addMessage(store(), [a.id, b.id, paused.id], { tenantId: 'acme', createdAt: T0 + 5 });
      await addMessage(store(), [a.id], { tenantId: 'acme', createdAt: T0 + 3 });
      await addMessage(store(), [later.id], { createdAt: T0 + 50 });
      await finish(store(), await addMessage(store(), [idle.id]), idle.id);
      await store().endpoints.pause(undefined, paused.id, 'manual', T0);
      const lanes = await lanesAt(store(), T0 + 10);
      const unlimited = {
        slowUntil: null,
        slowStep: 0,
        inFlight: 0,
        maxInFlight: null,
        rateLimit: null,
        rateUsed: null,
        tenantRateLimit: null,
        tenantRateUsed: null,
      };
      const expected: Lane[] = [
        {
          ...unlimited,
          endpointId: a.id,
          tenantId: 'acme',
          dueAt: T0 + 3,
          maxInFlight: 7,
          rateLimit: { perSecond: 5, burst: 6 },
          tenantRateLimit: { perSecond: 1, burst: 2 },
        },
        { ...unlimited, endpointId: b.id, tenantId: null, dueAt: T0 + 5 },
      ];
      expect(lanes).toHaveLength(2);
      expect(lanes).toEqual(expect.arrayContaining(expected.map((lane) => expect.objectContaining(lane))));
    });

    test('count what any worker has in flight where there is a limit to it, and what is due beside it', async () => {
      const { id } = await addEndpoint(store(), { maxInFlight: 5 });
      const other = await addEndpoint(store());
      const [, second] = await addMessages(store(), id, 3);
      await addMessages(store(), other.id, 2);
      await lease(store(), { owner: 'another', share: each(1) });
      const lanes = await lanesAt(store(), T0 + 10);
      expect(lanes).toHaveLength(2);
      expect(lanes).toContainEqual(expect.objectContaining({ endpointId: id, inFlight: 1, dueAt: T0 + 1 }));
      expect(lanes).toContainEqual(expect.objectContaining({ endpointId: other.id, inFlight: 0 }));
      await lease(store(), { now: T0 + 10 });
      expect(await lanesAt(store(), T0 + 10)).toEqual([]);
      expect(await deliveryOf(store(), second!, id)).toMatchObject({ status: 'pending' });
    });

    test('leave out leases that are over', async () => {
      const { id } = await addEndpoint(store(), { maxInFlight: 5 });
      await addMessages(store(), id, 2);
      await lease(store(), { share: each(1) });
      const lanes = await lanesAt(store(), T0 + LEASE_MS);
      expect(lanes).toMatchObject([{ inFlight: 0, dueAt: T0 }]);
    });
  });

  describe('a lease', () => {
    test('takes of each lane its share, the most overdue first', async () => {
      const a = await addEndpoint(store());
      const b = await addEndpoint(store());
      const [ofA, ofB] = [await addMessages(store(), a.id, 5), await addMessages(store(), b.id, 5)];
      const leased = await lease(store(), {
        now: T0 + 10,
        share: () => ({
          quotas: new Map([
            [a.id, 2],
            [b.id, 3],
          ]),
          nextAt: null,
        }),
      });
      const taken = (endpointId: string) =>
        leased.flatMap((one) => (one.endpointId === endpointId ? one.messageId : [])).sort();
      expect(taken(a.id)).toEqual(ofA.slice(0, 2));
      expect(taken(b.id)).toEqual(ofB.slice(0, 3));
    });

    test('takes what is due at the same millisecond in the order of its messages, however it lies', async () => {
      const { id } = await addEndpoint(store());
      const ids = ['msg_d', 'msg_b', 'msg_e', 'msg_a', 'msg_c'];
      for (const messageId of ids) await addMessage(store(), [id], { id: messageId });
      const first = await lease(store(), { share: each(2) });
      const rest = await lease(store());
      expect([...first, ...rest].map(({ messageId }) => messageId)).toEqual([...ids].sort());
    });

    test('takes nothing where the share is nothing, and nothing before it is due', async () => {
      const { id } = await addEndpoint(store());
      await addMessage(store(), [id], { createdAt: T0 + 1 });
      expect(await lease(store())).toEqual([]);
      expect(
        await lease(store(), { now: T0 + 1, share: () => ({ quotas: new Map(), nextAt: null }) }),
      ).toEqual([]);
      expect(await lease(store(), { now: T0 + 1 })).toHaveLength(1);
    });

    test('brings all that an attempt needs', async () => {
      const endpoint = await addEndpoint(store(), { tenantId: 'acme', headers: { a: 'b' }, timeoutMs: 5000 });
      const messageId = await addMessage(store(), [endpoint.id], {
        tenantId: 'acme',
        channels: ['eu'],
        payload: '{"a":1}',
        traceContext: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01 a=b',
        expiresAt: T0 + 99_000,
      });
      expect(await lease(store())).toEqual([
        {
          messageId,
          endpointId: endpoint.id,
          fence: expect.any(Number),
          takeovers: 0,
          attemptCount: 0,
          scheduleStep: 0,
          trigger: 'send',
          webhookId: messageId,
          dueAt: T0,
          expiresAt: T0 + 99_000,
          message: {
            id: messageId,
            tenantId: 'acme',
            type: 'invoice.paid',
            channels: ['eu'],
            createdAt: T0,
            payload: '{"a":1}',
            traceContext: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01 a=b',
          },
          target: {
            endpoint,
            secrets: [{ id: expect.stringMatching(/^sec_/), secret: 'whsec_first' }],
            failingSince: null,
            slowStep: 0,
          },
        },
      ]);
    });

    test('reads the endpoint as it is at that moment', async () => {
      const { id } = await addEndpoint(store());
      await addMessages(store(), id, 2);
      await lease(store(), { share: each(1) });
      const edited = await store().endpoints.update(undefined, id, { url: 'https://example.com/new' }, T0);
      const [second] = await lease(store(), { now: T0 + 10 });
      expect(second?.target.endpoint).toEqual(edited);
    });

    test('is exclusive until it ends, and then taken over under a higher fence', async () => {
      const { id } = await addEndpoint(store());
      const messageId = await addMessage(store(), [id]);
      const [first] = await lease(store(), { owner: 'a' });
      expect(await store().outbox.inFlight(messageId, id, T0)).toBe(true);
      expect(await lease(store(), { owner: 'b' })).toEqual([]);
      expect(await lease(store(), { owner: 'a' })).toEqual([]);
      expect(await lease(store(), { owner: 'b', now: T0 + LEASE_MS - 1 })).toEqual([]);
      expect(await store().outbox.inFlight(messageId, id, T0 + LEASE_MS)).toBe(false);
      const [second] = await lease(store(), { owner: 'b', now: T0 + LEASE_MS });
      expect(second).toMatchObject({ messageId, endpointId: id, attemptCount: 0, trigger: 'send' });
      expect(second!.fence).toBeGreaterThan(first!.fence);
    });

    describe('that is taken from another worker', () => {
      const takeOver = async (owner: string, leases: number) =>
        (await lease(store(), { owner, now: T0 + leases * LEASE_MS }))[0]!;

      test('is a takeover, and says how many there were since an outcome was known', async () => {
        const { id } = await addEndpoint(store());
        await addMessage(store(), [id]);
        const takeovers: number[] = [];
        for (const [index, owner] of ['a', 'b', 'c', 'a'].entries()) {
          takeovers.push((await takeOver(owner, index)).takeovers);
        }
        expect(takeovers).toEqual([0, 1, 2, 3]);
      });

      test('is none when its own worker takes it again, or when it was given back', async () => {
        const { id } = await addEndpoint(store());
        await addMessage(store(), [id]);
        await takeOver('a', 0);
        expect((await takeOver('a', 1)).takeovers).toBe(0);
        const taken = await takeOver('b', 2);
        expect(taken.takeovers).toBe(1);
        await release(store(), [taken], 'b');
        expect((await takeOver('c', 2)).takeovers).toBe(0);
      });

      test('counts anew after an outcome, and goes on after one that was lost', async () => {
        const { id } = await addEndpoint(store());
        await addMessage(store(), [id]);
        const failed = { status: 'pending', dueAt: T0 } as const;
        await takeOver('a', 0);
        const first = await takeOver('b', 1);
        await settle(store(), [settlementOf(first, { ...failed, lost: true })], { owner: 'b' });
        expect((await takeOver('c', 1)).takeovers).toBe(0);
        const second = await takeOver('d', 2);
        expect(second.takeovers).toBe(2);
        await settle(store(), [settlementOf(second, failed)], { owner: 'd' });
        await takeOver('e', 2);
        expect((await takeOver('f', 3)).takeovers).toBe(1);
      });

      test('counts anew after a replay', async () => {
        const { id } = await addEndpoint(store());
        const messageId = await addMessage(store(), [id]);
        await takeOver('a', 0);
        await takeOver('b', 1);
        await store().outbox.requeue({
          endpointId: id,
          messageIds: [messageId],
          webhookIds: null,
          expiresAt: T0 + 100 * LEASE_MS,
          now: T0 + 2 * LEASE_MS,
        });
        await takeOver('c', 2);
        expect((await takeOver('d', 3)).takeovers).toBe(1);
      });
    });

    test("outlasts the endpoint's own deadline", async () => {
      const { id } = await addEndpoint(store(), { timeoutMs: 60_000 });
      await addMessage(store(), [id]);
      await lease(store(), { leaseMs: 20_000 });
      expect(await lease(store(), { now: T0 + 60_000 })).toEqual([]);
    });

    test('says when the next is due: of what is not yet due, and what share says', async () => {
      const a = await addEndpoint(store());
      const b = await addEndpoint(store());
      const nextAt = async (now: number, said: number | null): Promise<number | null> => {
        const share = () => ({ quotas: new Map<string, number>(), nextAt: said });
        return (await turn(store(), { now, lease: { leaseMs: LEASE_MS, share } })).nextAt;
      };
      expect(await nextAt(T0, null)).toBeNull();
      await addMessage(store(), [a.id], { createdAt: T0 + 500 });
      await addMessage(store(), [b.id], { createdAt: T0 + 300 });
      expect(await nextAt(T0, null)).toBe(T0 + 300);
      expect(await nextAt(T0, T0 + 200)).toBe(T0 + 200);
      expect(await nextAt(T0, T0 + 400)).toBe(T0 + 300);
      expect(await nextAt(T0 + 400, null)).toBe(T0 + 500);
      // What is held is due at no time.
      await store().endpoints.pause(undefined, a.id, 'manual', T0);
      expect(await nextAt(T0 + 400, null)).toBeNull();
    });

    test('spends the rates of endpoint and tenant by what it took, not by what it might have', async () => {
      const a = await addEndpoint(store(), { tenantId: 'acme', rateLimit: { perSecond: 10, burst: 100 } });
      const b = await addEndpoint(store(), { tenantId: 'acme' });
      const [c] = [await addEndpoint(store())];
      await store().tenants.set('acme', { rateLimit: { perSecond: 2, burst: 100 } }, T0);
      for (const { id } of [a, a, a, b, c]) await addMessage(store(), [id], { tenantId: 'acme' });
      await lease(store(), { share: each(2) });
      await addMessages(store(), b.id, 1);
      const lanes = await lanesAt(store(), T0);
      // Two of a's three and b's one: two tokens of a's ten a second, three of the tenant's two.
      expect(lanes.find((lane) => lane.endpointId === a.id)).toMatchObject({
        rateUsed: T0 + 200,
        tenantRateUsed: T0 + 1500,
      });
      expect(lanes.find((lane) => lane.endpointId === b.id)).toMatchObject({
        rateUsed: null,
        tenantRateUsed: T0 + 1500,
      });
    });

    test('takes nothing from an endpoint that was deleted', async () => {
      const { id } = await addEndpoint(store());
      await addMessage(store(), [id]);
      await store().endpoints.delete(undefined, id, T0);
      expect(await lease(store())).toEqual([]);
    });
  });
}
