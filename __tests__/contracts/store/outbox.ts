import type { Store } from '../../../lib/store/store.js';
import {
  addEndpoint,
  addMessage,
  addMessages,
  deliveryOf,
  each,
  finish,
  lease,
  LEASE_MS,
  release,
  settle,
  settlementOf,
  statusOf,
  T0,
} from './fixtures.js';

export function outboxContract(store: () => Store): void {
  describe('releasing', () => {
    test('gives back unspent what the owner still holds', async () => {
      const { id } = await addEndpoint(store());
      const [first, second] = await addMessages(store(), id, 2);
      const leased = await lease(store(), { now: T0 + 1 });
      const [kept, given] = [first!, second!].map(
        (messageId) => leased.find((one) => one.messageId === messageId)!,
      );
      await release(store(), [given!]);
      const again = await lease(store(), { owner: 'b', now: T0 + 1 });
      expect(again).toMatchObject([{ messageId: second, attemptCount: 0, scheduleStep: 0, trigger: 'send' }]);
      expect(again[0]!.fence).toBeGreaterThan(given!.fence);
      expect(await store().outbox.inFlight(kept!.messageId, id, T0 + 1)).toBe(true);
    });

    test('of a lease that is no more its own changes nothing', async () => {
      const { id } = await addEndpoint(store());
      const messageId = await addMessage(store(), [id]);
      const [first] = await lease(store(), { owner: 'a' });
      await release(store(), [first!], 'b');
      expect(await store().outbox.inFlight(messageId, id, T0)).toBe(true);
      await lease(store(), { owner: 'b', now: T0 + LEASE_MS });
      await release(store(), [first!], 'a');
      await release(store(), [first!], 'b');
      expect(await store().outbox.inFlight(messageId, id, T0 + LEASE_MS)).toBe(true);
    });

    test('of nothing, or of what is gone, is nothing', async () => {
      await release(store(), []);
      await release(store(), [{ messageId: 'msg_none', endpointId: 'ep_none', fence: 1 }]);
    });
  });

  describe('renewing', () => {
    test("moves the end of the owner's leases, and of nobody else's", async () => {
      const { id } = await addEndpoint(store());
      await addMessages(store(), id, 2);
      const [first] = await lease(store(), { owner: 'a', share: each(1), now: T0 + 1 });
      const [second] = await lease(store(), { owner: 'b', share: each(1), now: T0 + 1 });
      await store().outbox.renew('a', [first!, second!], LEASE_MS, T0 + 50_000);
      const taken = await lease(store(), { owner: 'c', now: T0 + 50_000 + LEASE_MS - 1 });
      expect(taken.map(({ messageId }) => messageId)).toEqual([second!.messageId]);
      const later = await lease(store(), { owner: 'd', now: T0 + 50_000 + LEASE_MS });
      expect(later.map(({ messageId }) => messageId)).toEqual([first!.messageId]);
    });

    test('leaves alone what the owner does not name: it may not know of it', async () => {
      const { id } = await addEndpoint(store());
      await addMessages(store(), id, 2);
      const [named, unnamed] = await lease(store(), { owner: 'a', now: T0 + 1 });
      await store().outbox.renew('a', [named!], LEASE_MS, T0 + 50_000);
      const taken = await lease(store(), { owner: 'a', now: T0 + 1 + LEASE_MS });
      expect(taken.map(({ messageId }) => messageId)).toEqual([unnamed!.messageId]);
      await store().outbox.renew('a', [], LEASE_MS, T0 + 50_000);
    });

    test('never makes a lease shorter', async () => {
      const { id } = await addEndpoint(store());
      const messageId = await addMessage(store(), [id]);
      await store().outbox.renew('a', await lease(store(), { owner: 'a' }), 1000, T0 + 1);
      expect(await store().outbox.inFlight(messageId, id, T0 + LEASE_MS - 1)).toBe(true);
    });

    test('brings back what has run out, unless another has taken it over', async () => {
      const { id } = await addEndpoint(store());
      await addMessages(store(), id, 2);
      const now = T0 + 1 + LEASE_MS;
      const leased = await lease(store(), { owner: 'a', now: T0 + 1 });
      const [taken] = await lease(store(), { owner: 'b', now, share: each(1) });
      const left = leased.find(({ messageId }) => messageId !== taken!.messageId)!;
      await store().outbox.renew('a', leased, LEASE_MS, now + 1);
      expect(await store().outbox.inFlight(left.messageId, id, now + LEASE_MS)).toBe(true);
      expect(await store().outbox.inFlight(taken!.messageId, id, now + LEASE_MS - 1)).toBe(true);
      expect(await store().outbox.inFlight(taken!.messageId, id, now + LEASE_MS)).toBe(false);
    });

    test('keeps the fence: the attempt under way still settles', async () => {
      const { id } = await addEndpoint(store());
      const messageId = await addMessage(store(), [id]);
      const [leased] = await lease(store(), { owner: 'a' });
      await store().outbox.renew('a', [leased!], LEASE_MS, T0 + 1);
      expect(await settle(store(), [settlementOf(leased!)], { owner: 'a', now: T0 + 2 })).toMatchObject({
        refused: [],
      });
      expect(await statusOf(store(), messageId)).toBe('delivered');
    });
  });

  describe('expiring', () => {
    test('ends what is owed past its time, of a paused endpoint too, and answers it', async () => {
      const a = await addEndpoint(store(), { tenantId: 'acme' });
      const paused = await addEndpoint(store(), { tenantId: 'acme' });
      const messageId = await addMessage(store(), [a.id, paused.id], {
        tenantId: 'acme',
        type: 'a.b',
        expiresAt: T0 + 100,
      });
      const other = await addMessage(store(), [a.id], { expiresAt: T0 + 101 });
      await store().endpoints.pause(undefined, paused.id, 'manual', T0);
      expect(await store().outbox.expire(T0 + 99, 10)).toEqual([]);
      const ended = await store().outbox.expire(T0 + 100, 10);
      expect(ended).toHaveLength(2);
      expect(ended).toEqual(
        expect.arrayContaining([
          { messageId, endpointId: a.id, messageType: 'a.b', tenantId: 'acme' },
          { messageId, endpointId: paused.id, messageType: 'a.b', tenantId: 'acme' },
        ]),
      );
      for (const endpointId of [a.id, paused.id]) {
        expect(await deliveryOf(store(), messageId, endpointId)).toEqual({
          endpointId,
          status: 'failed',
          attemptCount: 0,
          nextAttemptAt: null,
          lastError: expect.stringMatching(/expired/),
        });
      }
      expect(await statusOf(store(), messageId)).toBe('failed');
      expect(await statusOf(store(), other)).toBe('pending');
      expect(await store().outbox.expire(T0 + 100, 10)).toEqual([]);
    });

    test('ends no more than it is told to, those that expired first', async () => {
      const { id } = await addEndpoint(store());
      const made: string[] = [];
      for (const expiresAt of [T0 + 3, T0 + 1, T0 + 2])
        made.push(await addMessage(store(), [id], { expiresAt }));
      const order: string[] = [];
      for (let left = 3; left > 0; left--) {
        const [ended, ...more] = await store().outbox.expire(T0 + 9, 1);
        expect(more).toEqual([]);
        order.push(ended!.messageId);
      }
      expect(order).toEqual([made[1], made[2], made[0]]);
    });

    test('leaves alone what is in flight, and what is finished', async () => {
      const { id } = await addEndpoint(store());
      const done = await addMessage(store(), [id], { expiresAt: T0 + 5 });
      await finish(store(), done, id);
      const flying = await addMessage(store(), [id], { expiresAt: T0 + 5 });
      await lease(store());
      expect(await store().outbox.expire(T0 + 10, 10)).toEqual([]);
      expect(await store().outbox.expire(T0 + LEASE_MS, 10)).toMatchObject([
        { messageId: flying, endpointId: id, tenantId: null },
      ]);
      expect(await statusOf(store(), done)).toBe('delivered');
    });
  });

  describe('the depth', () => {
    test('counts what is owed to active endpoints, and since when the oldest has been due', async () => {
      expect(await store().outbox.depth(undefined)).toEqual({ depth: 0, oldestDueAt: null });
      const a = await addEndpoint(store(), { tenantId: 'acme' });
      const b = await addEndpoint(store());
      const paused = await addEndpoint(store(), { tenantId: 'acme' });
      await addMessage(store(), [a.id, paused.id], { tenantId: 'acme', createdAt: T0 + 7 });
      await addMessage(store(), [b.id], { createdAt: T0 + 5 });
      await addMessage(store(), [paused.id], { tenantId: 'acme' });
      await finish(store(), await addMessage(store(), [a.id], { tenantId: 'acme' }), a.id);
      await store().endpoints.pause(undefined, paused.id, 'manual', T0);
      expect(await store().outbox.depth(undefined)).toEqual({ depth: 2, oldestDueAt: T0 + 5 });
      expect(await store().outbox.depth('acme')).toEqual({ depth: 1, oldestDueAt: T0 + 7 });
      expect(await store().outbox.depth('other')).toEqual({ depth: 0, oldestDueAt: null });
    });

    test('counts what waits for a later attempt and what is in flight', async () => {
      const { id } = await addEndpoint(store());
      const messageId = await addMessage(store(), [id]);
      await finish(store(), messageId, id, { status: 'pending', dueAt: T0 + 5000 });
      expect(await store().outbox.depth(undefined)).toEqual({ depth: 1, oldestDueAt: T0 + 5000 });
      await lease(store(), { now: T0 + 5000 });
      expect(await store().outbox.depth(undefined)).toMatchObject({ depth: 1 });
    });
  });
}
