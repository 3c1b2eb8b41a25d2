import type { Store } from '../../../lib/store/store.js';
import {
  addEndpoint,
  addMessage,
  addMessages,
  deliveryOf,
  finish,
  lease,
  LEASE_MS,
  settle,
  settlementOf,
  statusOf,
  T0,
} from './fixtures.js';

const EXPIRES = T0 + 100_000_000;

export function requeueContract(store: () => Store): void {
  const requeue = (endpointId: string, messageIds: string[], now = T0, webhookIds: string[] | null = null) =>
    store().outbox.requeue({ endpointId, messageIds, webhookIds, expiresAt: EXPIRES, now });

  test.each(['delivered', 'failed'] as const)(
    'a %s delivery starts its schedule anew, its numbers go on',
    async (status) => {
      const { id } = await addEndpoint(store());
      const messageId = await addMessage(store(), [id], { expiresAt: T0 + 1000 });
      await finish(store(), messageId, id, { status: 'pending' });
      await finish(store(), messageId, id, { status, scheduleStep: 2 });
      expect(await requeue(id, [messageId], T0 + 50)).toEqual([messageId]);
      expect(await deliveryOf(store(), messageId, id)).toMatchObject({
        status: 'pending',
        attemptCount: 2,
        nextAttemptAt: '2026-05-01T12:00:00.050Z',
      });
      expect(await statusOf(store(), messageId)).toBe('pending');
      expect(await lease(store(), { now: T0 + 50 })).toMatchObject([
        {
          messageId,
          attemptCount: 2,
          scheduleStep: 0,
          trigger: 'replay',
          webhookId: messageId,
          expiresAt: EXPIRES,
        },
      ]);
    },
  );

  test('a pending one becomes due now and stays where it is in its schedule', async () => {
    const { id } = await addEndpoint(store());
    const messageId = await addMessage(store(), [id]);
    await finish(store(), messageId, id, { status: 'pending', dueAt: T0 + 9_000_000, scheduleStep: 3 });
    expect(await requeue(id, [messageId], T0 + 5)).toEqual([messageId]);
    expect(await lease(store(), { now: T0 + 5 })).toMatchObject([
      { messageId, dueAt: T0 + 5, scheduleStep: 3, attemptCount: 1, trigger: 'replay' },
    ]);
  });

  test('one that is in flight is left alone, and settles as if nothing had been', async () => {
    const { id } = await addEndpoint(store());
    const messageId = await addMessage(store(), [id]);
    const [leased] = await lease(store());
    expect(await requeue(id, [messageId])).toEqual([]);
    expect((await settle(store(), [settlementOf(leased!)])).refused).toEqual([]);
    expect(await deliveryOf(store(), messageId, id)).toMatchObject({ status: 'delivered', attemptCount: 1 });
  });

  test('one whose lease is over is requeued, and its late worker refused', async () => {
    const { id } = await addEndpoint(store());
    const messageId = await addMessage(store(), [id]);
    const [late] = await lease(store());
    const now = T0 + LEASE_MS;
    expect(await requeue(id, [messageId], now)).toEqual([messageId]);
    expect((await settle(store(), [settlementOf(late!)])).refused).toEqual([0]);
    const [again] = await lease(store(), { now });
    expect(again!.fence).toBeGreaterThan(late!.fence);
  });

  test('one that is missing is made', async () => {
    const { id } = await addEndpoint(store());
    const messageId = await addMessage(store(), []);
    expect(await statusOf(store(), messageId)).toBe('unrouted');
    expect(await requeue(id, [messageId], T0 + 5)).toEqual([messageId]);
    expect(await statusOf(store(), messageId)).toBe('pending');
    expect(await lease(store(), { now: T0 + 5 })).toMatchObject([
      { messageId, endpointId: id, attemptCount: 0, trigger: 'replay', expiresAt: EXPIRES },
    ]);
  });

  test('one that is made appears in the list of its endpoint where its message belongs', async () => {
    const { id } = await addEndpoint(store());
    const old = await addMessage(store(), []);
    const recent = await addMessage(store(), [id], { createdAt: T0 + 5 });
    await requeue(id, [old], T0 + 10);
    const page = await store().messages.list({
      tenant: undefined,
      types: undefined,
      statuses: undefined,
      since: undefined,
      until: undefined,
      endpointId: id,
      after: null,
      limit: 9,
    });
    expect(page.rows.map((row) => row.id)).toEqual([recent, old]);
  });

  test('only the named endpoint is touched', async () => {
    const a = await addEndpoint(store());
    const b = await addEndpoint(store());
    const messageId = await addMessage(store(), [a.id, b.id]);
    await finish(store(), messageId, a.id);
    await finish(store(), messageId, b.id);
    await requeue(a.id, [messageId]);
    expect(await deliveryOf(store(), messageId, b.id)).toMatchObject({ status: 'delivered' });
    expect((await lease(store())).map(({ endpointId }) => endpointId)).toEqual([a.id]);
  });

  test('webhook ids go to their messages, last until the next, and null brings back none', async () => {
    const { id } = await addEndpoint(store());
    const messageIds = await addMessages(store(), id, 3);
    for (const messageId of messageIds) await finish(store(), messageId, id, {}, T0 + 5);
    const fresh = messageIds.map((_each, index) => `msg_fresh${index}`);
    expect((await requeue(id, messageIds, T0 + 5, fresh)).sort()).toEqual(messageIds);
    const leased = await lease(store(), { now: T0 + 5 });
    expect(new Map(leased.map((one) => [one.messageId, one.webhookId]))).toEqual(
      new Map(messageIds.map((messageId, index) => [messageId, fresh[index]])),
    );
  });

  test('an expiry that lies further off than the new one stays', async () => {
    const { id } = await addEndpoint(store());
    const messageId = await addMessage(store(), [id], { expiresAt: EXPIRES + 5 });
    await requeue(id, [messageId]);
    expect(await lease(store())).toMatchObject([{ expiresAt: EXPIRES + 5 }]);
  });

  test('an expired one is owed again for its new time', async () => {
    const { id } = await addEndpoint(store());
    const messageId = await addMessage(store(), [id], { expiresAt: T0 + 5 });
    await store().outbox.expire(T0 + 5, 9);
    await requeue(id, [messageId], T0 + 10);
    expect(await store().outbox.expire(T0 + 10, 9)).toEqual([]);
    expect(await lease(store(), { now: T0 + 10 })).toHaveLength(1);
  });

  test('nothing happens to a paused endpoint, one that is gone, or a message that is not there', async () => {
    const { id } = await addEndpoint(store());
    const messageId = await addMessage(store(), [id]);
    await finish(store(), messageId, id);
    expect(await requeue(id, ['msg_none'])).toEqual([]);
    expect(await requeue('ep_none', [messageId])).toEqual([]);
    await store().endpoints.pause(undefined, id, 'manual', T0);
    expect(await requeue(id, [messageId])).toEqual([]);
    expect(await statusOf(store(), messageId)).toBe('delivered');
    expect(await requeue(id, [])).toEqual([]);
  });

  test('a page of a thousand is one call', async () => {
    const { id } = await addEndpoint(store());
    const messageIds = await addMessages(store(), id, 1000);
    expect((await requeue(id, messageIds, T0 + 1000)).sort()).toEqual(messageIds);
  });
}
