import { once } from 'node:events';
import { connect, createServer } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { adminMiddleware, type NodeMiddleware } from '../../lib/express/index.js';
import { onCleanUp } from '../support/clean-up.js';
import { startSender } from '../support/sender.js';

/** Asks a server that speaks HTTP/2 alone. */
async function ask(middleware: NodeMiddleware, path: string): Promise<{ status: unknown; body: string }> {
  const server = createServer((req, res) => void middleware(req as never, res as never)).listen(
    0,
    '127.0.0.1',
  );
  await once(server, 'listening');
  const session = connect(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  onCleanUp('test', 'receiver', async () => {
    session.destroy();
    server.close();
  });
  const stream = session.request({ ':path': path, 'x-caller': 'ada' });
  const [headers] = (await once(stream, 'response')) as [Record<string, unknown>];
  stream.setEncoding('utf8');
  let body = '';
  for await (const part of stream) body += part;
  return { status: headers[':status'], body };
}

test('a request of HTTP/2 is answered, and authorize sees its URL and headers', async () => {
  const sender = await startSender({ started: false });
  const seen: unknown[] = [];
  const middleware = adminMiddleware(sender, {
    authorize(request) {
      seen.push(new URL(request.url).host, request.headers.get('x-caller'), [...request.headers.keys()]);
      return true;
    },
  });
  const answer = await ask(middleware, '/endpoints?limit=5');
  expect(answer).toEqual({ status: 200, body: '{"endpoints":[],"nextCursor":null}' });
  expect(seen).toEqual([expect.stringMatching(/^127\.0\.0\.1:\d+$/), 'ada', ['x-caller']]);
});
