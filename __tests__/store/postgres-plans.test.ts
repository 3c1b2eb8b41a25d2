import type { LeasedDelivery, Store } from '../../lib/store/store.js';
import {
  addEndpoint,
  addMessage,
  each,
  LEASE_MS,
  settlementOf,
  T0,
  turn,
} from '../contracts/store/fixtures.js';
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

test('what expires is found by its time', async () => {
  const { store, plansOf } = await planPostgres();
  expect((await plansOf(() => store.outbox.expire(T0, 10)))[0]).toContain(
    'using hookplane_deliveries_expiring',
  );
});
