import { type Kysely, type RawBuilder, sql } from 'kysely';
import type { Position } from '../../model/page.js';
import type { PageOf } from '../store.js';
import { isBefore, isWithin, type PageBounds } from './page-bounds.js';
import { toPage } from './rows.js';
import type { Tables } from './schema.js';
import { rawRows, type Steps } from './steps.js';

/**
 * A way to walk a list: ranges of one index, each in the order of time. What else is asked of a row is looked up row by
 * row.
 */
export interface Way {
  /** The table that has the index. */
  table: RawBuilder<unknown>;
  /** Where else the row is: a join. */
  join?: RawBuilder<unknown>;
  /** The columns of its order. */
  key: readonly [time: string, id: string];
  /** SQL, one for each range: together they hold each row once. */
  ranges: readonly RawBuilder<unknown>[];
  /** SQL that holds of the rows that are wanted, but offers no other index: see {@link unindexed}. */
  rest: readonly RawBuilder<unknown>[];
}

export interface BoundedList<Row, Item> {
  /** One at least. */
  ways: readonly Way[];
  /** What is read of a row, its id among it. */
  columns: RawBuilder<unknown>;
  bounds: PageBounds;
  limit: number;
  toItem(row: Row): Item;
}

/** How many rows a page goes over for each one that it may hold, and at least, before it ends short. */
const SCAN_FACTOR = 10;
const MIN_SCAN = 1000;

/**
 * A page of a list, newest first, at a cost that does not grow with the store. Of several ways it takes one that comes to
 * its end soon; if none does, the one that gets farthest, and the page ends where so many rows have been gone over, with
 * as many of them as are wanted, be it none.
 */
export function* boundedPage<Row extends { id: string }, Item>(
  db: Kysely<Tables>,
  { ways, columns, bounds, limit, toItem }: BoundedList<Row, Item>,
): Steps<PageOf<Item>> {
  const { way, end } = yield* choose(db, ways, bounds, Math.max(MIN_SCAN, limit * SCAN_FACTOR));
  const from = end ? { ...end, inclusive: true } : bounds.from;
  const rows = yield* rawRows(
    db,
    walk<Row & { ms: number }>(way, { columns, bounds: { ...bounds, from }, limit: limit + 1 }),
  );
  const page = toPage(rows, limit, ({ ms, id }) => ({ ms, id }), toItem);
  return { ...page, next: page.next ?? end };
}

/** @returns with `end` where it has gone over `scan` rows; null where there are fewer, or all of them are wanted */
function* choose(
  db: Kysely<Tables>,
  ways: readonly Way[],
  bounds: PageBounds,
  scan: number,
): Steps<{ way: Way; end: Position | null }> {
  let farthest: { way: Way; end: Position } | undefined;
  for (const way of ways) {
    if (way.rest.length === 0) return { way, end: null };
    const columns = sql`${sql.ref(way.key[1])} as id`;
    const scanned = walk({ ...way, join: sql``, rest: [] }, { columns, bounds, limit: scan });
    const [end] = yield* rawRows(
      db,
      sql<Position>`select ms, id from (${scanned}) as scanned order by ms desc, id desc limit 1 offset ${scan - 1}`,
    );
    if (!end) return { way, end: null };
    if (!farthest || isBefore(end, farthest.end)) farthest = { way, end };
  }
  return farthest!;
}

/** The newest rows of the ranges. Each is asked for by itself: none is sorted but what they give. */
function walk<Row>(
  { table, join, key: [time, id], ranges, rest }: Way,
  { columns, bounds, limit }: { columns: RawBuilder<unknown>; bounds: PageBounds; limit: number },
): RawBuilder<Row> {
  const parts = ranges.map(
    (range) => sql<Row>`
    select ${columns}, ${sql.ref(time)} as ms from ${table} ${join ?? sql``}
    where ${sql.join([range, ...isWithin(bounds, time, id), ...rest], sql` and `)}
    order by ${sql.ref(time)} desc, ${sql.ref(id)} desc limit ${limit}`,
  );
  if (parts.length === 1) return parts[0]!;
  const all = sql.join(
    parts.map((part) => sql`select * from (${part}) as part`),
    sql` union all `,
  );
  return sql<Row>`select * from (${all}) as merged order by ms desc, id desc limit ${limit}`;
}

/** A column of text in SQL that no index serves, so that the planner keeps to the one that the way goes over. */
export function unindexed(column: string): RawBuilder<string> {
  return sql<string>`(${sql.ref(column)} || '')`;
}
