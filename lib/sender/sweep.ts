import { setTimeout } from 'node:timers/promises';
import type { Store } from '../store/store.js';
import { createDepthSampler } from './depth-sampler.js';
import type { SenderEmitter } from './events.js';
import type { ResolvedOptions } from './options.js';
import type { Tally } from './tally.js';

/** How many deliveries are ended in one transaction. */
const EXPIRY_BATCH = 500;
/** The longest rest between two batches, however long the store takes for one. */
const MAX_REST_MS = 1000;
/** A little more than the week that the dashboard shows. */
const DEPTHS_KEPT_MS = 8 * 24 * 3_600_000;

export interface Sweeper {
  /** Samples, ends and removes all that is to be by now, batch by batch. It does not wait for it. */
  begin(): void;
  /** Ends after the batch that is under way; the rest is left to the next worker. */
  stop(): Promise<void>;
}

export interface SweeperContext {
  store: Store;
  options: ResolvedOptions;
  events: SenderEmitter;
  tally: Tally;
  /** Whether this process is to do more than remove what a deleted tenant has left, which any may. */
  isWorker(): boolean;
}

/**
 * Samples what is owed, ends what has expired, removes what nobody is to see any more, and then what has been kept long
 * enough.
 */
export function createSweeper({ store, options, events, tally, isWorker }: SweeperContext): Sweeper {
  const { retentionSeconds, auditRetentionSeconds, logger, now } = options;
  let wanted = false;
  let stopping = false;
  let running: Promise<void> | undefined;
  const sampleDepth = createDepthSampler({ store, now, isStopping: () => stopping, rest });

  /** A batch of what has expired. Answers whether there may be more. */
  async function expire(): Promise<boolean> {
    const expired = await store.outbox.expire(now(), EXPIRY_BATCH);
    for (const each of expired)
      events.emit('dead', { ...each, error: 'The message expired before it was delivered' });
    return expired.length === EXPIRY_BATCH;
  }

  /** One batch, of the first to be removed that there is anything of. Answers whether there may be more. */
  async function step(): Promise<boolean> {
    if (isWorker()) await sampleDepth();
    // However much of it there is, what a deleted tenant has left does not wait for its end.
    const more = isWorker() && (await expire());
    if ((await store.tenants.purge(now())) || more) return true;
    if (!isWorker()) return false;
    // Of an endpoint whose deletion was cut short by the death of its process. A deleted tenant's are gone by now.
    if ((await store.outbox.cancelOrphans(now())) > 0) return true;
    if (retentionSeconds !== null) {
      const at = now();
      const { removed, more } = await store.messages.removeFinished(at - retentionSeconds * 1000, at);
      tally.messagesRemoved += removed;
      if (more) return true;
    }
    if (await store.depths.removeBefore(now() - DEPTHS_KEPT_MS)) return true;
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
          await rest(began);
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

/** As long as it took: at most half of the time goes into this, whatever there is to do. */
async function rest(began: number): Promise<void> {
  await setTimeout(Math.min(MAX_REST_MS, performance.now() - began));
}
