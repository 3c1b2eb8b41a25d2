// Deliveries a second of two worker processes beside one on the same PostgreSQL, and what a delivery takes of the
// processors: where they are all taken, and it takes no more with two, nothing else bounds them. The server is one of its
// own unless BENCH_POSTGRES_URL names one, on this machine.
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { cpus } from 'node:os';
import { createSender } from 'hookplane';
import { postgresStore } from 'hookplane/postgres';
import pg from 'pg';
import { startServer } from '../__tests__/support/postgres/start-server.mjs';
import { cpuOf, fillOutbox, machine, median, say, startReceiver } from './support.mjs';

const MESSAGES = Number(process.env.BENCH_MESSAGES ?? 20_000);
const ROUNDS = Number(process.env.BENCH_ROUNDS ?? 3);
const ENDPOINTS = 8;

function idleSeconds() {
  return cpus().reduce((total, { times }) => total + times.idle / 1000, 0);
}

async function measure(database, url, receiver, schema, count) {
  const store = postgresStore({ connectionString: url, schema });
  const sender = createSender({ store, allowHttp: true, allowTargets: ['127.0.0.1'] });
  for (let lane = 0; lane < ENDPOINTS; lane++) {
    const { id } = await sender.endpoints.create({ tenantId: `t${lane}`, url: receiver.url });
    await fillOutbox(store, { tenantId: `t${lane}`, endpointIds: [id], count: MESSAGES / ENDPOINTS });
  }
  await sender.stop();
  await database.query(`vacuum analyze ${schema}.hookplane_deliveries`);
  await database.query('checkpoint');
  const workers = Array.from({ length: count }, () =>
    fork(new URL('./postgres-worker.mjs', import.meta.url), [url, schema]),
  );
  await Promise.all(workers.map((worker) => once(worker, 'message')));
  const backends = async () =>
    (await database.query('select pid from pg_stat_activity')).rows.map(({ pid }) => pid);
  const received = async () => Number(await (await fetch(receiver.url)).text());

  const known = await backends();
  const nodes = workers.map(({ pid }) => pid);
  const before = { postgres: cpuOf(known), workers: cpuOf(nodes), receiver: cpuOf([receiver.pid]) };
  const [wanted, began, idle] = [(await received()) + MESSAGES, performance.now(), idleSeconds()];
  for (const worker of workers) worker.send('go');
  while ((await received()) < wanted) await new Promise((resolve) => setTimeout(resolve, 20));
  const seconds = (performance.now() - began) / 1000;
  const perDelivery = (each) => (1000 * each) / MESSAGES;
  const result = {
    rate: MESSAGES / seconds,
    postgres: perDelivery(cpuOf(await backends()) - before.postgres),
    workers: perDelivery(cpuOf(nodes) - before.workers),
    receiver: perDelivery(cpuOf([receiver.pid]) - before.receiver),
    idle: (idleSeconds() - idle) / seconds / cpus().length,
  };
  for (const worker of workers) worker.disconnect();
  await Promise.all(workers.map((worker) => once(worker, 'exit')));
  await database.query(`drop schema ${schema} cascade`);
  return result;
}

export async function run() {
  const given = process.env.BENCH_POSTGRES_URL;
  const server = given ? null : await startServer('fsync=on', 'full_page_writes=on');
  const url = given ?? server.url;
  const database = new pg.Client({ connectionString: url });
  await database.connect();
  const receiver = await startReceiver();
  const results = { 1: [], 2: [] };
  for (let round = 0; round < ROUNDS; round++) {
    for (const count of [1, 2]) {
      results[count].push(await measure(database, url, receiver, `bench_${round}_${count}`, count));
    }
  }
  receiver.stop();
  await database.end();
  await server?.stop();
  const of = (count, name) => median(results[count].map((result) => result[name]));
  say(
    `\nDeliveries/s from PostgreSQL, ${MESSAGES} messages to ${ENDPOINTS} endpoints, and ms of processor time that each takes; medians of ${ROUNDS}. ${machine()}\n`,
  );
  for (const count of [1, 2]) {
    const taken = ['workers', 'postgres', 'receiver'].map(
      (name) => `${name} ${of(count, name).toFixed(2)} ms`,
    );
    const rates = results[count].map(({ rate }) => Math.round(rate)).join(', ');
    say(
      `  ${count} process${count > 1 ? 'es' : '  '} ${Math.round(of(count, 'rate')).toString().padStart(7)}  (${rates})  ${taken.join(', ')}; processors idle for ${of(count, 'idle').toFixed(2)}`,
    );
  }
  say(`  two beside one: ${(of(2, 'rate') / of(1, 'rate')).toFixed(2)}`);
}

if (process.argv[1] === import.meta.filename) await run();
