import { Pool } from 'pg';
import { postgresStore } from '../../lib/store/postgres.js';
import type { Store } from '../../lib/store/store.js';
import {
  addEndpoint,
  addMessages,
  each,
  lease,
  LEASE_MS,
  newMessage,
  settlementOf,
  statusOf,
  T0,
  turn,
} from '../contracts/store/fixtures.js';
import { onCleanUp } from '../support/clean-up.js';
import { createDatabase } from '../support/postgres/database.js';
import { eventually } from '../support/wait-for.js';

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

  test('leases with what it settles after it could not lease, so that it is told of', async () => {
    const store = await openStore();
    const { id } = await addEndpoint(store);
    const [first] = await addMessages(store, id, 3);
    const leased = await lease(store, { now: T0 + 2, share: each(2) });
    const share = () => {
      throw new Error('nobody knows whose turn it is');
    };
    const settle = (index: number) =>
      turn(store, {
        settlements: [settlementOf(leased[index]!)],
        apart: true,
        lease: { leaseMs: LEASE_MS, share },
      });
    await settle(0);
    await expect(settle(1)).rejects.toThrow('nobody knows whose turn it is');
    expect(await statusOf(store, first!)).toBe('delivered');
    expect(await statusOf(store, leased[1]!.messageId)).toBe('pending');
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

test.each([
  ['', false],
  [' that is like the one before', true],
])('a send%s whose answer is lost gives back what it has leased', async (_which, isAgain) => {
  const { url } = await createDatabase();
  const pool = new Pool({ connectionString: url });
  let isLost = false;
  const connect = async () => {
    const client = await pool.connect();
    return Object.assign(Object.create(client), {
      async query(query: { text: string }) {
        const answer = await client.query(query);
        if (isLost && query.text === 'commit') {
          isLost = false;
          throw new Error('the connection was lost');
        }
        return answer;
      },
      release: () => client.release(),
    });
  };
  const store = postgresStore({
    pool: {
      connect,
      end: () => pool.end(),
      on: pool.on.bind(pool),
      off: pool.off.bind(pool),
    },
  });
  onCleanUp('test', 'sender', () => store.close().then(() => pool.end()));
  await store.open();
  const { id } = await addEndpoint(store);
  const asked = { owner: 'worker', now: T0, leaseMs: LEASE_MS, most: 1, share: each() };
  const message = () => newMessage([], { owedTo: isAgain ? () => [id] : [id] });
  await store.messages.insert([message()], false, asked);
  isLost = true;
  await expect(store.messages.insert([message()], false, asked)).rejects.toThrow();
  await eventually(async () => expect(await lease(store, { owner: 'other' })).toHaveLength(1));
});
