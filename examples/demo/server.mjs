// A host application with hookplane in it: an Express app with its own route, the control plane at /admin and the
// dashboard at /webhooks, a SQLite file, a worker, and receivers to deliver to. Run it with `npm run demo`; Ctrl-C stops
// it, a second start finds its data.
//   PORT            where it listens; 0 takes any free port. Default 3000
//   DEMO_DATA_DIR   where it keeps its data. Default .demo in the repository
import { once } from 'node:events';
import { mkdirSync } from 'node:fs';
import { createServer } from 'node:http';
import { join, relative } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import express from 'express';
import { bearerToken, createSender, sqliteStore } from 'hookplane';
import { adminMiddleware, dashboardMiddleware } from 'hookplane/express';
import { logger, printEvents, textOf } from './console.mjs';
import { registerEndpoints } from './endpoints.mjs';
import { createReceiver } from './receiver.mjs';

const TICK_MS = 5000;
/** How long the first messages have before the commands are printed all the same. */
const FIRST_MESSAGES_MS = 10_000;

// Fixed, and printed: the demo listens on the loopback address only. An application has real ones, and hides them.
const authorize = bearerToken([
  { token: 'demo-admin-token', name: 'operator' },
  { token: 'demo-acme-tenant-token', tenantId: 'acme', name: 'acme' },
]);

const port = Number(process.env.PORT ?? 3000);
if (!Number.isInteger(port) || port < 0 || port > 65_535) {
  console.error(`PORT must be a number from 0 to 65535, and is ${JSON.stringify(process.env.PORT)}.`);
  process.exit(1);
}
const dataDir = process.env.DEMO_DATA_DIR ?? fileURLToPath(new URL('../../.demo', import.meta.url));
mkdirSync(dataDir, { recursive: true });
const file = join(dataDir, 'hookplane.sqlite');

const sender = createSender({
  store: sqliteStore({ file }),
  // The receivers are on this machine, where a sender otherwise delivers to nobody.
  allowHttp: true,
  allowTargets: ['127.0.0.1'],
  // Fixed, as the tokens are. An application keeps its own where it keeps its other secrets.
  secretKey: 'c2VhbGluZy1rZXktb2YtdGhlLWRlbW8tMzItYnl0ZXM=',
  logger,
});

const app = express();
app.use('/admin', adminMiddleware(sender, { authorize, logger }));
app.use('/webhooks', dashboardMiddleware({ adminUrl: '/admin', title: 'Webhooks of the demo', logger }));
app.post('/orders', express.json(), async (request, response) => {
  const message = await sender.send({ type: 'order.created', data: request.body, tenantId: 'acme' });
  response.status(202).json({ messageId: message.id });
});

let secrets = {};
const server = createServer(app);
const receiver = createReceiver((name) => (Object.hasOwn(secrets, name) ? secrets[name] : undefined));
const url = await listen(server, port, 'the application');
const receiverUrl = await listen(receiver, port === 0 ? 0 : port + 1, 'the receiver');

// Operations work before `start`: nothing is delivered until the endpoints are where their receivers are.
const before = await sender.messages.list({ limit: 1000 });
const registered = await registerEndpoints(sender, {
  receiverUrl,
  secretsFile: join(dataDir, 'receiver-secrets.json'),
});
secrets = registered.secrets;
const { endpoints } = registered;
const names = new Map(Object.entries(endpoints).map(([name, { id }]) => [id, name]));
printEvents(sender, (id) => names.get(id) ?? id);

let commands = 'The first messages are on their way.\n';
app.get('/', (_request, response) => void response.type('text').send(commands));

let stopping = false;
let ticking;
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, stop);

try {
  await run();
} catch (error) {
  // Whatever was under way when the demo was stopped fails now, and need not be told.
  if (!stopping) throw error;
}

async function run() {
  console.log(`
hookplane demo

  dashboard      ${url}/webhooks/
  control plane  ${url}/admin
  tokens         demo-admin-token (sees every tenant), demo-acme-tenant-token (bound to the tenant acme)
  receiver       ${receiverUrl}
  data           ${shown(file)}: ${describeData()}
`);
  await sender.start();
  const sent = await sendFirstMessages();
  await settled(sent);
  if (stopping) return;

  commands = textOf(commandsFor(sent.at(-1)));
  console.log(`\nIn a second terminal, to look at it (curl -s ${url}/ shows this again):\n${commands}`);
  console.log(`An order.updated follows every ${TICK_MS / 1000} seconds. Ctrl-C stops the demo.\n`);
  ticking = setInterval(tick, TICK_MS);
}

function describeData() {
  const found = Object.values(endpoints).filter((endpoint) => endpoint.found);
  if (found.length === 0 && before.messages.length === 0) return 'new';
  const count = before.nextCursor === null ? before.messages.length : `more than ${before.messages.length}`;
  const paused = found.filter(({ status }) => status === 'paused').map(({ id }) => names.get(id));
  const held = paused.length > 0 ? `; paused, so nothing is sent to it: ${paused.join(', ')}` : '';
  return `found ${found.length} endpoints and ${count} messages of earlier runs${held}`;
}

async function sendFirstMessages() {
  const order = { id: 'ord_1', total: 4200, currency: 'EUR' };
  // The same key at every start: only the first one stores a message.
  const idempotencyKey = 'demo-first-order';
  const first = await sender.send({ type: 'order.created', tenantId: 'acme', data: order, idempotencyKey });
  if (first.duplicate)
    logger.warn('An earlier run has sent the first order.created: its key keeps it from being sent twice');
  return [
    first,
    await sender.send({ type: 'order.paid', tenantId: 'acme', data: order }),
    await sender.send({ type: 'user.created', tenantId: 'globex', data: { id: 'usr_1', name: 'Zoë' } }),
    // Owed to two endpoints, one of which fails twice: the other one gets it once.
    await sender.send({ type: 'invoice.paid', tenantId: 'acme', data: { id: 'inv_1', order: order.id } }),
  ];
}

async function settled(messages) {
  const until = Date.now() + FIRST_MESSAGES_MS;
  for (const { id } of messages) {
    while (!stopping && Date.now() < until && (await sender.messages.get(id)).status === 'pending') {
      await wait(50);
    }
  }
}

async function tick() {
  try {
    await sender.send({ type: 'order.updated', tenantId: 'acme', data: { id: 'ord_1', at: new Date() } });
  } catch (error) {
    if (!stopping) logger.error('Nothing could be sent', { error: error.message });
  }
}

function commandsFor(invoice) {
  const as = (token) => `curl -s -H 'authorization: Bearer ${token}'`;
  const get = (path) => `${as('demo-admin-token')} '${url}/admin${path}'`;
  const post = (path, body) => {
    const json = body ? ` -H 'content-type: application/json' -d '${JSON.stringify(body)}'` : '';
    return `${as('demo-admin-token')} -X POST${json} '${url}/admin${path}'`;
  };
  const { id: all } = endpoints['acme/all'];
  const { id: billing } = endpoints['acme/billing'];
  return [
    ['Is it well, and how much is owed?', get('/health')],
    ['Where messages go', get('/endpoints')],
    [
      'The newest messages, and those that were not delivered',
      get('/messages?limit=5'),
      get('/messages?status=pending,failed'),
    ],
    [
      'The invoice that failed twice: its payload and deliveries, then its attempts',
      get(`/messages/${invoice.id}`),
      get(`/messages/${invoice.id}/attempts`),
    ],
    ['Deliver it to acme/billing once more', post('/replay', { messageId: invoice.id, endpointId: billing })],
    [
      'Pause acme/all: its deliveries are held. Enable it: they arrive',
      post(`/endpoints/${all}/disable`),
      post(`/endpoints/${all}/enable`),
    ],
    [
      'Give acme/all a new secret, which its receiver was told already: for ten minutes both sign',
      post(`/endpoints/${all}/rotate-secret`, { secret: secrets['acme/all'].at(-1), overlapSeconds: 600 }),
    ],
    [
      'As a caller that is bound to acme: globex does not exist',
      `${as('demo-acme-tenant-token')} '${url}/admin/endpoints'`,
      `${as('demo-acme-tenant-token')} '${url}/admin/endpoints/${endpoints['globex/all'].id}'`,
    ],
    ['As nobody', `curl -s '${url}/admin/endpoints'`],
    [
      "Place an order in the application, by the application's own route",
      `curl -s -H 'content-type: application/json' -d '{"id":"ord_2","total":1999}' '${url}/orders'`,
    ],
  ];
}

/** Listens on the loopback address, on any free port where the wanted one is taken. */
async function listen(listener, wanted, what) {
  try {
    listener.listen(wanted, '127.0.0.1');
    await once(listener, 'listening');
  } catch (error) {
    if (error.code !== 'EADDRINUSE' || wanted === 0) throw error;
    console.log(`Port ${wanted} is taken: ${what} takes another one.`);
    return listen(listener, 0, what);
  }
  return `http://127.0.0.1:${listener.address().port}`;
}

async function stop() {
  // A terminal sends the signal to every process of `npm run`, and npm passes its own on: it may come twice.
  if (stopping) return;
  stopping = true;
  console.log('\nStopping: nothing new is sent, and what is under way is waited for.');
  clearInterval(ticking);
  server.close();
  server.closeIdleConnections();
  await sender.stop({ drainMs: 3000 });
  server.closeAllConnections();
  receiver.close();
  receiver.closeAllConnections();
  console.log(
    `Stopped. The data stays in ${shown(dataDir)}: start again to find it, remove it to begin anew.`,
  );
}

function shown(path) {
  const below = relative(process.cwd(), path);
  return below.startsWith('..') ? path : below;
}
