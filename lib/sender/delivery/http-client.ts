import type { Dispatcher } from 'undici';
import type { Logger } from '../../model/logger.js';
import type { ErrorKind } from '../../model/message.js';
import { rememberLast } from '../key-cache.js';
import { createConnectionPool, type Flight, type FlightOptions } from './connection-pool.js';
import { createConnector } from './connector.js';
import type { EgressProxy } from './egress-proxy.js';
import { DeliveryFailure, responseFailure } from './failure.js';
import { createResolver, type ResolveName } from './resolver.js';
import { createBodyRecord, recordHeaders } from './response-record.js';
import type { TargetGuard } from './target-guard.js';

const REMEMBERED_URLS = 1024;
/** A receiver that floods interim responses (103) otherwise keeps the event loop busy for its whole deadline. */
const MAX_INTERIM_RESPONSES = 8;
const ABANDONED = new Error('The outcome of this request is known already.');

export interface PostRequest {
  url: string;
  /** All of them but `host`, `connection` and `content-length`. */
  headers: Record<string, string>;
  body: Buffer;
  /** The deadline over everything: waiting for a connection, DNS, connecting, TLS, the response and its body. */
  timeoutMs: number;
}

/** What became of a request. `errorKind` is null on success, which is a 2xx status line and nothing else. */
export interface PostResult {
  /** Milliseconds since the epoch. */
  startedAt: number;
  /** Whole milliseconds. */
  durationMs: number;
  /** The address connected to; null when there was none, and when the egress proxy alone knows it. */
  remoteAddress: string | null;
  status: number | null;
  headers: Record<string, string> | null;
  /** The first 4 KiB as text; null when no response came. */
  body: string | null;
  errorKind: ErrorKind | null;
  error: string | null;
  /** The `Retry-After` header as it came. */
  retryAfter: string | null;
}

export interface HttpClientOptions {
  guard: TargetGuard;
  /** @default 64 */
  connectionsPerOrigin?: number | undefined;
  /** Milliseconds since the epoch. @default Date.now */
  now?: (() => number) | undefined;
  /** @default c-ares, and the operating system for names that the guard trusts */
  resolve?: ResolveName | undefined;
  /** Told of names that resolve to addresses that are refused. */
  logger?: Pick<Logger, 'warn'> | undefined;
  /** Makes all connections to receivers. @default null */
  proxy?: EgressProxy | null | undefined;
  /** Certificates to trust in place of Node's own list. */
  ca?: string | undefined;
  /** How long a connection in constant use is kept. @default 60000 */
  maxConnectionAgeMs?: number | undefined;
}

export interface HttpClient {
  /**
   * Posts once and never rejects. Nothing is ever sent again by itself: once a byte is written, a connection that
   * breaks does not tell whether the receiver has seen the request, and the retry schedule decides, not this.
   * (A request that was not yet written when its idle connection closed goes over a new one.) No redirect is followed,
   * nothing is decompressed.
   */
  post(request: PostRequest): Promise<PostResult>;
  /** Waits for the requests under way, each within its own deadline, then drops all connections. */
  close(): Promise<void>;
  /** Drops all connections at once; the requests under way fail. */
  abort(): Promise<void>;
}

export function createHttpClient(options: HttpClientOptions): HttpClient {
  const { guard, connectionsPerOrigin = 64, now = Date.now, resolve = createResolver() } = options;
  const connector = createConnector({
    guard,
    resolve,
    logger: options.logger,
    proxy: options.proxy,
    ca: options.ca,
  });
  const pool = createConnectionPool({
    connectionsPerOrigin,
    connectorFor: connector.connectorFor,
    maxAgeMs: options.maxConnectionAgeMs,
  });
  const targetOf = rememberLast(REMEMBERED_URLS, (url) => {
    const verdict = guard.checkUrl(url);
    if ('problem' in verdict) return verdict;
    const { origin, pathname, search } = new URL(verdict.url);
    return { origin, path: pathname + search };
  });
  let underWay = 0;
  let idle: (() => void) | null = null;
  let closing: Promise<void> | null = null;

  async function destroy(): Promise<void> {
    await pool.destroy();
    connector.destroy();
  }

  function start(request: PostRequest, done: (result: PostResult) => void): void {
    const startedAt = now();
    const startedMark = performance.now();
    const flight: Flight = { connection: null, settled: false };
    const body = createBodyRecord();
    let controller: Dispatcher.DispatchController | null = null;
    let interim = 0;
    let status: number | null = null;
    let headers: Record<string, string | string[] | undefined> = {};

    /** Once a final status is known it alone decides; a failure after it is a shorter body, nothing more. */
    function settle(failure: DeliveryFailure | null): void {
      if (flight.settled) return;
      flight.settled = true;
      clearTimeout(timer);
      const retryAfter = headers['retry-after'] ?? null;
      done({
        startedAt,
        durationMs: Math.round(performance.now() - startedMark),
        remoteAddress: flight.connection?.remoteAddress ?? null,
        status,
        headers: status === null ? null : recordHeaders(headers),
        body: status === null ? null : body.text(),
        ...(status === null ? failureFields(failure) : statusFields(status)),
        retryAfter: typeof retryAfter === 'object' ? (retryAfter?.[0] ?? null) : retryAfter,
      });
    }
    function giveUp(failure: DeliveryFailure | null): void {
      settle(failure);
      if (controller) controller.abort(ABANDONED);
      else flight.connection?.cancel?.();
    }
    const timer = setTimeout(() => {
      const what = controller ? 'The receiver did not answer' : 'No connection to the receiver was made';
      giveUp(new DeliveryFailure('timeout', `${what} within ${request.timeoutMs} ms.`));
    }, request.timeoutMs);

    const target = closing
      ? { problem: 'cannot be reached: the sender has been stopped' }
      : targetOf(request.url);
    if ('problem' in target) {
      settle(new DeliveryFailure(closing ? 'connect' : 'blocked_address', `The URL ${target.problem}.`));
      return;
    }
    const dispatch: FlightOptions = {
      ...target,
      method: 'POST',
      headers: request.headers,
      body: request.body,
      flight,
    };
    pool.dispatch(dispatch, {
      onRequestStart(started) {
        // Thrown, not aborted: undici then drops the request and keeps the connection.
        if (flight.settled) throw ABANDONED;
        controller = started;
      },
      onResponseStart(_controller, statusCode, responseHeaders) {
        if (statusCode >= 200) {
          status = statusCode;
          headers = responseHeaders;
          return;
        }
        interim += 1;
        if (interim > MAX_INTERIM_RESPONSES) {
          giveUp(new DeliveryFailure('invalid_response', 'The receiver sent interim responses without end.'));
        }
      },
      onResponseData(_controller, chunk) {
        if (!flight.settled && !body.add(chunk)) giveUp(null);
      },
      onResponseEnd: () => settle(null),
      onResponseError: (_controller, error) => settle(responseFailure(error)),
    });
  }

  return {
    post: (request) =>
      new Promise((resolvePost) => {
        underWay += 1;
        start(request, (result) => {
          underWay -= 1;
          resolvePost(result);
          if (underWay === 0) idle?.();
        });
      }),
    close() {
      closing ??= new Promise<void>((resolveIdle) => {
        if (underWay === 0) resolveIdle();
        else idle = resolveIdle;
      }).then(destroy);
      return closing;
    },
    abort() {
      closing ??= Promise.resolve();
      return destroy();
    },
  };
}

function failureFields(failure: DeliveryFailure | null): { errorKind: ErrorKind; error: string } {
  const { kind, message } = failure ?? responseFailure(null);
  return { errorKind: kind, error: message };
}

function statusFields(status: number): { errorKind: ErrorKind | null; error: string | null } {
  if (status < 300) return { errorKind: null, error: null };
  if (status < 400) {
    return { errorKind: 'redirect', error: `The receiver answered ${status}; redirects are not followed.` };
  }
  return { errorKind: 'http_status', error: `The receiver answered ${status}.` };
}
