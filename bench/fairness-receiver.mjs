// Receivers in a process of their own, by path: `/quick` answers at once, `/slow` after half a second, `/dead` never,
// `/ceiling` after 20 ms. It tells its parent when each message arrived and how many of a path were open at most.
import { createServer } from 'node:http';

const DELAYS = { '/quick': 0, '/limited': 0, '/tenant': 0, '/ceiling': 20, '/slow': 500 };
const open = new Map();
let arrivals = [];

const server = createServer((request, response) => {
  const { url: path } = request;
  const now = (open.get(path) ?? 0) + 1;
  open.set(path, now);
  arrivals.push({
    path,
    id: request.headers['webhook-id'],
    at: performance.timeOrigin + performance.now(),
    open: now,
  });
  const end = () => open.set(path, open.get(path) - 1);
  request.resume();
  response.once('close', end);
  const delay = DELAYS[path];
  if (delay === 0) response.end('ok');
  else if (delay !== undefined) setTimeout(() => response.end('ok'), delay);
});
server.keepAliveTimeout = 60_000;
setInterval(() => {
  if (arrivals.length > 0) process.send({ arrivals });
  arrivals = [];
}, 50);
server.listen(0, '127.0.0.1', () => process.send({ port: server.address().port }));
process.on('disconnect', () => process.exit(0));
