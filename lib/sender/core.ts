import type { Store } from '../store/store.js';
import type { Tester } from './delivery/tester.js';
import type { SenderEmitter } from './events.js';
import type { InTurn } from './in-turn.js';
import type { ResolvedOptions } from './options.js';
import type { SecretSeal } from './secrets.js';
import type { SendQueue } from './send-queue.js';
import type { StatsCache } from './stats-cache.js';
import type { Tally } from './tally.js';
import type { Tracing } from './tracing.js';

/** Says whether a URL may be a target, in the one way that holds at create, update and dispatch. */
export interface UrlCheck {
  checkUrl(url: string): { url: string } | { problem: string };
}

/** What the operations of every scope share. */
export interface SenderCore {
  options: ResolvedOptions;
  guard: UrlCheck;
  secrets: SecretSeal;
  events: SenderEmitter;
  queue: SendQueue;
  tester: Tester;
  /** For what counts a lot: many at once would take all of the process. */
  countInTurn: InTurn;
  statsCache: StatsCache;
  tally: Tally;
  tracing: Tracing;
  /** The store, opened. @throws HookplaneError `STORE_UNAVAILABLE`, `MIGRATION_REQUIRED` */
  ready(): Promise<Store>;
  /** Tells the dispatcher of this process that something is due. */
  wake(): void;
  /** Tells it that something has changed which it may have read in advance. */
  recall(): void;
  /** Begins to remove what a deleted tenant has left. */
  sweep(): void;
}
