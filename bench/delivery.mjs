// From send to recorded attempt: hookplane on both stores beside a bare loop that signs and posts, the most that one
// process can do, and beside what a careful engineer makes of a job queue.
//
//   npm run bench -- delivery
//   BENCH_MESSAGES=10000 BENCH_ROUNDS=5 BENCH_ONLY=hookplane,bare node bench/delivery.mjs
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { installPeers, startPostgres, startRedis } from './delivery/services.mjs';
import { machine, median, quantile, rounds, say, startReceiver, table, temporaryFolder } from './support.mjs';

const MESSAGES = Number(process.env.BENCH_MESSAGES ?? 10_000);
const ROUNDS = Number(process.env.BENCH_ROUNDS ?? 5);
const ONLY = process.env.BENCH_ONLY?.split(',');
const CONCURRENCY = 128;
const PACED_SECONDS = 4;

const CONTENDERS = {
  'bare undici loop': { module: './contenders/bare-loop.mjs' },
  'hookplane, SQLite': { module: './contenders/hookplane.mjs', store: 'sqlite' },
  'hookplane, PostgreSQL': { module: './contenders/hookplane.mjs', store: 'postgres' },
  'graphile-worker, PostgreSQL': { module: '../peers/graphile-worker.mjs' },
  'pg-boss, PostgreSQL': { module: '../peers/pg-boss.mjs' },
  'BullMQ, Redis': { module: '../peers/bullmq.mjs', redis: true },
};

/** @type {[name: string, endpoints: number, delayMs: number, messages: number][]} */
const SHAPES = [
  ['10 endpoints', 10, 0, MESSAGES / 2],
  ['1 000 endpoints', 1000, 0, MESSAGES / 2],
  ['receivers take 20 ms', 10, 20, MESSAGES / 2],
  ['receivers take 500 ms', 10, 500, MESSAGES / 10],
];

export async function run() {
  installPeers();
  const { folder, remove } = await temporaryFolder();
  const receiver = await startReceiver();
  const postgres = await startPostgres();
  const redis = await startRedis(folder);
  const names = Object.keys(CONTENDERS).filter(
    (name) => (!ONLY || ONLY.some((each) => name.startsWith(each))) && (redis || !CONTENDERS[name].redis),
  );
  let runs = 0;

  /** A contender, warm, that works for as long as `work` takes. */
  async function having(name, { endpoints = 1, delayMs = 0 }, work) {
    const { module, store } = CONTENDERS[name];
    const ownFolder = join(folder, `run-${++runs}`);
    await mkdir(ownFolder);
    const settings = {
      module: new URL(module, new URL('./delivery/', import.meta.url)).href,
      store,
      folder: ownFolder,
      postgresUrl: await postgres.newDatabase(),
      redisPort: redis?.port,
      endpoints: receiver.endpoints(endpoints, delayMs),
      concurrency: CONCURRENCY,
    };
    const child = fork(new URL('./delivery/process.mjs', import.meta.url), [JSON.stringify(settings)]);
    const dead = once(child, 'exit').then(([code]) => {
      throw new Error(`${name} ended with code ${code}`);
    });
    dead.catch(() => {});
    const told = () => Promise.race([once(child, 'message').then(([message]) => message), dead]);
    const order = (given) => {
      child.send(given);
      return told();
    };
    await told();
    await order({ kind: 'flood', messages: delayMs > 100 ? CONCURRENCY : 1000 });
    await receiver.takeLatencies();
    const result = await work(order);
    child.send({ kind: 'stop' });
    await dead.catch(() => {});
    return result;
  }

  try {
    say(
      `## Delivery\n\n${machine()}. Messages of 1 KiB, ${CONCURRENCY} requests at a time, receiver in a process of its own.\n`,
    );
    const details = {};
    const flood = (name, shape, messages) => async () => {
      const result = await having(name, shape, (order) => order({ kind: 'flood', messages }));
      details[name] = [...(details[name] ?? []), result];
      return result.rate;
    };
    const contenders = (make) => Object.fromEntries(names.map((name) => [name, make(name)]));
    const found = await rounds(
      ROUNDS,
      contenders((name) => flood(name, {}, MESSAGES)),
    );
    const limit = found['bare undici loop']?.median;
    say(`Deliveries a second of ${MESSAGES} messages to one endpoint, medians of ${ROUNDS} rounds:\n`);
    table(
      ['', 'deliveries/s', 'of the bare loop', 'CPU of its process', 'memory', 'rounds'],
      names.map((name) => [
        name,
        String(Math.round(found[name].median)),
        limit ? (found[name].median / limit).toFixed(2) : '',
        `${Math.round(median(details[name].map(({ cpuMicros }) => cpuMicros)))} µs`,
        `${Math.round(median(details[name].map(({ rss }) => rss)) / 2 ** 20)} MiB`,
        found[name].values.map(Math.round).join(', '),
      ]),
    );

    const byShape = {};
    for (const [shape, endpoints, delayMs, messages] of SHAPES) {
      byShape[shape] = await rounds(
        Math.min(ROUNDS, 3),
        contenders((name) => flood(name, { endpoints, delayMs }, messages)),
      );
    }
    say('Deliveries a second by endpoints and by how long they take to answer:\n');
    table(
      ['', ...SHAPES.map(([shape]) => shape)],
      names.map((name) => [
        name,
        ...SHAPES.map(([shape]) => String(Math.round(byShape[shape][name].median))),
      ]),
    );

    say(
      `From send to receiver, p50 and p99 in ms, each message sent by itself, ${PACED_SECONDS} s at shares of its own capacity:\n`,
    );
    const rows = [];
    for (const name of names) {
      const row = [name];
      await having(name, {}, async (order) => {
        for (const perSecond of [5, ...[0.1, 0.5, 0.9].map((share) => share * found[name].median)]) {
          await order({ kind: 'paced', perSecond, seconds: PACED_SECONDS });
          const latencies = await receiver.takeLatencies();
          row.push(`${quantile(latencies, 0.5).toFixed(1)} / ${quantile(latencies, 0.99).toFixed(1)}`);
        }
      });
      rows.push(row);
    }
    table(['', 'idle (5/s)', '10 %', '50 %', '90 %'], rows);
  } finally {
    receiver.stop();
    await Promise.all([postgres.stop(), redis?.stop()]);
    await remove();
  }
}

if (process.argv[1] === import.meta.filename) await run();
