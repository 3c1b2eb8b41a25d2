import type { Store } from '../../../lib/store/store.js';
import {
  addEndpoint,
  addMessage,
  attemptOf,
  deliveryOf,
  finish,
  lease,
  LEASE_MS,
  newMessage,
  settle,
  settlementOf,
  statusOf,
  T0,
} from './fixtures.js';

const FAR = T0 + 30 * 86_400_000;

export function expungeContract(store: () => Store): void {
  const expunge = (id: string, tenant?: string) => store().messages.expunge(tenant, id, T0 + 5);
  const attemptsOf = async (messageId: string) => {
    const query = { tenant: undefined, messageId, status: undefined, after: null, limit: 99 };
    return (await store().messages.attempts(query))?.rows;
  };
  const requeue = (endpointId: string, messageIds: string[]) =>
    store().outbox.requeue({ endpointId, messageIds, webhookIds: null, expiresAt: FAR, now: T0 + 9 });

  test('takes the payload and what receivers answered, and leaves the rest as it is', async () => {
    const { id } = await addEndpoint(store(), { tenantId: 'acme' });
    const messageId = await addMessage(store(), [id], { tenantId: 'acme', idempotencyKey: 'k' });
    await finish(store(), messageId, id, { status: 'pending' });
    await finish(store(), messageId, id);
    const before = await store().messages.get('acme', messageId);
    const attempts = await attemptsOf(messageId);
    expect(attempts?.map(({ responseBody }) => responseBody)).toEqual(['ok', 'ok']);
    expect(await expunge(messageId, 'acme')).toBe(true);
    expect(await store().messages.get('acme', messageId)).toEqual({ ...before, payload: null });
    expect(await attemptsOf(messageId)).toEqual(attempts?.map((each) => ({ ...each, responseBody: null })));
    expect(await store().messages.owner('acme', messageId)).toEqual({ tenantId: 'acme', expunged: true });
  });

  test('leaves other messages alone', async () => {
    const { id } = await addEndpoint(store());
    const messageId = await addMessage(store(), [id]);
    const kept = await addMessage(store(), [id]);
    await finish(store(), kept, id);
    const before = [await store().messages.get(undefined, kept), await attemptsOf(kept)];
    await expunge(messageId);
    expect([await store().messages.get(undefined, kept), await attemptsOf(kept)]).toEqual(before);
    expect(await store().messages.owner(undefined, kept)).toEqual({ tenantId: null, expunged: false });
  });

  test('cancels what is owed, and says why', async () => {
    const [done, dead, owed] = [
      await addEndpoint(store()),
      await addEndpoint(store()),
      await addEndpoint(store()),
    ];
    const messageId = await addMessage(store(), [done.id, dead.id, owed.id]);
    await finish(store(), messageId, done.id);
    await finish(store(), messageId, dead.id, { status: 'failed' });
    await expunge(messageId);
    expect(await deliveryOf(store(), messageId, done.id)).toMatchObject({ status: 'delivered' });
    expect(await deliveryOf(store(), messageId, dead.id)).toMatchObject({ status: 'failed' });
    expect(await deliveryOf(store(), messageId, owed.id)).toEqual({
      endpointId: owed.id,
      status: 'canceled',
      attemptCount: 0,
      nextAttemptAt: null,
      lastError: 'The payload of the message was expunged',
    });
    expect(await statusOf(store(), messageId)).toBe('failed');
    expect(await lease(store(), { now: T0 + 10 * LEASE_MS })).toEqual([]);
    expect(await store().outbox.depth(undefined)).toMatchObject({ depth: 0 });
  });

  test('a message of which everything was owed is owed to nobody', async () => {
    const { id } = await addEndpoint(store());
    const messageId = await addMessage(store(), [id]);
    await expunge(messageId);
    expect(await statusOf(store(), messageId)).toBe('unrouted');
  });

  test.each(['delivered', 'failed', 'pending'] as const)(
    'what was in flight and ends as %s is recorded without its response body, and changes nothing',
    async (status) => {
      const { id } = await addEndpoint(store());
      const messageId = await addMessage(store(), [id]);
      const [leased] = await lease(store());
      await expunge(messageId);
      expect(await store().outbox.inFlight(messageId, id, T0 + 5)).toBe(false);
      const attempt = attemptOf(leased!, { responseBody: 'an echo of the payload' });
      const { refused } = await settle(store(), [settlementOf(leased!, { status, attempt })]);
      expect(refused).toEqual([0]);
      expect(await deliveryOf(store(), messageId, id)).toMatchObject({ status: 'canceled', attemptCount: 0 });
      expect(await statusOf(store(), messageId)).toBe('unrouted');
      expect(await attemptsOf(messageId)).toMatchObject([
        { id: attempt.id, responseStatus: 200, responseHeaders: { 'x-a': 'b' }, responseBody: null },
      ]);
      expect(await store().messages.get(undefined, messageId)).toMatchObject({ payload: null });
      expect(await lease(store(), { now: T0 + 10 * LEASE_MS })).toEqual([]);
    },
  );

  test('what ends late under a lease that was taken over has no response body either', async () => {
    const { id } = await addEndpoint(store());
    const messageId = await addMessage(store(), [id]);
    const [late] = await lease(store(), { owner: 'a' });
    const [taken] = await lease(store(), { owner: 'b', now: T0 + LEASE_MS });
    await settle(store(), [settlementOf(taken!)], { owner: 'b', now: T0 + LEASE_MS });
    await expunge(messageId);
    await settle(store(), [settlementOf(late!)], { owner: 'a', now: T0 + LEASE_MS });
    expect((await attemptsOf(messageId))?.map(({ responseBody }) => responseBody)).toEqual([null, null]);
  });

  test('nothing makes it due again', async () => {
    const { id } = await addEndpoint(store());
    const other = await addEndpoint(store());
    const messageId = await addMessage(store(), [id]);
    const kept = await addMessage(store(), [id]);
    await finish(store(), messageId, id);
    await finish(store(), kept, id);
    await expunge(messageId);
    expect(await requeue(id, [messageId, kept])).toEqual([kept]);
    expect(await requeue(other.id, [messageId])).toEqual([]);
    expect(await statusOf(store(), messageId)).toBe('delivered');
  });

  test('a range passes it over, whether or not payloads are asked for', async () => {
    const { id } = await addEndpoint(store());
    const ids = [];
    for (let index = 0; index < 4; index++)
      ids.push(await addMessage(store(), [id], { createdAt: T0 + index }));
    await expunge(ids[1]!);
    for (const withPayload of [true, false]) {
      const range = { tenantId: null, endpointId: id, since: T0, until: FAR, now: T0, withPayload };
      const rows = await store().messages.range({ ...range, after: null, limit: 3 });
      expect(rows.map((row) => row.id)).toEqual([ids[0], ids[2], ids[3]]);
    }
  });

  test('it stays in lists, and its idempotency key stays taken', async () => {
    const message = newMessage([], { idempotencyKey: 'k', fingerprint: 'same' });
    await store().messages.insert([message], true);
    await expunge(message.id);
    const again = newMessage([], { idempotencyKey: 'k', fingerprint: 'same' });
    expect(await store().messages.insert([again], false)).toMatchObject([
      { outcome: 'duplicate', message: { id: message.id } },
    ]);
    const page = await store().messages.list({
      tenant: undefined,
      types: undefined,
      statuses: undefined,
      since: undefined,
      until: undefined,
      endpointId: undefined,
      after: null,
      limit: 9,
    });
    expect(page.rows.map((row) => row.id)).toEqual([message.id]);
  });

  test('again, it changes nothing', async () => {
    const { id } = await addEndpoint(store());
    const messageId = await addMessage(store(), [id]);
    await expunge(messageId);
    const before = await store().messages.get(undefined, messageId);
    expect(await expunge(messageId)).toBe(true);
    expect(await store().messages.get(undefined, messageId)).toEqual(before);
  });

  test.each([
    ['another tenant', 'acme'],
    ['no tenant', null],
  ])('a tenant does nothing to a message of %s', async (_whose, tenantId) => {
    const { id } = await addEndpoint(store(), { tenantId });
    const messageId = await addMessage(store(), [id], { tenantId });
    const before = await store().messages.get(undefined, messageId);
    for (const tenant of ['other', '', 'null', 'ACME']) expect(await expunge(messageId, tenant)).toBe(false);
    expect(await expunge('msg_none')).toBe(false);
    expect(await store().messages.get(undefined, messageId)).toEqual(before);
    expect(await lease(store())).toHaveLength(1);
  });
}
