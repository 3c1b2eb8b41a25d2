import type { StatsBucket, StatsInterval } from '../model/stats.js';
import type { TenantScope } from '../store/store.js';

/** How many intervals are remembered, of all scopes together: some two megabytes. */
const MAX_REMEMBERED = 10_000;
const MAX_HELD_MS = 24 * 3_600_000;

/** Whose intervals: those of a tenant, or of everybody. */
export interface StatsOwner {
  tenant: TenantScope;
  /** Another one than before says that what was counted is no longer its own: a tenant was deleted. */
  version: string;
}

export interface IntervalKey {
  interval: StatsInterval;
  start: number;
  /** Its end. */
  end: number;
}

/** Counts of intervals that are over, the least used of which are forgotten when they become too many. */
export interface StatsCache {
  get(owner: StatsOwner, key: IntervalKey, now: number): StatsBucket | undefined;
  /** @param countedAt when its counting began */
  set(owner: StatsOwner, key: IntervalKey, bucket: StatsBucket, countedAt: number): void;
}

interface Remembered {
  owner: StatsOwner;
  bucket: StatsBucket;
  countedAt: number;
  heldMs: number;
}

/**
 * @param settledMs how long after its beginning an attempt is recorded at the latest, unless something went wrong: what
 * ended earlier is over. A worker that was suspended, or a store that was away, has attempts recorded later still, so a
 * count is not kept for ever but for as long as the interval lay behind when it was counted: one that is missed so late
 * is missed for no longer than that again.
 */
export function createStatsCache(settledMs: number, maxRemembered = MAX_REMEMBERED): StatsCache {
  /** In the order of their last use. */
  const intervals = new Map<string, Remembered>();
  // No tenant has an empty id.
  const idOf = ({ tenant = '' }: StatsOwner, { interval, start }: IntervalKey) =>
    `${interval} ${start} ${tenant}`;

  return {
    get(owner, key, now) {
      const id = idOf(owner, key);
      const found = intervals.get(id);
      if (!found) return undefined;
      intervals.delete(id);
      const heldFor = now - found.countedAt;
      // A clock that was set back says nothing of how long it is.
      if (found.owner.version !== owner.version || heldFor < 0 || heldFor >= found.heldMs) return undefined;
      intervals.set(id, found);
      return { ...found.bucket };
    },
    set(owner, key, bucket, countedAt) {
      const behindMs = countedAt - key.end;
      if (behindMs < settledMs) return;
      const id = idOf(owner, key);
      intervals.delete(id);
      if (intervals.size >= maxRemembered) intervals.delete(intervals.keys().next().value as string);
      intervals.set(id, { owner, bucket: { ...bucket }, countedAt, heldMs: Math.min(behindMs, MAX_HELD_MS) });
    },
  };
}
