// What a tenant waits for from send to receipt, alone and then beside two others: 100 000 deliveries are due to an
// endpoint that never answers, and 100 000 to one that answers after half a second. And whether rate limits and
// in-flight ceilings hold where two processes deliver from one file.
import { fork } from 'node:child_process';
import { join } from 'node:path';
import { createSender, sqliteStore } from 'hookplane';
import { fillOutbox, machine, quantile, say, temporaryFolder } from './support.mjs';

const DUE = Number(process.env.BENCH_DUE ?? 100_000);
const SENDS = Number(process.env.BENCH_SENDS ?? 1000);
const LIMIT_SECONDS = Number(process.env.BENCH_LIMIT_SECONDS ?? 30);
const EVERY_MS = 10;
const RATE = 40;
const CEILING = 5;
const SETTINGS = { allowHttp: true, allowTargets: ['127.0.0.1'], timeoutMs: 1000, leaseMs: 30_000 };

const clock = () => performance.timeOrigin + performance.now();
const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

async function startReceivers() {
  const child = fork(new URL('./fairness-receiver.mjs', import.meta.url));
  const { port } = await new Promise((resolve) => child.once('message', resolve));
  const arrivals = [];
  child.on('message', (message) => arrivals.push(...message.arrivals));
  return {
    arrivals,
    at: (path) => arrivals.filter((each) => each.path === path),
    url: (path) => `http://127.0.0.1:${port}${path}`,
    stop: () => child.disconnect(),
  };
}

/** From the call of send to the receipt, in milliseconds, of sends at an even pace. */
async function latencies(sender, receivers) {
  const sentAt = new Map();
  for (let count = 0; count < SENDS; count++) {
    const at = clock();
    const { id } = await sender.send({ type: 'bench.sent', tenantId: 'third', data: { count } });
    sentAt.set(id, at);
    await sleep(EVERY_MS);
  }
  const arrived = () => receivers.at('/quick').filter(({ id }) => sentAt.has(id));
  while (arrived().length < SENDS) await sleep(100);
  return arrived().map(({ id, at }) => at - sentAt.get(id));
}

async function measureFairness() {
  const { folder, remove } = await temporaryFolder();
  const receivers = await startReceivers();
  const store = sqliteStore({ file: join(folder, 'bench.sqlite') });
  const sender = createSender({ store, ...SETTINGS });
  const create = (tenantId, path) => sender.endpoints.create({ tenantId, url: receivers.url(path) });
  await create('third', '/quick');
  const dead = await create('dead', '/dead');
  const slow = await create('slow', '/slow');
  await sender.start();
  await latencies(sender, receivers);
  const alone = await latencies(sender, receivers);
  for (const { id, tenantId } of [dead, slow])
    await fillOutbox(store, { tenantId, endpointIds: [id], count: DUE });
  await sleep(3000);
  const beside = await latencies(sender, receivers);
  const { outboxDepth } = await sender.health();
  await sender.stop({ drainMs: 0 });
  receivers.stop();
  await remove();
  return { alone, beside, outboxDepth };
}

/** Sends more than the limits let through for a while, with two processes at work. */
async function measureLimits() {
  const { folder, remove } = await temporaryFolder();
  const file = join(folder, 'bench.sqlite');
  const receivers = await startReceivers();
  const store = sqliteStore({ file });
  const sender = createSender({ store, ...SETTINGS });
  const create = (tenantId, path, limits) =>
    sender.endpoints.create({ tenantId, url: receivers.url(path), ...limits });
  await sender.tenants.setRateLimit('tenant', { perSecond: RATE });
  const endpoints = [
    await create('limited', '/limited', { rateLimit: { perSecond: RATE } }),
    await create('tenant', '/tenant'),
    await create('tenant', '/tenant'),
    await create('ceiling', '/ceiling', { maxInFlight: CEILING }),
  ];
  for (const { id, tenantId } of endpoints) {
    await fillOutbox(store, { tenantId, endpointIds: [id], count: RATE * LIMIT_SECONDS * 2 });
  }
  const settings = JSON.stringify(SETTINGS);
  const workers = [1, 2].map(() => fork(new URL('./worker.mjs', import.meta.url), [file, settings]));
  await Promise.all(workers.map((worker) => new Promise((resolve) => worker.once('message', resolve))));
  await sleep(1000);
  const from = clock();
  await sleep(LIMIT_SECONDS * 1000);
  const until = clock();
  await sleep(200);
  const rate = (path) =>
    receivers.at(path).filter(({ at }) => at >= from && at < until).length / ((until - from) / 1000);
  const result = {
    endpoint: rate('/limited'),
    tenant: rate('/tenant'),
    ceiling: Math.max(...receivers.at('/ceiling').map(({ open }) => open)),
  };
  let attempts = 0;
  let deliveries = 0;
  for (const path of ['/limited', '/tenant']) {
    attempts += receivers.at(path).length;
    deliveries += new Set(receivers.at(path).map(({ id }) => id)).size;
  }
  result.repeated = attempts - deliveries;
  for (const worker of workers) worker.disconnect();
  await sender.stop();
  receivers.stop();
  await remove();
  return result;
}

export async function run() {
  const { alone, beside, outboxDepth } = await measureFairness();
  say(
    `\nSend to receipt of a third tenant, ms, ${SENDS} sends, one each ${EVERY_MS} ms; ${outboxDepth} due to the two others. ${machine()}\n`,
  );
  for (const [name, share] of [
    ['p50', 0.5],
    ['p99', 0.99],
    ['max', 1],
  ]) {
    const [first, second] = [quantile(alone, share), quantile(beside, share)];
    say(
      `  ${name.padEnd(5)} alone ${first.toFixed(1).padStart(7)}  beside ${second.toFixed(1).padStart(7)}  ratio ${(second / first).toFixed(2)}`,
    );
  }
  const limits = await measureLimits();
  say(`\nLimits with two processes on one file, over ${LIMIT_SECONDS} s. ${machine()}\n`);
  for (const name of ['endpoint', 'tenant']) {
    const off = (limits[name] / RATE - 1) * 100;
    say(
      `  rate limit of the ${name.padEnd(9)} ${RATE}/s   measured ${limits[name].toFixed(2)}/s  (${off >= 0 ? '+' : ''}${off.toFixed(1)} %)`,
    );
  }
  say(`  requests beyond one for each delivery   ${limits.repeated}`);
  say(`  maxInFlight ${CEILING}                open at most ${limits.ceiling}`);
}

if (process.argv[1] === import.meta.filename) await run();
