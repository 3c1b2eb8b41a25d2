// Serves the dashboard with sample data, for those who work on its page: a sender that delivers to a receiver of its own,
// the control plane at /admin and the dashboard at /webhooks. A reload of the page shows what was changed in it.
//   PORT        where it listens; 0 takes any free port. Default 3100
//   --fresh     forget the data of earlier runs
import { once } from 'node:events';
import { mkdirSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import express from 'express';
import { buildDashboard } from './build-dashboard.mjs';
import { seed } from './sample-data.mjs';

const require = createRequire(import.meta.url);
const { bearerToken, createSender, sqliteStore } = require('hookplane');
const { adminMiddleware, dashboardMiddleware } = require('hookplane/express');

const TICK_MS = 3000;
const TOKENS = [
  { token: 'operator-token-of-dev', name: 'operator' },
  { token: 'tenant-token-of-dev', tenantId: 'acme', name: 'acme' },
  { token: 'read-only-token-of-dev', readOnly: true, name: 'auditor' },
];

const root = fileURLToPath(new URL('..', import.meta.url));
const data = join(root, '.demo', 'dashboard');
if (process.argv.includes('--fresh')) rmSync(data, { recursive: true, force: true });
mkdirSync(data, { recursive: true });

const receiver = createServer(async (request, response) => {
  await request.toArray();
  // The path says what the endpoint is like: /answers/500, /answers/200/some-name, /flaky.
  const [, kind, status] = request.url.split('/');
  const fails = kind === 'flaky' && Math.random() < 0.3;
  response.writeHead(fails ? 503 : Number(status) || 200, { 'content-type': 'text/html' });
  response.end('<!doctype html><script>document.title = "not escaped"</script><b>a receiver</b>');
});
const receiverUrl = await listen(receiver, Number(process.env.RECEIVER_PORT ?? 3101));

// While data is sown its clock runs through the last days; from then on it is that of the machine.
let behindMs = 0;
const sender = createSender({
  store: sqliteStore({ file: join(data, 'hookplane.sqlite'), synchronous: 'normal' }),
  allowHttp: true,
  allowTargets: ['127.0.0.1'],
  pollIntervalMs: 50,
  now: () => Date.now() - behindMs,
});

const app = express();
app.use('/admin', adminMiddleware(sender, { authorize: bearerToken(TOKENS) }));
let dashboard;
app.use('/webhooks', async (request, response) => {
  try {
    const built = await buildDashboard();
    if (built) delete require.cache[require.resolve('../dist/dashboard/page.cjs')];
    if (built || !dashboard)
      dashboard = dashboardMiddleware({ adminUrl: '../admin', title: 'Webhooks (dev)' });
  } catch (error) {
    response.status(500).type('text').send(String(error.message));
    return;
  }
  await dashboard(request, response);
});
const server = createServer(app);
const url = await listen(server, Number(process.env.PORT ?? 3100));

await sender.start();
const sown = await seed(sender, {
  receiverUrl,
  travel(ms) {
    behindMs = ms;
  },
});
console.log(`
dashboard      ${url}/webhooks/
control plane  ${url}/admin
tokens         ${TOKENS.map(({ token, name }) => `${token} (${name})`).join('\n               ')}
data           ${data}: ${sown ? 'new' : 'of an earlier run; --fresh begins anew'}
`);
const ticking = setInterval(() => {
  const data = { id: `ord_${Date.now()}`, total: Math.round(Math.random() * 10_000) };
  sender.send({ type: 'order.updated', tenantId: 'acme', data }).catch(console.error);
}, TICK_MS);

let stopping = false;
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, stop);

async function stop() {
  if (stopping) return;
  stopping = true;
  clearInterval(ticking);
  server.close();
  server.closeAllConnections();
  await sender.stop({ drainMs: 1000 });
  receiver.close();
  receiver.closeAllConnections();
}

async function listen(listener, port) {
  listener.listen(port, '127.0.0.1');
  await once(listener, 'listening');
  return `http://127.0.0.1:${listener.address().port}`;
}
