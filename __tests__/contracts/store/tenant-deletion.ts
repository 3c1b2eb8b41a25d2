import type { NewMessage, Store } from '../../../lib/store/store.js';
import {
  addEndpoint,
  addMessage,
  lease,
  newMessage,
  positionAt,
  settle,
  settlementOf,
  statusOf,
  T0,
  walk,
} from './fixtures.js';

const HOUR = 3_600_000;
/** More than goes in one transaction. */
const MANY = 700;

export function tenantDeletionContract(store: () => Store): void {
  const ofAcme = (endpointIds: string[], fixture: Partial<NewMessage> = {}) =>
    newMessage(endpointIds, { tenantId: 'acme', ...fixture });
  const deleteAcme = (at = T0) => store().tenants.delete('acme', positionAt(at));
  const insert = (...messages: NewMessage[]) => store().messages.insert(messages, false);

  /** Gives the tenant much, a millisecond apart, and answers the ids of its endpoint and of its messages. */
  async function addMuch(): Promise<{ endpointId: string; ids: string[]; messages: NewMessage[] }> {
    const endpoint = await addEndpoint(store(), { tenantId: 'acme' });
    const messages = Array.from({ length: MANY }, (_each, index) =>
      ofAcme([endpoint.id], { createdAt: T0 - MANY + index, idempotencyKey: `k${index}`, fingerprint: 'a' }),
    );
    await store().messages.insert(messages, true);
    return { endpointId: endpoint.id, ids: messages.map(({ id }) => id), messages };
  }

  /** Removes what is left, and answers how many batches that took. */
  async function purge(now = T0): Promise<number> {
    let batches = 0;
    while (await store().tenants.purge(now)) batches += 1;
    return batches;
  }

  async function list(tenant: string | undefined, endpointId?: string): Promise<string[]> {
    const query = { types: undefined, statuses: undefined, since: undefined, until: undefined, endpointId };
    const rows = await walk((after) => store().messages.list({ ...query, tenant, after, limit: 100 }));
    return rows.map(({ id }) => id);
  }

  const range = (endpointId: string) =>
    store().messages.range({
      tenantId: 'acme',
      endpointId,
      since: 0,
      until: T0 + HOUR,
      after: null,
      limit: 1000,
      withPayload: false,
      now: T0,
    });

  test('however much it has, nothing of it is there once it is deleted, before it is purged', async () => {
    const { endpointId, ids } = await addMuch();
    const other = await addMessage(store(), [], { tenantId: 'other', createdAt: T0 - MANY });
    const nobodys = await addMessage(store(), [], { createdAt: T0 - MANY });
    expect(await deleteAcme()).toBe(true);
    expect(await list('acme')).toEqual([]);
    expect(await list(undefined)).toEqual([nobodys, other]);
    expect(await list(undefined, endpointId)).toEqual([]);
    expect(await range(endpointId)).toEqual([]);
    for (const id of [ids[0]!, ids.at(-1)!]) {
      for (const tenant of ['acme', undefined]) {
        expect(await store().messages.get(tenant, id)).toBeNull();
        expect(await store().messages.owner(tenant, id)).toBeNull();
        expect(await store().messages.expunge(tenant, id, T0)).toBe(false);
        const query = { tenant, messageId: id, status: undefined, after: null, limit: 9 };
        expect(await store().messages.attempts(query)).toBeNull();
      }
    }
    expect(await store().tenants.list({ tenant: undefined, after: null, limit: 9 })).toMatchObject({
      rows: [{ id: 'other' }],
    });
    expect(await lease(store())).toEqual([]);
    expect(await store().outbox.depth(undefined)).toEqual({ depth: 0, oldestDueAt: null });
    expect(await deleteAcme()).toBe(false);
  });

  test('nobody is told that what it was owed has expired', async () => {
    const { ids } = await addMuch();
    await deleteAcme();
    const expired = await store().outbox.expire(T0 + 31 * 86_400_000, MANY);
    expect(expired).toEqual([]);
    await purge();
    expect(await store().messages.get(undefined, ids.at(-1)!)).toBeNull();
  });

  test('it is purged in batches, and then there is nothing more to do', async () => {
    await addMuch();
    await deleteAcme();
    expect(await purge()).toBeGreaterThan(1);
    expect(await purge()).toBe(0);
  });

  test('its id may be used again at once, and the purge takes nothing of the new one', async () => {
    const { messages } = await addMuch();
    await deleteAcme();
    const endpoint = await addEndpoint(store(), { tenantId: 'acme' });
    const anew = [0, MANY - 1].map((index) =>
      ofAcme([endpoint.id], { idempotencyKey: messages[index]!.idempotencyKey, fingerprint: 'b' }),
    );
    expect(await insert(...anew)).toMatchObject([{ outcome: 'stored' }, { outcome: 'stored' }]);
    const own = anew.map(({ id }) => id).reverse();
    const check = async () => {
      expect(await list('acme')).toEqual(own);
      expect(await list(undefined)).toEqual(own);
      expect((await range(endpoint.id)).map(({ id }) => id)).toEqual([...own].reverse());
      const again = ofAcme([endpoint.id], { idempotencyKey: 'k0', fingerprint: 'b' });
      expect(await insert(again)).toMatchObject([{ outcome: 'duplicate', message: { id: anew[0]!.id } }]);
    };
    await check();
    expect(await purge()).toBeGreaterThan(1);
    await check();
    const leased = await lease(store());
    expect(leased.map(({ messageId }) => messageId).sort()).toEqual(own.sort());
  });

  test('the new one may be deleted before the old one is purged', async () => {
    await addMuch();
    await deleteAcme();
    const between = ofAcme([]);
    await insert(between);
    await deleteAcme();
    const after = ofAcme([]);
    await insert(after);
    expect(await list(undefined)).toEqual([after.id]);
    await purge();
    expect(await list(undefined)).toEqual([after.id]);
    expect(await store().messages.get(undefined, between.id)).toBeNull();
  });

  test('messages that a clock ahead of ours has made go with it, the last one too, before they are purged', async () => {
    const messages = Array.from({ length: MANY }, (_each, index) => ofAcme([], { createdAt: T0 + index }));
    await store().messages.insert(messages, true);
    await deleteAcme();
    const [first, last] = [messages[0]!, messages.at(-1)!];
    for (const { id } of [first, last]) expect(await store().messages.get(undefined, id)).toBeNull();
    expect(await list(undefined)).toEqual([]);
    const next = await addMessage(store(), [], { tenantId: 'acme', createdAt: T0 + MANY });
    expect(await list('acme')).toEqual([next]);
    await purge(T0 + MANY);
    expect(await list(undefined)).toEqual([next]);
  });

  describe('a message that was made before', () => {
    test('is refused after, and does not make the tenant anew', async () => {
      const endpoint = await addEndpoint(store(), { tenantId: 'acme' });
      const late = ofAcme([endpoint.id], { idempotencyKey: 'k', fingerprint: 'a' });
      const other = newMessage([], { tenantId: 'other' });
      await deleteAcme();
      expect(await insert(late, other)).toMatchObject([{ outcome: 'refused' }, { outcome: 'stored' }]);
      expect(await store().tenants.get('acme')).toBeNull();
      expect(await list(undefined)).toEqual([other.id]);
      await purge();
      expect(await insert(late)).toEqual([{ outcome: 'refused' }]);
      const later = ofAcme([], { idempotencyKey: 'k', fingerprint: 'b' });
      expect(await insert(late, later)).toMatchObject([{ outcome: 'refused' }, { outcome: 'stored' }]);
    });

    test('keeps all of a batch that is stored whole or not at all from being stored', async () => {
      await addEndpoint(store(), { tenantId: 'acme' });
      const batch = [newMessage([], { tenantId: 'other' }), ofAcme([])];
      await deleteAcme();
      await expect(store().messages.insert(batch, true)).rejects.toMatchObject({ code: 'TENANT_NOT_FOUND' });
      expect(await list(undefined)).toEqual([]);
      expect(await store().tenants.get('other')).toBeNull();
    });

    test('is remembered for an hour, in which it is stored or never', async () => {
      await addEndpoint(store(), { tenantId: 'acme' });
      const late = ofAcme([]);
      await deleteAcme();
      await purge(T0 + HOUR - 1);
      expect(await insert(late)).toEqual([{ outcome: 'refused' }]);
      await purge(T0 + HOUR);
      expect(await insert(late)).toMatchObject([{ outcome: 'stored' }]);
    });
  });

  test('an outcome that comes late leaves nothing behind, before the purge or after it', async () => {
    const { ids } = await addMuch();
    const leased = await lease(store());
    expect(leased).toHaveLength(MANY);
    await deleteAcme();
    const [purged, left] = [leased.slice(0, 5), leased.slice(-5)];
    const retried = { status: 'pending', dueAt: T0 } as const;
    const before = await settle(store(), [
      ...purged.map((each) => settlementOf(each)),
      ...left.map((each) => settlementOf(each, retried)),
    ]);
    expect(before.refused).toEqual([0, 1, 2, 3, 4]);
    expect(await lease(store(), { now: T0 + HOUR })).toEqual([]);
    await purge();
    const after = await settle(
      store(),
      leased.map((each) => settlementOf(each)),
    );
    expect(after.refused).toHaveLength(MANY);
    await insert(...ids.map((id) => ofAcme([], { id, createdAt: T0 + 1 })));
    for (const id of [...ids.slice(0, 5), ...ids.slice(-5)]) {
      expect(await statusOf(store(), id)).toBe('unrouted');
      const query = { tenant: undefined, messageId: id, status: undefined, after: null, limit: 9 };
      expect(await store().messages.attempts(query)).toEqual({ rows: [], next: null });
    }
  });

  test('several may purge at once', async () => {
    await addMuch();
    await deleteAcme();
    await Promise.all([purge(), purge(), purge()]);
    expect(await purge()).toBe(0);
    expect(await list(undefined)).toEqual([]);
  });
}
