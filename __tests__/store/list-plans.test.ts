import type { MessageQuery } from '../../lib/store/store.js';
import { addEndpoint, addMessage, lease, positionAt, T0, turn } from '../contracts/store/fixtures.js';
import { type PlannedStore, planPostgres, planSqlite } from './plans.js';

jest.setTimeout(30_000);

const RANGE = { since: T0 - 9, until: T0 + 9, after: { ms: T0 + 5, id: 'msg_b' }, limit: 9 };
const ALL: MessageQuery = {
  ...RANGE,
  tenant: undefined,
  types: undefined,
  statuses: undefined,
  endpointId: undefined,
};

const DATABASES = {
  SQLite: {
    open: planSqlite,
    /** A table or an index that is read from end to end. */
    whole: /SCAN (?:hookplane_\w+|[mdeat])\b(?! EXISTS)/,
    sorted: /TEMP B-TREE/,
    /** A search by an index whose range is that of the page. */
    search: (index: string) =>
      new RegExp(`USING (?:COVERING )?INDEX ${index} \\(\\([\\w,]+id\\)>.* AND \\([\\w,]+id\\)<`),
    /** A walk of all of a table whose rows are in the order of their ids. */
    inOrder: {
      messages: /SEARCH m USING PRIMARY KEY \(id>\? AND id<\?\)/,
      endpoints: /USING INDEX sqlite_autoindex_hookplane_endpoints_1 \(id>\? AND id<\?\)/,
    },
    /** A search by the index of tenants, of messages that have none. */
    ofNobody: /USING INDEX hookplane_messages_by_tenant \(tenant_id=\? AND id>\? AND id<\?\)/,
    /** A delivery that is looked up by both that it is of. */
    delivery: /SEARCH d USING PRIMARY KEY \(message_id=\? AND endpoint_id=\?\)/,
    /** A message that is looked up by its id. */
    lookup: /SEARCH m USING PRIMARY KEY \(id=\?\)/,
    /** What merges several ranges, each of a page at most. */
    merging: /SCAN (?:part|merged)\nUSE TEMP B-TREE FOR ORDER BY/g,
  },
  PostgreSQL: {
    open: planPostgres,
    whole: /Seq Scan on|Bitmap/,
    sorted: /\bSort\b(?! Key)/,
    search: (index: string) =>
      new RegExp(
        `using ${index} on .*\\n *Index Cond: \\(\\(ROW\\([\\w, ]+id\\) >.* AND \\(ROW\\([\\w, ]+id\\) <`,
      ),
    inOrder: {
      messages: /using hookplane_messages_pkey on .*\n *Index Cond: \(\(id >= \$\d\) AND \(id < \$\d\)\)/,
      endpoints: /using hookplane_endpoints_pkey on .*\n *Index Cond: \(\(id >= \$\d\) AND \(id < \$\d\)\)/,
    },
    ofNobody:
      /using hookplane_messages_by_tenant on .*\n *Index Cond: \(\(tenant_id IS NULL\) AND \(id >=? '\w+'::text\) AND \(id < '\w+'::text\)\)/,
    delivery: /on hookplane_deliveries d\n *Index Cond: \((?=.*\(message_id = m.id\)).*\(endpoint_id = /,
    lookup: /using hookplane_messages_pkey on hookplane_messages m\n *Index Cond: \(id = d.message_id\)/,
    merging: /Sort(?=(?:\n(?! *->).*)*\n *-> +Append)/g,
  },
};

describe.each(Object.entries(DATABASES))(
  '%s',
  (_name, { open, whole, sorted, search, inOrder, ofNobody, delivery, lookup, merging }) => {
    let planned: PlannedStore;
    let endpointId: string;
    beforeAll(async () => {
      planned = await open();
      const { store } = planned;
      endpointId = (await addEndpoint(store, { tenantId: 'acme' })).id;
      for (let index = 0; index < 3; index++)
        await addMessage(store, [endpointId], { tenantId: 'acme', createdAt: T0 + index });
    });

    const list = (query: Partial<MessageQuery>) =>
      planned.plansOf(() => planned.store.messages.list({ ...ALL, ...query }));

    function expectBounded(plans: readonly string[]): void {
      expect(plans.length).toBeGreaterThan(0);
      for (const plan of plans) {
        expect(plan).not.toMatch(whole);
        expect(plan.replace(merging, '')).not.toMatch(sorted);
      }
    }

    describe('a list of messages goes by the index that leaves least to be looked at', () => {
      const failed = ['failed'] as const;
      test.each<[string, Partial<MessageQuery>, string | null]>([
        ['of all', {}, null],
        ['of a type', { types: ['a'] }, 'hookplane_messages_by_type'],
        ['in a state', { statuses: failed }, 'hookplane_messages_undelivered'],
        ['delivered', { statuses: ['delivered'] }, null],
        ['of a tenant', { tenant: 'acme' }, 'hookplane_messages_by_tenant'],
        ['of a tenant and a type', { tenant: 'acme', types: ['a'] }, 'hookplane_messages_by_tenant_and_type'],
        [
          'of a tenant, in a state',
          { tenant: 'acme', statuses: failed },
          'hookplane_messages_undelivered_by_tenant',
        ],
        [
          'of a tenant and a type, in a state',
          { tenant: 'acme', types: ['a'], statuses: failed },
          'hookplane_messages_undelivered_by_tenant',
        ],
      ])('%s', async (_what, query, index) => {
        const plans = await list(query);
        const walk = index === null ? inOrder.messages : search(index);
        const ofMessages = plans.filter((plan) => /hookplane_messages_|SEARCH m /.test(plan));
        expect(ofMessages.length).toBeGreaterThan(0);
        for (const plan of ofMessages) expect(plan).toMatch(walk);
        expectBounded(plans);
      });

      test.each<[string, Partial<MessageQuery>]>([
        ['of an endpoint', {}],
        ['of an endpoint and a tenant', { tenant: 'acme' }],
        ['of an endpoint, delivered', { statuses: ['delivered'] }],
      ])('%s', async (_what, query) => {
        const plans = await list({ ...query, endpointId });
        expect(plans.at(-1)).toMatch(search('hookplane_deliveries_by_endpoint'));
        expect(plans.at(-1)).toMatch(lookup);
        expectBounded(plans);
      });
    });

    test('no combination of filters reads a table whole, or sorts what is not of the page', async () => {
      for (const tenant of [undefined, 'acme']) {
        for (const types of [undefined, ['a'], ['a', 'b', 'c']]) {
          for (const statuses of [undefined, ['failed'], ['failed', 'pending'], ['delivered']] as const) {
            for (const endpoint of [undefined, endpointId])
              expectBounded(await list({ tenant, types, statuses, endpointId: endpoint }));
          }
        }
      }
    });

    test.each([
      [undefined, undefined, null],
      [undefined, 'paused', 'hookplane_endpoints_by_status'],
      ['acme', undefined, 'hookplane_endpoints_by_tenant'],
      ['acme', 'paused', 'hookplane_endpoints_by_tenant_and_status'],
    ] as const)(
      'a list of endpoints (tenant %s, status %s) is walked in an index',
      async (tenant, status, index) => {
        const { after, limit } = RANGE;
        const plans = await planned.plansOf(() =>
          planned.store.endpoints.list({ tenant, status, after, limit }),
        );
        expect(plans).toEqual([
          expect.stringMatching(index === null ? inOrder.endpoints : new RegExp(` ${index} `)),
        ]);
        expectBounded(plans);
      },
    );

    test.each([
      [undefined, 'hookplane_attempts_by_endpoint'],
      ['succeeded', 'hookplane_attempts_by_endpoint'],
      ['failed', 'hookplane_attempts_failed'],
    ] as const)('the attempts of an endpoint (status %s) are walked in an index', async (status, index) => {
      const plans = await planned.plansOf(() =>
        planned.store.endpoints.attempts({ ...RANGE, tenant: undefined, endpointId, status }),
      );
      expect(plans.at(-1)).toMatch(search(index));
      expectBounded(plans);
    });

    test.each([
      [{ tenant: 'acme' }, 'hookplane_audit_log_by_tenant'],
      [{ actor: 'ada' }, 'hookplane_audit_log_by_actor'],
      [{ targetId: 'ep_a' }, 'hookplane_audit_log_by_target'],
      [{ tenant: 'acme', actor: 'ada' }, 'hookplane_audit_log_by_tenant'],
      [{ operation: 'send' }, 'hookplane_audit_log_by_operation'],
      [{ operation: 'send', actor: 'ada' }, 'hookplane_audit_log_by_(?:actor|operation)'],
    ] as const)('the audit log with %j is walked in an index', async (filter, index) => {
      const nothing = { tenant: undefined, actor: undefined, operation: undefined, targetId: undefined };
      const plans = await planned.plansOf(() =>
        planned.store.audit.list({ ...RANGE, ...nothing, sinceDeletion: false, ...filter }),
      );
      expect(plans.at(-1)).toMatch(search(index));
      expectBounded(plans);
    });

    test.each([
      ['a tenant', 'acme', search('hookplane_messages_by_tenant')],
      ['no tenant', null, ofNobody],
    ])('a range of the messages of %s is walked in its index', async (_whose, tenantId, walk) => {
      const range = {
        tenantId,
        endpointId,
        since: T0 - 9,
        until: T0 + 9,
        limit: 9,
        now: T0,
        withPayload: true,
      };
      for (const after of [null, positionAt(T0)]) {
        const plans = await planned.plansOf(() => planned.store.messages.range({ ...range, after }));
        expect(plans.at(-1)).toMatch(walk);
        expect(plans.at(-1)).toMatch(delivery);
        expectBounded(plans);
      }
    });

    test('what is owed is counted without a look at what is done', async () => {
      for (const tenant of [undefined, 'acme']) {
        const [plan] = await planned.plansOf(() => planned.store.outbox.depth(tenant));
        expect(plan).toMatch(/hookplane_deliveries_due/);
        expect(plan).not.toMatch(/hookplane_deliveries_by_endpoint/);
      }
      const pieces = await planned.plansOf(() => planned.store.depths.owed({ endpointId, dueAt: T0 }, 1));
      for (const plan of pieces) {
        expect(plan).toMatch(/hookplane_deliveries_due/);
        expect(plan).not.toMatch(/Seq Scan|deliveries_by_endpoint/);
      }
    });

    test('what a deleted endpoint is owed is found without a look at what is done', async () => {
      const plans = await planned.plansOf(async () => {
        const { id } = await addEndpoint(planned.store);
        await planned.store.endpoints.delete(undefined, id, T0);
        await planned.store.outbox.cancelOrphans(T0);
      });
      expect(plans.filter((plan) => plan.includes('hookplane_deliveries_due'))).toHaveLength(2);
      for (const plan of plans) expect(plan).not.toMatch(/hookplane_deliveries_by_endpoint/);
    });

    test('a send looks at the endpoints of its tenant alone, and a lease at what is due', async () => {
      const { store, plansOf } = planned;
      const [ofTenant] = await plansOf(() => store.endpoints.ofTenants(['acme']));
      expect(ofTenant).toMatch(/hookplane_endpoints_by_tenant\w* /);
      expect(ofTenant).not.toMatch(whole);
      const plans = await plansOf(async () => {
        const leased = await lease(store, { now: T0 + 100 });
        expect(leased.length).toBeGreaterThan(0);
        await turn(store, { release: leased });
      });
      expect(plans.some((plan) => plan.includes('hookplane_deliveries_due'))).toBe(true);
      for (const plan of plans) expect(plan).not.toMatch(whole);
      // Not each lane beside each endpoint.
      for (const plan of plans) expect(plan).not.toMatch(/hookplane_endpoints_by_status/);
      for (const plan of plans.filter((each) => !each.startsWith('Update')))
        expect(plan).not.toMatch(/hookplane_deliveries_by_endpoint/);
    });
  },
);
