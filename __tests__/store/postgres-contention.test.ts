import { Client } from 'pg';
import { postgresStore } from '../../lib/store/postgres.js';
import type { Lane, Shares, Store } from '../../lib/store/store.js';
import { addEndpoint, addMessage, each, LEASE_MS, T0, turn } from '../contracts/store/fixtures.js';
import { onCleanUp } from '../support/clean-up.js';
import { createDatabase } from '../support/postgres/database.js';
import { eventually } from '../support/wait-for.js';

// A worker that finds less than it had hoped for, because another was there first, looks again at once.

const NOTHING: Shares = { quotas: new Map(), nextAt: null };
const SOON = { from: T0 + 100, to: T0 + 150 };

async function open(): Promise<{ store: Store; url: string }> {
  const { url } = await createDatabase('test');
  const store = postgresStore({ connectionString: url });
  onCleanUp('test', 'sender', () => store.close());
  await store.open();
  return { store, url };
}

const leaseBy = (store: Store, share: (lanes: readonly Lane[]) => Shares) =>
  turn(store, { now: T0 + 100, lease: { leaseMs: LEASE_MS, share } });

function expectSoon(nextAt: number | null): void {
  expect(nextAt).toBeGreaterThan(SOON.from);
  expect(nextAt).toBeLessThan(SOON.to);
}

test('when a limit is used up between its first reading and its lock', async () => {
  const { store } = await open();
  const { id } = await addEndpoint(store, { maxInFlight: 1 });
  await addMessage(store, [id]);
  const shown: (readonly Lane[])[] = [];
  const { leased, nextAt } = await leaseBy(store, (lanes) => {
    shown.push(lanes);
    return shown.length === 1 ? each(1)(lanes) : NOTHING;
  });
  expect(shown).toMatchObject([[{ endpointId: id }], [{ endpointId: id }]]);
  expect(leased).toEqual([]);
  expectSoon(nextAt);
});

test('when another transaction has all that was due', async () => {
  const { store, url } = await open();
  const { id } = await addEndpoint(store);
  await addMessage(store, [id]);
  const other = new Client({ connectionString: url });
  await other.connect();
  onCleanUp('test', 'sender', () => other.end());
  await other.query('begin; select from hookplane.hookplane_deliveries for update');
  const { leased, nextAt } = await leaseBy(store, each(1));
  expect(leased).toEqual([]);
  expectSoon(nextAt);
  await other.query('commit');
  expect((await leaseBy(store, each(1))).leased).toHaveLength(1);
});

test('what a turn gives back and does not take again is announced to others, and what it takes again is not', async () => {
  const { store, url } = await open();
  const { id } = await addEndpoint(store);
  await addMessage(store, [id]);
  const other = postgresStore({ connectionString: url });
  onCleanUp('test', 'sender', () => other.close());
  await other.open();
  let woken = 0;
  other.outbox.onWake!(() => {
    woken += 1;
  });
  // It listens.
  await eventually(() => expect(woken).toBe(1));
  const release = (await leaseBy(store, each(1))).leased;
  const again = await turn(store, { now: T0 + 100, release, lease: { leaseMs: LEASE_MS, share: each(1) } });
  expect(again.leased).toHaveLength(1);
  await turn(store, {
    now: T0 + 100,
    release: again.leased,
    lease: { leaseMs: LEASE_MS, share: () => NOTHING },
  });
  await eventually(() => expect(woken).toBe(2));
});
