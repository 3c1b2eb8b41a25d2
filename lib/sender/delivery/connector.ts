import { isIP, type LookupFunction, Socket } from 'node:net';
import { buildConnector } from 'undici';
import type { Logger } from '../../model/logger.js';
import { createTunnels, type EgressProxy, type OpenTunnel } from './egress-proxy.js';
import { blockedAddress, connectFailure, DeliveryFailure, dnsFailure } from './failure.js';
import type { ResolveName } from './resolver.js';
import type { TargetGuard } from './target-guard.js';

const CONNECT_TIMEOUT_MS = 5000;
/** Node's 250 ms give up on every address of a host that is half a second away, one after the other. */
const NEXT_ADDRESS_AFTER_MS = 1000;
/** Of which it has been logged that they have refused addresses, which is so each time they are resolved. */
const REMEMBERED_NAMES = 256;

/** The one socket of an undici client, now and after each reconnect. */
export interface Connection {
  /** The address it is, or was last, connected to; null when only the egress proxy knows it. */
  remoteAddress: string | null;
  /** `performance.now()` when it was opened; Infinity while there is no socket. */
  openedAt: number;
  /** Gives up on a connection that is being made; null at other times. */
  cancel: (() => void) | null;
}

export interface ConnectorOptions {
  guard: TargetGuard;
  resolve: ResolveName;
  /** Told of names that resolve to refused addresses: once for each, as long as it is remembered. */
  logger?: Pick<Logger, 'warn'> | undefined;
  /** Opens all connections. It is the operator's own, and no target: its address is not judged. */
  proxy?: EgressProxy | null | undefined;
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
 *
 * Through a proxy, it is a literal address or a judged one that the proxy is told to connect to, or the name where
 * names are resolved by the proxy.
 */
export function createConnector({ guard, resolve, logger, proxy, ca }: ConnectorOptions): Connector {
  const sockets = new Set<Socket>();
  let destroyed = false;
  const pinned = new Map<string, { address: string; family: number }[]>();
  const lookup: LookupFunction = (hostname, _options, callback) => {
    const addresses = pinned.get(hostname);
    if (addresses) callback(null, addresses);
    else callback(new Error('nothing was resolved for this host'), []);
  };
  const settings = {
    autoSelectFamily: true,
    autoSelectFamilyAttemptTimeout: NEXT_ADDRESS_AFTER_MS,
    timeout: CONNECT_TIMEOUT_MS,
    allowH2: false,
    ...(ca === undefined ? {} : { ca }),
  };
  const open = buildConnector({ lookup, ...settings });
  const tunnel = proxy ? createTunnels(proxy, buildConnector(settings)) : null;
  const toldOf = new Set<string>();

  function tellOf(hostname: string, addresses: string[]): void {
    if (toldOf.has(hostname)) return;
    if (toldOf.size >= REMEMBERED_NAMES) toldOf.delete(toldOf.values().next().value as string);
    toldOf.add(hostname);
    logger?.warn('A host name resolves to addresses that are no targets; no connection goes to them', {
      hostname,
      addresses,
    });
  }

  async function allowedAddresses(hostname: string) {
    const addresses = await resolve(hostname, { system: guard.usesSystemResolver(hostname) }).catch(
      (error) => {
        throw dnsFailure(error);
      },
    );
    // Of a mixed answer the allowed part is used: refusing it whole would let one stray record stop an endpoint.
    const allowed = addresses.filter(({ address }) => guard.mayConnect(address, hostname));
    if (allowed.length < addresses.length) {
      const refused = addresses.filter((each) => !allowed.includes(each));
      tellOf(
        hostname,
        refused.map(({ address }) => address),
      );
    }
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
        // Of a tunnel it is the proxy's.
        const address = tunnel ? undefined : socket.remoteAddress;
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
      function hold(socket: Socket): void {
        own(socket);
        opening = socket;
      }
      function start(httpSocket?: Socket): void {
        const socket: unknown = open({ ...options, httpSocket }, (error, made) => {
          if (error) fail(connectFailure(error, phase));
          else if (settled) made?.destroy();
          else if (made) succeed(made);
        });
        // undici returns the socket without saying so in its types: without it only what follows here is lost.
        if (!(socket instanceof Socket)) return;
        hold(socket);
        if (httpSocket) return;
        socket.once('connect', () => {
          connection.remoteAddress = socket.remoteAddress ?? null;
          if (options.protocol === 'https:') phase = 'tls';
        });
      }
      /** Has the proxy connect to the hosts, one after the other until it is connected to one. */
      function startThrough(connectTo: OpenTunnel, [host, ...others]: readonly string[]): void {
        const port = options.port || (options.protocol === 'https:' ? '443' : '80');
        const authority = `${host?.includes(':') ? `[${host}]` : host}:${port}`;
        connectTo(authority, hold, (failure, socket) => {
          if (settled) socket?.destroy();
          else if (failure && others.length > 0 && !destroyed) startThrough(connectTo, others);
          else if (failure) fail(failure);
          else if (socket) {
            connection.remoteAddress = host && isIP(host) !== 0 ? host : null;
            if (options.protocol === 'https:') {
              phase = 'tls';
              start(socket);
            } else succeed(socket);
          }
        });
      }

      if (destroyed) {
        fail(new DeliveryFailure('connect', 'The sender has been stopped.'));
        return;
      }
      if (isIP(hostname) !== 0) {
        if (!guard.mayConnect(hostname, hostname)) fail(blockedAddress());
        else if (tunnel) startThrough(tunnel, [hostname]);
        else start();
        return;
      }
      if (tunnel && proxy?.resolve === 'proxy') {
        startThrough(tunnel, [hostname]);
        return;
      }
      allowedAddresses(hostname).then((addresses) => {
        if (settled || destroyed) return;
        if (tunnel) {
          const hosts = addresses.map(({ address }) => address);
          startThrough(tunnel, hosts);
          return;
        }
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
