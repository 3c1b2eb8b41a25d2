import { setTimeout } from 'node:timers/promises';
import { Pool, type PoolClient } from 'pg';
import { createSender } from '../../lib/create-sender.js';
import { type PostgresClient, postgresStore } from '../../lib/store/postgres.js';
import type { NewMessage, Store } from '../../lib/store/store.js';
import {
  addEndpoint,
  addMessage,
  deliveryOf,
  each,
  lease,
  LEASE_MS,
  newMessage,
  settle,
  settlementOf,
  T0,
} from '../contracts/store/fixtures.js';
import { onCleanUp } from '../support/clean-up.js';
import { createDatabase, type TestDatabase } from '../support/postgres/database.js';
import { startReceiver } from '../support/receiver.js';
import { recordingLogger } from '../support/sender.js';
import { startTcpProxy } from '../support/tcp-proxy.js';
import { eventually } from '../support/wait-for.js';

jest.setTimeout(60_000);

const UNAVAILABLE = { code: 'STORE_UNAVAILABLE' };

let database: TestDatabase;
let schemas = 0;
beforeAll(async () => {
  database = await createDatabase();
});
const newSchema = () => `outage_${++schemas}`;

async function openStore(options: { statementTimeoutMs: number }): Promise<{ schema: string; store: Store }> {
  const schema = newSchema();
  const store = postgresStore({ connectionString: database.url, schema, ...options });
  onCleanUp('test', 'sender', () => store.close());
  await store.open();
  return { schema, store };
}

/** Cuts every connection to the database but the one that asks. */
const cutAll = () =>
  database.query(
    'select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()',
  );

/** A store whose connection is cut before the n-th statement from the moment that a test says so. */
async function cuttableStore(): Promise<{ store: Store; cutAt(statement: number): void; wasCut(): boolean }> {
  const pool = new Pool({ connectionString: database.url });
  const connect = pool.connect.bind(pool) as () => Promise<PoolClient>;
  const patched = new WeakSet<PoolClient>();
  let left = 0;
  async function connectPatched(): Promise<PoolClient> {
    const client = await connect();
    if (patched.has(client)) return client;
    patched.add(client);
    const query = client.query.bind(client) as (...given: unknown[]) => unknown;
    const { processID } = client as unknown as { processID: number };
    client.query = (async (...given: unknown[]) => {
      if (left > 0 && --left === 0) await database.query('select pg_terminate_backend($1)', [processID]);
      return query(...given);
    }) as never;
    return client;
  }
  const store = postgresStore({
    pool: Object.assign(pool, { connect: connectPatched }),
    schema: newSchema(),
  });
  onCleanUp('test', 'sender', async () => {
    await store.close();
    await pool.end();
  });
  await store.open();
  return {
    store,
    cutAt(statement) {
      left = statement;
    },
    wasCut: () => left === 0,
  };
}

describe('a connection that is cut before any one statement', () => {
  /** Does it with a cut at each of its statements in turn, until one does not reach the cut any more. */
  async function atEveryStatement(
    work: (step: number, cut: () => void, wasCut: () => boolean) => Promise<void>,
    cutAt: (statement: number) => void,
    wasCut: () => boolean,
  ): Promise<number> {
    for (let step = 1; ; step++) {
      await work(step, () => cutAt(step), wasCut);
      if (!wasCut()) {
        cutAt(0);
        return step - 1;
      }
    }
  }

  test.each([
    ['', 6, (id: string) => [id]],
    [' that is like the one before', 3, (id: string) => () => [id]],
  ])('of a send%s refuses it, and nothing of it is stored', async (_which, least, owedTo) => {
    const { store, cutAt, wasCut } = await cuttableStore();
    const { id } = await addEndpoint(store, { tenantId: 'acme' });
    const send = (fixture: Partial<NewMessage> = {}) => {
      const message = newMessage([], { tenantId: 'acme', owedTo: owedTo(id), ...fixture });
      return { message, sent: store.messages.insert([message], false).catch((error) => error) };
    };
    await send().sent;
    expect(await lease(store)).toHaveLength(1);
    const steps = await atEveryStatement(
      async (_step, cut) => {
        cut();
        const { message, sent } = send({ idempotencyKey: 'key' });
        const answer = await sent;
        if (!wasCut()) return;
        expect(answer).toMatchObject(UNAVAILABLE);
        expect(await store.messages.get(undefined, message.id)).toBeNull();
      },
      cutAt,
      wasCut,
    );
    expect(steps).toBeGreaterThanOrEqual(least);
    expect(await lease(store)).toHaveLength(1);
  });

  test('of a lease takes nothing', async () => {
    const { store, cutAt, wasCut } = await cuttableStore();
    const { id } = await addEndpoint(store, { maxInFlight: 100 });
    const messageId = await addMessage(store, [id]);
    const steps = await atEveryStatement(
      async (_step, cut) => {
        cut();
        const leased = await lease(store).catch((error) => error);
        if (!wasCut()) return;
        expect(leased).toMatchObject(UNAVAILABLE);
        expect(await store.outbox.inFlight(messageId, id, T0)).toBe(false);
      },
      cutAt,
      wasCut,
    );
    expect(steps).toBeGreaterThan(5);
    expect(await store.outbox.inFlight(messageId, id, T0)).toBe(true);
  });

  test('of a settlement changes nothing, and it is made again', async () => {
    const { store, cutAt, wasCut } = await cuttableStore();
    const { id } = await addEndpoint(store);
    const messageId = await addMessage(store, [id]);
    const [leased] = await lease(store);
    const settlement = settlementOf(leased!);
    const steps = await atEveryStatement(
      async (_step, cut) => {
        cut();
        const settled = await settle(store, [settlement]).catch((error) => error);
        if (!wasCut()) {
          expect(settled).toMatchObject({ refused: [] });
          return;
        }
        expect(settled).toMatchObject(UNAVAILABLE);
        expect(await deliveryOf(store, messageId, id)).toMatchObject({ status: 'pending', attemptCount: 0 });
      },
      cutAt,
      wasCut,
    );
    expect(steps).toBeGreaterThan(3);
    expect(await deliveryOf(store, messageId, id)).toMatchObject({ status: 'delivered', attemptCount: 1 });
    expect(await lease(store, { now: T0 + 2 * LEASE_MS })).toEqual([]);
  });
});

/** Behind a proxy, so that a test can come between the store and its database. */
async function proxiedStore(options: { statementTimeoutMs?: number } = {}) {
  const url = new URL(database.url);
  const proxy = await startTcpProxy(Number(url.port));
  url.port = String(proxy.port);
  const store = postgresStore({ connectionString: url.href, schema: newSchema(), ...options });
  return { proxy, store };
}

async function startSender(store: Store) {
  const logger = recordingLogger();
  const sender = createSender({
    store,
    allowHttp: true,
    allowTargets: ['127.0.0.1'],
    pollIntervalMs: 50,
    timeoutMs: 1000,
    // What a turn has leased whose answer was lost is taken up when its lease is over.
    leaseMs: 2500,
    logger,
  });
  onCleanUp('test', 'sender', () => sender.stop({ drainMs: 1000 }));
  await sender.start();
  return sender;
}

describe('a sender', () => {
  test('loses nothing while its connections are cut again and again', async () => {
    const receiver = await startReceiver();
    const store = postgresStore({
      connectionString: database.url,
      schema: newSchema(),
      statementTimeoutMs: 2000,
    });
    const sender = await startSender(store);
    await sender.endpoints.create({ url: receiver.url() });
    const acknowledged: string[] = [];
    let cutting = true;
    const cuts = (async () => {
      while (cutting) {
        await cutAll();
        await setTimeout(150);
      }
    })();
    for (let count = 0; count < 120; count++) {
      const sent = await sender.send({ type: 'a', data: count }).catch((error) => error);
      if (sent instanceof Error) expect(sent).toMatchObject(UNAVAILABLE);
      else acknowledged.push(sent.id);
      await setTimeout(10);
    }
    cutting = false;
    await cuts;
    expect(acknowledged.length).toBeGreaterThan(0);
    await eventually(() => {
      const arrived = new Set(receiver.requests().map(({ headers }) => headers['webhook-id']));
      expect(acknowledged.filter((id) => !arrived.has(id))).toEqual([]);
    }, 30_000);
    await eventually(
      async () => expect(await sender.health()).toMatchObject({ ok: true, outboxDepth: 0 }),
      30_000,
    );
  });

  test('tells that its database is gone, refuses sends meanwhile, and goes on by itself when it is back', async () => {
    const receiver = await startReceiver();
    const { proxy, store } = await proxiedStore({ statementTimeoutMs: 2000 });
    const sender = await startSender(store);
    await sender.endpoints.create({ url: receiver.url() });
    proxy.refuse();
    await eventually(async () =>
      expect(await sender.health()).toMatchObject({ ok: false, reason: 'store_unavailable' }),
    );
    await expect(sender.send({ type: 'a', data: 1 })).rejects.toMatchObject(UNAVAILABLE);
    proxy.restore();
    await eventually(async () => expect(await sender.health()).toMatchObject({ ok: true }));
    await sender.send({ type: 'a', data: 2 });
    await eventually(() => expect(receiver.requests().length).toBe(1), 20_000);
  });
});

test('a connection that gives no answer any more is given up after the time of a statement', async () => {
  const { proxy, store } = await proxiedStore({ statementTimeoutMs: 300 });
  onCleanUp('test', 'sender', () => store.close());
  await store.open();
  const { id } = await addEndpoint(store);
  proxy.freeze();
  const began = performance.now();
  await Promise.all([
    expect(addMessage(store, [id])).rejects.toMatchObject(UNAVAILABLE),
    expect(store.endpoints.get(undefined, id)).rejects.toMatchObject(UNAVAILABLE),
  ]);
  expect(performance.now() - began).toBeLessThan(6000);
  proxy.restore();
  await eventually(async () => expect(await store.endpoints.get(undefined, id)).toMatchObject({ id }));
  await addMessage(store, [id]);
  expect(await lease(store)).toHaveLength(1);
});

test('a statement that waits too long for a lock fails, and its transaction with it', async () => {
  const { schema, store } = await openStore({ statementTimeoutMs: 200 });
  const { id } = await addEndpoint(store);
  await database.query(`begin; update ${schema}.hookplane_endpoints set url = url`);
  await expect(store.endpoints.pause(undefined, id, 'manual', T0)).rejects.toMatchObject(UNAVAILABLE);
  await database.query('rollback');
  expect(await store.endpoints.get(undefined, id)).toMatchObject({ status: 'active' });
});

test('a read that is given up ends on the server as well', async () => {
  const { schema, store } = await openStore({ statementTimeoutMs: 200 });
  await database.query(`begin; lock table ${schema}.hookplane_endpoints`);
  await expect(store.endpoints.ofTenants([null])).rejects.toMatchObject(UNAVAILABLE);
  const waiting = await database.query(
    `select 1 from pg_locks where not granted and relation = '${schema}.hookplane_endpoints'::regclass`,
  );
  expect(waiting).toEqual([]);
  await database.query('rollback');
  expect(await store.endpoints.ofTenants([null])).toEqual(new Map([[null, []]]));
});

test('a send each statement of which keeps to its time is told to be stored, though all together take longer', async () => {
  const { schema, store } = await openStore({ statementTimeoutMs: 1000 });
  const { id } = await addEndpoint(store);
  // A commit that takes its time, behind an insert that has to wait.
  await database.query(
    `create function ${schema}.slow() returns trigger language plpgsql as $$ begin perform pg_sleep(0.8); return null; end $$`,
  );
  await database.query(`create constraint trigger slow after insert on ${schema}.hookplane_payloads
    deferrable initially deferred for each row execute function ${schema}.slow()`);
  await database.query(`begin; lock table ${schema}.hookplane_messages`);
  const asked = { owner: 'w', now: T0, leaseMs: 60_000, most: 1, share: each() };
  const inserted = store.messages.insert([newMessage([id])], false, asked);
  await setTimeout(900);
  await database.query('commit');
  expect(await inserted).toMatchObject([{ outcome: 'stored', leased: [{ endpointId: id }] }]);
});

test('a pool of the application’s that has no connection free is waited for no longer, and gets a late one back', async () => {
  jest.useFakeTimers();
  const waiting: ((client: PostgresClient) => void)[] = [];
  const pool = {
    connect: () => new Promise<PostgresClient>((resolve) => waiting.push(resolve)),
    end: async () => {},
    on() {},
    off() {},
  };
  const opened = expect(postgresStore({ pool }).open()).rejects.toMatchObject(UNAVAILABLE);
  await jest.advanceTimersByTimeAsync(4000);
  await opened;
  jest.useRealTimers();
  const release = jest.fn();
  waiting[0]!({ query: async () => {}, on() {}, release });
  await eventually(() => expect(release.mock.calls).toEqual([[]]));
});

test('a client of the application’s pool is listened to once, however many stores are opened on it', async () => {
  const pool = new Pool({ connectionString: database.url, max: 1 });
  onCleanUp('test', 'folder', () => pool.end());
  const schema = newSchema();
  const client = await pool.connect();
  client.release();
  const listeners = [];
  for (let round = 0; round < 3; round++) {
    const store = postgresStore({ pool, schema });
    await store.schema();
    await store.open();
    await store.close();
    // A pool listens as well, while it has the client back.
    await eventually(() => expect(pool.idleCount).toBe(1));
    listeners.push(client.listenerCount('error'));
  }
  expect(listeners).toEqual(Array(3).fill(listeners[0]));
});

test('a schema that a migration changes under a worker takes nothing from it', async () => {
  const schema = newSchema();
  const store = postgresStore({ connectionString: database.url, schema });
  onCleanUp('test', 'sender', () => store.close());
  await store.open();
  const { id } = await addEndpoint(store);
  // The second time it is prepared, the third time run as it was.
  for (let round = 0; round < 4; round++) await store.endpoints.get(undefined, id);
  await database.query(
    `alter table ${schema}.hookplane_endpoints add column later text not null default 'x'`,
  );
  expect(await store.endpoints.get(undefined, id)).toMatchObject({ id });
  expect(await store.endpoints.pause(undefined, id, 'manual', T0)).toMatchObject({ status: 'paused' });
});

test('a database that is not there, or that lets nobody in, is not available', async () => {
  const nobody = new URL(database.url);
  nobody.password = 'wrong';
  const nowhere = new URL(database.url);
  nowhere.pathname = '/hookplane_none';
  const closed = new URL(database.url);
  closed.port = '1';
  for (const { href } of [nobody, nowhere, closed]) {
    await expect(postgresStore({ connectionString: href }).open()).rejects.toMatchObject(UNAVAILABLE);
  }
});
