import type { LeaseKey, Store } from '../store/store.js';

export interface WatchedStore {
  /** Several senders share it, so their closing leaves it open. */
  store: Store;
  /**
   * Resolves when a worker has asked for work, was given none and has nothing under way, with the time at which the
   * next delivery is due (milliseconds; null when none is). Rejects with what the store failed with.
   */
  untilQuiet(): Promise<number | null>;
  close(): Promise<void>;
}

/** A store that tells when there is nothing left to do at the present time. */
export function watchStore(inner: Store): WatchedStore {
  const underWay = new Set<string>();
  let waiting: { resolve(nextAt: number | null): void; reject(error: unknown): void } | null = null;

  const store: Store = {
    ...inner,
    close: async () => {},
    outbox: {
      ...inner.outbox,
      async turn(turn) {
        const result = await inner.outbox.turn(turn).catch((error) => {
          waiting?.reject(error);
          throw error;
        });
        for (const ended of [...turn.settlements, ...turn.release]) underWay.delete(keyOf(ended));
        for (const leased of result.leased) underWay.add(keyOf(leased));
        if (turn.lease && underWay.size === 0) waiting?.resolve(result.nextAt);
        return result;
      },
    },
    workers: {
      ...inner.workers,
      // Who delivers by hand is the worker: without one `health` would never be ok.
      countSince: async (since) => Math.max(1, await inner.workers.countSince(since)),
    },
  };

  return {
    store,
    untilQuiet() {
      underWay.clear();
      return new Promise<number | null>((resolve, reject) => {
        waiting = { resolve, reject };
      }).finally(() => {
        waiting = null;
      });
    },
    close: () => inner.close(),
  };
}

function keyOf({ messageId, endpointId }: LeaseKey): string {
  return `${messageId} ${endpointId}`;
}
