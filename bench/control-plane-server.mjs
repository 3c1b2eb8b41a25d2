import express from 'express';
import { createSender, sqliteStore } from 'hookplane';
import { adminMiddleware } from 'hookplane/express';

const sender = createSender({ store: sqliteStore({ file: process.argv[2] }) });
for (let index = 0; index < 10; index++)
  await sender.endpoints.create({ url: `https://receiver-${index}.example.com/hooks` });

const allowed = (header) => header === 'Bearer bench';
const app = express();
app.get('/plain/endpoints', async (request, response) => {
  if (!allowed(request.headers.authorization)) return response.status(403).json({ error: 'no access' });
  response.json(await sender.endpoints.list({ limit: 100 }));
});
app.use(
  '/admin',
  adminMiddleware(sender, { authorize: (request) => allowed(request.headers.get('authorization')) }),
);
const server = app.listen(0, '127.0.0.1', () => process.send({ port: server.address().port }));
process.on('disconnect', () => process.exit(0));
