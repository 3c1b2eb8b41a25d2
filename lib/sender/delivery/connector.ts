import { isIP, type LookupFunction, Socket } from 'node:net';
import { buildConnector } from 'undici';
import { blockedAddress, connectFailure, DeliveryFailure, dnsFailure } from './failure.js';
import type { ResolveName } from './resolver.js';
import type { TargetGuard } from './target-guard.js';

const CONNECT_TIMEOUT_MS = 5000;
/** Node's 250 ms give up on every address of a host that is half a second away, one after the other. */
const NEXT_ADDRESS_AFTER_MS = 1000;

/** The one socket of an undici client, now and after each reconnect. */
export interface Connection {
  /** The address it is, or was last, connected to. */
  remoteAddress: string | null;
  /** `performance.now()` when it was opened; Infinity while there is no socket. */
  openedAt: number;
  /** Gives up on a connection that is being made; null at other times. */
  cancel: (() => void) | null;
}

export interface ConnectorOptions {
  guard: TargetGuard;
  resolve: ResolveName;
  /** Certificates to trust in place of Node's own list. */
  ca?: string | undefined;
}

export interface Connector {
  /** The `connect` function of the undici client that owns the connection. */
  connectorFor(connection: Connection): buildConnector.connector;
  /** Drops every socket that was opened here and opens no more. */
  destroy(): void;
}

/**
 * Opens sockets to allowed addresses only: the address that was judged is the address connected to. A literal address
 * is judged here, because `net.connect` never asks `lookup` about one; a name is resolved here, its answers are judged,
 * and `lookup` hands out those that passed; what the socket says it is connected to is judged once more.
 */
export function createConnector({ guard, resolve, ca }: ConnectorOptions): Connector {
  const sockets = new Set<Socket>();
  let destroyed = false;
  const pinned = new Map<string, { address: string; family: number }[]>();
  const lookup: LookupFunction = (hostname, _options, callback) => {
    const addresses = pinned.get(hostname);
    if (addresses) callback(null, addresses);
    else callback(new Error('nothing was resolved for this host'), []);
  };
  const open = buildConnector({
    lookup,
    autoSelectFamily: true,
    autoSelectFamilyAttemptTimeout: NEXT_ADDRESS_AFTER_MS,
    timeout: CONNECT_TIMEOUT_MS,
    allowH2: false,
    ...(ca === undefined ? {} : { ca }),
  });

  async function allowedAddresses(hostname: string) {
    const addresses = await resolve(hostname, { system: guard.usesSystemResolver(hostname) }).catch(
      (error) => {
        throw dnsFailure(error);
      },
    );
    // Of a mixed answer the allowed part is used: refusing it whole would let one stray record stop an endpoint.
    const allowed = addresses.filter(({ address }) => guard.mayConnect(address, hostname));
    if (allowed.length > 0) return allowed;
    throw addresses.length === 0 ? dnsFailure({ code: 'ENODATA' }) : blockedAddress();
  }

  function own(socket: Socket): void {
    if (sockets.has(socket)) return;
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
  }

  function connectorFor(connection: Connection): buildConnector.connector {
    return (options, callback) => {
      const { hostname } = options;
      let phase: 'tcp' | 'tls' = 'tcp';
      let settled = false;
      let opening: Socket | null = null;
      connection.remoteAddress = null;
      connection.openedAt = Number.POSITIVE_INFINITY;
      connection.cancel = () => fail(new DeliveryFailure('timeout', 'The attempt was given up.'));

      function fail(failure: DeliveryFailure): void {
        if (settled) return;
        settled = true;
        connection.cancel = null;
        opening?.destroy(failure);
        callback(failure, null);
      }
      function succeed(socket: Socket): void {
        own(socket);
        opening = socket;
        const address = socket.remoteAddress;
        // Undefined when the receiver has reset the connection already: the socket's own error follows.
        if (address !== undefined && !guard.mayConnect(address, hostname)) {
          fail(blockedAddress());
          return;
        }
        settled = true;
        connection.cancel = null;
        connection.remoteAddress = address ?? connection.remoteAddress;
        connection.openedAt = performance.now();
        socket.once('close', () => {
          connection.openedAt = Number.POSITIVE_INFINITY;
        });
        callback(null, socket);
      }
      function start(): void {
        const socket: unknown = open(options, (error, made) => {
          if (error) fail(connectFailure(error, phase));
          else if (settled) made?.destroy();
          else if (made) succeed(made);
        });
        // undici returns the socket without saying so in its types: without it only what follows here is lost.
        if (!(socket instanceof Socket)) return;
        own(socket);
        opening = socket;
        socket.once('connect', () => {
          connection.remoteAddress = socket.remoteAddress ?? null;
          if (options.protocol === 'https:') phase = 'tls';
        });
      }

      if (destroyed) {
        fail(new DeliveryFailure('connect', 'The sender has been stopped.'));
        return;
      }
      if (isIP(hostname) !== 0) {
        if (guard.mayConnect(hostname, hostname)) start();
        else fail(blockedAddress());
        return;
      }
      allowedAddresses(hostname).then((addresses) => {
        if (settled || destroyed) return;
        // net asks `lookup` before `open` returns; should it ever ask later, it finds nothing and nothing leaks.
        pinned.set(hostname, addresses);
        start();
        pinned.delete(hostname);
      }, fail);
    };
  }

  return {
    connectorFor,
    destroy() {
      destroyed = true;
      // undici forgets the clients whose connecting failed once, though they go on working through its queue.
      for (const socket of sockets) socket.destroy();
    },
  };
}
