import { useCallback, useEffect, useRef, useState } from 'preact/hooks';
import { recall, remember, repeat } from './live.js';

export interface ListPage<Row> {
  rows: readonly Row[];
  nextCursor: string | null;
}

export type LoadPage<Row> = (
  request: { limit: number; cursor?: string },
  signal: AbortSignal,
) => Promise<ListPage<Row>>;

export interface Pages<Row> {
  /** Undefined until the first page is there. */
  rows: readonly Row[] | undefined;
  error: unknown;
  /** How many rows have come since that are not shown yet, so that what is looked at does not move. */
  waiting: number;
  showWaiting(): void;
  /** Null when the list has ended, or has as many rows as a page of it may hold. */
  loadMore: (() => void) | null;
  loadingMore: boolean;
  /** Where the list goes on when `MAX_ROWS` are shown; null when it does not. */
  olderCursor: string | null;
  reload(): void;
}

const PAGE_SIZE = 50;
/** A browser stays quick with so many; what is older is a list of its own. */
export const MAX_ROWS = 500;
/** Scrolled less than this, the visitor looks at the beginning. */
const AT_TOP_PX = 40;

interface Kept<Row> {
  key: string;
  rows: readonly Row[] | undefined;
  nextCursor: string | null;
  /** A newer beginning of the list, until it is shown. */
  fresh: ListPage<Row> | null;
  error: unknown;
}

/**
 * A list, newest first, whose further pages are read when they are asked for and whose first page is kept up to date.
 * @param key what is listed: another key begins anew
 * @param from a cursor to begin at, in place of the newest row; such a list is not kept up to date
 */
export function usePages<Row extends { id: string }>(
  key: string,
  load: LoadPage<Row>,
  { from = null, everyMs = 5000 }: { from?: string | null; everyMs?: number | null } = {},
): Pages<Row> {
  const begin = (): Kept<Row> => recall<Kept<Row>>(key) ?? blank(key);
  const [state, setState] = useState<Kept<Row>>(begin);
  const [loadingMore, setLoadingMore] = useState(false);
  const [turn, setTurn] = useState(0);
  const latest = useRef(load);
  latest.current = load;
  const current = state.key === key ? state : begin();
  const more = useRef<AbortController | null>(null);

  const change = useCallback(
    (make: (now: Kept<Row>) => Kept<Row>) =>
      setState((before) => {
        const now = before.key === key ? before : (recall<Kept<Row>>(key) ?? blank<Row>(key));
        const next = make(now);
        if (next.rows) remember(key, { ...next, fresh: null, error: undefined });
        return next;
      }),
    [key],
  );

  useEffect(() => {
    setLoadingMore(false);
    const stop = repeat(
      async (signal) => {
        try {
          const page = await latest.current(
            { limit: PAGE_SIZE, ...(from !== null && { cursor: from }) },
            signal,
          );
          if (!signal.aborted) change((now) => take(now, page, scrollY < AT_TOP_PX));
          return true;
        } catch (error) {
          if (!signal.aborted) change((now) => ({ ...now, error }));
          return false;
        }
      },
      from === null ? everyMs : null,
    );
    return () => {
      stop();
      more.current?.abort();
      more.current = null;
    };
  }, [key, from, everyMs, turn, change]);

  const loadMore = useCallback(async () => {
    const { nextCursor } = current;
    if (nextCursor === null || more.current) return;
    const controller = new AbortController();
    more.current = controller;
    setLoadingMore(true);
    try {
      const page = await latest.current({ limit: PAGE_SIZE, cursor: nextCursor }, controller.signal);
      if (controller.signal.aborted) return;
      change((now) => {
        // What it goes on from is not the end any more: it has been read already, or the list has begun anew.
        if (now.nextCursor !== nextCursor) return now;
        const rows = [...(now.rows ?? []), ...page.rows];
        return { ...now, rows, nextCursor: page.nextCursor, error: undefined };
      });
    } catch (error) {
      if (!controller.signal.aborted) change((now) => ({ ...now, error }));
    } finally {
      if (more.current === controller) {
        more.current = null;
        setLoadingMore(false);
      }
    }
  }, [current, change]);

  const full = (current.rows?.length ?? 0) >= MAX_ROWS;
  return {
    rows: current.rows,
    error: current.error,
    waiting: current.fresh ? countNew(current.rows ?? [], current.fresh.rows) : 0,
    showWaiting: () => change((now) => (now.fresh ? place(now, now.fresh) : now)),
    loadMore: current.nextCursor === null || full ? null : () => void loadMore(),
    loadingMore,
    olderCursor: full ? current.nextCursor : null,
    reload: useCallback(() => setTurn((now) => now + 1), []),
  };
}

function blank<Row>(key: string): Kept<Row> {
  return { key, rows: undefined, nextCursor: null, fresh: null, error: undefined };
}

/** A first page that was read again. */
function take<Row extends { id: string }>(now: Kept<Row>, page: ListPage<Row>, atTop: boolean): Kept<Row> {
  if (!now.rows) return { ...now, rows: page.rows, nextCursor: page.nextCursor, error: undefined };
  if (countNew(now.rows, page.rows) > 0 && !atTop) {
    // What has changed in the rows that are shown does not move them.
    return { ...now, rows: update(now.rows, page.rows), fresh: page, error: undefined };
  }
  return place(now, page);
}

/** Puts a newer first page in front of the rows behind it. */
function place<Row extends { id: string }>(now: Kept<Row>, page: ListPage<Row>): Kept<Row> {
  const rows = now.rows ?? [];
  // What is shown lies behind the rows that were looked at in vain.
  if (page.rows.length === 0 && page.nextCursor !== null) return { ...now, fresh: null, error: undefined };
  const ids = new Set(page.rows.map((row) => row.id));
  const last = page.rows.at(-1);
  const at = last ? rows.findIndex((row) => row.id === last.id) : -1;
  const known = new Map(rows.map((row) => [row.id, row]));
  const front = page.rows.map((row) => settle(known.get(row.id), row));
  // Without a row in common there may be others between: the list begins anew.
  if (at === -1) return { ...now, rows: front, nextCursor: page.nextCursor, fresh: null, error: undefined };
  // A first page that is all there is says of the rows behind it that they are gone.
  const behind = page.nextCursor === null ? [] : rows.slice(at + 1).filter((row) => !ids.has(row.id));
  const next = [...front, ...behind];
  const same = next.length === rows.length && next.every((row, index) => row === rows[index]);
  if (same && !now.fresh && !now.error) return now;
  return {
    ...now,
    rows: same ? rows : next,
    nextCursor: behind.length > 0 ? now.nextCursor : page.nextCursor,
    fresh: null,
    error: undefined,
  };
}

function update<Row extends { id: string }>(rows: readonly Row[], fresh: readonly Row[]): readonly Row[] {
  const byId = new Map(fresh.map((row) => [row.id, row]));
  return rows.map((row) => settle(row, byId.get(row.id) ?? row));
}

/** The same object for the same content, so that it is not rendered again. */
function settle<Row>(before: Row | undefined, after: Row): Row {
  return before && (before === after || JSON.stringify(before) === JSON.stringify(after)) ? before : after;
}

function countNew<Row extends { id: string }>(rows: readonly Row[], fresh: readonly Row[]): number {
  const known = new Set(rows.map((row) => row.id));
  const first = fresh.findIndex((row) => known.has(row.id));
  return first === -1 ? fresh.length : first;
}
