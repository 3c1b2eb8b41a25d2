import { setTimeout } from 'node:timers/promises';
import type { Store } from '../store/store.js';
import type { SenderEmitter } from './events.js';
import type { ResolvedOptions } from './options.js';
import type { Tally } from './tally.js';

/** The longest rest between two batches, however long the store takes for one. */
const MAX_REST_MS = 1000;

export interface Sweeper {
  /** Removes all that is to be removed by now, batch by batch. It does not wait for it. */
  begin(): void;
  /** Ends after the batch that is under way; the rest is left to the next worker. */
  stop(): Promise<void>;
}

export interface SweeperContext {
  store: Store;
  options: ResolvedOptions;
  events: SenderEmitter;
  tally: Tally;
  /** Whether this process is to remove what has become too old; what a deleted tenant has left, any may. */
  isWorker(): boolean;
}

/** Removes what nobody is to see any more, and then what has been kept long enough. */
export function createSweeper({ store, options, events, tally, isWorker }: SweeperContext): Sweeper {
  const { retentionSeconds, auditRetentionSeconds, logger, now } = options;
  let wanted = false;
  let stopping = false;
  let running: Promise<void> | undefined;

  /** One batch, of the first that there is anything of. Answers whether there may be more. */
  async function step(): Promise<boolean> {
    if (await store.tenants.purge(now())) return true;
    if (!isWorker()) return false;
    if (retentionSeconds !== null) {
      const at = now();
      const { removed, more } = await store.messages.removeFinished(at - retentionSeconds * 1000, at);
      tally.messagesRemoved += removed;
      if (more) return true;
    }
    return (
      auditRetentionSeconds !== null && (await store.audit.removeBefore(now() - auditRetentionSeconds * 1000))
    );
  }

  async function run(): Promise<void> {
    try {
      while (wanted && !stopping) {
        wanted = false;
        for (;;) {
          const began = performance.now();
          if (!(await step()) || stopping) break;
          // As long as it took: at most half of the time goes into this, whatever there is to remove.
          await setTimeout(Math.min(MAX_REST_MS, performance.now() - began));
        }
      }
    } catch (error) {
      wanted = false;
      events.emit('error', { error, during: 'sweep' });
      logger.error('What is to be removed could not be; it is tried again', { error: String(error) });
    }
  }

  const sweeper: Sweeper = {
    begin() {
      wanted = true;
      running ??= run().finally(() => {
        running = undefined;
        if (wanted && !stopping) sweeper.begin();
      });
    },
    async stop() {
      stopping = true;
      await running;
      stopping = false;
      wanted = false;
    },
  };
  return sweeper;
}
