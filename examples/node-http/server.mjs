// The control plane in a server of node:http, without a framework.
import { createServer } from 'node:http';
import { json } from 'node:stream/consumers';
import { bearerToken, createSender, sqliteStore } from 'hookplane';
import { adminMiddleware } from 'hookplane/express';

const sender = createSender({ store: sqliteStore({ file: 'hookplane.sqlite' }) });
await sender.start();

const admin = adminMiddleware(sender, {
  authorize: bearerToken(process.env.ADMIN_TOKEN),
  basePath: '/admin',
});

async function takeOrder(req, res) {
  const data = await json(req).catch(() => undefined);
  if (data === undefined) return res.writeHead(400).end('JSON, please');
  const message = await sender.send({ type: 'order.created', tenantId: 'acme', data });
  res.writeHead(202, { 'content-type': 'application/json' });
  res.end(JSON.stringify({ messageId: message.id }));
}

const server = createServer((req, res) => {
  // It answers every request that it is given, errors included, and its promise never rejects.
  if (/^\/admin(?:[/?]|$)/.test(req.url)) return admin(req, res);
  if (req.method === 'POST' && req.url === '/orders') {
    return takeOrder(req, res).catch(() => res.destroy());
  }
  res.writeHead(404).end();
});

server.listen(3000);
process.once('SIGTERM', () => server.close(() => sender.stop()));
