import { join } from 'node:path';
import Database from 'better-sqlite3';
import { sqliteStore } from '../../lib/store/sqlite.js';
import type { Store } from '../../lib/store/store.js';
import { addEndpoint, addMessage, finish, positionAt, T0 } from '../contracts/store/fixtures.js';
import { onCleanUp } from '../support/clean-up.js';
import { temporaryFolder } from '../support/sender.js';

/** A store, and how SQLite goes about the statements that some work prepares. */
async function openStore(): Promise<{
  store: Store;
  plansOf(work: () => Promise<unknown>): Promise<string[]>;
}> {
  const database = new Database(join(await temporaryFolder(), 'store.sqlite'));
  const texts: string[] = [];
  const { prepare } = database;
  database.prepare = ((text: string) => {
    texts.push(text);
    return prepare.call(database, text);
  }) as typeof prepare;
  const store = sqliteStore({ database });
  onCleanUp('test', 'sender', () => store.close());
  onCleanUp('test', 'folder', async () => void database.close());
  await store.open();
  return {
    store,
    async plansOf(work) {
      texts.length = 0;
      await work();
      return texts
        .filter((text) => /^(select|update|delete)/i.test(text.trim()))
        .map((text) => {
          const parameters: null[] = Array(text.split('?').length - 1).fill(null);
          const rows = database.prepare<null[]>(`explain query plan ${text}`).all(...parameters);
          return (rows as { detail: string }[]).map(({ detail }) => detail).join('; ');
        });
    },
  };
}

const query = { tenant: undefined, since: T0, until: T0 + 1, after: { ms: T0, id: 'att_a' }, limit: 9 };

test('the attempts of an endpoint are walked in an index, without sorting', async () => {
  const { store, plansOf } = await openStore();
  const { id } = await addEndpoint(store);
  for (const [status, index] of [
    [undefined, 'hookplane_attempts_by_endpoint'],
    ['succeeded', 'hookplane_attempts_by_endpoint'],
    ['failed', 'hookplane_attempts_failed'],
  ] as const) {
    const plans = await plansOf(() => store.endpoints.attempts({ ...query, endpointId: id, status }));
    const [plan] = plans.filter((each) => each.includes('hookplane_attempts'));
    expect(plan).toMatch(
      new RegExp(`^SEARCH hookplane_attempts USING INDEX ${index} \\(endpoint_id=\\? AND .*started_at`),
    );
    expect(plan).not.toMatch(/TEMP B-TREE/);
  }
});

test('durations are counted from the index alone, whose entries are those of the range', async () => {
  const { store, plansOf } = await openStore();
  const range = { endpointId: 'ep_a', since: T0, until: T0 + 1, stepMs: 60_000 };
  const [plan] = await plansOf(() => store.endpoints.durations(range));
  expect(plan).toMatch(
    /^SEARCH a USING COVERING INDEX hookplane_attempts_by_endpoint \(endpoint_id=\? AND started_at>\? AND started_at<\?\)/,
  );
});

test('durations of all endpoints are counted from the index alone, endpoint by endpoint', async () => {
  const { store, plansOf } = await openStore();
  for (let index = 0; index < 2; index++) await addEndpoint(store, { tenantId: 'acme' });
  const range = { since: T0, until: T0 + 1, stepMs: 60_000, limit: 1, most: 9 };
  for (const [tenant, index] of [
    ['acme', 'by_tenant'],
    [undefined, 'by_time'],
  ] as const) {
    const after = { ms: T0 - 1, id: 'ep_a' };
    const [last, counted] = await plansOf(() => store.endpoints.durationsOfAll({ ...range, tenant, after }));
    for (const plan of [last, counted]) {
      for (const table of ['hookplane_endpoints', 'hookplane_deleted_endpoints'])
        expect(plan).toMatch(new RegExp(`SEARCH ${table} USING COVERING INDEX ${table}_${index} `));
    }
    expect(last).not.toMatch(/TEMP B-TREE/);
    expect(counted).toMatch(
      /SEARCH a USING COVERING INDEX hookplane_attempts_by_endpoint \(endpoint_id=\? AND started_at>\? AND started_at<\?\)/,
    );
  }
});

test('expunging looks at nothing but the message', async () => {
  const { store, plansOf } = await openStore();
  const { id } = await addEndpoint(store);
  const messageId = await addMessage(store, [id]);
  const plans = await plansOf(() => store.messages.expunge(undefined, messageId, T0));
  expect(plans.length).toBeGreaterThanOrEqual(4);
  for (const plan of plans) expect(plan).not.toMatch(/SCAN hookplane/);
});

test('setting back what waits looks at what waits and at what is leased, and not at what is done', async () => {
  const { store, plansOf } = await openStore();
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
    const { store, plansOf } = await openStore();
    await finished(store);
    const plans = await plansOf(() => store.messages.removeFinished(T0, T0 + 2 * 86_400_000));
    expect(plans[0]).toMatch(/^SEARCH hookplane_messages USING .*INDEX hookplane_messages_finished /);
    expect(plans.join(' ')).toMatch(/USING .*INDEX hookplane_idempotency_keys_alone \(created_at<\?\)/);
    expect(plans.length).toBeGreaterThanOrEqual(7);
    for (const plan of plans) expect(plan).not.toMatch(SCANS);
  });

  test('what a deleted tenant has left', async () => {
    const { store, plansOf } = await openStore();
    await finished(store);
    const plans = await plansOf(() => store.tenants.delete('acme', positionAt(T0)));
    const [left] = plans.filter((plan) => plan.includes('hookplane_messages_by_tenant (tenant_id=? AND'));
    expect(left).toBeDefined();
    expect(plans.join(' ')).toMatch(/hookplane_idempotency_keys_alone_by_tenant \(tenant_id=\? AND /);
    expect(plans.length).toBeGreaterThanOrEqual(10);
    for (const plan of plans) expect(plan).not.toMatch(SCANS);
    const [next] = await plansOf(() => store.tenants.purge(T0));
    expect(next).toMatch(/USING INDEX hookplane_deleted_tenants_by_tenant/);
  });

  test('entries of the audit log', async () => {
    const { store, plansOf } = await openStore();
    const plans = await plansOf(() => store.audit.removeBefore(T0));
    expect(plans[0]).toMatch(/SEARCH hookplane_audit_log USING PRIMARY KEY \(at<\?\)/);
    for (const plan of plans) expect(plan).not.toMatch(SCANS);
  });
});

test('what a deleted tenant has left is not walked over by the lists of the next one of its id', async () => {
  const { store, plansOf } = await openStore();
  const list = { types: undefined, statuses: undefined, since: undefined, until: undefined };
  const [plan] = await plansOf(() =>
    store.messages.list({ ...list, endpointId: undefined, tenant: 'acme', after: null, limit: 9 }),
  );
  expect(plan).toMatch(
    /^SEARCH m USING INDEX hookplane_messages_by_tenant \(tenant_id=\? AND \(created_at,id\)>\(\?,\?\)\)/,
  );
  expect(plan).not.toMatch(/TEMP B-TREE/);
  const [byEndpoint] = await plansOf(() =>
    store.messages.list({ ...list, endpointId: 'ep_a', tenant: 'acme', after: null, limit: 9 }),
  );
  expect(byEndpoint).toMatch(/^SEARCH d USING COVERING INDEX hookplane_deliveries_by_endpoint/);
  expect(byEndpoint).not.toMatch(/TEMP B-TREE/);
});

describe('the audit log is walked by an index, in its order', () => {
  const everything = {
    tenant: undefined,
    sinceDeletion: false,
    since: T0,
    until: T0 + 9,
    actor: undefined,
    operation: undefined,
    targetId: undefined,
    after: { ms: T0, id: 'aud_a' },
    limit: 9,
  };

  test.each([
    ['all of it', {}, /USING PRIMARY KEY/],
    ['a tenant’s', { tenant: 'acme' }, /USING INDEX hookplane_audit_log_by_tenant \(tenant_id=\? AND /],
    ['an actor’s', { actor: 'ada' }, /USING INDEX hookplane_audit_log_by_actor \(actor_id=\? AND /],
    ['a target’s', { targetId: 'ep_a' }, /USING INDEX hookplane_audit_log_by_target \(target_id=\? AND /],
    [
      'an operation’s',
      { operation: 'endpoints.secret' as const },
      /USING INDEX hookplane_audit_log_by_operation \(operation=\? AND /,
    ],
  ])('%s', async (_name, filter, index) => {
    const { store, plansOf } = await openStore();
    const [plan] = await plansOf(() => store.audit.list({ ...everything, ...filter }));
    expect(plan).toMatch(/^SEARCH hookplane_audit_log/);
    expect(plan).toMatch(index);
    expect(plan).not.toMatch(/TEMP B-TREE/);
  });

  test('where a tenant of that id was deleted last is one look-up', async () => {
    const { store, plansOf } = await openStore();
    const plans = await plansOf(() =>
      store.audit.list({ ...everything, tenant: 'acme', sinceDeletion: true }),
    );
    expect(plans[0]).toBe(
      'SEARCH hookplane_audit_log USING COVERING INDEX hookplane_audit_log_deletions (tenant_id=?)',
    );
  });
});
