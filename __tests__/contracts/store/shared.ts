import type { LeasedDelivery, Store } from '../../../lib/store/store.js';
import type { StoreUnderTest } from '../store.js';
import {
  addEndpoint,
  addMessage,
  addMessages,
  each,
  ENDPOINT_URL,
  lease,
  LEASE_MS,
  newMessage,
  settle,
  settlementOf,
  statusOf,
  T0,
} from './fixtures.js';

export function sharedStoreContract(current: () => StoreUnderTest): void {
  /** Opens a second store over the data and gives it, with the first, to a test; where none can be, there is no test. */
  function sharedTest(title: string, run: (first: Store, second: Store) => Promise<void>): void {
    test(title, async () => {
      const { store, reopen } = current();
      if (!reopen) return;
      const second = await reopen();
      await second.open();
      await run(store, second);
    });
  }

  sharedTest('what one writes the other reads', async (first, second) => {
    const endpoint = await addEndpoint(first, { tenantId: 'acme' });
    expect(await second.endpoints.get('acme', endpoint.id)).toEqual(endpoint);
    await second.endpoints.pause('acme', endpoint.id, 'manual', T0);
    expect(await first.endpoints.get('acme', endpoint.id)).toMatchObject({ status: 'paused' });
  });

  sharedTest(
    'what the other changes of an endpoint holds for the next send and the next lease',
    async (first, second) => {
      const { id } = await addEndpoint(first, { tenantId: 'acme', secret: 'whsec_old' });
      const seen = async () => {
        await addMessage(first, [id], { tenantId: 'acme' });
        const [{ target }] = (await lease(first)) as [LeasedDelivery];
        const [matched] = (await first.endpoints.ofTenants(['acme'])).get('acme')!;
        expect(target.endpoint).toEqual(matched);
        return {
          url: matched?.url,
          status: matched?.status,
          secrets: target.secrets.map(({ secret }) => secret),
        };
      };
      expect(await seen()).toEqual({ url: ENDPOINT_URL, status: 'active', secrets: ['whsec_old'] });
      await second.endpoints.update('acme', id, { url: 'https://example.com/other' }, T0);
      expect(await seen()).toMatchObject({ url: 'https://example.com/other' });
      await second.endpoints.rotateSecret('acme', id, { id: 'sec_new', secret: 'whsec_new' }, T0 + 1000, T0);
      expect(await seen()).toMatchObject({ secrets: ['whsec_new', 'whsec_old'] });
      const change = { id: 'sec_new', endpointId: id, from: 'whsec_new', to: 'sealed' };
      expect(await second.endpoints.replaceSecrets([change])).toBe(1);
      expect(await seen()).toMatchObject({ secrets: ['sealed', 'whsec_old'] });
      await second.endpoints.pause('acme', id, 'manual', T0);
      expect((await first.endpoints.ofTenants(['acme'])).get('acme')).toMatchObject([
        { id, status: 'paused' },
      ]);
      await second.endpoints.resume('acme', id, T0);
      expect(await seen()).toMatchObject({ status: 'active' });
      await second.endpoints.delete('acme', id, T0);
      expect((await first.endpoints.ofTenants(['acme'])).get('acme')).toEqual([]);
    },
  );

  sharedTest('leases that take turns never hand out a delivery twice', async (first, second) => {
    const { id } = await addEndpoint(first);
    const messageIds = await addMessages(first, id, 60);
    const taken: string[] = [];
    for (let turn = 0; turn < 30; turn++) {
      for (const [owner, store] of [
        ['a', first],
        ['b', second],
      ] as const) {
        const leased = await lease(store, { owner, now: T0 + 60, share: each(1) });
        taken.push(...leased.map(({ messageId }) => messageId));
      }
    }
    expect(taken.sort()).toEqual(messageIds);
  });

  sharedTest('a lease is taken over by the other, and the one before is refused', async (first, second) => {
    const { id } = await addEndpoint(first);
    const [messageId] = await addMessages(first, id, 1);
    const [before] = await lease(first, { owner: 'a' });
    expect(await lease(second, { owner: 'b' })).toEqual([]);
    const [after] = await lease(second, { owner: 'b', now: T0 + LEASE_MS });
    expect((await settle(first, [settlementOf(before!)], { owner: 'a' })).refused).toEqual([0]);
    expect((await settle(second, [settlementOf(after!)], { owner: 'b' })).refused).toEqual([]);
    expect(await statusOf(first, messageId!)).toBe('delivered');
  });

  sharedTest('leases at the same moment never hand out a delivery twice', async (first, second) => {
    const { id } = await addEndpoint(first);
    const messageIds = await addMessages(first, id, 60);
    const taken: string[] = [];
    const takeAll = async (owner: string, store: Store): Promise<void> => {
      for (;;) {
        const leased = await lease(store, { owner, now: T0 + 60, share: each(2) });
        if (leased.length === 0) return;
        taken.push(...leased.map(({ messageId }) => messageId));
      }
    };
    await Promise.all([takeAll('a', first), takeAll('b', second), takeAll('c', first)]);
    expect(taken.sort()).toEqual(messageIds);
  });

  sharedTest('an idempotency key decides between them', async (first, second) => {
    const { id } = await addEndpoint(first);
    const inserted = await Promise.all(
      Array.from({ length: 20 }, async (_each, index) => {
        const message = newMessage([id], { idempotencyKey: 'key', fingerprint: 'same' });
        return (await (index % 2 ? first : second).messages.insert([message], false))[0]!;
      }),
    );
    expect(inserted.filter(({ outcome }) => outcome === 'stored')).toHaveLength(1);
    expect(inserted.filter(({ outcome }) => outcome === 'duplicate')).toHaveLength(19);
    const ids = inserted.map((one) => 'message' in one && one.message.id);
    expect(new Set(ids).size).toBe(1);
    expect(await lease(second)).toHaveLength(1);
  });

  sharedTest('rates hold for both together', async (first, second) => {
    const { id } = await addEndpoint(first, { rateLimit: { perSecond: 1, burst: 1 } });
    await addMessages(first, id, 2);
    await lease(first, { now: T0 + 1, share: each(1) });
    let used: number | null | undefined;
    await lease(second, {
      now: T0 + 1,
      share(lanes) {
        used = lanes[0]?.rateUsed;
        return { quotas: new Map(), nextAt: null };
      },
    });
    expect(used).toBe(T0 + 1001);
  });
}
