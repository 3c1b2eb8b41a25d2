// Requests a second of GET /endpoints (10 rows) under Express, beside a hand-written Express route over the same store
// call. Server and load are processes of their own.
import { fork } from 'node:child_process';
import { join } from 'node:path';
import { Pool } from 'undici';
import { machine, rounds, say, temporaryFolder } from './support.mjs';

const REQUESTS = Number(process.env.BENCH_REQUESTS ?? 10_000);
const ROUNDS = Number(process.env.BENCH_ROUNDS ?? 5);
const CONNECTIONS = 32;

async function load(url) {
  const { origin, pathname } = new URL(url);
  const pool = new Pool(origin, { connections: CONNECTIONS });
  let left = REQUESTS;
  const started = performance.now();
  async function get() {
    while (left > 0) {
      left -= 1;
      const response = await pool.request({
        path: pathname,
        method: 'GET',
        headers: { authorization: 'Bearer bench' },
      });
      const text = await response.body.text();
      if (response.statusCode !== 200 || !text.includes('"endpoints":['))
        throw new Error(`unexpected answer: ${text}`);
    }
  }
  await Promise.all(Array.from({ length: CONNECTIONS }, get));
  const rate = REQUESTS / ((performance.now() - started) / 1000);
  await pool.close();
  return rate;
}

export async function run() {
  const { folder, remove } = await temporaryFolder();
  const child = fork(new URL('./control-plane-server.mjs', import.meta.url), [join(folder, 'bench.sqlite')]);
  const { port } = await new Promise((resolve) => child.once('message', resolve));
  const base = `http://127.0.0.1:${port}`;
  const results = await rounds(ROUNDS, {
    'Express, hand-written route': () => load(`${base}/plain/endpoints`),
    'Express, adminMiddleware': () => load(`${base}/admin/endpoints`),
  });
  child.disconnect();
  await remove();
  const plain = results['Express, hand-written route'].median;
  say(`\nGET /endpoints (10 rows), requests/s, ${REQUESTS} a round, median of ${ROUNDS}. ${machine()}\n`);
  for (const [name, { median, values }] of Object.entries(results)) {
    say(
      `  ${name.padEnd(30)} ${Math.round(median).toString().padStart(7)}  ${(median / plain).toFixed(2)} of hand-written  (${values.map(Math.round).join(', ')})`,
    );
  }
}

if (process.argv[1] === import.meta.filename) await run();
