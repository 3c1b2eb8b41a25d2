import { createServer, type IncomingMessage } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { type AddressInfo, connect, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { onCleanUp } from './clean-up.js';

export interface ConnectProxy {
  port: number;
  /** `http://127.0.0.1:port`, with the credentials that it wants, or others. */
  url(credentials?: string): string;
  /** What it was asked to connect to, with the credentials that came along. */
  asked: { authority: string; authorization: string | undefined }[];
  /** What came that was no CONNECT. */
  others: string[];
  /** Connections to it that are open. */
  open(): number;
}

export interface ConnectProxyOptions {
  /** `user:password`, in plain text. Others are answered 407. */
  credentials?: string;
  /** The host that a name is connected to. @default 127.0.0.1 */
  route?: (hostname: string) => string | undefined;
  /** Answers in place of connecting. */
  answer?: (client: Duplex, authority: string) => void;
  /** Speaks TLS with this certificate. */
  tls?: { cert: string; key: string };
}

/** A real HTTP proxy on a free port of 127.0.0.1 that knows CONNECT alone; it closes itself at the end of the test. */
export async function startConnectProxy(options: ConnectProxyOptions = {}): Promise<ConnectProxy> {
  const { credentials, route = () => '127.0.0.1', answer, tls } = options;
  const asked: ConnectProxy['asked'] = [];
  const others: string[] = [];
  const sockets = new Set<Duplex>();
  const keep = (socket: Duplex): void => {
    sockets.add(socket);
    socket.on('error', () => {}).once('close', () => sockets.delete(socket));
  };
  const wanted = credentials && `Basic ${Buffer.from(credentials).toString('base64')}`;

  function tunnel(request: IncomingMessage, client: Duplex, head: Buffer): void {
    const authority = request.url ?? '';
    const authorization = request.headers['proxy-authorization'];
    asked.push({ authority, authorization });
    // What was a connection of HTTP ends only when somebody reads its end and ends the other half.
    client
      .on('error', () => {})
      .on('end', () => client.destroy())
      .resume();
    if (authorization !== wanted) {
      client.end('HTTP/1.1 407 Proxy Authentication Required\r\nProxy-Authenticate: Basic\r\n\r\n');
      return;
    }
    if (answer) {
      answer(client, authority);
      return;
    }
    const { hostname, port } = new URL(`http://${authority}`);
    const target: Socket = connect(Number(port || 80), route(hostname) ?? hostname);
    sockets.add(target);
    let connected = false;
    target.once('connect', () => {
      connected = true;
      client.write('HTTP/1.1 200 Connection established\r\n\r\n');
      target.write(head);
      target.pipe(client).pipe(target);
    });
    target
      .on('error', () => {})
      .once('close', () => {
        sockets.delete(target);
        if (connected) client.destroy();
        else client.end('HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n');
      });
    client.once('close', () => target.destroy());
  }

  const server = tls ? createTlsServer(tls) : createServer();
  const clients = new Set<Duplex>();
  server.on('connection', (socket: Socket) => {
    keep(socket);
    clients.add(socket);
    socket.once('close', () => clients.delete(socket));
  });
  server.on('connect', tunnel);
  server.on('request', (request, response) => {
    others.push(`${request.method} ${request.url}`);
    response.writeHead(405).end();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  onCleanUp(
    'test',
    'receiver',
    () =>
      new Promise((resolve) => {
        server.close(() => resolve(undefined));
        for (const socket of sockets) socket.destroy();
      }),
  );
  return {
    port,
    url: (given = credentials) =>
      `${tls ? 'https' : 'http'}://${given === undefined ? '' : `${given}@`}127.0.0.1:${port}`,
    asked,
    others,
    open: () => clients.size,
  };
}
