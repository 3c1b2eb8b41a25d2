import { statSync } from 'node:fs';
import { type FileHandle, mkdir, open, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import Database from 'better-sqlite3';
import { sqliteStore } from '../../lib/store/sqlite.js';
import type { Store } from '../../lib/store/store.js';
import {
  addEndpoint,
  addMessage,
  addMessages,
  deliveryOf,
  each,
  lanesAt,
  LEASE_MS,
  lease,
  newMessage,
  settle,
  settlementOf,
  T0,
} from '../contracts/store/fixtures.js';
import { storeContract } from '../contracts/store.js';
import { onCleanUp } from '../support/clean-up.js';
import { startSender, temporaryFolder } from '../support/sender.js';
import { eventually, waitFor } from '../support/wait-for.js';

storeContract('SQLite, in a file', async () => {
  const file = join(await temporaryFolder(), 'store.sqlite');
  const stores: Store[] = [];
  const make = (options: { migrate?: boolean } = {}): Store => {
    const store = sqliteStore({ file, ...options });
    stores.push(store);
    return store;
  };
  return {
    store: make(),
    reopen: async (options) => make(options),
    async setSchemaVersion(version) {
      const database = new Database(file);
      database.prepare('update hookplane_schema_migrations set version = ?').run(version);
      database.close();
    },
    close: async () => void (await Promise.all(stores.map((store) => store.close()))),
  };
});

/** A store that is closed at the end of its test. */
function storeOf(options: Parameters<typeof sqliteStore>[0]): Store {
  const store = sqliteStore(options);
  onCleanUp('test', 'sender', () => store.close());
  return store;
}

function databaseOf(file: string, options: Database.Options = {}): Database.Database {
  const database = new Database(file, options);
  onCleanUp('test', 'folder', async () => void database.close());
  return database;
}

const newFile = async (): Promise<string> => join(await temporaryFolder(), 'store.sqlite');

describe('a database of the application', () => {
  test('is used as it is, beside the tables it has, and left open', async () => {
    const database = databaseOf(await newFile());
    database.exec('create table mine (a text)');
    const store = storeOf({ database });
    await store.open();
    const endpoint = await addEndpoint(store);
    await store.close();
    expect(database.open).toBe(true);
    database.prepare('insert into mine values (?)').run('still');
    const again = storeOf({ database });
    await again.open();
    expect(await again.endpoints.get(undefined, endpoint.id)).toEqual(endpoint);
    const tables = database.prepare("select name from sqlite_master where type = 'table'").pluck().all();
    expect(tables.filter((name) => !String(name).startsWith('hookplane_'))).toEqual(['mine']);
  });

  test('may be opened again by the store that left it', async () => {
    const store = storeOf({ database: databaseOf(await newFile()) });
    for (let round = 0; round < 3; round++) {
      await store.open();
      await addEndpoint(store);
      await store.close();
    }
    await store.open();
    const query = { tenant: undefined, status: undefined, after: null, limit: 9 };
    expect((await store.endpoints.list(query)).rows).toHaveLength(3);
  });

  test('in which the application has a transaction open is not available, and the transaction is left alone', async () => {
    const database = databaseOf(await newFile());
    database.exec('create table mine (a text)');
    const store = storeOf({ database });
    await store.open();
    database.exec("begin; insert into mine values ('x')");
    await expect(addEndpoint(store)).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' });
    await expect(lease(store)).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' });
    expect(database.inTransaction).toBe(true);
    database.exec('commit');
    expect(database.prepare('select count(*) from mine').pluck().get()).toBe(1);
    expect((await addEndpoint(store)).status).toBe('active');
    expect(database.pragma('synchronous', { simple: true })).toBe(2);
  });

  test('whose rows the application is going through is not available to writes until it has done', async () => {
    const database = databaseOf(await newFile());
    database.exec("create table mine (a text); insert into mine values ('x'), ('y')");
    const store = storeOf({ database });
    await store.open();
    for (const _ of database.prepare('select a from mine').iterate()) {
      await expect(addEndpoint(store)).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' });
    }
    expect((await addEndpoint(store)).status).toBe('active');
  });

  test('may read integers as bigint by default', async () => {
    const database = databaseOf(await newFile());
    database.defaultSafeIntegers(true);
    const store = storeOf({ database });
    await store.open();
    expect((await addEndpoint(store)).status).toBe('active');
  });

  test('that the application closes under it is not available', async () => {
    const database = databaseOf(await newFile());
    const store = storeOf({ database });
    await store.open();
    database.close();
    await expect(store.endpoints.get(undefined, 'ep_a')).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' });
    await expect(addEndpoint(store)).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' });
  });
});

describe('a deletion of an endpoint that was cut short', () => {
  test('is brought to its end: what waits at once, what was leased when its lease is over', async () => {
    const file = await newFile();
    const store = storeOf({ file });
    await store.open();
    const { id } = await addEndpoint(store);
    const [first, second] = await addMessages(store, id, 2);
    await lease(store, { share: each(1) });
    databaseOf(file).exec('delete from hookplane_endpoints');
    const status = async (messageId: string) => (await deliveryOf(store, messageId, id))?.status;
    expect(await store.outbox.cancelOrphans(T0 + 1)).toBe(1);
    expect([await status(first!), await status(second!)]).toEqual(['pending', 'canceled']);
    expect(await store.outbox.cancelOrphans(T0 + LEASE_MS)).toBe(1);
    expect(await status(first!)).toBe('canceled');
    expect(await store.outbox.cancelOrphans(T0 + LEASE_MS)).toBe(0);
  });
});

describe('a schema that grows while a worker runs', () => {
  test('changes nothing of what it reads', async () => {
    const file = await newFile();
    const store = storeOf({ file });
    await store.open();
    const { id } = await addEndpoint(store, { maxInFlight: 2 });
    await addMessages(store, id, 3);
    await lease(store, { now: T0 + 10, share: each(1) });
    databaseOf(file).exec("alter table hookplane_endpoints add column later text not null default 'x'");
    expect(await lanesAt(store, T0 + 10)).toMatchObject([{ endpointId: id, inFlight: 1, maxInFlight: 2 }]);
  });
});

describe('every open', () => {
  test('makes commits wait for the disk, not the first alone, and a worker’s turns leave it so', async () => {
    const file = await newFile();
    for (let round = 0; round < 3; round++) {
      const database = databaseOf(file);
      const synchronous = () => database.pragma('synchronous', { simple: true });
      const store = storeOf({ database });
      await store.open();
      expect(database.pragma('journal_mode', { simple: true })).toBe('wal');
      expect(synchronous()).toBe(2);
      const endpoint = await addEndpoint(store);
      await addMessage(store, [endpoint.id]);
      const [leased] = await lease(store);
      await settle(store, [settlementOf(leased!)]);
      await store.outbox.renew('worker', [leased!], 1000, T0);
      await store.workers.beat('worker', T0);
      expect(synchronous()).toBe(2);
      const failing = lease(store, {
        share() {
          throw new Error('mine');
        },
      });
      await expect(failing).rejects.toThrow('mine');
      expect(synchronous()).toBe(2);
      await store.close();
      database.close();
    }
  });

  test('waits for others who make the file at the same time', async () => {
    const file = await newFile();
    const other = databaseOf(file);
    other.exec('begin immediate; create table theirs (id)');
    const database = databaseOf(file, { timeout: 1 });
    const pragma = jest.spyOn(database, 'pragma');
    const opening = storeOf({ database }).open();
    await waitFor(() => pragma.mock.calls.length > 2);
    other.exec('commit');
    await opening;
    expect(database.pragma('journal_mode', { simple: true })).toBe('wal');
  });

  test('does not when it is told so', async () => {
    const database = databaseOf(await newFile());
    const store = storeOf({ database, synchronous: 'normal' });
    await store.open();
    await lease(store);
    expect(database.pragma('synchronous', { simple: true })).toBe(1);
  });
});

describe('a write', () => {
  /** Stands between the store and the disk for what threads flush. */
  async function watchFlushes() {
    const probe = await open(__filename, 'r');
    const spy = jest.spyOn(Object.getPrototypeOf(probe) as FileHandle, 'sync');
    await probe.close();
    onCleanUp('test', 'sender', async () => spy.mockRestore());
    return spy;
  }

  /** Each flush of a file waits until it is let go. */
  async function holdFlushes() {
    const flushes: { let: () => void; fail: (error: Error) => void }[] = [];
    (await watchFlushes()).mockImplementation(
      () => new Promise<void>((resolve, reject) => flushes.push({ let: resolve, fail: reject })),
    );
    return flushes;
  }

  /** A clock that stands still, so that whatever is measured takes no time, unless it is set forward in the meantime. */
  function holdClock() {
    let ms = performance.now();
    const spy = jest.spyOn(performance, 'now').mockImplementation(() => ms);
    onCleanUp('test', 'sender', async () => spy.mockRestore());
    return (by: number) => {
      ms += by;
    };
  }

  /** A store whose commits are watched: by what they were set to wait for, and what comes of them. */
  async function openQuickStore() {
    const commits: string[] = [];
    let commit = (run: () => unknown): unknown => run();
    const { prepare } = Database.prototype;
    const spy = jest.spyOn(Database.prototype, 'prepare').mockImplementation(function (
      this: Database.Database,
      source: string,
    ) {
      const statement = prepare.call(this, source);
      if (source !== 'commit') return statement;
      const run = statement.run as (...values: unknown[]) => unknown;
      return Object.assign(statement, {
        run: (...values: unknown[]) => {
          commits.push(this.pragma('synchronous', { simple: true }) === 2 ? 'durable' : 'relaxed');
          return commit(() => run.apply(statement, values));
        },
      });
    });
    onCleanUp('test', 'sender', async () => spy.mockRestore());
    const opened = await openStore();
    const flush = await watchFlushes();
    const forward = holdClock();
    async function send(): Promise<void> {
      await opened.send();
      // The next one is in another turn of the event loop.
      await setImmediate();
    }
    for (let sent = 0; sent < 40; sent++) await send();
    commits.length = 0;
    flush.mockClear();
    return {
      ...opened,
      send,
      commits,
      flush,
      forward,
      onCommit(does: typeof commit) {
        commit = does;
      },
    };
  }

  async function openStore() {
    const file = await newFile();
    const store = storeOf({ file });
    await store.open();
    const endpoint = await addEndpoint(store);
    const other = databaseOf(file);
    const messages = () => other.prepare('select count(*) from hookplane_messages').pluck().get();
    return { file, store, messages, send: () => addMessage(store, [endpoint.id]) };
  }

  test('is answered when the disk has it, and keeps nobody waiting until then', async () => {
    const { store, messages, send } = await openStore();
    const flushes = await holdFlushes();
    let answered = false;
    const sent = send().then(() => {
      answered = true;
    });
    await eventually(() => expect(flushes).toHaveLength(1));
    expect(messages()).toBe(1);
    expect(await lease(store)).toHaveLength(1);
    expect(answered).toBe(false);
    flushes[0]!.let();
    await sent;
  });

  test('that comes while the disk is busy shares the next flush with others that do', async () => {
    const { messages, send } = await openStore();
    const flushes = await holdFlushes();
    const first = send();
    await eventually(() => expect(flushes).toHaveLength(1));
    const others = Promise.all([send(), send(), send()]);
    await eventually(() => expect(messages()).toBe(4));
    expect(flushes).toHaveLength(1);
    flushes[0]!.let();
    await first;
    await eventually(() => expect(flushes).toHaveLength(2));
    flushes[1]!.let();
    await others;
    expect(flushes).toHaveLength(2);
  });

  test('that the disk does not take is refused, and the next one is tried', async () => {
    const { send } = await openStore();
    const flushes = await holdFlushes();
    const refused = expect(send()).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' });
    await eventually(() => expect(flushes).toHaveLength(1));
    flushes[0]!.fail(Object.assign(new Error('i/o error'), { code: 'EIO' }));
    await refused;
    const next = send();
    await eventually(() => expect(flushes).toHaveLength(2));
    flushes[1]!.let();
    await next;
  });

  test('after one that the disk did not take waits until the log has been moved into the database', async () => {
    const { file, send } = await openStore();
    const flushes = await holdFlushes();
    const refused = expect(send()).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' });
    await eventually(() => expect(flushes).toHaveLength(1));
    flushes[0]!.fail(Object.assign(new Error('i/o error'), { code: 'EIO' }));
    await refused;
    const reader = databaseOf(file);
    reader.exec('begin; select count(*) from hookplane_messages');
    await expect(send()).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' });
    reader.exec('commit');
    const next = send();
    await eventually(() => expect(flushes).toHaveLength(2));
    expect(statSync(`${file}-wal`).size).toBe(0);
    flushes[1]!.let();
    await next;
  });

  test('waits for the disk itself where that has been quick of late', async () => {
    const { send, commits, flush } = await openQuickStore();
    for (let sent = 0; sent < 3; sent++) await send();
    expect(commits).toEqual(['durable', 'durable', 'durable']);
    expect(flush).not.toHaveBeenCalled();
  });

  test('waits for it itself once in a turn of the event loop: what comes with it shares a flush', async () => {
    const { send, commits, flush } = await openQuickStore();
    await Promise.all([send(), send(), send()]);
    expect(commits).toEqual(['durable', 'relaxed', 'relaxed']);
    expect(flush.mock.calls.length).toBeLessThanOrEqual(2);
    await send();
    expect(commits.at(-1)).toBe('durable');
  });

  test('shares the next flush where one is under way, however quick the disk is', async () => {
    const { send, commits, flush } = await openQuickStore();
    let letGo = () => {};
    flush.mockImplementationOnce(
      () =>
        new Promise<void>((resolve) => {
          letGo = resolve;
        }),
    );
    const first = Promise.all([send(), send()]);
    await eventually(() => expect(flush).toHaveBeenCalledTimes(1));
    await setImmediate();
    const next = send();
    await eventually(() => expect(commits).toHaveLength(3));
    expect(commits.at(-1)).toBe('relaxed');
    letGo();
    await Promise.all([first, next]);
  });

  test('has a thread wait again where the disk has become slow, and goes on itself after one slow commit', async () => {
    const { send, commits, flush, forward, onCommit } = await openQuickStore();
    const slowly = (commit: () => unknown) => {
      const result = commit();
      forward(50);
      return result;
    };
    onCommit(slowly);
    await send();
    onCommit((commit) => commit());
    await send();
    expect(commits).toEqual(['durable', 'durable']);
    onCommit(slowly);
    flush.mockImplementation(async () => forward(50));
    for (let sent = 0; sent < 10; sent++) await send();
    expect(flush).toHaveBeenCalled();
    expect(commits.at(-1)).toBe('relaxed');
  });

  test('of a database of the application always has a thread wait: what that is set to is not known', async () => {
    const database = databaseOf(await newFile());
    const store = storeOf({ database });
    await store.open();
    const { id } = await addEndpoint(store);
    const flush = await watchFlushes();
    holdClock();
    for (let sent = 0; sent < 40; sent++) await addMessage(store, [id]);
    expect(flush).toHaveBeenCalledTimes(40);
  });

  test('after a commit that the disk did not take waits until the log has been moved into the database', async () => {
    const { file, send, messages, commits, flush, onCommit } = await openQuickStore();
    const before = messages();
    onCommit(() => {
      throw Object.assign(new Error('disk I/O error'), { code: 'SQLITE_IOERR_FSYNC' });
    });
    await expect(send()).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' });
    expect(messages()).toBe(before);
    onCommit((commit) => commit());
    let sizeAtFlush: number | undefined;
    flush.mockImplementationOnce(async () => {
      sizeAtFlush = statSync(`${file}-wal`).size;
    });
    await send();
    expect(sizeAtFlush).toBe(0);
    expect(commits).toEqual(['durable', 'relaxed']);
    await send();
    expect(commits.at(-1)).toBe('durable');
  });
});

describe('in memory', () => {
  test('it keeps what it has while it is open, and nothing after', async () => {
    const store = storeOf({ file: ':memory:' });
    await store.open();
    const endpoint = await addEndpoint(store);
    await store.open();
    expect(await store.endpoints.get(undefined, endpoint.id)).toEqual(endpoint);
    await store.close();
    await store.open();
    expect(await store.endpoints.get(undefined, endpoint.id)).toBeNull();
  });

  test('two stores have nothing in common', async () => {
    const [a, b] = [storeOf({ file: ':memory:' }), storeOf({ file: ':memory:' })];
    await Promise.all([a.open(), b.open()]);
    const endpoint = await addEndpoint(a);
    expect(await b.endpoints.get(undefined, endpoint.id)).toBeNull();
  });
});

describe('a file that cannot be used', () => {
  test('in a folder that is not there: it is not available until there is one', async () => {
    const folder = join(await temporaryFolder(), 'later');
    const store = storeOf({ file: join(folder, 'store.sqlite') });
    await expect(store.open()).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' });
    await mkdir(folder);
    await store.open();
    expect((await addEndpoint(store)).status).toBe('active');
  });

  test('that is a folder, or no database: it is not available', async () => {
    const folder = await temporaryFolder();
    const text = join(folder, 'text');
    await writeFile(text, 'this is no database, and long enough to be read as one\n'.repeat(100));
    for (const file of [folder, text]) {
      await expect(storeOf({ file }).open()).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' });
    }
  });

  test('that is not named is refused at once', () => {
    for (const options of [{}, { file: '' }, { file: 7 }, { file: null }]) {
      expect(() => sqliteStore(options as never)).toThrow(
        expect.objectContaining({ code: 'INVALID_OPTIONS' }),
      );
    }
  });

  test('that another process has locked for too long: it is not available, and is again when it is free', async () => {
    const file = await newFile();
    const store = storeOf({ database: databaseOf(file, { timeout: 20 }) });
    await store.open();
    const other = databaseOf(file);
    other.exec('begin immediate');
    await expect(addEndpoint(store)).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' });
    await expect(lease(store)).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' });
    expect(await store.endpoints.get(undefined, 'ep_a')).toBeNull();
    other.exec('rollback');
    expect((await addEndpoint(store)).status).toBe('active');
  });
});

test('while another process has locked the file, all else of the application goes on', async () => {
  const file = join(await temporaryFolder(), 'store.sqlite');
  const store = sqliteStore({ file });
  onCleanUp('test', 'sender', () => store.close());
  await store.open();
  const other = new Database(file);
  onCleanUp('test', 'receiver', async () => void other.close());
  other.exec('begin immediate');
  let ticks = 0;
  const ticking = setInterval(() => {
    ticks += 1;
    // Who waited within the call would never come here, and give up.
    if (ticks === 20) other.exec('rollback');
  }, 10);
  try {
    const many = Array.from({ length: 30 }, () => addEndpoint(store));
    expect(new Set((await Promise.all(many)).map(({ id }) => id)).size).toBe(30);
  } finally {
    clearInterval(ticking);
  }
  expect(ticks).toBeGreaterThanOrEqual(20);
});

describe('a full disk', () => {
  async function full() {
    const database = databaseOf(await newFile());
    const sender = await startSender({ store: sqliteStore({ database }), started: false });
    await sender.endpoints.create({ url: 'http://127.0.0.1:9999/' });
    const fill = () =>
      database.pragma(`max_page_count = ${Number(database.pragma('page_count', { simple: true }))}`);
    const empty = () => database.pragma('max_page_count = 1000000');
    const rows = () =>
      ['messages', 'payloads', 'deliveries', 'idempotency_keys', 'tenants'].map((table) =>
        Number(database.prepare(`select count(*) from hookplane_${table}`).pluck().get()),
      );
    return { sender, fill, empty, rows };
  }

  const large = { type: 'a.b', data: 'x'.repeat(500_000), tenantId: null, idempotencyKey: 'key' };

  test('makes a send fail, writes nothing of it, and works again when there is room', async () => {
    const { sender, fill, empty, rows } = await full();
    const before = rows();
    fill();
    for (let round = 0; round < 2; round++) {
      await expect(sender.send(large)).rejects.toMatchObject({
        code: 'STORE_UNAVAILABLE',
        message: expect.stringMatching(/full/),
      });
      await expect(sender.sendMany([{ type: 'a.b', data: 1 }, large])).rejects.toMatchObject({
        code: 'STORE_UNAVAILABLE',
      });
      expect(rows()).toEqual(before);
    }
    expect((await sender.messages.list()).messages).toEqual([]);
    empty();
    const sent = await sender.send(large);
    expect(sent).toMatchObject({ duplicate: false, status: 'pending' });
    expect((await sender.messages.get(sent.id)).payload!.data).toBe(large.data);
  });

  test('fails the sends of one moment together, and none of them is half there', async () => {
    const { sender, fill, empty, rows } = await full();
    const before = rows();
    fill();
    const sends = [large, { ...large, idempotencyKey: 'another' }, { type: 'a.b', data: 1 }];
    const results = await Promise.allSettled(sends.map((message) => sender.send(message)));
    for (const each of results) {
      expect(each).toMatchObject({ status: 'rejected', reason: { code: 'STORE_UNAVAILABLE' } });
    }
    expect(rows()).toEqual(before);
    empty();
    const again = await Promise.all(sends.map((message) => sender.send(message)));
    expect(again.map(({ duplicate }) => duplicate)).toEqual([false, false, false]);
  });
});

test('a store fails as a whole what fails in the middle', async () => {
  const database = databaseOf(await newFile());
  const store = storeOf({ database });
  await store.open();
  const { id } = await addEndpoint(store);
  const message = newMessage([id]);
  // Two messages of one id: the second breaks the batch when the first has been written.
  await expect(store.messages.insert([message, message], true)).rejects.toMatchObject({
    code: expect.stringMatching(/^SQLITE_CONSTRAINT/),
  });
  expect(await store.messages.get(undefined, message.id)).toBeNull();
  expect(await lease(store)).toEqual([]);
});
