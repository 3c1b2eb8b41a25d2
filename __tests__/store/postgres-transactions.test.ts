import { createSender } from '../../lib/create-sender.js';
import type { Transaction } from '../../lib/index.js';
import { postgresStore } from '../../lib/store/postgres.js';
import { onCleanUp } from '../support/clean-up.js';
import { createDatabase, type TestDatabase } from '../support/postgres/database.js';
import { type Receiver, startReceiver } from '../support/receiver.js';
import { recordingLogger } from '../support/sender.js';
import { eventually } from '../support/wait-for.js';
import { LIBRARIES, type Opened } from './transaction-libraries.js';

jest.setTimeout(60_000);

const SCHEMA = 'outbox';
/** So that the worker finds nothing by looking for it. */
const NEVER_MS = 3_600_000;

let database: TestDatabase;
let receiver: Receiver;
let sender: ReturnType<typeof createSender>;
let orders = 0;

beforeAll(async () => {
  database = await createDatabase();
  receiver = await startReceiver('file');
  await database.query('create table orders (id int primary key)');
  sender = createSender({
    store: postgresStore({ connectionString: database.url, schema: SCHEMA, statementTimeoutMs: 20_000 }),
    allowHttp: true,
    allowTargets: ['127.0.0.1'],
    pollIntervalMs: NEVER_MS,
    logger: recordingLogger(),
    endpointHooks: () => ({ filterFn: async ({ data }) => data !== 'nobody' }),
  });
  onCleanUp('file', 'sender', () => sender.stop({ drainMs: 1000 }));
  await sender.start();
  await sender.endpoints.create({ url: receiver.url() });
  await eventually(async () =>
    expect(
      await database.query(
        "select 1 from pg_stat_activity where datname = current_database() and query like 'listen %'",
      ),
    ).toHaveLength(1),
  );
});

/** An order, and the message of it. */
function nextOrder() {
  const id = ++orders;
  return {
    id,
    row: `insert into orders values (${id})`,
    message: { type: 'order.created', data: { id }, idempotencyKey: `order-${id}` },
  };
}

type Order = ReturnType<typeof nextOrder>;

const isStored = async ({ id }: Order) =>
  (await database.query('select 1 from orders where id = $1', [id])).length === 1;

async function isSent({ message }: Order): Promise<boolean> {
  const found = await database.query(
    `select 1 from ${SCHEMA}.hookplane_messages where idempotency_key = $1`,
    [message.idempotencyKey],
  );
  return found.length === 1;
}

const whatIs = async (order: Order) => ({ stored: await isStored(order), sent: await isSent(order) });

const arrived = ({ id }: Order) =>
  receiver.requests().filter(({ rawBody }) => JSON.parse(rawBody.toString()).data?.id === id).length;

const BOTH = { stored: true, sent: true };
const NEITHER = { stored: false, sent: false };

describe.each(Object.keys(LIBRARIES))('a transaction of %s', (name) => {
  let opened: Opened;
  beforeAll(async () => {
    opened = await LIBRARIES[name]!(database.url);
    onCleanUp('file', 'sender', () => opened.close());
  });

  test('has the message delivered when it is committed, and not before', async () => {
    const order = nextOrder();
    const meanwhile = nextOrder();
    await opened.transact(async (transaction, run) => {
      await run(order.row);
      const sent = await sender.send(order.message, { transaction });
      expect(sent).toMatchObject({ status: 'pending', duplicate: false, type: 'order.created' });
      await sender.send(meanwhile.message);
      await eventually(() => expect(arrived(meanwhile)).toBe(1));
      expect(arrived(order)).toBe(0);
      expect(await whatIs(order)).toEqual(NEITHER);
    });
    expect(await whatIs(order)).toEqual(BOTH);
    await eventually(() => expect(arrived(order)).toBe(1));
  });

  test('leaves neither the row nor the message when it is rolled back', async () => {
    const order = nextOrder();
    const rolledBack = opened.transact(async (transaction, run) => {
      await run(order.row);
      await sender.send(order.message, { transaction });
      throw new Error('mine');
    });
    await expect(rolledBack).rejects.toThrow('mine');
    expect(await whatIs(order)).toEqual(NEITHER);
  });

  test('leaves neither when its connection is killed', async () => {
    const order = nextOrder();
    const killed = opened.transact(async (transaction, run) => {
      await run(order.row);
      await sender.send(order.message, { transaction });
      await run('select pg_terminate_backend(pg_backend_pid())');
    });
    await expect(killed).rejects.toThrow();
    expect(await whatIs(order)).toEqual(NEITHER);
  });

  test('goes on after a duplicate, a conflict and a message that is not valid', async () => {
    const order = nextOrder();
    await opened.transact(async (transaction, run) => {
      const first = await sender.send(order.message, { transaction });
      const again = await sender.send(order.message, { transaction });
      expect(again).toEqual({ ...first, duplicate: true });
      const conflict = sender.send({ ...order.message, data: 'other' }, { transaction });
      await expect(conflict).rejects.toMatchObject({ code: 'IDEMPOTENCY_CONFLICT' });
      const invalid = sender.send({ type: 'no type', data: 1 }, { transaction });
      await expect(invalid).rejects.toMatchObject({ code: 'MESSAGE_VALIDATION' });
      await run(order.row);
    });
    expect(await whatIs(order)).toEqual(BOTH);
  });

  test('is refused when it is none', async () => {
    const order = nextOrder();
    await expect(
      sender.send(order.message, { transaction: opened.outside as Transaction }),
    ).rejects.toMatchObject({ code: 'INVALID_OPTIONS', message: 'The transaction is not open' });
    expect(await isSent(order)).toBe(false);
  });
});

describe('a send in a transaction', () => {
  let opened: Opened;
  beforeAll(async () => {
    opened = await LIBRARIES.pg!(database.url);
    onCleanUp('file', 'sender', () => opened.close());
  });

  test('that the database breaks off leaves the transaction as it was, and its error as it is', async () => {
    const order = nextOrder();
    const other = nextOrder();
    await opened.transact(async (holder) => {
      await sender.send(order.message, { transaction: holder });
      await opened.transact(async (transaction, run) => {
        await run(other.row);
        await run("set local lock_timeout = '50ms'");
        await expect(sender.send(order.message, { transaction })).rejects.toMatchObject({ code: '55P03' });
        await sender.send(other.message, { transaction });
      });
    });
    expect(await whatIs(other)).toEqual(BOTH);
    expect(await isSent(order)).toBe(true);
  });

  test('waits for the one before it', async () => {
    const made = [nextOrder(), nextOrder(), nextOrder()];
    await opened.transact(async (transaction) => {
      const sent = await Promise.allSettled([
        sender.send(made[0]!.message, { transaction }),
        sender.send({ ...made[0]!.message, data: 'other' }, { transaction }),
        sender.sendMany([made[1]!.message, made[2]!.message], { transaction }),
      ]);
      expect(sent.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
    });
    for (const order of made) expect(await isSent(order)).toBe(true);
  });

  test('of several messages stores all of them or none', async () => {
    const order = nextOrder();
    const other = nextOrder();
    await sender.send(other.message);
    await opened.transact(async (transaction, run) => {
      await run(order.row);
      const all = sender.sendMany([order.message, { ...other.message, data: 'other' }], { transaction });
      await expect(all).rejects.toMatchObject({ code: 'IDEMPOTENCY_CONFLICT' });
    });
    expect(await whatIs(order)).toEqual({ stored: true, sent: false });
  });

  test('makes its tenant, and its entry of the audit log, which go with it', async () => {
    const scope = sender.forCaller({ tenantId: 'acme', actor: { id: 'ada' } });
    const send = (commits: boolean) =>
      opened
        .transact(async (transaction) => {
          await scope.send({ type: 'a', data: 1 }, { transaction });
          if (!commits) throw new Error('mine');
        })
        .catch(() => {});
    await send(false);
    expect((await sender.tenants.list()).tenants).toEqual([]);
    expect((await scope.audit.list()).entries).toEqual([]);
    await send(true);
    expect((await sender.tenants.list()).tenants).toMatchObject([{ id: 'acme' }]);
    expect((await scope.audit.list()).entries).toMatchObject([{ operation: 'send', actor: { id: 'ada' } }]);
  });

  test('hands an executor texts and nulls, as it is told', async () => {
    const kinds = new Set<string>();
    await opened.transact(async (transaction) => {
      const client = transaction as { query(text: string, values: unknown[]): Promise<{ rows: object[] }> };
      const executor = {
        async execute(text: string, params: (string | null)[]) {
          for (const param of params) kinds.add(param === null ? 'null' : typeof param);
          return (await client.query(text, params)).rows;
        },
      };
      await sender.send({ type: 'a', data: 1, tenantId: 'texts' }, { transaction: executor });
    });
    expect([...kinds].sort()).toEqual(['null', 'string']);
  });

  test('asks the hooks', async () => {
    await opened.transact(async (transaction) => {
      const sent = await sender.send({ type: 'a', data: 'nobody' }, { transaction });
      expect(sent.status).toBe('unrouted');
    });
  });

  test('needs no second connection of the pool', async () => {
    const order = nextOrder();
    const small = await LIBRARIES.pg!(database.url);
    onCleanUp('test', 'sender', () => small.close());
    const shared = createSender({
      store: postgresStore({ pool: small.outside as never, schema: SCHEMA, listen: false }),
      logger: recordingLogger(),
    });
    onCleanUp('test', 'sender', () => shared.stop());
    await shared.health();
    // As many transactions as the pool has connections.
    const both = [order, nextOrder()].map(({ message }) =>
      small.transact(async (transaction, run) => {
        await run('select pg_sleep(0.05)');
        await shared.send(message, { transaction });
      }),
    );
    await Promise.all(both);
    expect(await isSent(order)).toBe(true);
  });

  test.each([
    ['nothing, where it should be', undefined],
    ['what no library makes', {}],
    ['a text', 'begin'],
  ])('refuses %s', async (_what, transaction) => {
    const order = nextOrder();
    const sent = sender.send(order.message, { transaction: transaction as never });
    await expect(sent).rejects.toMatchObject({ code: 'INVALID_OPTIONS' });
    expect(await isSent(order)).toBe(false);
  });

  test('refuses a transaction of a database that has no store, and leaves it usable', async () => {
    const elsewhere = await createDatabase('test');
    const other = await LIBRARIES.pg!(elsewhere.url);
    onCleanUp('test', 'sender', () => other.close());
    await other.transact(async (transaction, run) => {
      await expect(sender.send({ type: 'a', data: 1 }, { transaction })).rejects.toMatchObject({
        code: 'INVALID_OPTIONS',
        message: 'The transaction is of a database without the tables of the schema outbox',
      });
      await run('create table mine (a int)');
    });
    expect(await elsewhere.query('select * from mine')).toEqual([]);
  });

  test('is not for sendSync', () => {
    const transaction = { inTransaction: true, prepare() {}, pragma() {} };
    expect(() => sender.sendSync({ type: 'a', data: 1 }, { transaction })).toThrow(
      expect.objectContaining({ code: 'INVALID_OPTIONS', message: expect.stringContaining('await send') }),
    );
  });
});
