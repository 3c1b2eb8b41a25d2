// Records every request and how it was answered. It outlives all others: what it has received is the truth.
import { createServer } from 'node:http';
import { onMessage, orders, say } from './child.mjs';
import { createRandom } from './random.mjs';

const CHUNK = 5000;

const { seed } = await orders();
const random = createRandom(seed);
const received = [];
/** `moody`: at times slow, at times a failure; `calm`: 200 at once; `slow`: 200 after a while; `failing`: 500. */
let mood = 'moody';
/** The workers whose next request is told of: when it has `arrived`, or when it has been `answered`. */
const watched = new Map();

onMessage('mood', (message) => {
  mood = message.mood;
});
onMessage('watch', ({ worker, when }) => {
  watched.set(worker, when);
});
onMessage('report', async () => {
  for (let start = 0; start < received.length; start += CHUNK) {
    await say({ kind: 'received', requests: received.slice(start, start + CHUNK) });
  }
  await say({ kind: 'reported' });
});

function answerFor(path) {
  if (mood === 'calm') return { status: 200, delayMs: 0 };
  if (mood === 'slow') return { status: 200, delayMs: 300 };
  if (mood === 'failing') return { status: 500, delayMs: 0 };
  if (path === '/orders') return { status: 200, delayMs: random.integer(0, 120) };
  if (path === '/invoices' && random.chance(0.05)) {
    return { status: random.chance(0.1) ? 503 : 500, delayMs: random.integer(0, 30) };
  }
  if (path === '/quick') return { status: 200, delayMs: 0 };
  return { status: 200, delayMs: random.chance(0.3) ? random.integer(0, 40) : 0 };
}

const server = createServer(async (request, response) => {
  const chunks = [];
  for await (const chunk of request) chunks.push(chunk);
  const { n } = JSON.parse(Buffer.concat(chunks).toString()).data;
  const worker = request.headers['x-worker'];
  const { status, delayMs } = answerFor(request.url);
  const record = { n, id: request.headers['webhook-id'], path: request.url, at: Date.now(), worker, status };
  // Until the answer is out, nobody can know of it.
  record.cut = true;
  received.push(record);
  response.on('finish', () => {
    record.cut = false;
    if (watched.get(worker) === 'answered') tell(worker);
  });
  // It is killed meanwhile, which ends the connection.
  if (watched.get(worker) === 'arrived') return tell(worker);
  if (delayMs === 0) response.writeHead(status).end();
  else setTimeout(() => response.writeHead(status).end(), delayMs);
});

function tell(worker) {
  watched.delete(worker);
  void say({ kind: 'seen', worker });
}

server.keepAliveTimeout = 60_000;
server.listen(0, '127.0.0.1', () => void say({ kind: 'listening', port: server.address().port }));
