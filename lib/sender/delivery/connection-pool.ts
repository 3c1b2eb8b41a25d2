import { Agent, type buildConnector, Client, type Dispatcher, Pool } from 'undici';
import type { Connection } from './connector.js';

const KEEP_ALIVE_MS = 4000;
/** A connection in constant use is closed at this age, so that a changed DNS record is followed. */
const MAX_AGE_MS = 60_000;
const MAX_HEADER_BYTES = 16_384;
const UNWANTED = new Error('Nobody waits for this connection.');

/** One request on its way through the pool. */
export interface Flight {
  /** The connection it was given to; null while it waits for one. */
  connection: Connection | null;
  /** Its outcome is known, so nothing may be sent for it any more. */
  settled: boolean;
}

export interface FlightOptions extends Dispatcher.DispatchOptions {
  flight: Flight;
}

export interface ConnectionPoolOptions {
  connectionsPerOrigin: number;
  connectorFor: (connection: Connection) => buildConnector.connector;
  maxAgeMs?: number | undefined;
}

/**
 * undici's own agent and pools over clients that tell a request which connection carries it. A client has one socket
 * and, without pipelining, one request at a time.
 *
 * Idle connections are kept for 4 s whatever the receiver allows: with thousands of receivers that ask for more, each
 * one costs a file descriptor. Silence timeouts are off, since the deadline of the request covers them.
 */
export function createConnectionPool(options: ConnectionPoolOptions): Agent {
  const { connectionsPerOrigin, connectorFor, maxAgeMs = MAX_AGE_MS } = options;
  return new Agent({
    factory: (origin) =>
      new Pool(origin, {
        connections: connectionsPerOrigin,
        factory: (url) => new FlightClient(url, connectorFor, maxAgeMs),
      }),
  });
}

class FlightClient extends Client {
  readonly #connection: Connection;
  readonly #last: { flight: Flight | null };
  readonly #maxAgeMs: number;

  constructor(origin: URL, connectorFor: ConnectionPoolOptions['connectorFor'], maxAgeMs: number) {
    const connection: Connection = { remoteAddress: null, openedAt: Number.POSITIVE_INFINITY, cancel: null };
    const connect = connectorFor(connection);
    const last: { flight: Flight | null } = { flight: null };
    super(origin, {
      // undici opens a new connection for a request that was given up while the old one carried it.
      connect: (options, callback) => {
        if (last.flight?.settled) queueMicrotask(() => callback(UNWANTED, null));
        else connect(options, callback);
      },
      pipelining: 1,
      allowH2: false,
      keepAliveTimeout: KEEP_ALIVE_MS,
      keepAliveMaxTimeout: KEEP_ALIVE_MS,
      headersTimeout: 0,
      bodyTimeout: 0,
      maxHeaderSize: MAX_HEADER_BYTES,
    });
    this.#connection = connection;
    this.#last = last;
    this.#maxAgeMs = maxAgeMs;
  }

  override dispatch(options: FlightOptions, handler: Dispatcher.DispatchHandler): boolean {
    const { flight } = options;
    // It gave up while it waited for a free connection: sending it now would deliver what was recorded as failed.
    if (flight.settled) return true;
    flight.connection = this.#connection;
    this.#last.flight = flight;
    // The pool's own `clientTtl` closes all connections of one age at once and can leave requests waiting for none.
    if (performance.now() - this.#connection.openedAt > this.#maxAgeMs) options.reset = true;
    // A request that undici refuses to build is settled by now and leaves the client free, which undici does not say.
    return super.dispatch(options, handler) || flight.settled;
  }

  /** The pool drops a client that could not connect, and could then have more of them than it may. */
  override emit(name: string | symbol, ...details: unknown[]): boolean {
    if (name === 'connectionError' && details[2] === UNWANTED) return false;
    return Reflect.apply(super.emit, this, [name, ...details]);
  }
}
