// What one PostgreSQL and its workers carry: what a message costs them, measured by real processes; a model of that; the
// model beside cases that it was not made of; and what so many messages a day take, and what is at its end first.
//
//   npm run bench -- growth
//   BENCH_MESSAGES=4000 node bench/growth.mjs
import { cpus } from 'node:os';
import { runCase } from './growth/case.mjs';
import { startMeteredServer } from './growth/meters.mjs';
import { costOf, DEFAULTS, fitCosts, model } from './growth/model.mjs';
import { machine, say, startReceiver, table } from './support.mjs';

const MESSAGES = Number(process.env.BENCH_MESSAGES ?? 8000);
/** Two waves have warmed the processes up. */
const BASE = { messages: MESSAGES, waves: 2 };
const FITTED = {
  one: { ...BASE, measuresPasses: true },
  two: { ...BASE, deliveries: 2 },
  failing: { ...BASE, failing: 0.25 },
};
const CHECKED = {
  'the same again': BASE,
  'two workers': { ...BASE, workers: 2 },
  'behind three times the history': { ...BASE, waves: 6 },
  'three deliveries': { ...BASE, deliveries: 3 },
  'two workers, two deliveries, a tenth fails once, 512 bytes': {
    ...BASE,
    ...{ workers: 2, deliveries: 2, failing: 0.1, payloadBytes: 512 },
  },
};
const PER_DAY = [100_000, 1_000_000, 10_000_000, 50_000_000, 100_000_000];
const KB = 1024;

/** What costs are told by: a name, its unit, and how much of a cost it is. */
const FIGURES = [
  ['on disk, bytes', ({ bytes }) => bytes, 0],
  ['WAL of the send, bytes', ({ sendWal }) => sendWal, 0],
  ['WAL of the delivery, bytes', ({ deliverWal }) => deliverWal, 0],
  ['WAL of removal and vacuum, bytes', ({ removeWal }) => removeWal, 0],
  ['pages written, bytes', ({ sentPages, removedPages }) => sentPages + removedPages, 0],
  ['database CPU of the send, ms', ({ sendDatabaseMs }) => sendDatabaseMs, 3],
  ['database CPU of the delivery, ms', ({ deliverDatabaseMs }) => deliverDatabaseMs, 3],
  ['database CPU of removal, ms', ({ removeDatabaseMs }) => removeDatabaseMs, 3],
  ['database CPU of vacuum, ms', ({ vacuumMs }) => vacuumMs, 3],
  ['web process CPU of the send, ms', ({ sendProcessMs }) => sendProcessMs, 3],
  ['worker CPU of the delivery, ms', ({ deliverProcessMs }) => deliverProcessMs, 3],
  ['worker CPU of removal, ms', ({ removeProcessMs }) => removeProcessMs, 3],
  ['removal, ms of one worker with its rests', ({ removeMs }) => removeMs, 3],
];
const CHECKED_FIGURES = {
  'on disk': ({ bytes }) => bytes,
  WAL: ({ sendWal, deliverWal, removeWal }) => sendWal + deliverWal + removeWal,
  'database CPU': ({ sendDatabaseMs, deliverDatabaseMs, removeDatabaseMs }) =>
    sendDatabaseMs + deliverDatabaseMs + removeDatabaseMs,
  'worker CPU': ({ deliverProcessMs, removeProcessMs }) => deliverProcessMs + removeProcessMs,
};

export async function run() {
  const server = await startMeteredServer();
  const started = await startReceiver();
  const receiver = {
    ...started,
    answered: async () => Number(await (await fetch(started.url)).text()),
  };
  try {
    const fitted = {};
    for (const [name, given] of Object.entries(FITTED)) fitted[name] = await runCase(server, receiver, given);
    const { passMsPerByte } = fitted.one;
    for (const each of Object.values(fitted)) {
      each.cost.vacuumMs = each.heapVacuumMs + passMsPerByte * each.cost.vacuumedBytes;
      each.cost.receiverMs = each.receiverMs;
    }
    const costs = fitCosts(fitted.one, fitted.two, {
      ...fitted.failing,
      failedShare: FITTED.failing.failing,
    });
    say(
      `## Growth\n\nPostgreSQL ${server.version} with fsync, full-page writes and synchronous commits, ${MESSAGES} messages of 1 KiB behind ${BASE.waves * MESSAGES} others, of 20 tenants, sent 64 at once, then delivered, then removed. ${machine()}\n`,
    );
    tellCosts(costs);
    tellTables(fitted.one);
    const checked = {};
    for (const [name, given] of Object.entries(CHECKED))
      checked[name] = await runCase(server, receiver, given);
    tellCheck(checked, costs);
    for (const retentionDays of [30, 7]) tellGrowth(costs, retentionDays);
  } finally {
    started.stop();
    await server.stop();
  }
}

function tellCosts(costs) {
  say('What a message takes by itself, each delivery of it, and each attempt that fails:\n');
  table(
    ['', 'message', 'delivery', 'failed attempt', 'message with one delivery'],
    FIGURES.map(([name, of, digits]) => [
      name,
      ...[costs.message, costs.delivery, costs.failed, costOf({}, costs)].map((cost) =>
        of(cost).toFixed(digits),
      ),
    ]),
  );
}

function tellTables({ tables, transactions, connections }) {
  say('Bytes of a message with one delivery, by table, and its dead rows:\n');
  table(
    ['', 'bytes', 'of that indexes', 'dead rows', 'bytes that vacuum goes over'],
    Object.entries(tables).map(([name, { bytes, indexes, dead, vacuumed }]) => [
      name,
      bytes.toFixed(0),
      indexes.toFixed(0),
      dead.toFixed(1),
      vacuumed.toFixed(0),
    ]),
  );
  const { send, deliver, remove } = transactions;
  say(
    `Transactions for each message: ${send.toFixed(3)} to send, ${deliver.toFixed(3)} to deliver, ${remove.toFixed(3)} to remove. Connections: ${connections.web} of a web process, ${connections.worker} of a worker.\n`,
  );
}

function tellCheck(checked, costs) {
  say('Predicted, measured and by how much that is more, for each message:\n');
  const rows = Object.entries(checked).map(([name, each]) => {
    const { deliveries = 1, failing: failedShare = 0, payloadBytes = KB, workers = 1 } = each;
    const load = { deliveriesPerMessage: deliveries, failedShare, payloadBytes };
    const predicted = costOf(load, costs);
    const figures = Object.values(CHECKED_FIGURES).map((of) =>
      beside(of(predicted), of(each.cost), of(predicted) < 100 ? 2 : 0),
    );
    // What others leave of the processors is shared by worker, database and receiver; a worker has one at most.
    const ms = predicted.deliverProcessMs + predicted.deliverDatabaseMs + predicted.receiverMs;
    const free = (cpus().length - each.cores.others) / ms;
    const rate = 1000 * deliveries * Math.min(free, workers / predicted.deliverProcessMs);
    return [name, ...figures, beside(rate, each.rate, 0)];
  });
  table(['', ...Object.keys(CHECKED_FIGURES), 'deliveries/s, at most'], rows);
}

function beside(predicted, measured, digits) {
  const percent = Math.round(100 * (measured / predicted - 1));
  return `${predicted.toFixed(digits)}, ${measured.toFixed(digits)}, ${percent < 0 ? '−' : '+'}${Math.abs(percent)} %`;
}

function tellGrowth(costs, retentionDays) {
  const { peakFactor, databaseCores, diskGB, diskMBps, maxConnections, webProcesses } = DEFAULTS;
  const { databaseShare, workerShare } = DEFAULTS;
  say(
    `Kept for ${retentionDays} days, one delivery each, a peak of ${peakFactor} times the mean; ${databaseCores} cores, ${diskGB} GB and ${diskMBps} MB/s of the database, ${maxConnections} connections, ${webProcesses} web processes, the database's cores busy for at most ${databaseShare}, a worker's for ${workerShare}:\n`,
  );
  table(
    [
      'messages a day',
      'a second at the peak',
      'database cores',
      'workers',
      'disk, GB',
      'WAL, GB a day',
      'disk at the peak, MB/s',
      'connections',
      'removal, hours of a worker',
      'first at its end',
      'taken of it',
    ],
    PER_DAY.map((messagesPerDay) => {
      const { needs, ends } = model({ messagesPerDay, retentionDays }, costs);
      const [resource, end] = Object.entries(ends).reduce((least, each) =>
        each[1] < least[1] ? each : least,
      );
      return [
        inMillions(messagesPerDay),
        ((messagesPerDay / 86_400) * peakFactor).toFixed(0),
        needs.databaseCores.toFixed(2),
        String(needs.workers),
        needs.diskGB.toFixed(0),
        needs.walGBPerDay.toFixed(1),
        needs.diskMBps.toFixed(1),
        String(needs.connections),
        needs.removalHoursPerDay.toFixed(1),
        resource,
        (messagesPerDay / end).toFixed(2),
      ];
    }),
  );
  const { ends } = model({ messagesPerDay: 1_000_000, retentionDays }, costs);
  const inOrder = Object.entries(ends).sort((a, b) => a[1] - b[1]);
  say(
    `At its end, in messages a day: ${inOrder.map(([name, end]) => `${name} ${inMillions(end)}`).join(', ')}.\n`,
  );
}

const inMillions = (count) => `${Number((count / 1e6).toPrecision(2))} million`;

if (process.argv[1] === import.meta.filename) await run();
