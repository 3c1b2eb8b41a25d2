import { Pool, type PoolClient } from 'pg';
import { postgresStore } from '../../lib/store/postgres.js';
import type { NewMessage, Store } from '../../lib/store/store.js';
import { addEndpoint, each, LEASE_MS, newMessage, T0 } from '../contracts/store/fixtures.js';
import { onCleanUp } from '../support/clean-up.js';
import { createDatabase } from '../support/postgres/database.js';

/** A store over a pool of its own, and how often something was asked of it when nothing was unanswered. */
async function counted(pipeline: boolean) {
  const { url } = await createDatabase('test');
  const pool = new Pool({ connectionString: url, ...{ pipeline } });
  const counts = { trips: 0, unanswered: 0 };
  pool.on('connect', (client: PoolClient) => {
    const query = client.query.bind(client) as (...given: unknown[]) => Promise<unknown>;
    client.query = ((...given: unknown[]) => {
      if (counts.unanswered === 0) counts.trips += 1;
      counts.unanswered += 1;
      return query(...given).finally(() => {
        counts.unanswered -= 1;
      });
    }) as typeof client.query;
  });
  const store = postgresStore({ pool, listen: false });
  onCleanUp('test', 'sender', async () => {
    await store.close();
    await pool.end();
  });
  await store.open();
  for (const tenantId of ['acme', 'beta', null]) await addEndpoint(store, { tenantId });
  return { store, counts };
}

const toAll = (tenantId: string | null, fixture: Partial<NewMessage> = {}) =>
  newMessage([], { tenantId, owedTo: (ofTenant) => ofTenant.map(({ id }) => id), ...fixture });

const LEASE = { owner: 'worker', now: T0, leaseMs: LEASE_MS, most: 10, share: each() };

test('a send takes two round trips where the driver pipelines, leased or not, and one with a key four', async () => {
  const { store, counts } = await counted(true);
  const tripsOf = async (...[messages, , lease]: Parameters<Store['messages']['insert']>) => {
    counts.trips = 0;
    const inserted = await store.messages.insert(messages, false, lease);
    expect(inserted.map((one) => one.outcome === 'stored' && one.owed)).toEqual(messages.map(() => 1));
    return counts.trips;
  };
  const all = () => [toAll('acme'), toAll('beta'), toAll(null)];
  // The endpoints are read, and the tenants were not used before.
  await tripsOf(all(), false);
  expect(await tripsOf([toAll('acme')], false)).toBe(2);
  expect(await tripsOf([toAll(null)], false, LEASE)).toBe(2);
  expect(await tripsOf(all(), false, LEASE)).toBe(2);
  // Who has the key is known before anything else is written.
  expect(await tripsOf([toAll('acme', { idempotencyKey: 'a' })], false)).toBe(4);
});

test('a send asks one by one where it does not', async () => {
  const { store, counts } = await counted(false);
  await store.messages.insert([toAll('acme')], false);
  counts.trips = 0;
  await store.messages.insert([toAll('acme')], false);
  // Beginning, tenants, deletions, endpoints, rows, end.
  expect(counts.trips).toBe(6);
});
