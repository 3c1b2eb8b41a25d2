import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { onCleanUp } from '../support/clean-up.js';
import { startReceiver } from '../support/receiver.js';
import { startSender, temporaryFolder } from '../support/sender.js';
import { eventually } from '../support/wait-for.js';
import { bundle } from './campaign.js';

/** A worker that the delivery of an `a.deadly` message kills, in a hook, as a native crash or an endless memory would. */
const WORKER = `
const [folder, file] = process.argv.slice(1);
const { createSender, sqliteStore } = require(folder);
const die = ({ type }) => type === 'a.deadly' && process.kill(process.pid, 'SIGKILL');
createSender({
  store: sqliteStore({ file }),
  allowHttp: true,
  allowTargets: ['127.0.0.1'],
  leaseMs: 1000,
  timeoutMs: 900,
  pollIntervalMs: 50,
  endpointHooks: () => ({ transform: (payload) => (die(payload), payload) }),
  logger: { error: console.error, warn() {}, info() {}, debug() {} },
}).start();
`;

/** Starts workers, each when the one before has died, until the deliveries of the message have ended. */
async function work(file: string, done: () => Promise<void>): Promise<number> {
  const folder = await temporaryFolder();
  await bundle(folder);
  let deaths = 0;
  let ended = false;
  const ending = done().finally(() => {
    ended = true;
  });
  while (!ended) {
    const child = spawn(process.execPath, ['-e', WORKER, folder, file], {
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    onCleanUp('test', 'receiver', async () => void child.kill('SIGKILL'));
    const exit = once(child, 'exit');
    const errors = text(child.stderr);
    await Promise.race([exit, ending]);
    const signal = child.signalCode;
    child.kill('SIGKILL');
    await exit;
    if (!ended && signal !== 'SIGKILL') throw new Error(`A worker ended by itself: ${await errors}`);
    if (!ended) deaths += 1;
  }
  await ending;
  return deaths;
}

test('a delivery that kills its process is tried a few times and given up, and what was leased with it arrives', async () => {
  const receiver = await startReceiver();
  // The others are under way when their process dies.
  receiver.answer('/', (_request, response) => void setTimeout(() => response.end(), 100));
  const sender = await startSender({ started: false });
  const url = receiver.url();
  const retry = { delaysSeconds: [1], jitter: 0 };
  const { id } = await sender.endpoints.create({ url, types: ['a.deadly'], retry });
  await sender.endpoints.create({
    url,
    types: ['a.b'],
    retry: { delaysSeconds: Array(20).fill(1), jitter: 0 },
  });
  const types = ['a.deadly', 'a.b', 'a.b', 'a.b'];
  const [deadly, ...others] = await sender.sendMany(types.map((type) => ({ type, data: 1 })));
  const statuses = async () =>
    Promise.all([deadly!, ...others].map(async (sent) => (await sender.messages.get(sent.id)).status));
  const deaths = await work(sender.file, () =>
    eventually(
      async () => expect(await statuses()).toEqual(['failed', 'delivered', 'delivered', 'delivered']),
      50_000,
    ),
  );
  // Twice it was taken up at once, and once when its time had come.
  expect(deaths).toBe(3);
  const { attempts } = await sender.messages.attempts(deadly!.id);
  expect(attempts).toHaveLength(2);
  for (const attempt of attempts) {
    expect(attempt).toMatchObject({
      status: 'failed',
      errorKind: 'reset',
      error: 'The process that was delivering it ended before its outcome was known.',
      responseStatus: null,
      remoteAddress: null,
    });
  }
  expect(await sender.endpoints.get(id)).toMatchObject({ status: 'active' });
}, 60_000);
