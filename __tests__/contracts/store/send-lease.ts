import type { InsertedMessage, Lane, LeasedDelivery, NewMessage, Store } from '../../../lib/store/store.js';
import {
  addEndpoint,
  addMessage,
  deliveryOf,
  each,
  lease,
  LEASE_MS,
  newMessage,
  release,
  settle,
  settlementOf,
  T0,
  turn,
} from './fixtures.js';

export function sendLeaseContract(store: () => Store): void {
  async function send(
    messages: readonly NewMessage[],
    {
      share = each(),
      now = T0,
      most = 1000,
    }: { share?: ReturnType<typeof each>; now?: number; most?: number } = {},
  ): Promise<{ inserted: InsertedMessage[]; leased: LeasedDelivery[] }> {
    const asked = { owner: 'worker', now, leaseMs: LEASE_MS, most, share };
    const inserted = await store().messages.insert(messages, false, asked);
    return { inserted, leased: inserted.flatMap((one) => (one.outcome === 'stored' ? one.leased : [])) };
  }

  describe('a lease of what is sent', () => {
    test('is the one that a turn would have given', async () => {
      const { id } = await addEndpoint(store(), { tenantId: 'acme', headers: { a: 'b' }, timeoutMs: 5000 });
      const message = newMessage([id], { tenantId: 'acme', channels: ['eu'], traceContext: '00-a-b-01' });
      const { leased } = await send([message]);
      expect(leased).toHaveLength(1);
      await release(store(), leased);
      const [taken] = await lease(store());
      expect(taken).toEqual({ ...leased[0], fence: 2 });
      expect(leased[0]!.fence).toBe(1);
    });

    test('is given of what it is found to be owed to while it is stored', async () => {
      const a = await addEndpoint(store(), { tenantId: 'acme' });
      await addEndpoint(store(), { tenantId: 'acme' });
      const chooses = newMessage([], {
        tenantId: 'acme',
        owedTo: (ofTenant) => ofTenant.map(({ id }) => id).filter((id) => id === a.id),
      });
      const { inserted, leased } = await send([chooses]);
      expect(inserted).toMatchObject([{ outcome: 'stored', owed: 1 }]);
      expect(leased).toMatchObject([{ messageId: chooses.id, endpointId: a.id, fence: 1 }]);
    });

    test('has a message choose once where the endpoints are those of the last time', async () => {
      await addEndpoint(store(), { tenantId: 'acme' });
      let asked = 0;
      const choosing = () =>
        newMessage([], {
          tenantId: 'acme',
          owedTo(ofTenant) {
            asked += 1;
            return ofTenant.map(({ id }) => id);
          },
        });
      await send([choosing()]);
      asked = 0;
      await send([choosing(), choosing()]);
      expect(asked).toBe(2);
    });

    test('is of nothing where more is owed than there are requests', async () => {
      for (let made = 0; made < 3; made++) await addEndpoint(store(), { tenantId: 'acme' });
      const all = () =>
        newMessage([], { tenantId: 'acme', owedTo: (ofTenant) => ofTenant.map(({ id }) => id) });
      // Of the first it is not known before what it is owed to.
      for (const [most, leased] of [
        [2, 0],
        [2, 0],
        [3, 3],
      ] as const) {
        const sent = await send([all()], { most });
        expect(sent.inserted).toMatchObject([{ outcome: 'stored', owed: 3 }]);
        expect(sent.leased).toHaveLength(leased);
        for (const one of await lease(store())) await settle(store(), [settlementOf(one)]);
      }
    });

    test('is given by what the endpoints are, though others were known the last time', async () => {
      const settings = { tenantId: 'acme' };
      const a = await addEndpoint(store(), settings);
      const sendToAll = async () => {
        const all = newMessage([], { ...settings, owedTo: (ofTenant) => ofTenant.map(({ id }) => id) });
        const { leased } = await send([all]);
        // So that nothing is due to them the next time.
        for (const one of leased) await settle(store(), [settlementOf(one)]);
        return leased.map(({ endpointId, target }) => [endpointId, target.endpoint.url]).sort();
      };
      expect(await sendToAll()).toEqual([[a.id, a.url]]);
      const b = await addEndpoint(store(), settings);
      expect(await sendToAll()).toEqual(
        [
          [a.id, a.url],
          [b.id, b.url],
        ].sort(),
      );
      await store().endpoints.update(undefined, a.id, { url: 'https://example.com/moved' }, T0);
      expect(await sendToAll()).toEqual(
        [
          [a.id, 'https://example.com/moved'],
          [b.id, b.url],
        ].sort(),
      );
      await store().endpoints.pause(undefined, a.id, 'gone', T0);
      expect(await sendToAll()).toEqual([[b.id, b.url]]);
      await store().endpoints.delete(undefined, b.id, T0);
      expect(await sendToAll()).toEqual([]);
    });

    test('holds until it ends, keeps others from it, and is settled like any', async () => {
      const { id } = await addEndpoint(store());
      const [first, second] = [newMessage([id]), newMessage([id])];
      const { leased } = await send([first, second]);
      expect(leased.map(({ messageId }) => messageId)).toEqual([first.id, second.id]);
      expect(await lease(store(), { owner: 'other', now: T0 + LEASE_MS - 1 })).toEqual([]);
      expect((await settle(store(), [settlementOf(leased[0]!)])).refused).toEqual([]);
      expect(await deliveryOf(store(), first.id, id)).toMatchObject({ status: 'delivered', attemptCount: 1 });
      const later = { owner: 'other', now: T0 + LEASE_MS };
      expect(await lease(store(), later)).toMatchObject([{ messageId: second.id, fence: 2, takeovers: 1 }]);
      expect((await settle(store(), [settlementOf(leased[1]!)])).refused).toEqual([0]);
    });

    test('lasts longer than the deadline of an endpoint that has its own', async () => {
      const { id } = await addEndpoint(store(), { timeoutMs: LEASE_MS });
      await send([newMessage([id])]);
      expect(await lease(store(), { owner: 'other', now: T0 + LEASE_MS + 1000 })).toEqual([]);
    });

    test('is of as many of a lane as it is given, the first of them, and the rest waits', async () => {
      const { id } = await addEndpoint(store());
      const messages = [newMessage([id]), newMessage([id]), newMessage([id])];
      const { leased } = await send(messages, { share: each(2) });
      expect(leased.map(({ messageId }) => messageId)).toEqual(messages.slice(0, 2).map((one) => one.id));
      expect(await lease(store())).toMatchObject([{ messageId: messages[2]!.id, fence: 1 }]);
    });

    test('is asked for lanes that say how much there is to give', async () => {
      const [a, b] = [await addEndpoint(store()), await addEndpoint(store())];
      let shown: readonly Lane[] = [];
      await send([newMessage([a.id, b.id]), newMessage([a.id])], {
        share(lanes) {
          shown = lanes;
          return { quotas: new Map(), nextAt: null };
        },
      });
      const counts = shown.map(({ endpointId, waiting }) => [endpointId, waiting]);
      expect(new Map(counts as [string, number][])).toEqual(
        new Map([
          [a.id, 2],
          [b.id, 1],
        ]),
      );
      expect(await lease(store())).toHaveLength(3);
    });

    test('is not given where something is due already, which comes first', async () => {
      const { id } = await addEndpoint(store());
      await addMessage(store(), [id]);
      expect((await send([newMessage([id])])).leased).toEqual([]);
      await lease(store());
      // Nothing waits any more; what is leased does not count.
      expect((await send([newMessage([id])])).leased).toHaveLength(1);
    });

    test('is given where what waits is not due yet', async () => {
      const { id } = await addEndpoint(store());
      await addMessage(store(), [id], { createdAt: T0 + 1 });
      expect((await send([newMessage([id])])).leased).toHaveLength(1);
    });

    test.each([
      ['that is paused', { pause: true }],
      ['with a rate limit', { rateLimit: { perSecond: 5, burst: 5 } }],
      ['with a bound on what is in flight', { maxInFlight: 5 }],
      ['whose tenant has a rate limit', { tenantId: 'limited' }],
    ])('is not given to an endpoint %s', async (_which, { pause, ...fixture }: Record<string, unknown>) => {
      await store().tenants.set('limited', { rateLimit: { perSecond: 1, burst: 2 } }, T0);
      const { id, tenantId } = await addEndpoint(store(), fixture);
      if (pause) await store().endpoints.pause(undefined, id, 'manual', T0);
      expect((await send([newMessage([id], { tenantId })])).leased).toEqual([]);
    });

    test('is not given to an endpoint that has asked to be left alone', async () => {
      const { id, url } = await addEndpoint(store());
      const slow = { slowUntil: T0 + 1000, slowStep: 0, failedAt: T0, pause: null, succeeded: false };
      await turn(store(), { news: [{ endpointId: id, url, ...slow }] });
      expect((await send([newMessage([id])])).leased).toEqual([]);
    });

    test('is not given to what is not stored, nor to an endpoint that is gone', async () => {
      const { id } = await addEndpoint(store());
      const keyed = () => newMessage([id], { idempotencyKey: 'k', fingerprint: 'a' });
      expect((await send([keyed()])).leased).toHaveLength(1);
      const again = await send([keyed(), { ...keyed(), fingerprint: 'b' }]);
      expect(again.inserted.map(({ outcome }) => outcome)).toEqual(['duplicate', 'conflict']);
      expect(again.leased).toEqual([]);
      await store().endpoints.delete(undefined, id, T0);
      expect(await send([newMessage([id])])).toMatchObject({
        inserted: [{ message: { status: 'unrouted' } }],
        leased: [],
      });
    });
  });
}
