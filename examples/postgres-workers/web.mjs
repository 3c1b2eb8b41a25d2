// A web process: it sends, and has the control plane at /admin. It is no worker, since it never starts its sender.
import express from 'express';
import { bearerToken } from 'hookplane';
import { adminMiddleware } from 'hookplane/express';
import { sender } from './sender.mjs';

const app = express();
app.use('/admin', adminMiddleware(sender, { authorize: bearerToken(process.env.ADMIN_TOKEN) }));

app.post('/orders', express.json(), async (req, res) => {
  const message = await sender.send({ type: 'order.created', tenantId: 'acme', data: req.body });
  res.status(202).json({ messageId: message.id });
});

const server = app.listen(process.env.PORT ?? 3000, () => {
  console.log(`http://localhost:${server.address().port}`);
});
process.once('SIGTERM', () => server.close(() => sender.stop()));
