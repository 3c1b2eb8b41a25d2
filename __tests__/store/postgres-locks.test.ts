import type { Endpoint } from '../../lib/model/endpoint.js';
import { postgresStore } from '../../lib/store/postgres.js';
import type { EndpointNews, NewAuditEntry, Store } from '../../lib/store/store.js';
import {
  addEndpoint,
  addMessage,
  deliveryOf,
  finish,
  lease,
  newMessage,
  positionAt,
  settle,
  settlementOf,
  T0,
} from '../contracts/store/fixtures.js';
import { onCleanUp } from '../support/clean-up.js';
import { createDatabase, type TestDatabase } from '../support/postgres/database.js';
import { eventually } from '../support/wait-for.js';

// What happens when one transaction comes in the middle of another: a lock holds the first there until the second waits.

jest.setTimeout(60_000);

let database: TestDatabase;
let schemas = 0;
beforeAll(async () => {
  database = await createDatabase();
});

async function openTwo(): Promise<{ schema: string; first: Store; second: Store }> {
  const schema = `locks_${++schemas}`;
  const open = async () => {
    const store = postgresStore({ connectionString: database.url, schema, statementTimeoutMs: 20_000 });
    onCleanUp('test', 'sender', () => store.close());
    await store.open();
    return store;
  };
  return { schema, first: await open(), second: await open() };
}

/** Runs each when those before it wait for the statement's transaction, which is undone in the end. */
async function inTheMiddle<T>(lock: string, ...works: (() => Promise<T>)[]): Promise<T[]> {
  await database.query(`begin; ${lock}`);
  const results: Promise<T>[] = [];
  for (const work of works) {
    results.push(work());
    await eventually(async () => {
      const waiting = await database.query(
        `select distinct pid from pg_locks where not granted and pid in (
          select pid from pg_locks where database = (select oid from pg_database where datname = current_database()))`,
      );
      expect(waiting).toHaveLength(results.length);
    });
  }
  await database.query('rollback');
  return Promise.all(results);
}

const failing = ({ id, url }: Endpoint): EndpointNews => ({
  endpointId: id,
  url,
  succeeded: false,
  failedAt: T0,
  slowUntil: null,
  slowStep: 0,
  pause: null,
});

test('of two workers that notice that the clock was set back, one sets back what was reckoned by it', async () => {
  const { schema, first, second } = await openTwo();
  const { id } = await addEndpoint(first);
  const ahead = T0 + 3_600_000;
  await first.workers.beat('first', ahead);
  const messageId = await addMessage(first, [id], { createdAt: ahead + 60_000 });
  await inTheMiddle(
    `select 1 from ${schema}.hookplane_deliveries for update`,
    () => first.workers.beat('first', T0),
    () => second.workers.beat('second', T0),
  );
  const [row] = await database.query(`select due_at from ${schema}.hookplane_deliveries`);
  expect(Number(row!.due_at) - T0).toBe(60_000);
  expect(await deliveryOf(first, messageId, id)).toMatchObject({ status: 'pending' });
});

test('a rotation that a deletion of its tenant meets leaves no secret behind', async () => {
  const { schema, first, second } = await openTwo();
  const { id } = await addEndpoint(first, { tenantId: 'acme' });
  await inTheMiddle<unknown>(
    `insert into ${schema}.hookplane_endpoint_secrets (id, endpoint_id, secret, created_at) values ('sec_2', '', '', 0)`,
    // It has done all but make its secret.
    () => first.endpoints.rotateSecret('acme', id, { id: 'sec_2', secret: 's' }, T0, T0),
    () => second.tenants.delete('acme', positionAt(T0)),
  );
  const { hookplane_endpoints, hookplane_endpoint_secrets } = await database.rows(schema);
  expect([hookplane_endpoints, hookplane_endpoint_secrets]).toEqual([[], []]);
});

test('a replay that a deletion of its endpoint meets is made, and canceled with the rest', async () => {
  const { schema, first, second } = await openTwo();
  const { id } = await addEndpoint(first);
  const messageId = await addMessage(first, [id]);
  await finish(first, messageId, id);
  const audit: NewAuditEntry = {
    id: 'aud_1',
    at: T0,
    requestId: null,
    actor: null,
    operation: 'replay',
    targetId: id,
    changes: [],
  };
  const request = {
    endpointId: id,
    messageIds: [messageId],
    webhookIds: null,
    expiresAt: T0 + 9,
    now: T0,
    audit,
  };
  const [requeued] = await inTheMiddle<unknown>(
    `select 1 from ${schema}.hookplane_messages for update`,
    () => first.outbox.requeue(request),
    () => second.endpoints.delete(undefined, id, T0),
  );
  expect(requeued).toEqual([messageId]);
  expect(await deliveryOf(first, messageId, id)).toMatchObject({ status: 'canceled' });
  expect(await first.outbox.requeue(request)).toEqual([]);
});

test('rotations, settlements and sends while a tenant is deleted wait for each other and never in a circle', async () => {
  const { schema, first, second } = await openTwo();
  for (let round = 0; round < 6; round++) {
    const tenantId = `tenant ${round}`;
    const endpoints = await Promise.all([1, 2, 3].map(() => addEndpoint(first, { tenantId })));
    const ids = endpoints.map(({ id }) => id);
    await addMessage(first, ids, { tenantId });
    const leased = await lease(first);
    const settlements = leased.map((one) => settlementOf(one)).reverse();
    const rotations = ids.map((id) =>
      first.endpoints.rotateSecret(tenantId, id, { id: `sec_${id}`, secret: 's' }, T0, T0),
    );
    const sends = [first, second].map((store) =>
      store.messages.insert([newMessage(ids, { tenantId })], false),
    );
    const news = leased.map(({ target }) => failing(target.endpoint)).reverse();
    await Promise.all([
      ...rotations,
      settle(second, settlements, { news }),
      second.tenants.delete(tenantId, positionAt(T0)),
      ...sends,
    ]);
    while (await first.tenants.purge(T0));
  }
  expect((await database.rows(schema)).hookplane_endpoint_secrets).toEqual([]);
  const [row] = await database.query(
    'select deadlocks from pg_stat_database where datname = current_database()',
  );
  expect(Number(row!.deadlocks)).toBe(0);
});
