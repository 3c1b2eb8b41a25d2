// Requests a second of every route of the control plane among ten thousand and a million messages on SQLite, under Express
// and on Hono's Node server, beside an Express route written by hand that makes the same calls. Servers and load are
// processes of their own.
//   BENCH_ONLY=endpoints.list,messages.list BENCH_SIZES=10000 npm run bench -- control-plane
import { fork } from 'node:child_process';
import { Pool } from 'undici';
import { ROUTES, TOKEN } from './control-plane/routes.mjs';
import { machine, median, say, table, temporaryFolder } from './support.mjs';

/** Of the first round, which warms up and tells how many requests the others have. */
const REQUESTS = 300;
/** What a round of any route takes about, so that no moment of a busy machine makes much of one. */
const ROUND_MS = Number(process.env.BENCH_ROUND_MS ?? 500);
const MOST_REQUESTS = 3000;
const ROUNDS = Number(process.env.BENCH_ROUNDS ?? 5);
const SIZES = (process.env.BENCH_SIZES ?? '10000,1000000').split(',');
const ONLY = process.env.BENCH_ONLY?.split(',');
const CONNECTIONS = 16;
const SERVERS = ['by hand', 'Express', 'Hono'];

async function startServer(folder, size) {
  const child = fork(new URL('./control-plane/server.mjs', import.meta.url), [folder, size]);
  const told = () => new Promise((resolve) => child.once('message', resolve));
  const ready = await told();
  const pools = ready.ports.map((port) => new Pool(`http://127.0.0.1:${port}`, { connections: CONNECTIONS }));
  return {
    ...ready,
    pools,
    async ids(kind, count) {
      child.send({ kind, count });
      return (await told()).ids;
    },
    async close() {
      await Promise.all(pools.map((pool) => pool.close()));
      child.disconnect();
    },
  };
}

/** @returns milliseconds for each of `count` requests, of many at the same time */
async function load(server, pool, { method, path, id, body }, count) {
  const ids = await server.ids(id, count);
  const headers = { authorization: `Bearer ${TOKEN}` };
  const sent = typeof body === 'function' ? body(server) : body;
  if (sent) headers['content-type'] = 'application/json';
  const given = { method, headers, ...(sent && { body: JSON.stringify(sent) }) };
  let next = 0;
  async function work() {
    while (next < count) {
      const url = `/admin${path.replace(':id', ids[next++ % ids.length])}`;
      const { statusCode, body: answered } = await pool.request({ path: url, ...given });
      const text = await answered.text();
      // Nobody delivers here, which is what /health tells.
      if (statusCode >= 300 && path !== '/health')
        throw new Error(`${method} ${url} answered ${statusCode} ${text}`);
    }
  }
  const began = performance.now();
  await Promise.all(Array.from({ length: CONNECTIONS }, work));
  return (performance.now() - began) / count;
}

export async function run() {
  const { folder, remove } = await temporaryFolder();
  const servers = [];
  try {
    for (const size of SIZES) servers.push(await startServer(folder, size));
    const rows = [];
    for (const [name, route] of Object.entries(ROUTES)) {
      if (ONLY && !ONLY.includes(name)) continue;
      const times = servers.map(() => SERVERS.map(() => []));
      const turns = servers.flatMap((server, size) =>
        server.pools.map((pool, which) => ({ server, pool, size, which })),
      );
      let slowest = 0;
      for (const { server, pool } of turns)
        slowest = Math.max(slowest, await load(server, pool, route, REQUESTS));
      // What uses things up has no more than in the first round: they are made one by one, and stay in the store.
      const most = servers[0].made.includes(route.id) ? REQUESTS : MOST_REQUESTS;
      const count = Math.min(Math.max(Math.round(ROUND_MS / slowest), CONNECTIONS * 4), most);
      for (let round = 0; round < ROUNDS; round++) {
        // To and fro, so that none always comes behind the same one.
        for (const { server, pool, size, which } of round % 2 ? turns.toReversed() : turns)
          times[size][which].push(await load(server, pool, route, count));
      }
      const medians = times.map((ofSize) => ofSize.map(median));
      rows.push({
        name,
        rate: 1000 / medians[0][1],
        express: medians[0][0] / medians[0][1],
        hono: medians[0][0] / medians[0][2],
        grown: medians.at(-1)[1] / medians[0][1],
      });
    }
    say(
      `## Control plane\n\n${machine()}. SQLite, ${SIZES.join(' and ')} messages, ${CONNECTIONS} requests at a time, medians of ${ROUNDS} rounds of about ${ROUND_MS} ms, but of ${MOST_REQUESTS} requests at most, and ${REQUESTS} of what uses things up.\n`,
    );
    const told = rows.map(({ name, rate, ...ratios }) => [
      name,
      String(Math.round(rate)),
      ...Object.values(ratios).map((ratio) => ratio.toFixed(2)),
    ]);
    const middle = (of) => median(rows.map((row) => row[of])).toFixed(2);
    table(
      [
        '',
        'requests/s under Express',
        'of by hand',
        'Hono, of by hand',
        `time at ${SIZES.at(-1)}, of ${SIZES[0]}`,
      ],
      [...told, ['median', '', middle('express'), middle('hono'), middle('grown')]],
    );
  } finally {
    for (const server of servers) await server.close();
    await remove();
  }
}

if (process.argv[1] === import.meta.filename) await run();
