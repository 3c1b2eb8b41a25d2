// A receiver in a process of its own, which answers every POST with 200 after the milliseconds that `delay` in its query
// names; a GET tells how many that were. The body of a paced message says when it was sent.
import { createServer } from 'node:http';

let answered = 0;
let latencies = [];
const server = createServer((request, response) => {
  if (request.method === 'GET') {
    response.end(String(answered));
    return;
  }
  const arrived = performance.timeOrigin + performance.now();
  const delay = Number(/delay=(\d+)/.exec(request.url)?.[1] ?? 0);
  const answer = () => {
    answered += 1;
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
