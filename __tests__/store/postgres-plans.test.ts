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

test('rows are settled without a walk over what is owed where statistics say that nothing is ever owed', async () => {
  const { store, analyze, plansOf } = await planPostgres();
  const { id } = await addEndpoint(store);
  for (let index = 0; index < 50; index++) await addMessage(store, [id]);
  await turn(store, { now: T0, settlements: (await leaseAll(store)).map((leased) => settlementOf(leased)) });
  await analyze();
  await addMessage(store, [id]);
  const settlements = (await leaseAll(store)).map((leased) => settlementOf(leased));
  const plans = (await plansOf(() => turn(store, { now: T0, settlements }))).join('\n');
  expect(settlements).toHaveLength(1);
  for (const table of ['messages', 'deliveries']) expect(plans).toContain(`Update on hookplane_${table}`);
  expect(plans).not.toMatch(/hookplane_(deliveries_expiring|deliveries_due|messages_undelivered)/);
});
