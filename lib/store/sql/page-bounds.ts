import type { Position } from '../../model/page.js';

/** Where a page of a walk in the order of time begins to search. */
export function beginningAt(since: number, after: Position | null): number {
  // Of two bounds on one side SQLite may take the wider one for its search in the index, and every page would then walk
  // over all pages before it. So there is one for each side, and the range itself moves with the page.
  return after === null ? since : Math.max(since, after.ms);
}

/** What a page of a list, newest first, may hold: one bound for each side, for the same reason. */
export interface PageBounds {
  /** The oldest. */
  from: (Position & { inclusive: boolean }) | null;
  /** What is newer than all of it. */
  to: Position | null;
}

/** @param behind a position that all of the list comes after */
export function boundsOf(
  { since, until, after }: { since?: number | undefined; until?: number | undefined; after: Position | null },
  behind?: Position,
): PageBounds {
  const start = since === undefined ? null : { ms: since, id: '', inclusive: true };
  const from = behind && (start === null || start.ms <= behind.ms) ? { ...behind, inclusive: false } : start;
  const end = until === undefined ? null : { ms: until, id: '' };
  return { from, to: after && end ? (isBefore(after, end) ? after : end) : (after ?? end) };
}

export function isBefore(a: Position, b: Position): boolean {
  return a.ms < b.ms || (a.ms === b.ms && a.id < b.id);
}
