import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { createSender } from '../../lib/create-sender.js';
import { postgresStore } from '../../lib/store/postgres.js';
import { bundle } from '../faults/campaign.js';
import { onCleanUp } from '../support/clean-up.js';
import { createDatabase, type TestDatabase } from '../support/postgres/database.js';
import { type Receiver, startReceiver } from '../support/receiver.js';
import { recordingLogger, temporaryFolder } from '../support/sender.js';
import { eventually } from '../support/wait-for.js';

jest.setTimeout(60_000);

const LEASE_MS = 2000;
/** Longer than any of these tests waits: what arrives has not been found by looking for it. */
const NEVER_MS = 3_600_000;

const WORKER = `
const [folder, connectionString, schema, settings, name] = process.argv.slice(1);
const { createSender } = require(folder);
const { postgresStore } = require(folder + '/postgres');
createSender({
  ...JSON.parse(settings),
  store: postgresStore({ connectionString, schema, maxConnections: 3, statementTimeoutMs: 1900 }),
  allowHttp: true,
  allowTargets: ['127.0.0.1'],
  endpointHooks: () => ({ headers: () => ({ 'x-worker': name }) }),
  logger: { error: console.error, warn() {}, info() {}, debug() {} },
}).start();
`;

let folder: string;
let database: TestDatabase;
let receiver: Receiver;
beforeAll(async () => {
  [folder, database, receiver] = await Promise.all([
    temporaryFolder('file'),
    createDatabase(),
    startReceiver('file'),
  ]);
  await bundle(folder);
});

/** A sender that delivers nothing itself, on a schema of its own, and processes that deliver from there. */
async function startProcesses(schema: string, count: number, settings: object) {
  const sender = createSender({
    store: postgresStore({ connectionString: database.url, schema, statementTimeoutMs: 20_000 }),
    allowHttp: true,
    allowTargets: ['127.0.0.1'],
    logger: recordingLogger(),
  });
  onCleanUp('file', 'sender', () => sender.stop());
  await sender.health();
  const workers = Array.from({ length: count }, (_, index) => {
    const given = [folder, database.url, schema, JSON.stringify(settings), `${index}`];
    const child = spawn(process.execPath, ['-e', WORKER, ...given], {
      stdio: ['ignore', 'ignore', 'inherit'],
    });
    onCleanUp('file', 'receiver', () => kill(child));
    return child;
  });
  await eventually(async () => expect(await sender.health()).toMatchObject({ workerCount: count }), 30_000);
  return { sender, workers };
}

async function kill(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const gone = once(child, 'exit');
  child.kill('SIGKILL');
  await gone;
}

const workersOf = (path: string) =>
  new Set(receiver.requests(path).map(({ headers }) => String(headers['x-worker'])));
const idsOf = (path: string) => receiver.requests(path).map(({ headers }) => headers['webhook-id']);
const messages = (type: string, count: number) => Array.from({ length: count }, () => ({ type, data: 1 }));

describe('four worker processes on one database', () => {
  let sender: Awaited<ReturnType<typeof startProcesses>>['sender'];
  beforeAll(async () => {
    ({ sender } = await startProcesses('together', 4, { concurrency: 8, pollIntervalMs: NEVER_MS }));
  });

  test('share what a process without a worker sends, from the moment it is sent, and send nothing twice', async () => {
    // Long enough for all of them to have some of it under way.
    receiver.answer('/all', (_request, response) => void setTimeout(() => response.end(), 10));
    await sender.endpoints.create({ url: receiver.url('/all'), types: ['a.shared'] });
    const sent = await sender.sendMany(messages('a.shared', 400));
    const ids = sent.map(({ id }) => id);
    await eventually(async () => expect(await sender.health()).toMatchObject({ outboxDepth: 0 }), 30_000);
    expect(idsOf('/all').sort()).toEqual(ids.sort());
    expect(workersOf('/all').size).toBe(4);
  });

  test('let through together what a rate limit says', async () => {
    const rateLimit = { perSecond: 0.001, burst: 20 };
    await sender.endpoints.create({ url: receiver.url('/rated'), types: ['a.rated'], rateLimit });
    await sender.endpoints.create({ url: receiver.url('/beside'), types: ['a.rated'] });
    for (let round = 1; round <= 5; round++) {
      // Whoever takes of the one looks at the other.
      await sender.sendMany(messages('a.rated', 40));
      await receiver.waitFor(40 * round, '/beside');
    }
    await receiver.waitFor(20, '/rated');
    expect(idsOf('/rated')).toHaveLength(20);
  });

  test('have no more in flight together than maxInFlight', async () => {
    let [inFlight, most] = [0, 0];
    receiver.answer('/few', (_request: unknown, response: ServerResponse) => {
      inFlight += 1;
      most = Math.max(most, inFlight);
      setTimeout(() => {
        inFlight -= 1;
        response.end();
      }, 20);
    });
    await sender.endpoints.create({ url: receiver.url('/few'), types: ['a.few'], maxInFlight: 3 });
    // Who comes first may come first again.
    for (let round = 1; round <= 10 || (workersOf('/few').size === 1 && round <= 200); round++) {
      await sender.sendMany(messages('a.few', 6));
      await receiver.waitFor(6 * round, '/few');
    }
    expect(most).toBe(3);
    expect(workersOf('/few').size).toBeGreaterThan(1);
  });
});

test('what a killed process had under way is taken over when its lease is over', async () => {
  const settings = { concurrency: 4, leaseMs: LEASE_MS, timeoutMs: LEASE_MS - 100, pollIntervalMs: 50 };
  const { sender, workers } = await startProcesses('killed', 2, settings);
  const held = receiver.hold('/held');
  await sender.endpoints.create({ url: receiver.url('/held') });
  const sent = await sender.sendMany(messages('a.held', 4));
  await receiver.waitFor(4, '/held');
  const [name] = workersOf('/held');
  const caught = receiver.requests('/held').filter(({ headers }) => headers['x-worker'] === name);
  await kill(workers[Number(name)]!);
  const killedAt = performance.now();
  held.release();
  await receiver.waitFor(4 + caught.length, '/held');
  const tookMs = performance.now() - killedAt;
  await eventually(async () => expect(await sender.health()).toMatchObject({ outboxDepth: 0 }));
  // Each of them again, by the other one, and nothing else.
  const again = idsOf('/held').slice(4).sort();
  expect(again).toEqual(caught.map(({ headers }) => headers['webhook-id']).sort());
  expect(new Set(idsOf('/held'))).toEqual(new Set(sent.map(({ id }) => id)));
  expect(tookMs).toBeLessThan(LEASE_MS + 1500);
});
