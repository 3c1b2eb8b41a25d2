import type { Endpoint } from '../../../lib/model/endpoint.js';
import type { InsertedMessage, LeasedDelivery, NewMessage, Store } from '../../../lib/store/store.js';
import {
  addEndpoint,
  addMessage,
  each,
  lease,
  LEASE_MS,
  newMessage,
  positionAt,
  settle,
  settlementOf,
  T0,
  turn,
} from './fixtures.js';

/** What a store does that knows what it has found the last time, and has to see what has changed since. */
export function sendAgainContract(store: () => Store): void {
  const toAll = (fixture: Partial<NewMessage> = {}) =>
    newMessage([], { tenantId: 'acme', owedTo: (ofTenant) => ofTenant.map(({ id }) => id), ...fixture });

  interface Sent {
    inserted: InsertedMessage[];
    leased: LeasedDelivery[];
  }

  async function send(
    messages: readonly NewMessage[],
    { most = 1000, share = each() }: { most?: number; share?: ReturnType<typeof each> } = {},
  ): Promise<Sent> {
    const asked = { owner: 'worker', now: T0, leaseMs: LEASE_MS, most, share };
    const inserted = await store().messages.insert(messages, false, asked);
    return { inserted, leased: inserted.flatMap((one) => (one.outcome === 'stored' ? one.leased : [])) };
  }

  /** Two endpoints of a tenant, to which something has been sent and delivered. */
  async function prepare(): Promise<{ a: Endpoint; b: Endpoint; first: Sent }> {
    const a = await addEndpoint(store(), { tenantId: 'acme' });
    const b = await addEndpoint(store(), { tenantId: 'acme' });
    const first = await send([toAll({ channels: ['eu'], traceContext: '00-a-b-01' })]);
    expect(first.leased).toHaveLength(2);
    await settle(
      store(),
      first.leased.map((one) => settlementOf(one)),
    );
    return { a, b, first };
  }

  const endpointsOf = ({ leased }: Sent) => leased.map(({ endpointId }) => endpointId).sort();
  const news = { slowUntil: null, slowStep: 0, failedAt: null, pause: null, succeeded: false };

  test('the same as before is stored, read and leased as it was', async () => {
    const { first } = await prepare();
    const given = toAll({ channels: ['eu'], traceContext: '00-a-b-01' });
    const again = await send([given]);
    const renamed = (value: unknown) =>
      JSON.parse(JSON.stringify(value).replaceAll(first.leased[0]!.messageId, given.id)) as unknown;
    const byEndpoint = (sent: unknown) =>
      (sent as LeasedDelivery[]).toSorted((x, y) => (x.endpointId < y.endpointId ? -1 : 1));
    expect(again.inserted).toMatchObject([{ outcome: 'stored', owed: 2, message: { status: 'pending' } }]);
    expect(byEndpoint(again.leased)).toEqual(byEndpoint(renamed(first.leased)));
    const stored = (await store().messages.get(undefined, given.id))!;
    expect(stored).toMatchObject({
      message: { channels: ['eu'], type: given.type, tenantId: 'acme', status: 'pending' },
      payload: given.payload,
      deliveries: [
        { status: 'pending', attemptCount: 0, lastError: null },
        { status: 'pending', attemptCount: 0, lastError: null },
      ],
    });
    const settled = await settle(
      store(),
      again.leased.map((one) => settlementOf(one)),
    );
    expect(settled.refused).toEqual([]);
    expect((await store().messages.get(undefined, given.id))!.message.status).toBe('delivered');
  });

  test('what is not leased is due', async () => {
    const { a, b } = await prepare();
    const given = toAll();
    const asked = await store().messages.insert([given], false);
    expect(asked).toMatchObject([{ outcome: 'stored', owed: 2, leased: [] }]);
    expect((await lease(store())).map(({ endpointId }) => endpointId).sort()).toEqual([a.id, b.id].sort());
  });

  test('no more is leased than the share gives, and the rest is due', async () => {
    const { a, b } = await prepare();
    const share = () => ({ quotas: new Map([[a.id, 1]]), nextAt: null });
    const messages = [toAll(), toAll()];
    const { leased } = await send(messages, { share });
    expect(leased).toMatchObject([{ messageId: messages[0]!.id, endpointId: a.id }]);
    const due = await lease(store());
    expect(due.map(({ messageId, endpointId }) => [messageId, endpointId]).sort()).toEqual(
      [
        [messages[0]!.id, b.id],
        [messages[1]!.id, a.id],
        [messages[1]!.id, b.id],
      ].sort(),
    );
  });

  test('nothing is leased where more is owed than there are requests', async () => {
    await prepare();
    expect((await send([toAll()], { most: 1 })).leased).toEqual([]);
    expect(await lease(store())).toHaveLength(2);
  });

  test('each of many messages chooses once', async () => {
    await prepare();
    let asked = 0;
    const owedTo = (ofTenant: readonly Endpoint[]) => {
      asked += 1;
      return ofTenant.map(({ id }) => id);
    };
    await send(Array.from({ length: 100 }, () => toAll({ owedTo })));
    expect(asked).toBe(100);
  });

  test('what is owed to nobody is unrouted', async () => {
    await prepare();
    const given = toAll({ owedTo: () => [] });
    expect((await send([given])).inserted).toMatchObject([
      { outcome: 'stored', owed: 0, message: { status: 'unrouted' } },
    ]);
    expect((await store().messages.get(undefined, given.id))!.message.status).toBe('unrouted');
  });

  test('an endpoint that has come, changed or gone since is seen', async () => {
    const { a, b } = await prepare();
    const c = await addEndpoint(store(), { tenantId: 'acme' });
    expect(endpointsOf(await send([toAll()]))).toEqual([a.id, b.id, c.id].sort());
    await store().endpoints.update(undefined, a.id, { url: 'https://example.com/moved' }, T0);
    const { leased } = await send([toAll()]);
    const moved = leased.find(({ endpointId }) => endpointId === a.id);
    expect(moved?.target.endpoint.url).toBe('https://example.com/moved');
    await store().endpoints.delete(undefined, b.id, T0);
    const sent = await send([toAll()]);
    expect(sent.inserted).toMatchObject([{ outcome: 'stored', owed: 2 }]);
    expect(endpointsOf(sent)).toEqual([a.id, c.id].sort());
  });

  test('an endpoint that was replaced by another is not mistaken for it', async () => {
    const { a, b } = await prepare();
    await store().endpoints.delete(undefined, b.id, T0);
    const c = await addEndpoint(store(), { tenantId: 'acme' });
    expect(endpointsOf(await send([toAll()]))).toEqual([a.id, c.id].sort());
  });

  test('endpoints of others do not count', async () => {
    const { a, b } = await prepare();
    await addEndpoint(store(), { tenantId: 'other' });
    await addEndpoint(store());
    expect(endpointsOf(await send([toAll()]))).toEqual([a.id, b.id].sort());
  });

  test.each<[string, (endpoint: Endpoint) => Promise<unknown>]>([
    ['is paused', ({ id }) => store().endpoints.pause(undefined, id, 'manual', T0)],
    [
      'has a rate limit',
      ({ id }) => store().endpoints.update(undefined, id, { rateLimit: { perSecond: 1, burst: 9 } }, T0),
    ],
    ['has a bound', ({ id }) => store().endpoints.update(undefined, id, { maxInFlight: 9 }, T0)],
    ['has something due', ({ id }) => addMessage(store(), [id], { tenantId: 'acme' })],
    [
      'asked to be left alone',
      ({ id, url }) => turn(store(), { news: [{ ...news, endpointId: id, url, slowUntil: T0 + 1000 }] }),
    ],
  ])('of an endpoint that %s since nothing is leased, and of the other all', async (_since, change) => {
    const { a, b } = await prepare();
    await change(a);
    const sent = await send([toAll()]);
    expect(sent.inserted).toMatchObject([{ outcome: 'stored', owed: 2 }]);
    expect(endpointsOf(sent)).toEqual([b.id]);
  });

  test('of an endpoint that had a limit from the start nothing is leased, sent to before or not', async () => {
    await addEndpoint(store(), { tenantId: 'acme', maxInFlight: 9 });
    await store().messages.insert([toAll()], false);
    for (const one of await lease(store())) await settle(store(), [settlementOf(one)]);
    expect((await send([toAll()])).leased).toEqual([]);
  });

  test('of a tenant that has a rate limit since nothing is leased', async () => {
    await prepare();
    await store().tenants.set('acme', { rateLimit: { perSecond: 1, burst: 9 } }, T0);
    expect((await send([toAll()])).leased).toEqual([]);
  });

  test('an endpoint that fails since is told to have failed', async () => {
    const { a } = await prepare();
    await turn(store(), { news: [{ ...news, endpointId: a.id, url: a.url, failedAt: T0 }] });
    const { leased } = await send([toAll()]);
    const since = leased.map(({ endpointId, target }) => [endpointId === a.id, target.failingSince]);
    expect(since.sort()).toEqual([
      [false, null],
      [true, T0],
    ]);
  });

  test('a key is stored, and whoever has it is answered', async () => {
    await prepare();
    const keyed = (fingerprint = 'a') => toAll({ idempotencyKey: 'k', fingerprint });
    const first = keyed();
    expect((await send([first])).inserted).toMatchObject([{ outcome: 'stored' }]);
    const again = await send([keyed(), keyed('b')]);
    expect(again.inserted).toMatchObject([
      { outcome: 'duplicate', message: { id: first.id, idempotencyKey: 'k' } },
      { outcome: 'conflict', messageId: first.id },
    ]);
    expect(again.leased).toEqual([]);
    const twice = [toAll({ idempotencyKey: 'l' }), toAll({ idempotencyKey: 'l' })];
    expect((await send(twice)).inserted.map(({ outcome }) => outcome)).toEqual(['stored', 'duplicate']);
    const other = toAll({ idempotencyKey: 'k', tenantId: null });
    expect((await send([other])).inserted).toMatchObject([{ outcome: 'stored' }]);
  });

  test('all or none: a key that is taken keeps the others from being stored', async () => {
    await prepare();
    await send([toAll({ idempotencyKey: 'k', fingerprint: 'a' })]);
    const other = toAll();
    const batch = [other, toAll({ idempotencyKey: 'k', fingerprint: 'b' })];
    await expect(store().messages.insert(batch, true)).rejects.toMatchObject({
      code: 'IDEMPOTENCY_CONFLICT',
    });
    expect(await store().messages.get(undefined, other.id)).toBeNull();
  });

  test('what was made before its tenant was deleted is refused, and the tenant is not made anew', async () => {
    await prepare();
    await store().tenants.delete('acme', positionAt(T0));
    expect((await send([toAll({ createdAt: T0 - 1 })])).inserted).toEqual([{ outcome: 'refused' }]);
    expect(await store().tenants.get('acme')).toBeNull();
    const later = await send([toAll({ createdAt: T0 + 1 })]);
    expect(later.inserted).toMatchObject([{ outcome: 'stored', owed: 0 }]);
    expect(await store().tenants.get('acme')).not.toBeNull();
  });

  test('so is what was made before for a tenant that has no endpoints, and was made anew by a message', async () => {
    const bare = (createdAt: number) => toAll({ tenantId: 'bare', createdAt });
    await send([bare(T0 - 2)]);
    await store().tenants.delete('bare', positionAt(T0));
    expect((await send([bare(T0 + 1)])).inserted).toMatchObject([{ outcome: 'stored' }]);
    expect((await send([bare(T0 - 1)])).inserted).toEqual([{ outcome: 'refused' }]);
  });

  test('a tenant that was deleted and made anew has what is its own', async () => {
    await prepare();
    await store().tenants.delete('acme', positionAt(T0));
    const c = await addEndpoint(store(), { tenantId: 'acme' });
    const early = toAll({ createdAt: T0 - 1 });
    expect((await send([early])).inserted).toEqual([{ outcome: 'refused' }]);
    expect(endpointsOf(await send([toAll({ createdAt: T0 + 1 })]))).toEqual([c.id]);
  });

  test('several tenants and none in one batch have each their own', async () => {
    await prepare();
    const other = await addEndpoint(store(), { tenantId: 'other' });
    const none = await addEndpoint(store());
    const batch = () => [toAll({ tenantId: 'other' }), toAll({ tenantId: null })];
    const first = await send(batch());
    await settle(
      store(),
      first.leased.map((one) => settlementOf(one)),
    );
    for (const sent of [first, await send(batch())])
      expect(sent.leased.map(({ endpointId, message }) => [message.tenantId, endpointId])).toEqual([
        ['other', other.id],
        [null, none.id],
      ]);
  });
}
