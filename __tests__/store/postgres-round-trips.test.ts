import { Pool, type PoolClient } from 'pg';
import { postgresStore } from '../../lib/store/postgres.js';
import type { NewMessage, Store } from '../../lib/store/store.js';
import {
  addEndpoint,
  each,
  LEASE_MS,
  newMessage,
  positionAt,
  T0,
  turn,
} from '../contracts/store/fixtures.js';
import { onCleanUp } from '../support/clean-up.js';
import { createDatabase } from '../support/postgres/database.js';
import { waitFor } from '../support/wait-for.js';

/** A store over a pool of its own, and how often something was asked of it when nothing was unanswered. */
async function counted(pipeline: boolean) {
  const { url } = await createDatabase('test');
  const pool = new Pool({ connectionString: url, ...{ pipeline } });
  const counts = { trips: 0, unanswered: 0 };
  pool.on('connect', (client: PoolClient) => {
    const query = client.query.bind(client) as (...given: unknown[]) => Promise<unknown>;
    client.query = ((...given: unknown[]) => {
      // Every few seconds the clock of the database is asked for as well.
      if ((given[0] as { text?: string }).text?.includes('clock_timestamp')) return query(...given);
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

type Insert = Parameters<Store['messages']['insert']>;

/** How many round trips each send takes. */
async function openCounted(pipeline: boolean) {
  const { store, counts } = await counted(pipeline);
  const tripsOf = async (messages: Insert[0], lease?: Insert[2]) => {
    // What only read ends its transaction after it has answered.
    await waitFor(() => counts.unanswered === 0);
    counts.trips = 0;
    const inserted = await store.messages.insert(messages, false, lease);
    expect(inserted.map((one) => one.outcome === 'stored' && one.owed)).toEqual(messages.map(() => 1));
    return counts.trips;
  };
  const all = () => [toAll('acme'), toAll('beta'), toAll(null)];
  // The endpoints are read, the tenants were not used before, and how their lanes are is not known.
  await tripsOf(all(), LEASE);
  return { store, tripsOf, all };
}

const keyed = (key: string) => [toAll('acme', { idempotencyKey: key })];

test('a send takes one round trip where the driver pipelines and all is as it was: leased or not, with a key or none', async () => {
  const { tripsOf, all } = await openCounted(true);
  expect(await tripsOf([toAll('acme')])).toBe(1);
  expect(await tripsOf(all())).toBe(1);
  expect(await tripsOf(keyed('a'))).toBe(1);
});

test('a send that is leased takes one as well', async () => {
  const { tripsOf, all } = await openCounted(true);
  expect(await tripsOf([toAll(null)], LEASE)).toBe(1);
  expect(await tripsOf(all(), LEASE)).toBe(1);
  expect(await tripsOf(keyed('a'), LEASE)).toBe(1);
});

test('a send takes two more where something has changed, and one again after that', async () => {
  const { store, tripsOf } = await openCounted(true);
  const list = { tenant: 'acme', status: undefined, after: null, limit: 1 };
  const [endpoint] = (await store.endpoints.list(list)).rows;
  await store.endpoints.update(undefined, endpoint!.id, { description: 'changed' }, T0);
  // The endpoint is read in a round trip of its own.
  expect(await tripsOf([toAll('acme')])).toBe(4);
  expect(await tripsOf([toAll('acme')])).toBe(1);
});

test('a leased send takes two where its lane is known to have something due', async () => {
  const { store, tripsOf } = await openCounted(true);
  await store.messages.insert([toAll('acme')], false);
  const leased = async () => {
    const [inserted] = await store.messages.insert([toAll('acme')], false, LEASE);
    return inserted?.outcome === 'stored' && inserted.leased.length;
  };
  expect(await leased()).toBe(0);
  expect(await tripsOf([toAll('acme')], LEASE)).toBe(2);
});

test('a leased send takes two for as long as its endpoint fails', async () => {
  const { store, tripsOf } = await openCounted(true);
  const list = { tenant: 'acme', status: undefined, after: null, limit: 1 };
  const [endpoint] = (await store.endpoints.list(list)).rows;
  const failing = { endpointId: endpoint!.id, url: endpoint!.url, failedAt: T0 };
  await turn(store, {
    news: [{ ...failing, slowUntil: null, slowStep: 0, pause: null, succeeded: false }],
  });
  // The first finds out.
  expect(await tripsOf([toAll('acme')], LEASE)).toBe(3);
  expect(await tripsOf([toAll('acme')], LEASE)).toBe(2);
});

test('a send to a tenant that was deleted and made anew takes one', async () => {
  const { store, tripsOf } = await openCounted(true);
  await store.tenants.delete('acme', positionAt(T0 - 1));
  await addEndpoint(store, { tenantId: 'acme' });
  const later = () => [toAll('acme', { createdAt: T0 + 1 })];
  await tripsOf(later());
  expect(await tripsOf(later())).toBe(1);
});

test('what names its endpoints itself takes two, as hooks do, and many messages three', async () => {
  const { store, tripsOf } = await openCounted(true);
  expect(await tripsOf(Array.from({ length: 65 }, () => toAll('acme')))).toBe(3);
  const list = { tenant: 'acme', status: undefined, after: null, limit: 1 };
  const [endpoint] = (await store.endpoints.list(list)).rows;
  expect(await tripsOf([newMessage([endpoint!.id], { tenantId: 'acme' })])).toBe(2);
});

test('a send asks one by one where the driver does not pipeline', async () => {
  const { store, tripsOf } = await openCounted(false);
  // Beginning, rows, end.
  expect(await tripsOf([toAll('acme')])).toBe(3);
  await addEndpoint(store, { tenantId: 'gamma' });
  // Beginning, tenants, deletions, endpoints, what was not known of them, rows, end.
  expect(await tripsOf([toAll('gamma')])).toBe(7);
});
