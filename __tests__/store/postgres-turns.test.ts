import { postgresStore } from '../../lib/store/postgres.js';
import type { Store } from '../../lib/store/store.js';
import {
  addEndpoint,
  addMessages,
  each,
  lease,
  LEASE_MS,
  settlementOf,
  statusOf,
  T0,
  turn,
} from '../contracts/store/fixtures.js';
import { onCleanUp } from '../support/clean-up.js';
import { createDatabase } from '../support/postgres/database.js';

async function openStore(): Promise<Store> {
  const { url } = await createDatabase();
  const store = postgresStore({ connectionString: url });
  onCleanUp('test', 'sender', () => store.close());
  await store.open();
  return store;
}

describe('a turn that settles and leases at the same time', () => {
  test('gives back what it has leased when what it settles is not recorded', async () => {
    const store = await openStore();
    const { id } = await addEndpoint(store);
    const [, second] = await addMessages(store, id, 2);
    const [first] = await lease(store, { share: each(1) });
    const settlement = settlementOf(first!, { attemptCount: 1e300 });
    const given = { now: T0 + 1, settlements: [settlement], apart: true };
    await expect(turn(store, { ...given, lease: { leaseMs: LEASE_MS, share: each() } })).rejects.toThrow();
    expect(await lease(store, { owner: 'other', now: T0 + 1 })).toMatchObject([{ messageId: second }]);
  });

  test('tells what it has settled when it cannot lease, and is to be followed by another at once', async () => {
    const store = await openStore();
    const { id } = await addEndpoint(store);
    const [first, second] = await addMessages(store, id, 2);
    const settlements = (await lease(store, { share: each(1) })).map((one) => settlementOf(one));
    const share = () => {
      throw new Error('nobody knows whose turn it is');
    };
    const given = { now: T0 + 1, settlements, apart: true };
    const result = await turn(store, { ...given, lease: { leaseMs: LEASE_MS, share } });
    expect(result).toMatchObject({ refused: [], leased: [], nextAt: T0 + 1 });
    expect(await statusOf(store, first!)).toBe('delivered');
    expect(await lease(store, { now: T0 + 1 })).toMatchObject([{ messageId: second }]);
  });

  test('says that both have failed by what kept it from settling', async () => {
    const store = await openStore();
    await store.close();
    const settlement = {
      messageId: 'msg_a',
      endpointId: 'ep_a',
      fence: 1,
      status: 'delivered' as const,
      dueAt: T0,
      attemptCount: 1,
      scheduleStep: 0,
      lastError: null,
      lost: false,
      attempt: null,
    };
    const given = { settlements: [settlement], apart: true, lease: { leaseMs: LEASE_MS, share: each() } };
    await expect(turn(store, given)).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' });
  });
});
