// The control plane beside other Fetch handlers, by the adapter of @whatwg-node/server on node:http.
import { createServer } from 'node:http';
import { createServerAdapter } from '@whatwg-node/server';
import { bearerToken, createAdminHandler, createSender, sqliteStore } from 'hookplane';

const sender = createSender({ store: sqliteStore({ file: 'hookplane.sqlite' }) });
await sender.start();

const admin = createAdminHandler(sender, {
  authorize: bearerToken(process.env.ADMIN_TOKEN),
  basePath: '/admin',
});

async function takeOrder(request) {
  const data = await request.json().catch(() => undefined);
  if (data === undefined) return new Response('JSON, please', { status: 400 });
  const message = await sender.send({ type: 'order.created', tenantId: 'acme', data });
  return Response.json({ messageId: message.id }, { status: 202 });
}

const app = createServerAdapter((request, { req, res }) => {
  const { pathname } = new URL(request.url);
  if (/^\/admin(?:\/|$)/.test(pathname)) return admin(request, { host: { req, res } });
  if (request.method === 'POST' && pathname === '/orders') {
    // What is thrown here, the adapter would answer with its stack.
    return takeOrder(request).catch(() => new Response('Not taken', { status: 500 }));
  }
  return new Response('Not found', { status: 404 });
});

const server = createServer(app).listen(3000);
process.once('SIGTERM', () => server.close(() => sender.stop()));
