// The control plane in a Fastify application.
import middie from '@fastify/middie';
import Fastify from 'fastify';
import { bearerToken, createSender, sqliteStore } from 'hookplane';
import { adminMiddleware } from 'hookplane/express';

const sender = createSender({ store: sqliteStore({ file: 'hookplane.sqlite' }) });
await sender.start();

const app = Fastify();
// At the root: a plugin's own middleware runs for that plugin's routes alone, and the control plane is none of them.
await app.register(middie);
app.use('/admin', adminMiddleware(sender, { authorize: bearerToken(process.env.ADMIN_TOKEN) }));

app.post('/orders', async (request, reply) => {
  const message = await sender.send({ type: 'order.created', tenantId: 'acme', data: request.body });
  return reply.code(202).send({ messageId: message.id });
});

app.addHook('onClose', () => sender.stop());
await app.listen({ port: 3000 });
process.once('SIGTERM', () => app.close());
