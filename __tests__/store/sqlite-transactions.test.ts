import { copyFileSync, statSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { sqliteStore } from '../../lib/store/sqlite.js';
import { onCleanUp } from '../support/clean-up.js';
import { startReceiver } from '../support/receiver.js';
import { startSender, temporaryFolder, type TestSenderOptions } from '../support/sender.js';
import { eventually } from '../support/wait-for.js';

/** So that the worker finds nothing by looking for it. */
const NEVER_MS = 3_600_000;

const ORDER = { type: 'order.created', data: { id: 1 }, idempotencyKey: 'order-1' };

const refused = (message: unknown) => expect.objectContaining({ code: 'INVALID_OPTIONS', message });

function open(file: string): Database.Database {
  const database = new Database(file);
  onCleanUp('test', 'folder', async () => void database.close());
  return database;
}

const ofTheStore = {
  'the database of the store': async (options: TestSenderOptions = {}) => {
    const database = open(join(await temporaryFolder(), 'store.sqlite'));
    return { database, sender: await startSender({ ...options, store: sqliteStore({ database }) }) };
  },
  'another connection to its file': async (options: TestSenderOptions = {}) => {
    const file = join(await temporaryFolder(), 'store.sqlite');
    const sender = await startSender({ ...options, store: sqliteStore({ file }) });
    return { database: open(file), sender };
  },
};

/** A sender on a database with a table of the application's. */
async function startOn(how: keyof typeof ofTheStore, options?: TestSenderOptions) {
  const started = await ofTheStore[how](options);
  const { database } = started;
  database.exec('create table orders (id integer primary key)');
  const insert = database.prepare('insert into orders values (1)');
  const count = (table: string) => database.prepare(`select count(*) from ${table}`).pluck().get();
  return {
    ...started,
    placeOrder: () => void insert.run(),
    stored: () => ({ orders: count('orders'), messages: count('hookplane_messages') }),
  };
}

describe.each(Object.keys(ofTheStore) as (keyof typeof ofTheStore)[])('a transaction of %s', (how) => {
  test('has the message delivered when it is committed', async () => {
    const receiver = await startReceiver();
    const { database, sender, placeOrder, stored } = await startOn(how, { pollIntervalMs: NEVER_MS });
    await sender.endpoints.create({ url: receiver.url() });
    const sent = database
      .transaction(() => {
        placeOrder();
        return sender.sendSync(ORDER, { transaction: database });
      })
      .immediate();
    expect(stored()).toEqual({ orders: 1, messages: 1 });
    await receiver.waitFor(1);
    await eventually(async () => {
      const { payload: _payload, deliveries: _deliveries, ...message } = await sender.messages.get(sent.id);
      expect({ ...sent, status: 'delivered' }).toEqual({ ...message, duplicate: false });
    });
  });

  test('leaves neither the row nor the message when it is rolled back', async () => {
    const { database, sender, placeOrder, stored } = await startOn(how);
    const rolledBack = database.transaction(() => {
      placeOrder();
      sender.sendSync(ORDER, { transaction: database });
      throw new Error('mine');
    });
    expect(rolledBack).toThrow('mine');
    expect(stored()).toEqual({ orders: 0, messages: 0 });
  });

  test('leaves neither in the files of a process that is killed before the commit', async () => {
    const { database, sender, placeOrder } = await startOn(how);
    const copy = join(await temporaryFolder(), 'copy.sqlite');
    // What does not fit is written before the commit.
    database.pragma('cache_size = 10');
    const before = statSync(`${database.name}-wal`).size;
    database
      .transaction(() => {
        placeOrder();
        sender.sendSync({ ...ORDER, data: 'x'.repeat(1_000_000) }, { transaction: database });
        for (const end of ['', '-wal']) copyFileSync(`${database.name}${end}`, `${copy}${end}`);
      })
      .immediate();
    expect(statSync(`${copy}-wal`).size).toBeGreaterThan(before + 500_000);
    const left = open(copy);
    expect(left.prepare('select * from orders').all()).toEqual([]);
    expect(left.prepare('select * from hookplane_messages').all()).toEqual([]);
  });

  test('goes on after a duplicate, a conflict and a message that is not valid', async () => {
    const { database, sender, placeOrder, stored } = await startOn(how);
    database.transaction(() => {
      const send = (change: object) => () =>
        sender.sendSync({ ...ORDER, ...change }, { transaction: database });
      const first = send({})();
      expect(send({})()).toEqual({ ...first, duplicate: true });
      expect(send({ data: 'other' })).toThrow(expect.objectContaining({ code: 'IDEMPOTENCY_CONFLICT' }));
      expect(send({ type: 'no type' })).toThrow(expect.objectContaining({ code: 'MESSAGE_VALIDATION' }));
      placeOrder();
    })();
    expect(stored()).toEqual({ orders: 1, messages: 1 });
  });

  test('is refused when it is not open', async () => {
    const { database, sender, stored } = await startOn(how);
    expect(() => sender.sendSync(ORDER, { transaction: database })).toThrow(
      refused('The transaction has no transaction open'),
    );
    expect(stored().messages).toBe(0);
  });
});

test('a conflict takes back what its send has done, and nothing else', async () => {
  const { database, sender, placeOrder } = await startOn('the database of the store');
  await sender.send({ ...ORDER, tenantId: 'acme' });
  database.exec("delete from hookplane_tenants where id = 'acme'");
  database.transaction(() => {
    placeOrder();
    const send = () => sender.sendSync({ ...ORDER, tenantId: 'acme', data: 2 }, { transaction: database });
    expect(send).toThrow(expect.objectContaining({ code: 'IDEMPOTENCY_CONFLICT' }));
  })();
  expect((await sender.tenants.list()).tenants).toEqual([]);
  expect(database.prepare('select * from orders').all()).toHaveLength(1);
});

test('integers may be read as the application likes', async () => {
  const { database, sender } = await startOn('another connection to its file');
  database.defaultSafeIntegers();
  const send = database.transaction(() => sender.sendSync(ORDER, { transaction: database }));
  const first = send();
  expect(send()).toEqual({ ...first, duplicate: true });
});

test('a path by way of a link is that of the file', async () => {
  const { database, sender } = await startOn('another connection to its file');
  const link = join(await temporaryFolder(), 'link.sqlite');
  symlinkSync(database.name, link);
  const linked = open(link);
  const sent = linked.transaction(() => sender.sendSync(ORDER, { transaction: linked }))();
  expect(sent.duplicate).toBe(false);
});

test('a database in memory is its own alone', async () => {
  const database = open(':memory:');
  const sender = await startSender({ store: sqliteStore({ database }) });
  const send = (transaction: Database.Database) =>
    transaction.transaction(() => sender.sendSync(ORDER, { transaction }));
  expect(send(open(':memory:'))).toThrow(refused('The transaction is of another file than the store'));
  expect(send(database)().duplicate).toBe(false);
});

test('a scope sends for its tenant, and has it recorded', async () => {
  const { database, sender } = await startOn('the database of the store');
  const scope = sender.forCaller({ tenantId: 'acme', actor: { id: 'ada' } });
  const sent = database.transaction(() => scope.sendSync(ORDER, { transaction: database }))();
  expect(sent.tenantId).toBe('acme');
  expect((await scope.audit.list()).entries).toMatchObject([{ operation: 'send', targetId: sent.id }]);
});

describe('a filterFn', () => {
  async function startWith(filterFn: () => unknown) {
    const started = await startOn('the database of the store', {
      started: false,
      endpointHooks: () => ({ filterFn: filterFn as () => boolean }),
    });
    const { database, sender } = started;
    await sender.endpoints.create({ url: 'https://example.com/' });
    return {
      ...started,
      send: database.transaction(() => sender.sendSync(ORDER, { transaction: database })),
    };
  }

  test('that answers at once is asked', async () => {
    expect((await startWith(() => true)).send().status).toBe('pending');
    expect((await startWith(() => false)).send().status).toBe('unrouted');
  });

  test('that answers a promise is refused, whatever becomes of that', async () => {
    const { send, stored } = await startWith(async () => {
      throw new Error('mine');
    });
    expect(send).toThrow(refused(expect.stringContaining('answers a promise')));
    expect(stored().messages).toBe(0);
  });

  test('that throws keeps the message from being sent', async () => {
    const { send } = await startWith(() => {
      throw new Error('mine');
    });
    expect(send).toThrow('mine');
  });
});

test.each([
  ['nothing', undefined],
  ['null', null],
  ['what is no database', {}],
])('%s is refused as a transaction', async (_what, transaction) => {
  const sender = await startSender({ started: false });
  await sender.health();
  expect(() => sender.sendSync(ORDER, { transaction } as never)).toThrow(refused(expect.any(String)));
});

test('a store that is not open says so', async () => {
  const { database, sender } = await startOn('the database of the store');
  const send = database.transaction(() => sender.sendSync(ORDER, { transaction: database }));
  await sender.stop();
  expect(send).toThrow(expect.objectContaining({ code: 'STORE_UNAVAILABLE' }));
});

test('what can be waited in is no transaction of SQLite', async () => {
  const { database, sender } = await startOn('the database of the store');
  const sent = sender.send(ORDER, { transaction: database as never });
  await expect(sent).rejects.toEqual(refused(expect.stringContaining('call sendSync')));
});
