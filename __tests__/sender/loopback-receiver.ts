import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer as createTcpServer, type Server, type Socket } from 'node:net';

/** A receiver on a free port of 127.0.0.1. */
export interface Receiver {
  url: string;
  port: number;
  /** How many connections it has accepted. */
  connections(): number;
  /** Closes the connections that it has, and goes on. */
  hangUp(): Promise<void>;
  close(): Promise<void>;
}

/** Answers whole requests. `requests` holds the bodies it got, in their order. */
export async function httpReceiver(
  answer: (request: IncomingMessage, response: ServerResponse) => void,
): Promise<Receiver & { requests: { body: string; headers: IncomingMessage['headers'] }[] }> {
  const requests: { body: string; headers: IncomingMessage['headers'] }[] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      requests.push({ body: Buffer.concat(chunks).toString(), headers: request.headers });
      answer(request, response);
    });
  });
  return { ...(await listen(server)), requests };
}

/** Hands every socket, with the first bytes that came over it, to `answer`, which may write what it likes. */
export function rawReceiver(answer: (socket: Socket) => void): Promise<Receiver> {
  return listen(
    createTcpServer((socket) => {
      socket.on('error', () => {});
      socket.once('data', () => answer(socket));
    }),
  );
}

/** Writes a piece again and again, as fast as the other side takes it, until the socket is gone. */
export function endlessly(socket: Socket, piece: string, start = ''): void {
  // The kernel takes megabytes at once: in small pieces, the writing itself would keep everybody waiting.
  const block = piece.repeat(Math.ceil(65_536 / piece.length));
  const more = (): void => {
    while (!socket.destroyed && socket.write(block));
  };
  socket.on('drain', more);
  socket.write(start);
  more();
}

export async function listen(server: Server): Promise<Receiver> {
  const sockets = new Set<Socket>();
  let connections = 0;
  server.on('connection', (socket: Socket) => {
    connections += 1;
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  return {
    url: `http://127.0.0.1:${address.port}/hook`,
    port: address.port,
    connections: () => connections,
    async hangUp() {
      const closed = [...sockets].map((socket) => once(socket.destroy(), 'close'));
      await Promise.all(closed);
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        for (const socket of sockets) socket.destroy();
      }),
  };
}
