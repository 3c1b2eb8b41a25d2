import { setTimeout } from 'node:timers/promises';
import { isHookplaneError } from '../model/errors.js';

/** Something that happened, as a list of it has it. */
export interface Happening {
  id: string;
  ms: number;
}

export interface FollowOptions<Row extends Happening> {
  /** What happened from a time on, in any order: all of it before `until`, or without that what can be shown of it. */
  list(since: number, until?: number): Promise<Row[]>;
  show(row: Row): Promise<void>;
  /** Told when the store stops to answer, and not again before it has. */
  away(problem: string): Promise<void>;
  /** Show what happened from then on; undefined shows what comes to be known from now on. */
  since: number | undefined;
  /** How much later than it happened something may come to be known. */
  latestMs: number;
  intervalMs: number;
  /** End with what there is. */
  once: boolean;
  signal: AbortSignal;
}

/** How much time of the past is held in memory to be brought in order. */
const SLICE_MS = 3_600_000;

/**
 * Shows what happens, in the order of time, until it is told to end. What happens comes to be known out of that order, so
 * each look goes back as far as something may be late, and passes over what was seen.
 */
export async function follow<Row extends Happening>(options: FollowOptions<Row>): Promise<void> {
  const { list, away, since, latestMs, intervalMs, once, signal } = options;
  // What is over cannot change any more, and is shown once. All of it is over for who does not wait for the rest.
  let from = once ? Date.now() + 1 : Date.now() - latestMs;
  if (since !== undefined) {
    for (let start = since; start < from && !signal.aborted; start += SLICE_MS) {
      await showInOrder(await list(start, Math.min(start + SLICE_MS, from)), options);
    }
    from = Math.max(from, since);
  }
  /** What was seen, and when it happened. */
  const seen = new Map<string, number>();
  let showing = since !== undefined;
  let isAway = false;
  while (!once && !signal.aborted) {
    const began = Date.now();
    try {
      const fresh = (await list(from)).filter(({ id }) => !seen.has(id));
      isAway = false;
      for (const { id, ms } of fresh) seen.set(id, ms);
      if (showing) await showInOrder(fresh, options);
      showing = true;
      from = Math.max(from, began - latestMs);
      for (const [id, ms] of seen) if (ms < from) seen.delete(id);
    } catch (error) {
      if (!isHookplaneError(error) || error.code !== 'STORE_UNAVAILABLE') throw error;
      if (!isAway) await away(error.message);
      isAway = true;
    }
    await setTimeout(intervalMs, undefined, { signal }).catch(() => {});
  }
}

async function showInOrder<Row extends Happening>(
  rows: readonly Row[],
  { show, signal }: Pick<FollowOptions<Row>, 'show' | 'signal'>,
): Promise<void> {
  const sorted = [...rows].sort((a, b) => a.ms - b.ms || (a.id < b.id ? -1 : 1));
  for (const row of sorted) {
    if (signal.aborted) return;
    await show(row);
  }
}
