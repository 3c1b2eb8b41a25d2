import { once } from 'node:events';
import http from 'node:http';
import { type AddressInfo, connect } from 'node:net';

export interface Sent {
  method?: string;
  /** Goes on the wire as it is: `fetch` would normalise it. */
  path?: string;
  headers?: http.OutgoingHttpHeaders;
  body?: string | Buffer;
  /** Leaves out `content-length`. */
  chunked?: boolean;
  agent?: http.Agent;
}

export interface Answer {
  status: number;
  headers: http.IncomingHttpHeaders;
  text: string;
}

export async function listen(server: http.Server): Promise<number> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
}

export async function close(server: http.Server): Promise<void> {
  if (!server.listening) return;
  const closed = once(server, 'close');
  server.close();
  server.closeAllConnections();
  await closed;
}

/** Registers the clean-up of the servers that the tests of a file start. */
export function servers(): (listener: http.RequestListener) => Promise<number> {
  const started: http.Server[] = [];
  afterEach(async () => {
    await Promise.all(started.splice(0).map(close));
  });
  return (listener) => {
    const server = http.createServer(listener);
    started.push(server);
    return listen(server);
  };
}

export function open(port: number, { method = 'GET', path = '/', headers, agent }: Sent): http.ClientRequest {
  return http.request({ host: '127.0.0.1', port, method, path, headers, agent: agent ?? false });
}

export async function send(port: number, sent: Sent = {}): Promise<Answer> {
  const { body, chunked } = sent;
  const length = body === undefined || chunked ? undefined : { 'content-length': Buffer.byteLength(body) };
  const request = open(port, { ...sent, headers: { ...length, ...sent.headers } });
  if (chunked) request.flushHeaders();
  request.end(body);
  const [response] = (await once(request, 'response')) as [http.IncomingMessage];
  // The answer may come, and the connection end, before all of the body is sent.
  request.on('error', () => {});
  const chunks: Buffer[] = [];
  for await (const chunk of response) chunks.push(chunk as Buffer);
  return {
    status: response.statusCode ?? 0,
    headers: response.headers,
    text: Buffer.concat(chunks).toString(),
  };
}

/** What a server answers to bytes that no HTTP client would send, up to `until` or to the end of the connection. */
export async function exchange(port: number, bytes: string | Buffer, until?: string): Promise<string> {
  const socket = connect(port, '127.0.0.1');
  socket.write(bytes);
  let text = '';
  for await (const chunk of socket) {
    text += String(chunk);
    if (until !== undefined && text.includes(until)) break;
  }
  return text;
}
