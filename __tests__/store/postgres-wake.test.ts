import { createSender } from '../../lib/create-sender.js';
import { postgresStore, type PostgresStoreOptions } from '../../lib/store/postgres.js';
import { onCleanUp } from '../support/clean-up.js';
import { createDatabase, type TestDatabase } from '../support/postgres/database.js';
import { type Receiver, startReceiver } from '../support/receiver.js';
import { recordingLogger } from '../support/sender.js';
import { eventually } from '../support/wait-for.js';

jest.setTimeout(60_000);

/** Longer than any of these tests waits: what arrives has not been found by looking for it. */
const NEVER_MS = 3_600_000;

let database: TestDatabase;
let schemas = 0;
beforeAll(async () => {
  database = await createDatabase();
});

const listeners = async () =>
  // The server has the databases of other test files, which listen as well.
  (
    await database.query(
      "select pid from pg_stat_activity where datname = current_database() and (query like 'listen %' or query = 'select 1')",
    )
  ).map(({ pid }) => pid);

async function startSender(
  schema: string,
  {
    pollIntervalMs = NEVER_MS,
    started = true,
    ...options
  }: Partial<PostgresStoreOptions> & {
    pollIntervalMs?: number;
    started?: boolean;
  } = {},
) {
  const sender = createSender({
    store: postgresStore({ connectionString: database.url, schema, ...options } as PostgresStoreOptions),
    allowHttp: true,
    allowTargets: ['127.0.0.1'],
    pollIntervalMs,
    logger: recordingLogger(),
  });
  onCleanUp('test', 'sender', () => sender.stop({ drainMs: 1000 }));
  if (started) await sender.start();
  else await sender.health();
  return sender;
}

async function startTwo(options: { pollIntervalMs?: number } = {}) {
  const schema = `wake_${++schemas}`;
  const receiver = await startReceiver();
  const worker = await startSender(schema, options);
  const web = await startSender(schema, { started: false });
  await web.endpoints.create({ url: receiver.url() });
  await eventually(async () => expect(await listeners()).toHaveLength(1));
  return { schema, receiver, worker, web };
}

test('a look at the schema leaves a worker listening', async () => {
  const schema = `wake_${++schemas}`;
  const store = postgresStore({ connectionString: database.url, schema });
  onCleanUp('test', 'sender', () => store.close());
  await store.open();
  const deafen = store.outbox.onWake!(() => {});
  await eventually(async () => expect(await listeners()).toHaveLength(1));
  const before = await listeners();
  expect((await store.schema()).pending).toEqual([]);
  expect(await listeners()).toEqual(before);
  deafen();
});

const arrivals = (receiver: Receiver) => receiver.requests().length;

test('a worker delivers at once what another process sends', async () => {
  const { receiver, web } = await startTwo();
  for (let count = 1; count <= 3; count++) {
    await web.send({ type: 'a', data: count });
    await eventually(() => expect(arrivals(receiver)).toBe(count));
  }
});

test('a worker whose listening connection is cut listens anew, and finds what was sent in between', async () => {
  const { receiver, web } = await startTwo();
  const [pid] = await listeners();
  await database.query('select pg_terminate_backend($1)', [pid]);
  await web.send({ type: 'a', data: 1 });
  await eventually(() => expect(arrivals(receiver)).toBe(1));
  await eventually(async () => expect((await listeners()).filter((one) => one !== pid)).toHaveLength(1));
  await web.send({ type: 'a', data: 2 });
  await eventually(() => expect(arrivals(receiver)).toBe(2));
});

test('a process that only sends does not listen, and a worker that has stopped does no more', async () => {
  const { worker } = await startTwo();
  await worker.stop();
  await eventually(async () => expect(await listeners()).toEqual([]));
  await worker.start();
  await eventually(async () => expect(await listeners()).toHaveLength(1));
});

test('without listening, workers find what they are owed when they look', async () => {
  // Those of the test before are on their way out.
  await eventually(async () => expect(await listeners()).toEqual([]));
  const schema = `wake_${++schemas}`;
  const receiver = await startReceiver();
  await startSender(schema, { listen: false, pollIntervalMs: 20 });
  const web = await startSender(schema, { listen: false, started: false });
  await web.endpoints.create({ url: receiver.url() });
  await web.send({ type: 'a', data: 1 });
  await eventually(() => expect(arrivals(receiver)).toBe(1));
  expect(await listeners()).toEqual([]);
});

test('a worker learns at once of whatever lets it deliver what was held back', async () => {
  const { receiver, web } = await startTwo();
  const send = () => web.send({ type: 'a', data: 1, tenantId: 'acme' });
  let count = 0;
  const arrived = () => receiver.waitFor(++count);

  const { id } = await web.endpoints.create({ url: receiver.url('/acme'), tenantId: 'acme' });
  await web.endpoints.disable(id);
  const first = await send();
  await web.endpoints.enable(id);
  await arrived();

  await eventually(async () =>
    expect(await web.messages.get(first.id)).toMatchObject({ status: 'delivered' }),
  );
  expect(await web.replay({ messageId: first.id })).toMatchObject({ replayed: 1 });
  await arrived();

  // One goes, the next ones wait for a thousand seconds.
  const slow = { perSecond: 0.001, burst: 1 };
  await web.endpoints.update(id, { rateLimit: slow });
  await Promise.all([send(), send()]);
  await arrived();
  await web.endpoints.update(id, { rateLimit: null });
  await arrived();

  await web.tenants.setRateLimit('acme', slow);
  await Promise.all([send(), send()]);
  await arrived();
  await web.tenants.setRateLimit('acme', { perSecond: 1000 });
  await arrived();
});

test('what a worker gives back when it stops another takes up at once', async () => {
  const { schema, receiver, worker, web } = await startTwo();
  const held = receiver.hold('/');
  await web.send({ type: 'a', data: 1 });
  await receiver.waitFor(1);
  await startSender(schema);
  await eventually(async () => expect(await listeners()).toHaveLength(2));
  await worker.stop({ drainMs: 0 });
  await receiver.waitFor(2);
  held.release();
});
