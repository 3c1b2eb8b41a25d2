import type { Store } from '../../lib/store/store.js';
import { addEndpoint, addMessage, finish, newMessage, positionAt, T0 } from '../contracts/store/fixtures.js';
import { planSqlite } from './plans.js';

test('durations are counted from the index alone, whose entries are those of the range', async () => {
  const { store, plansOf } = await planSqlite();
  const range = { endpointId: 'ep_a', since: T0, until: T0 + 1, stepMs: 60_000 };
  const [plan] = await plansOf(() => store.endpoints.durations(range));
  expect(plan).toMatch(
    /^SEARCH a USING COVERING INDEX hookplane_attempts_by_endpoint \(endpoint_id=\? AND id>\? AND id<\?\)/,
  );
});

test('durations of all endpoints are counted from the index alone, endpoint by endpoint', async () => {
  const { store, plansOf } = await planSqlite();
  for (let index = 0; index < 2; index++) await addEndpoint(store, { tenantId: 'acme' });
  const range = { since: T0, until: T0 + 1, stepMs: 60_000, limit: 1, most: 9 };
  for (const [tenant, indexOf] of [
    ['acme', (table: string) => `${table}_by_tenant`],
    [undefined, (table: string) => `sqlite_autoindex_${table}_1`],
  ] as const) {
    const after = { ms: T0 - 1, id: 'ep_a' };
    const [last, counted] = await plansOf(() => store.endpoints.durationsOfAll({ ...range, tenant, after }));
    for (const plan of [last, counted]) {
      for (const table of ['hookplane_endpoints', 'hookplane_deleted_endpoints'])
        expect(plan).toMatch(new RegExp(`SEARCH ${table} USING COVERING INDEX ${indexOf(table)} `));
    }
    expect(last).not.toMatch(/TEMP B-TREE/);
    expect(counted).toMatch(
      /SEARCH a USING COVERING INDEX hookplane_attempts_by_endpoint \(endpoint_id=\? AND id>\? AND id<\?\)/,
    );
  }
});

test('what is owed is counted from the index of it alone, and its samples are read and removed by their time', async () => {
  const { store, plansOf } = await planSqlite();
  const ofOwed = /SEARCH hookplane_deliveries USING COVERING INDEX hookplane_deliveries_due /;
  const [depth] = await plansOf(() => store.outbox.depth(undefined));
  expect(depth).toMatch(ofOwed);
  for (const { id } of [await addEndpoint(store), await addEndpoint(store)]) await addMessage(store, [id]);
  const counted = await plansOf(async () => {
    const { next } = await store.depths.owed(null, 1);
    await store.depths.owed(next, 1);
  });
  expect(counted.length).toBeGreaterThanOrEqual(3);
  for (const plan of counted) {
    expect(plan).toMatch(ofOwed);
    expect(plan).not.toMatch(
      /SCAN e\b|SCAN hookplane_(?!deliveries USING INDEX hookplane_deliveries_leased)/,
    );
  }
  const range = { since: T0, until: T0 + 1, stepMs: 60_000 };
  for (const plan of await plansOf(() => store.depths.highest({ tenant: 'acme', ...range })))
    expect(plan).toMatch(
      /SEARCH hookplane_depth_samples USING PRIMARY KEY \(tenant_id=\? AND at>\? AND at<\?\)/,
    );
  const [removal] = await plansOf(() => store.depths.removeBefore(T0));
  expect(removal).toMatch(/USING COVERING INDEX hookplane_depth_samples_by_time \(at<\?\)/);
  expect(removal).not.toMatch(/SCAN hookplane/);
});

test('expunging looks at nothing but the message', async () => {
  const { store, plansOf } = await planSqlite();
  const { id } = await addEndpoint(store);
  const messageId = await addMessage(store, [id]);
  const plans = await plansOf(() => store.messages.expunge(undefined, messageId, T0));
  expect(plans.length).toBeGreaterThanOrEqual(4);
  for (const plan of plans) expect(plan).not.toMatch(/SCAN hookplane/);
});

test('setting back what waits looks at what waits and at what is leased, and not at what is done', async () => {
  const { store, plansOf } = await planSqlite();
  await store.workers.beat('wrk_a', T0 + 3_600_000);
  const plans = await plansOf(() => store.workers.beat('wrk_a', T0));
  const deliveries = plans.filter((plan) => plan.includes('hookplane_deliveries'));
  expect(deliveries).toHaveLength(2);
  for (const plan of deliveries)
    expect(plan).not.toMatch(
      /SCAN (?:d|hookplane_deliveries)(?! USING (?:COVERING )?INDEX hookplane_deliveries_(?:due|leased))/,
    );
});

describe('removing walks no table, but for lists of the statement itself', () => {
  const SCANS = /SCAN hookplane|TEMP B-TREE/;

  async function finished(store: Store): Promise<void> {
    const { id } = await addEndpoint(store, { tenantId: 'acme' });
    const messageId = await addMessage(store, [id], {
      tenantId: 'acme',
      idempotencyKey: 'k',
      fingerprint: 'a',
    });
    await finish(store, messageId, id);
  }

  test('messages that have been kept long enough', async () => {
    const { store, plansOf } = await planSqlite();
    await finished(store);
    const plans = await plansOf(() => store.messages.removeFinished(T0, T0 + 2 * 86_400_000));
    expect(plans[0]).toMatch(/^SEARCH hookplane_messages USING .*INDEX hookplane_messages_finished /);
    expect(plans.join(' ')).toMatch(/USING .*INDEX hookplane_idempotency_keys_alone \(created_at<\?\)/);
    expect(plans.length).toBeGreaterThanOrEqual(7);
    for (const plan of plans) expect(plan).not.toMatch(SCANS);
  });

  test('what a deleted tenant has left', async () => {
    const { store, plansOf } = await planSqlite();
    await finished(store);
    const plans = await plansOf(() => store.tenants.delete('acme', positionAt(T0)));
    const [left] = plans.filter((plan) =>
      plan.includes('hookplane_messages_by_tenant ((tenant_id,id)>(?,?) AND (tenant_id,id)<'),
    );
    expect(left).toBeDefined();
    expect(plans.join(' ')).toMatch(/hookplane_idempotency_keys_alone_by_tenant \(tenant_id=\? AND /);
    expect(plans.length).toBeGreaterThanOrEqual(10);
    for (const plan of plans) expect(plan).not.toMatch(SCANS);
    const [next] = await plansOf(() => store.tenants.purge(T0));
    expect(next).toMatch(/USING INDEX hookplane_deleted_tenants_by_tenant/);
  });

  test('entries of the audit log', async () => {
    const { store, plansOf } = await planSqlite();
    const plans = await plansOf(() => store.audit.removeBefore(T0));
    expect(plans[0]).toMatch(/SEARCH hookplane_audit_log USING PRIMARY KEY \(id<\?\)/);
    for (const plan of plans) expect(plan).not.toMatch(SCANS);
  });
});

test('what a deleted tenant has left is not walked over by the lists of the next one of its id', async () => {
  const { store, plansOf } = await planSqlite();
  // More than the deletion removes at once.
  const messages = Array.from({ length: 251 }, () => newMessage([], { tenantId: 'acme' }));
  await store.messages.insert(messages, true);
  await store.tenants.delete('acme', positionAt(T0));
  const query = { types: undefined, statuses: undefined, since: undefined, until: undefined, after: null };
  const list = { ...query, tenant: 'acme', endpointId: undefined, limit: 9 };
  const plans = await plansOf(() => store.messages.list(list));
  expect(plans).toEqual([
    expect.stringMatching(
      /^SEARCH hookplane_deleted_tenants USING INDEX hookplane_deleted_tenants_by_tenant /,
    ),
    'SEARCH m USING INDEX hookplane_messages_by_tenant ((tenant_id,id)>(?,?) AND (tenant_id,id)<(?,?))',
  ]);
});

test('where a tenant of an id was deleted last is one look-up of the audit log', async () => {
  const { store, plansOf } = await planSqlite();
  const all = {
    since: undefined,
    until: undefined,
    actor: undefined,
    operation: undefined,
    targetId: undefined,
  };
  const plans = await plansOf(() =>
    store.audit.list({ ...all, tenant: 'acme', sinceDeletion: true, after: null, limit: 9 }),
  );
  expect(plans[0]).toBe(
    'SEARCH hookplane_audit_log USING COVERING INDEX hookplane_audit_log_deletions (tenant_id=?)',
  );
});
