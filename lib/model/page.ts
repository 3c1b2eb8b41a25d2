/**
 * How a list is paged: at most `limit` rows (default 100, above 1000 it means 1000), from where `cursor` says. A page may
 * be short, or empty, and have a `nextCursor` all the same: only null says that there is no more.
 */
export interface PageRequest {
  limit?: number | undefined;
  /** The `nextCursor` of the page before, with the same filters. */
  cursor?: string | undefined;
}

export const DEFAULT_LIMIT = 100;
export const MAX_LIMIT = 1000;

/** Where a page ended: the last row's time in milliseconds and its id. The next page starts after it. */
export interface Position {
  ms: number;
  id: string;
}
