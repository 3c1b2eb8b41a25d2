import { Pool } from 'pg';
import { postgresStore } from '../../lib/store/postgres.js';
import type { LeasedDelivery, MessageQuery, Store } from '../../lib/store/store.js';
import {
  addEndpoint,
  addMessage,
  each,
  LEASE_MS,
  newMessage,
  positionAt,
  settlementOf,
  T0,
  turn,
} from '../contracts/store/fixtures.js';
import { onCleanUp } from '../support/clean-up.js';
import { createDatabase } from '../support/postgres/database.js';
import { planPostgres } from './plans.js';

const leaseAll = async (store: Store): Promise<LeasedDelivery[]> =>
  (await turn(store, { now: T0, lease: { leaseMs: LEASE_MS, share: each() } })).leased;

test('where statistics say that nothing is ever owed, no turn goes over all that is', async () => {
  const { store, analyze, plansOf } = await planPostgres();
  const { id } = await addEndpoint(store);
  for (let index = 0; index < 50; index++) await addMessage(store, [id]);
  await turn(store, { now: T0, settlements: (await leaseAll(store)).map((leased) => settlementOf(leased)) });
  await analyze();
  await addMessage(store, [id]);
  let leased: LeasedDelivery[] = [];
  const leasing = (await plansOf(async () => (leased = await leaseAll(store)))).join('\n');
  const settlements = leased.map((each) => settlementOf(each));
  const settling = (await plansOf(() => turn(store, { now: T0, settlements }))).join('\n');
  expect(settlements).toHaveLength(1);
  expect(leasing).toContain('using hookplane_deliveries_due');
  for (const table of ['messages', 'deliveries']) expect(settling).toContain(`Update on hookplane_${table}`);
  expect(leasing + settling).not.toMatch(/hookplane_(deliveries_expiring|messages_undelivered)/);
});

test('what is newest of a tenant or an endpoint, and what a deleted tenant has left, is not looked for among all', async () => {
  const { store, analyze, plansOf } = await planPostgres();
  const others = await addEndpoint(store, { tenantId: 'other' });
  const { id } = await addEndpoint(store, { tenantId: 'acme' });
  const messages = Array.from({ length: 3000 }, (_, index) =>
    index % 3 > 0 && index < 2400
      ? newMessage([id], { tenantId: 'acme', createdAt: T0 + index })
      : newMessage([others.id], { tenantId: 'other', createdAt: T0 + index }),
  );
  await store.messages.insert(messages, true);
  await analyze();
  const query = { types: undefined, statuses: undefined, since: undefined, until: undefined, after: null };
  const listing = await plansOf(() =>
    store.messages.list({ ...query, tenant: 'acme', endpointId: id, limit: 9 }),
  );
  const deleting = await plansOf(() => store.tenants.delete('acme', positionAt(T0 + 3000)));
  const purging = await plansOf(() => store.tenants.purge(T0));
  expect(listing[0]).toContain('using hookplane_deliveries_by_endpoint on');
  const ofTenant = [...deleting, ...purging].filter((plan) =>
    /^Limit[\s\S]* on hookplane_messages\n/.test(plan),
  );
  expect(ofTenant).toHaveLength(3);
  for (const plan of ofTenant) expect(plan).toContain('using hookplane_messages_by_tenant on');
});

test('what expires is found by its time', async () => {
  const { store, plansOf } = await planPostgres();
  expect((await plansOf(() => store.outbox.expire(T0, 10)))[0]).toContain(
    'using hookplane_deliveries_expiring',
  );
});

test('messages of an endpoint are looked up one by one, however few of all are believed to be wanted', async () => {
  const { store, analyze, plansOf } = await planPostgres();
  const endpoints = await Promise.all([1, 2, 3].map(() => addEndpoint(store, { tenantId: 'acme' })));
  const owed = endpoints.map(({ id }) => id);
  const messages = Array.from({ length: 500 }, (_, index) =>
    newMessage(owed, { tenantId: 'acme', createdAt: T0 + index }),
  );
  await store.messages.insert(messages, true);
  await analyze();
  const query: MessageQuery = {
    ...{ tenant: 'acme', types: ['invoice.paid'], statuses: ['delivered'], endpointId: owed[0] },
    ...{ since: undefined, until: undefined, after: null, limit: 100 },
  };
  const plan = (await plansOf(() => store.messages.list(query))).join('\n');
  expect(plan).not.toContain('Materialize');
  expect(plan).toMatch(
    /using hookplane_messages_pkey on hookplane_messages m\n *Index Cond: \(id = d.message_id\)/,
  );
});

test('a page of a list is planned once for whatever values, and is read by one process', async () => {
  const { url: connectionString } = await createDatabase();
  const pool = new Pool({ connectionString, max: 1, options: '-c debug_parallel_query=on' });
  const store = postgresStore({ pool, listen: false });
  onCleanUp('test', 'sender', async () => {
    await store.close();
    await pool.end();
  });
  await store.open();
  const first = async (text: string) => (await pool.query(text)).rows[0];
  const processes = async () => {
    await first('select pg_stat_force_next_flush()');
    return first(`select parallel_workers_to_launch as started from pg_stat_database
      where datname = current_database()`);
  };

  const before = await processes();
  for (const type of ['a', 'b', 'c', 'd']) {
    const query: MessageQuery = {
      ...{ tenant: undefined, since: undefined, until: undefined, after: null, limit: 9 },
      ...{ types: [type, 'e'], statuses: ['pending', 'failed'], endpointId: 'ep_a' },
    };
    await store.messages.list(query);
  }
  expect(await processes()).toEqual(before);
  const plans = await first(`select sum(custom_plans)::int as custom, sum(generic_plans)::int as generic
    from pg_prepared_statements where statement like '%hookplane_messages%'`);
  // The first time it is not prepared yet, of two statements.
  expect(plans).toEqual({ custom: 0, generic: 6 });
});
