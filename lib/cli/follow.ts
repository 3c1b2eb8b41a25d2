import { setTimeout } from 'node:timers/promises';
import { isHookplaneError } from '../model/errors.js';

/** Something that happened, as a list of it has it. */
export interface Happening {
  id: string;
  ms: number;
}

export interface FollowOptions<Row extends Happening> {
  /** What happened from a time on, in any order: as much of it as can be shown. */
  list(since: number): Promise<Row[]>;
  /** All that happened from a time on and before another one; null when that is more than `most`. */
  listAll(since: number, until: number, most: number): Promise<Row[] | null>;
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

/** How much of the past is held in memory to be brought in order. */
const MAX_HELD = 5000;
const FIRST_SLICE_MS = 60_000;
/** Hardly anything comes to be known later than this: only every tenth look goes back farther. */
const SOON_MS = 10_000;
const LOOKS = 10;

/**
 * Shows what happens, in the order of time, until it is told to end. What happens comes to be known out of that order, so
 * looks go back as far as something may be late, and pass over what was seen.
 */
export async function follow<Row extends Happening>(options: FollowOptions<Row>): Promise<void> {
  const { list, away, since, latestMs, intervalMs, once, signal } = options;
  // What is over cannot change any more, and is shown once. All of it is over for who does not wait for the rest.
  let from = once ? Date.now() + 1 : Date.now() - latestMs;
  if (since !== undefined) {
    await showPast(since, from, options);
    from = Math.max(from, since);
  }
  /** What was seen, and when it happened. */
  const seen = new Map<string, number>();
  let showing = since !== undefined;
  let isAway = false;
  for (let look = 0; !once && !signal.aborted; look++) {
    const began = Date.now();
    try {
      const back = look % LOOKS === 0 ? from : Math.max(from, began - SOON_MS);
      const fresh = (await list(back)).filter(({ id }) => !seen.has(id));
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

/** Slice by slice: the next one is shorter or longer, by what the one before has held. */
async function showPast<Row extends Happening>(
  since: number,
  until: number,
  options: FollowOptions<Row>,
): Promise<void> {
  let sliceMs = FIRST_SLICE_MS;
  for (let start = since; start < until && !options.signal.aborted; ) {
    const end = Math.min(start + sliceMs, until);
    const rows = await options.listAll(start, end, sliceMs > 1 ? MAX_HELD : Number.POSITIVE_INFINITY);
    if (rows === null) {
      sliceMs = Math.max(1, Math.floor(sliceMs / 4));
      continue;
    }
    await showInOrder(rows, options);
    if (rows.length < MAX_HELD / 4) sliceMs *= 2;
    start = end;
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
