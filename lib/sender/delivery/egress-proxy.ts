import type { Socket } from 'node:net';
import { type buildConnector, Client } from 'undici';
import { parseUrl } from '../../model/url.js';
import { type DeliveryFailure, proxyFailure, proxyRefusal, proxyUnreachable } from './failure.js';

/** How long the proxy may take to connect to a receiver; it tries addresses of its own for longer than we would. */
const ANSWER_TIMEOUT_MS = 10_000;
const MAX_HEADER_BYTES = 8192;

/** An HTTP proxy through which every delivery goes. */
export interface EgressProxyOptions {
  /** `http://` or `https://`, host and port, with a user name and a password where the proxy wants them. */
  url: string;
  /**
   * Who looks up the names of receivers. `proxy`: it is given the name, and judging the addresses is its duty; here
   * only literal addresses and `localhost` are judged. `local`: names are resolved and judged here as without a proxy,
   * and it is given the address.
   * @default 'proxy'
   */
  resolve?: 'proxy' | 'local';
}

export interface EgressProxy {
  protocol: 'http:' | 'https:';
  host: string;
  hostname: string;
  port: string;
  /** The value of `Proxy-Authorization`; null without credentials. */
  authorization: string | null;
  resolve: 'proxy' | 'local';
}

/** What is wrong with the URL of a proxy, as a sentence without its subject that repeats nothing of it; null when nothing is. */
export function proxyUrlProblem(text: string): string | null {
  const url = /^https?:\/\/[^/?#\s\\]+\/?$/i.test(text) ? parseUrl(text) : null;
  if (url === null) return 'must be the URL of an HTTP proxy, such as http://user:password@proxy:3128';
  return credentialsOf(url) === undefined ? 'must have its user name and password percent-encoded' : null;
}

export function readEgressProxy(given: string | EgressProxyOptions): EgressProxy {
  const { url: text, resolve = 'proxy' } = typeof given === 'string' ? { url: given } : given;
  const url = new URL(text);
  return {
    protocol: url.protocol as EgressProxy['protocol'],
    host: url.host,
    hostname: url.hostname.replace(/^\[|\]$/g, ''),
    port: url.port,
    authorization: credentialsOf(url) ?? null,
    resolve,
  };
}

/** Undefined when they cannot be decoded. */
function credentialsOf({ username, password }: URL): string | null | undefined {
  if (username === '' && password === '') return null;
  try {
    const plain = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
    return `Basic ${Buffer.from(plain).toString('base64')}`;
  } catch {
    return undefined;
  }
}

/** @param authority the host and the port to be connected to; IPv6 in brackets */
export type OpenTunnel = (
  authority: string,
  /** Is handed the socket at once; destroying it ends the attempt. */
  hold: (socket: Socket) => void,
  done: (failure: DeliveryFailure | null, tunnel: Socket | null) => void,
) => void;

/**
 * Opens tunnels through the proxy (RFC 9110, §9.3.6), for http as for https: a proxy that forwards requests would
 * speak for the receiver, and its own answers could not be told from theirs. undici's client speaks to the proxy. Its
 * ProxyAgent does the same, but puts pools of its own in between, in which nothing can be given up.
 *
 * @param connect opens sockets to the proxy
 */
export function createTunnels(proxy: EgressProxy, connect: buildConnector.connector): OpenTunnel {
  const { protocol, host, hostname, port, authorization } = proxy;
  return (authority, hold, done) => {
    const opening: unknown = connect({ protocol, host, hostname, port }, (error, socket) => {
      if (error) done(proxyUnreachable(error), null);
      else if (socket) ask(socket);
    });
    // undici returns the socket without saying so in its types.
    if (opening) hold(opening as Socket);

    function ask(socket: Socket): void {
      const client = new Client(`${protocol}//${host}`, {
        // Not at once: undici would overlook that it is connected.
        connect: (_options, connected) => queueMicrotask(() => connected(null, socket)),
        headersTimeout: ANSWER_TIMEOUT_MS,
        maxHeaderSize: MAX_HEADER_BYTES,
        allowH2: false,
      });
      const headers = {
        host: authority,
        ...(authorization !== null && { 'proxy-authorization': authorization }),
      };
      client.connect({ path: authority, headers }, (error, answer) => {
        // undici has taken its own listeners off the socket, or destroyed it.
        socket.on('error', () => {});
        client.destroy();
        if (error) done(proxyFailure(error), null);
        else if (answer.statusCode >= 200 && answer.statusCode < 300) done(null, socket);
        else {
          socket.destroy();
          done(proxyRefusal(answer.statusCode), null);
        }
      });
    }
  };
}
