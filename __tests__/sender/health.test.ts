import { join } from 'node:path';
import { createSender } from '../../lib/create-sender.js';
import { postgresStore } from '../../lib/store/postgres.js';
import { sqliteStore } from '../../lib/store/sqlite.js';
import { createClock, MINUTE, SECOND } from '../support/clock.js';
import { startReceiver } from '../support/receiver.js';
import { startSender, temporaryFolder } from '../support/sender.js';
import { alterAt, onPostgres } from '../support/test-store.js';
import { untilAttempts, untilStatus } from './probe.js';

const UNKNOWN = { ok: false, outboxDepth: null, oldestPendingAge: null, workerCount: null };

/** A sender whose outbox waits: its one endpoint lets through a request in a thousand seconds. */
async function waiting() {
  const clock = createClock();
  const receiver = await startReceiver();
  const sender = await startSender({ now: clock.now, maxPendingAgeMs: MINUTE });
  const endpoint = await sender.endpoints.create({
    url: receiver.url(),
    tenantId: 'acme',
    rateLimit: { perSecond: 0.001 },
  });
  const first = await sender.send({ type: 'a.b', data: 0, tenantId: 'acme' });
  await untilStatus(sender, first.id, 'delivered');
  const send = () => sender.send({ type: 'a.b', data: 1, tenantId: 'acme' });
  /** A worker that has just given a sign of life, since the clock has moved on. */
  const another = () => startSender({ file: sender.file, now: clock.now, maxPendingAgeMs: MINUTE });
  return { clock, receiver, sender, endpoint, send, another };
}

test('is good with a worker and nothing to do', async () => {
  const sender = await startSender();
  expect(await sender.health()).toEqual({ ok: true, outboxDepth: 0, oldestPendingAge: null, workerCount: 1 });
});

test('is not good without a worker', async () => {
  const sender = await startSender({ started: false });
  expect(await sender.health()).toEqual({
    ok: false,
    outboxDepth: 0,
    oldestPendingAge: null,
    workerCount: 0,
    reason: 'no_worker',
  });
});

test('counts what is owed, and since when the most overdue has been due', async () => {
  const { clock, sender, send } = await waiting();
  await send();
  clock.advance(SECOND);
  await send();
  clock.advance(SECOND);
  expect(await sender.health()).toEqual({ ok: true, outboxDepth: 2, oldestPendingAge: 2000, workerCount: 1 });
});

test('is not good when something has been due for too long', async () => {
  const { clock, send, another } = await waiting();
  await send();
  clock.advance(MINUTE);
  const sender = await another();
  expect(await sender.health()).toMatchObject({ ok: true, oldestPendingAge: MINUTE });
  clock.advance(1);
  expect(await sender.health()).toMatchObject({ ok: false, oldestPendingAge: MINUTE + 1, reason: 'overdue' });
});

test('what waits for a later attempt is owed and not overdue', async () => {
  const receiver = await startReceiver();
  receiver.answer('/', 500);
  const sender = await startSender();
  await sender.endpoints.create({ url: receiver.url() });
  await untilAttempts(sender, await sender.send({ type: 'a.b', data: 1 }), 1);
  expect(await sender.health()).toMatchObject({ ok: true, outboxDepth: 1, oldestPendingAge: null });
});

test('what is held for a paused endpoint does not count', async () => {
  const { clock, sender, endpoint, send } = await waiting();
  await send();
  await sender.endpoints.disable(endpoint.id);
  clock.advance(10 * SECOND);
  expect(await sender.health()).toMatchObject({ ok: true, outboxDepth: 0, oldestPendingAge: null });
});

test("of a tenant counts that tenant's alone, and every worker", async () => {
  const { clock, sender, send } = await waiting();
  await send();
  clock.advance(SECOND);
  expect(await sender.forTenant('acme').health()).toEqual({
    ok: true,
    outboxDepth: 1,
    oldestPendingAge: 1000,
    workerCount: 1,
  });
  expect(await sender.forTenant('other').health()).toEqual({
    ok: true,
    outboxDepth: 0,
    oldestPendingAge: null,
    workerCount: 1,
  });
});

test('counts the workers of every process: one that stops signs off, one that is silent is not counted', async () => {
  const clock = createClock();
  const web = await startSender({ started: false, now: clock.now });
  const workers = [];
  for (let count = 0; count < 3; count++) workers.push(await startSender({ file: web.file, now: clock.now }));
  expect(await web.health()).toMatchObject({ ok: true, workerCount: 3 });
  await workers[0]?.stop();
  expect(await web.health()).toMatchObject({ ok: true, workerCount: 2 });
  clock.advance(15 * SECOND);
  expect(await web.health()).toMatchObject({ ok: true, workerCount: 2 });
  clock.advance(1);
  expect(await web.health()).toMatchObject({ ok: false, workerCount: 0, reason: 'no_worker' });
});

test('of a store that does not answer says so, and never rejects', async () => {
  const stopped = await startSender();
  await stopped.stop();
  expect(await stopped.health()).toEqual({ ...UNKNOWN, reason: 'store_unavailable' });
  const file = join(await temporaryFolder(), 'no', 'such', 'folder.sqlite');
  const store = onPostgres
    ? postgresStore({ connectionString: 'postgres://127.0.0.1:1/none' })
    : sqliteStore({ file });
  const sender = createSender({ store });
  expect(await sender.health()).toEqual({ ...UNKNOWN, reason: 'store_unavailable' });
  expect(await sender.forTenant('acme').health()).toEqual({ ...UNKNOWN, reason: 'store_unavailable' });
});

test('of a store with another schema says so', async () => {
  const before = await startSender();
  await before.stop();
  await alterAt(before.file, 'update hookplane_schema_migrations set version = 99');
  const sender = await startSender({ file: before.file, started: false });
  expect(await sender.health()).toEqual({ ...UNKNOWN, reason: 'migration_required' });
  await expect(sender.start()).rejects.toMatchObject({ code: 'MIGRATION_REQUIRED' });
  await expect(sender.send({ type: 'a.b', data: 1 })).rejects.toMatchObject({ code: 'MIGRATION_REQUIRED' });
});
