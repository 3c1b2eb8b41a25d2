import type { Position } from '../../model/page.js';

// Of two bounds on one side SQLite may take the wider one for its search in the index, and every page would then walk
// over all pages before it. So the range itself moves with the page.

/** Where a page of a walk in the order of time begins to search. */
export function beginningAt(since: number, after: Position | null): number {
  return after === null ? since : Math.max(since, after.ms);
}

/** The same for a walk against the order of time: the millisecond after. */
export function endingAt(until: number, after: Position | null): number {
  return after === null ? until : Math.min(until, after.ms + 1);
}
