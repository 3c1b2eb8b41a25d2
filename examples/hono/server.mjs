// The control plane in a Hono application on Node.js.
import { serve } from '@hono/node-server';
import { Hono } from 'hono';
import { bearerToken, createAdminHandler, createSender, sqliteStore } from 'hookplane';

const sender = createSender({ store: sqliteStore({ file: 'hookplane.sqlite' }) });
await sender.start();

const admin = createAdminHandler(sender, {
  authorize: bearerToken(process.env.ADMIN_TOKEN),
  basePath: '/admin',
});

const app = new Hono();
// `host` is what authorize finds beside the request: Hono's context, with all that earlier middleware has set.
app.all('/admin/*', (c) => admin(c.req.raw, { host: c }));
app.post('/orders', async (c) => {
  const data = await c.req.json();
  const message = await sender.send({ type: 'order.created', tenantId: 'acme', data });
  return c.json({ messageId: message.id }, 202);
});

const server = serve({ fetch: app.fetch, port: 3000 });
process.once('SIGTERM', () => server.close(() => sender.stop()));
