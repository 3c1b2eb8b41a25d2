// A web process that sends, or a worker that delivers and removes, on a schema of a database: it says `ready` when its
// store is open, does what it is told, says `done` when what it sends is stored, and ends when its parent lets go of it.
import { setTimeout as sleep } from 'node:timers/promises';
import { createSender } from 'hookplane';
import { postgresStore } from 'hookplane/postgres';

/** What is sent at once, as by the requests of a web process. */
const AT_ONCE = 64;

const { connectionString, schema, retentionSeconds } = JSON.parse(process.argv[2]);
const sender = createSender({
  store: postgresStore({ connectionString, schema }),
  allowHttp: true,
  allowTargets: ['127.0.0.1'],
  retry: { delaysSeconds: [0.2], jitter: 0 },
  retentionSeconds,
  logger: { error: console.error, warn() {}, info() {}, debug() {} },
});

const send = (index, { tenants, text }) =>
  sender.send({ type: 'bench.sent', tenantId: `tenant_${index % tenants}`, data: { text } });

const WORK = {
  async flood(order) {
    let sent = 0;
    await Promise.all(
      Array.from({ length: AT_ONCE }, async () => {
        while (sent < order.count) await send(sent++, order);
      }),
    );
  },
  async paced(order) {
    const [began, calls] = [performance.now(), []];
    while (calls.length < order.count) {
      calls.push(send(calls.length, order));
      await sleep(Math.max(0, began + (1000 * calls.length) / order.perSecond - performance.now()));
    }
    await Promise.all(calls);
  },
  start: () => sender.start(),
};

process.on('disconnect', () => process.exit(0));
process.on('message', async ({ kind, ...order }) => {
  if (kind === 'stop') {
    await sender.stop();
    process.disconnect();
    return;
  }
  await WORK[kind](order);
  process.send('done');
});
await sender.endpoints.list();
process.send('ready');
