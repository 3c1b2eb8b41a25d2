// A receiver in a process of its own, which answers every POST with 200 after the milliseconds that `delay` in its query
// names; a GET tells how many that were. Where its query says `fail=20`, a fifth of the messages are answered with 500 when
// they come for the first time. The body of a paced message says when it was sent.
import { createServer } from 'node:http';

let answered = 0;
let latencies = [];
const seen = new Set();

/** Whether a delivery has come for the first time, and is among those of which so many of a hundred are to fail. */
function isToFail({ url, headers }) {
  const percent = Number(/fail=(\d+)/.exec(url)?.[1] ?? 0);
  const delivery = `${headers['webhook-id']} ${url}`;
  if (percent === 0 || seen.has(delivery)) return false;
  seen.add(delivery);
  return (seen.size * percent) % 100 < percent;
}

const server = createServer((request, response) => {
  if (request.method === 'GET') {
    response.end(String(answered));
    return;
  }
  const arrived = performance.timeOrigin + performance.now();
  const delay = Number(/delay=(\d+)/.exec(request.url)?.[1] ?? 0);
  const answer = () => {
    if (isToFail(request)) response.statusCode = 500;
    else answered += 1;
    response.setHeader('content-type', 'text/plain');
    response.end('ok');
  };
  request.once('data', (chunk) => {
    const at = /"sentAt":([\d.]+)/.exec(chunk.latin1Slice())?.[1];
    if (at) latencies.push(arrived - Number(at));
  });
  request.resume();
  request.on('end', () => (delay > 0 ? setTimeout(answer, delay) : answer()));
});
server.keepAliveTimeout = 60_000;
server.listen(0, '127.0.0.1', () => process.send({ port: server.address().port }));
process.on('message', () => {
  process.send({ latencies });
  latencies = [];
});
process.on('disconnect', () => process.exit(0));
