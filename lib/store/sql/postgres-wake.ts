import { randomUUID } from 'node:crypto';
import { type RawBuilder, sql } from 'kysely';
import { connectWithin, type PostgresClient, type PostgresPool } from './postgres-client.js';

const MAX_BACKOFF_MS = 30_000;
/** How often it is made sure that the connection still answers: one that is half open would be silent for ever. */
const CHECK_MS = 15_000;
const CHECK_TIMEOUT_MS = 5000;

/** Tells workers that another process has stored what is due. */
export interface WakeUps {
  /** @returns a function that ends it */
  onWake(listener: () => void): () => void;
  /**
   * Tells everybody who listens, once the transaction is committed and once however often it says so; workers of this
   * store only with `everyone`.
   */
  announcement(everyone: boolean): RawBuilder<unknown>;
  /**
   * Listens on a client of the pool, for as long as there are listeners, until what it answers is called. A second one
   * while the first lasts changes nothing: the store looks at its schema so.
   */
  attach(pool: PostgresPool): () => Promise<void>;
}

/**
 * LISTEN on a connection of its own. Nothing is lost that polling does not find: whenever the connection is there anew,
 * the listeners are told as if something had come, since it may have.
 */
export function createWakeUps(channel: string): WakeUps {
  const listeners = new Set<() => void>();
  let pool: PostgresPool | null = null;
  /** Of the connection that is wanted; whatever an earlier one still says counts no more. */
  let listening: { closed: Promise<void>; close(): void } | null = null;

  const self = randomUUID();

  function tell(payload?: string): void {
    if (payload !== self) for (const listener of listeners) listener();
  }

  function update(): void {
    if (pool && listeners.size > 0) listening ??= listen(pool, channel, tell);
    else void stop();
  }

  function stop(): Promise<void> | undefined {
    const stopping = listening;
    listening = null;
    stopping?.close();
    return stopping?.closed;
  }

  return {
    onWake(listener) {
      // Each its own, should one be given twice.
      const own = () => listener();
      listeners.add(own);
      update();
      return () => {
        listeners.delete(own);
        update();
      };
    },
    announcement: (everyone) => sql`select pg_notify(${channel}, ${everyone ? '' : self})`,
    attach(opened) {
      if (pool) return async () => {};
      pool = opened;
      update();
      return async () => {
        pool = null;
        await stop();
      };
    },
  };
}

/** Listens, and connects anew with growing pauses, until it is closed. */
function listen(
  pool: PostgresPool,
  channel: string,
  tell: (payload?: string) => void,
): { closed: Promise<void>; close(): void } {
  let closing = false;
  let end: () => void = () => {};

  /** Resolves when the connection is over, or is not to be any more; rejects when there was none. */
  async function connected(): Promise<void> {
    const client = await connectWithin(pool);
    let check: NodeJS.Timeout | undefined;
    try {
      const over = new Promise<void>((resolve) => {
        end = resolve;
        client.on('error', () => resolve());
        client.on('end', () => resolve());
      });
      client.on('notification', (message) => tell(message?.payload));
      if (closing) return;
      await ask(client, `listen "${channel}"`);
      tell();
      let checking = false;
      check = setInterval(() => {
        if (checking) return;
        checking = true;
        void ask(client, 'select 1').then(() => {
          checking = false;
        }, end);
      }, CHECK_MS);
      await over;
    } finally {
      clearInterval(check);
      client.release(true);
    }
  }

  async function keepConnected(): Promise<void> {
    for (let failures = 0; !closing; ) {
      const began = performance.now();
      await connected().catch(() => {});
      failures = performance.now() - began > CHECK_MS ? 0 : failures + 1;
      if (closing) return;
      const pauseMs = Math.min(MAX_BACKOFF_MS, 100 * 2 ** failures) * (0.5 + Math.random() / 2);
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, pauseMs);
        end = () => {
          clearTimeout(timer);
          resolve();
        };
      });
    }
  }

  return {
    closed: keepConnected(),
    close() {
      closing = true;
      end();
    },
  };
}

function ask(client: PostgresClient, text: string): Promise<unknown> {
  return client.query({ text, query_timeout: CHECK_TIMEOUT_MS });
}
