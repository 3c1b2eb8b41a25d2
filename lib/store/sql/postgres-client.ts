import { within } from '../../model/deadline.js';
import { HookplaneError } from '../../model/errors.js';
import { isOfServer, isOutdated } from './postgres-errors.js';
import { type Statement, TYPES, withoutNul } from './postgres-statements.js';
import type { Answer, Execute } from './postgres-steps.js';

/** What is used of a pool of `pg`, said here so that its types need not be installed. */
export interface PostgresPool {
  connect(): Promise<PostgresClient>;
  end(): Promise<void>;
  on(event: 'error', listener: (error: Error) => void): unknown;
  on(event: 'connect', listener: (client: PostgresClient) => void): unknown;
  off(event: 'error' | 'connect', listener: () => void): unknown;
}

/** What is used of a client of such a pool. */
export interface PostgresClient {
  /** Of a `pg` that can, where the pool was made so. */
  readonly pipeline?: boolean;
  query(query: PostgresQuery): Promise<unknown>;
  on(event: 'error' | 'end' | 'notification', listener: (message?: { payload?: string }) => void): unknown;
  /** Gives it back, or closes it. */
  release(destroy?: boolean): void;
}

interface PostgresQuery {
  text: string;
  values?: unknown[];
  name?: string;
  types?: { getTypeParser(oid: number): (text: string) => unknown };
  query_timeout?: number | undefined;
}

/** How long a connection may take, the wait for a free one of the pool included. */
export const CONNECT_TIMEOUT_MS = 4000;

/** By whatever store: several may share a pool, and each opens more than once. */
const watched = new WeakSet<PostgresClient>();

/**
 * The process would end of a client that fails while nobody asks it anything, idle or between two statements. It has left
 * its pool by then, or the next statement tells. Those that the pool has already are met when they are used.
 */
export function watch(client?: PostgresClient): void {
  if (!client || watched.has(client)) return;
  watched.add(client);
  client.on('error', ignore);
}

/**
 * A client of the pool; a pool of the application's may wait for a free one for ever. One that comes too late is given
 * back at once.
 */
export function connectWithin(pool: PostgresPool): Promise<PostgresClient> {
  const connecting = pool.connect();
  return within(connecting, CONNECT_TIMEOUT_MS, () => {
    connecting.then((client) => client.release(), ignore);
    return new HookplaneError('STORE_UNAVAILABLE', 'No connection of the pool was free in time');
  });
}

/** A client while it is used. */
export interface Session {
  /** Whether it sends a statement before the one before is answered. */
  readonly pipelines: boolean;
  command(text: string): Promise<unknown>;
  execute: Execute;
  isLost(): boolean;
  /** Keeps it for as long as this takes, though what it is used for is done. */
  releaseAfter(promise: Promise<unknown>): void;
}

/** Has `use` work with a client, and gives that back if it is still in step with its server. */
export async function withClient<T>(
  pool: PostgresPool,
  statementOf: (text: string) => Statement,
  timeoutMs: number | undefined,
  use: (client: Session) => Promise<T>,
): Promise<T> {
  const client = await connectWithin(pool);
  watch(client);
  let lost = false;
  let after: Promise<unknown> | undefined;
  /** Those that were sent and are not answered, each of which may take its time before the last has its own. */
  let unanswered = 0;

  async function query(text: string, values?: readonly unknown[], name?: string): Promise<unknown> {
    unanswered += 1;
    try {
      return await client.query({
        text,
        ...(values && { values: withoutNul(values) }),
        ...(name && { name }),
        types: TYPES,
        query_timeout: timeoutMs && timeoutMs * unanswered,
      });
    } catch (error) {
      // What the server answers leaves the session as it was; after anything else nobody knows what it is at.
      if (!isOfServer(error) || isOutdated(error)) lost = true;
      throw error;
    } finally {
      unanswered -= 1;
    }
  }

  try {
    return await use({
      pipelines: client.pipeline === true,
      command: (text) => query(text),
      async execute(shared, values) {
        const { text, name } = statementOf(shared);
        return (await query(text, values, name)) as Answer;
      },
      isLost: () => lost,
      releaseAfter(promise) {
        after = promise;
      },
    });
  } finally {
    if (after) void after.catch(ignore).then(() => client.release(lost));
    else client.release(lost);
  }
}

function ignore(): void {}
