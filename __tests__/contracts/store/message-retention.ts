import type { InsertedMessage, NewMessage, Removal, Store } from '../../../lib/store/store.js';
import {
  addEndpoint,
  addMessage,
  finish,
  lease,
  LEASE_MS,
  newMessage,
  positionAt,
  settle,
  settlementOf,
  T0,
} from './fixtures.js';

const DAY = 86_400_000;

export function messageRetentionContract(store: () => Store): void {
  const isThere = async (id: string) => (await store().messages.get(undefined, id)) !== null;
  const remove = (before: number, now = T0 + 400 * DAY) => store().messages.removeFinished(before, now);
  const insert = (message: NewMessage) => store().messages.insert([message], false);
  const attemptsOf = (messageId: string) =>
    store().messages.attempts({ tenant: undefined, messageId, status: undefined, after: null, limit: 9 });

  async function removeAll(before: number): Promise<Removal[]> {
    const batches: Removal[] = [];
    do batches.push(await remove(before));
    while (batches.at(-1)!.more);
    return batches;
  }

  test('it is counted from when nothing was owed any more', async () => {
    const { id } = await addEndpoint(store());
    const messageId = await addMessage(store(), [id]);
    await finish(store(), messageId, id, {}, T0 + 5000);
    expect(await remove(T0 + 4999)).toEqual({ removed: 0, more: false });
    expect(await isThere(messageId)).toBe(true);
    expect(await remove(T0 + 5000)).toEqual({ removed: 1, more: false });
    expect(await isThere(messageId)).toBe(false);
    expect(await attemptsOf(messageId)).toBeNull();
    await addMessage(store(), [], { id: messageId });
    expect(await attemptsOf(messageId)).toEqual({ rows: [], next: null });
    expect(await store().messages.get(undefined, messageId)).toMatchObject({ deliveries: [] });
  });

  test('an endpoint that was deleted counts until the last of its attempts is gone', async () => {
    const { id } = await addEndpoint(store());
    const messageId = await addMessage(store(), [id]);
    await finish(store(), messageId, id, {}, T0 + 5000);
    await store().endpoints.delete(undefined, id, T0);
    const counted = async () => {
      const range = { tenant: undefined, since: 0, until: T0 + 400 * DAY, stepMs: DAY };
      return (await store().endpoints.durationsOfAll({ ...range, after: null, limit: 9, most: 9 })).rows;
    };
    expect(await remove(T0 + 4999)).toEqual({ removed: 0, more: false });
    expect(await counted()).toHaveLength(1);
    expect(await remove(T0 + 5000)).toEqual({ removed: 1, more: false });
    expect(await counted()).toEqual([]);
  });

  test('what is owed stays, for as long as it is owed', async () => {
    const [one, paused] = [await addEndpoint(store()), await addEndpoint(store())];
    await store().endpoints.pause(undefined, paused.id, 'manual', T0);
    const half = await addMessage(store(), [one.id, paused.id]);
    await finish(store(), half, one.id);
    const retried = await addMessage(store(), [one.id]);
    await finish(store(), retried, one.id, { status: 'pending', dueAt: T0 + DAY });
    expect(await remove(T0 + 90 * DAY)).toEqual({ removed: 0, more: false });
    expect(await isThere(half)).toBe(true);
    expect(await isThere(retried)).toBe(true);
  });

  test('whatever became of a message, it goes', async () => {
    const { id } = await addEndpoint(store());
    const gone = await addEndpoint(store());
    const unrouted = await addMessage(store(), []);
    const failed = await addMessage(store(), [id]);
    await finish(store(), failed, id, { status: 'failed' });
    const expired = await addMessage(store(), [id], { expiresAt: T0 + 1 });
    await store().outbox.expire(T0 + 1, 9);
    const canceled = await addMessage(store(), [gone.id]);
    await store().endpoints.delete(undefined, gone.id, T0);
    const expunged = await addMessage(store(), [id]);
    await store().messages.expunge(undefined, expunged, T0);
    expect((await remove(T0 + 1)).removed).toBe(5);
    for (const messageId of [unrouted, failed, expired, canceled, expunged])
      expect(await isThere(messageId)).toBe(false);
    expect(await store().endpoints.get(undefined, id)).not.toBeNull();
  });

  test('a replay makes it owed again, and its time begins anew', async () => {
    const { id } = await addEndpoint(store());
    const messageId = await addMessage(store(), [id]);
    await finish(store(), messageId, id);
    await store().outbox.requeue({
      endpointId: id,
      messageIds: [messageId],
      webhookIds: null,
      expiresAt: T0 + 90 * DAY,
      now: T0 + DAY,
    });
    expect((await remove(T0 + 9 * DAY)).removed).toBe(0);
    await finish(store(), messageId, id, {}, T0 + 2 * DAY);
    expect((await remove(T0 + 2 * DAY - 1)).removed).toBe(0);
    expect((await remove(T0 + 2 * DAY)).removed).toBe(1);
  });

  test('many go in batches', async () => {
    const messages = Array.from({ length: 600 }, () => newMessage([]));
    await store().messages.insert(messages, true);
    const batches = await removeAll(T0);
    expect(batches.length).toBeGreaterThan(1);
    expect(batches.reduce((sum, { removed }) => sum + removed, 0)).toBe(600);
    for (const { id } of messages) expect(await isThere(id)).toBe(false);
  });

  test('one that went to very many goes in several batches, and is not sent again between them', async () => {
    const endpointIds: string[] = [];
    for (let index = 0; index < 1300; index++) endpointIds.push((await addEndpoint(store())).id);
    const messageId = await addMessage(store(), endpointIds);
    const leased = await lease(store());
    await settle(
      store(),
      leased.map((each) => settlementOf(each)),
    );
    expect(await remove(T0)).toEqual({ removed: 0, more: true });
    const request = { messageIds: [messageId], webhookIds: null, expiresAt: T0 + DAY, now: T0 };
    for (const endpointId of [endpointIds[0]!, endpointIds.at(-1)!])
      expect(await store().outbox.requeue({ ...request, endpointId })).toEqual([]);
    const batches = await removeAll(T0);
    expect(batches.at(-1)).toEqual({ removed: 1, more: false });
    await addMessage(store(), [], { id: messageId });
    expect(await attemptsOf(messageId)).toEqual({ rows: [], next: null });
  });

  test('several may remove at once', async () => {
    await store().messages.insert(
      Array.from({ length: 600 }, () => newMessage([])),
      true,
    );
    const batches = (await Promise.all([removeAll(T0), removeAll(T0), removeAll(T0)])).flat();
    expect(batches.reduce((sum, { removed }) => sum + removed, 0)).toBe(600);
  });

  test('an outcome of a worker that was taken over leaves nothing behind', async () => {
    const { id } = await addEndpoint(store());
    const messageId = await addMessage(store(), [id]);
    const [lost] = await lease(store(), { owner: 'suspended' });
    await finish(store(), messageId, id, {}, T0 + LEASE_MS);
    expect((await remove(T0 + LEASE_MS)).removed).toBe(1);
    expect((await settle(store(), [settlementOf(lost!)], { owner: 'suspended' })).refused).toEqual([0]);
    await addMessage(store(), [], { id: messageId });
    expect(await attemptsOf(messageId)).toEqual({ rows: [], next: null });
  });

  describe('an idempotency key', () => {
    const keyed = (fixture: Partial<NewMessage> = {}) =>
      newMessage([], { tenantId: 'acme', idempotencyKey: 'k', fingerprint: 'a', ...fixture });

    test('outlives a message that is removed within a day, and answers what it was', async () => {
      const message = keyed({ channels: ['a'] });
      const [stored] = await insert(message);
      const { leased: _, owed: __, ...record } = stored as Extract<InsertedMessage, { outcome: 'stored' }>;
      expect(record).toMatchObject({ outcome: 'stored' });
      expect((await remove(T0, T0 + DAY - 1)).removed).toBe(1);
      expect(await isThere(message.id)).toBe(false);
      expect(await insert(keyed())).toEqual([{ ...record, outcome: 'duplicate' }]);
      expect(await insert(keyed({ fingerprint: 'b' }))).toEqual([
        { outcome: 'conflict', messageId: message.id },
      ]);
      expect(await insert(keyed({ tenantId: 'other' }))).toMatchObject([{ outcome: 'stored' }]);
    });

    test('is free a day after the send, and not before', async () => {
      const first = keyed();
      await insert(first);
      await remove(T0, T0 + 1);
      await remove(T0, T0 + DAY - 1);
      expect(await insert(keyed())).toMatchObject([{ outcome: 'duplicate', message: { id: first.id } }]);
      await remove(T0, T0 + DAY);
      const second = keyed({ createdAt: T0 + DAY, fingerprint: 'b' });
      expect(await insert(second)).toMatchObject([{ outcome: 'stored', message: { id: second.id } }]);
    });

    test('goes with a message that was kept for longer', async () => {
      await insert(keyed());
      await insert(keyed({ tenantId: null }));
      expect((await remove(T0, T0 + DAY)).removed).toBe(2);
      for (const tenantId of ['acme', null])
        expect(await insert(keyed({ tenantId, fingerprint: 'b' }))).toMatchObject([{ outcome: 'stored' }]);
    });

    test('of a message that is gone goes with its tenant', async () => {
      await insert(keyed());
      await remove(T0, T0 + 1);
      await store().tenants.delete('acme', positionAt(T0));
      expect(await insert(keyed({ fingerprint: 'b' }))).toMatchObject([{ outcome: 'stored' }]);
    });
  });
}
