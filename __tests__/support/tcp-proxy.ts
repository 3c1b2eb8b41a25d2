import { once } from 'node:events';
import { type AddressInfo, createServer, connect, type Socket } from 'node:net';
import { onCleanUp } from './clean-up.js';

export interface TcpProxy {
  port: number;
  /** Nothing that is sent arrives any more, either way, and nobody is told. */
  freeze(): void;
  /** Every connection is cut, and none is taken. */
  refuse(): void;
  /** Connections that are made from now on work; those that were frozen stay so. */
  restore(): void;
}

/** Stands between a client and a server on this machine, until the test ends. */
export async function startTcpProxy(targetPort: number): Promise<TcpProxy> {
  const sockets = new Set<Socket>();
  let mode: 'forward' | 'freeze' | 'refuse' = 'forward';

  function follow(socket: Socket): void {
    sockets.add(socket);
    socket.on('error', () => {});
    socket.on('close', () => sockets.delete(socket));
  }

  const server = createServer((client) => {
    if (mode === 'refuse') {
      client.destroy();
      return;
    }
    follow(client);
    if (mode === 'freeze') return;
    const target = connect(targetPort, '127.0.0.1');
    follow(target);
    client.pipe(target).pipe(client);
    client.on('close', () => target.destroy());
    target.on('close', () => client.destroy());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onCleanUp('test', 'folder', async () => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });

  return {
    port: (server.address() as AddressInfo).port,
    freeze() {
      mode = 'freeze';
      for (const socket of sockets) socket.unpipe().pause();
    },
    refuse() {
      mode = 'refuse';
      for (const socket of sockets) socket.destroy();
    },
    restore() {
      mode = 'forward';
    },
  };
}
