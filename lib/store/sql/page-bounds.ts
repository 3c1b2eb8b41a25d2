import { type IdPrefix, firstIdAt } from '../../model/ids.js';
import type { Position } from '../../model/page.js';

/** What a page of a list, newest first, may hold: one bound for each side, as SQLite may take the wider one of two. */
export interface PageBounds {
  /** The oldest. */
  from: { id: string; inclusive: boolean } | null;
  /** What is newer than all of it. */
  to: string | null;
}

interface PageRange {
  /** In milliseconds. */
  since?: number | undefined;
  /** In milliseconds; not part of it. */
  until?: number | undefined;
  after: Position | null;
}

/**
 * Of what has ids of this prefix, which are in the order of time.
 * @param behind an id that all of the list comes after
 */
export function boundsOf(prefix: IdPrefix, { since, until, after }: PageRange, behind?: string): PageBounds {
  const start = since === undefined ? null : { id: firstIdAt(prefix, since), inclusive: true };
  const from = behind && (start === null || start.id <= behind) ? { id: behind, inclusive: false } : start;
  const end = until === undefined ? null : firstIdAt(prefix, until);
  return { from, to: after && (end === null || after.id < end) ? after.id : end };
}
