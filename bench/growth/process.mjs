// A web process that sends, or a worker that delivers and removes, on a schema of a database: it does what it is told, says
// `done` when that is done, and ends when its parent lets go of it.
import { createSender } from 'hookplane';
import { postgresStore } from 'hookplane/postgres';

/** What is sent at once, as by the requests of a web process. */
const AT_ONCE = 64;

const { connectionString, schema } = JSON.parse(process.argv[2]);
/** A new one for each phase, in a process that is warm. */
let sender;

const send = (index, { tenants, text }) =>
  sender.send({ type: 'bench.sent', tenantId: `tenant_${index % tenants}`, data: { text } });

const WORK = {
  async open({ retentionSeconds }) {
    sender = createSender({
      store: postgresStore({ connectionString, schema }),
      allowHttp: true,
      allowTargets: ['127.0.0.1'],
      retry: { delaysSeconds: [0.2], jitter: 0 },
      retentionSeconds,
      logger: { error: console.error, warn() {}, info() {}, debug() {} },
    });
    await sender.endpoints.list();
  },
  async flood(order) {
    let sent = 0;
    await Promise.all(
      Array.from({ length: AT_ONCE }, async () => {
        while (sent < order.count) await send(sent++, order);
      }),
    );
  },
  start: () => sender.start(),
  stop: () => sender.stop(),
};

process.on('disconnect', () => process.exit(0));
process.on('message', async ({ kind, ...order }) => {
  await WORK[kind](order);
  process.send('done');
});
