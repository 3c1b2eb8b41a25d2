// The control plane in a Koa application.
import { json } from 'node:stream/consumers';
import { bearerToken, createSender, sqliteStore } from 'hookplane';
import { adminMiddleware } from 'hookplane/express';
import Koa from 'koa';

const sender = createSender({ store: sqliteStore({ file: 'hookplane.sqlite' }) });
await sender.start();

const admin = adminMiddleware(sender, {
  authorize: bearerToken(process.env.ADMIN_TOKEN),
  basePath: '/admin',
});

const app = new Koa();
// Before body parsers: those of Koa keep what they have read where only Koa finds it.
app.use(async (ctx, next) => {
  if (!/^\/admin(?:\/|$)/.test(ctx.path)) return next();
  // The response is written by the control plane, errors included, and Koa adds nothing to it.
  ctx.respond = false;
  await admin(ctx.req, ctx.res);
});
app.use(async (ctx) => {
  if (ctx.method !== 'POST' || ctx.path !== '/orders') return;
  const data = await json(ctx.req).catch(() => ctx.throw(400, 'JSON, please'));
  const message = await sender.send({ type: 'order.created', tenantId: 'acme', data });
  ctx.status = 202;
  ctx.body = { messageId: message.id };
});

const server = app.listen(3000);
process.once('SIGTERM', () => server.close(() => sender.stop()));
