// Deliveries a second, from send to recorded attempt, beside a bare loop that signs and posts the same bytes to the
// same receiver: the most that one process can do.
import { createHmac, randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { createSender, sqliteStore } from 'hookplane';
import { Agent } from 'undici';
import { machine, rounds, startReceiver, temporaryFolder } from './support.mjs';

const MESSAGES = Number(process.env.BENCH_MESSAGES ?? 10_000);
const ROUNDS = Number(process.env.BENCH_ROUNDS ?? 5);
// Messages of one sendMany, which is one transaction.
const BATCH = 250;
const data = { text: 'x'.repeat(900), at: 1 };

async function bareLoop(url) {
  const agent = new Agent({ connections: 64 });
  const key = randomBytes(32);
  const { origin, pathname } = new URL(url);
  const started = performance.now();
  let left = MESSAGES;
  async function post() {
    while (left > 0) {
      left -= 1;
      const id = `msg_${left}`;
      const timestamp = String(Math.floor(Date.now() / 1000));
      const body = Buffer.from(
        JSON.stringify({ type: 'bench.sent', timestamp: new Date().toISOString(), data }),
      );
      const signature = createHmac('sha256', key).update(`${id}.${timestamp}.`).update(body).digest('base64');
      const response = await agent.request({
        origin,
        path: pathname,
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          'webhook-id': id,
          'webhook-timestamp': timestamp,
          'webhook-signature': `v1,${signature}`,
        },
        body,
      });
      await response.body.text();
    }
  }
  await Promise.all(Array.from({ length: 64 }, post));
  const rate = MESSAGES / ((performance.now() - started) / 1000);
  await agent.close();
  return rate;
}

async function hookplane(url, synchronous) {
  const { folder, remove } = await temporaryFolder();
  const sender = createSender({
    store: sqliteStore({ file: join(folder, 'bench.sqlite'), synchronous }),
    allowHttp: true,
    allowTargets: ['127.0.0.1'],
  });
  await sender.start();
  await sender.endpoints.create({ url });
  const done = new Promise((resolve) => {
    let attempts = 0;
    sender.on('attempt', () => {
      attempts += 1;
      if (attempts === MESSAGES) resolve();
    });
  });
  const started = performance.now();
  for (let sent = 0; sent < MESSAGES; sent += BATCH) {
    await sender.sendMany(Array.from({ length: BATCH }, () => ({ type: 'bench.sent', data })));
  }
  await done;
  const rate = MESSAGES / ((performance.now() - started) / 1000);
  await sender.stop();
  await remove();
  return rate;
}

export async function run() {
  const receiver = await startReceiver();
  const results = await rounds(ROUNDS, {
    'bare undici loop': () => bareLoop(receiver.url),
    'hookplane, SQLite (synchronous=full)': () => hookplane(receiver.url, 'full'),
    'hookplane, SQLite (synchronous=normal)': () => hookplane(receiver.url, 'normal'),
  });
  receiver.stop();
  const limit = results['bare undici loop'].median;
  console.log(
    `\nDeliveries/s, ${MESSAGES} messages of 1 KiB to one endpoint, median of ${ROUNDS}. ${machine()}\n`,
  );
  for (const [name, { median, values }] of Object.entries(results)) {
    console.log(
      `  ${name.padEnd(42)} ${Math.round(median).toString().padStart(7)}  ${(median / limit).toFixed(2)} of the bare loop  (${values.map(Math.round).join(', ')})`,
    );
  }
}

if (process.argv[1] === import.meta.filename) await run();
