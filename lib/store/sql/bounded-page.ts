import { type Kysely, type RawBuilder, sql } from 'kysely';
import type { Position } from '../../model/page.js';
import type { PageOf } from '../store.js';
import { isBefore, type PageBounds } from './page-bounds.js';
import { toPage } from './rows.js';
import type { Tables } from './schema.js';
import { rawRows, type Steps } from './steps.js';

/**
 * A way to walk a list: ranges of one index, each in the order of time behind what its rows have in common. What else is
 * asked of a row is looked up row by row.
 */
export interface Way {
  /** The table that has the index. */
  table: RawBuilder<unknown>;
  /** Where else the row is: a join. */
  join?: RawBuilder<unknown>;
  /** The columns of its order. */
  key: readonly [time: string, id: string];
  /** For each range, the columns that the index has before its order, and what they hold; absent ones are left out. */
  ranges: readonly Readonly<Record<string, string | undefined>>[];
  /** SQL that holds of all rows of an index that has not all rows. */
  where?: readonly RawBuilder<unknown>[];
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
    const scanned = { ...way, join: sql``, rest: [] };
    const [end] = yield* rawRows(db, walk<Position>(scanned, { columns, bounds, limit: 1, skip: scan - 1 }));
    if (!end) return { way, end: null };
    if (!farthest || isBefore(end, farthest.end)) farthest = { way, end };
  }
  return farthest!;
}

/** Beyond all times. */
const LAST: Position = { ms: Number.MAX_SAFE_INTEGER, id: '' };
const FIRST = { ms: Number.MIN_SAFE_INTEGER, id: '', inclusive: true };

/**
 * The newest rows of the ranges. Each is asked for by itself, from one position of the index to another one, in the order
 * of the whole index: what the planner believes of the values cannot make it go by another one.
 */
function walk<Row>(
  { table, join, key, ranges, where = [], rest }: Way,
  {
    columns,
    bounds,
    limit,
    skip = 0,
  }: { columns: RawBuilder<unknown>; bounds: PageBounds; limit: number; skip?: number },
): RawBuilder<Row> {
  const { inclusive, ...from } = bounds.from ?? FIRST;
  const to = bounds.to ?? LAST;
  const parts = ranges.map((range) => {
    const shared = Object.entries(range).filter(([, value]) => value !== undefined);
    const names = [...shared.map(([name]) => name), ...key].map((name) => sql.ref(name));
    const at = ({ ms, id }: Position) => sql.join([...shared.map(([, value]) => value), ms, id]);
    const within = [
      sql`(${sql.join(names)}) ${sql.raw(inclusive ? '>=' : '>')} (${at(from)})`,
      sql`(${sql.join(names)}) < (${at(to)})`,
    ];
    return sql<Row>`
    select ${columns}, ${sql.ref(key[0])} as ms from ${table} ${join ?? sql``}
    where ${sql.join([...within, ...where, ...rest], sql` and `)}
    order by ${sql.join(names.map((name) => sql`${name} desc`))} limit`;
  });
  if (parts.length === 1) return sql<Row>`${parts[0]} ${limit} offset ${skip}`;
  const all = sql.join(
    parts.map((part) => sql`select * from (${part} ${limit + skip}) as part`),
    sql` union all `,
  );
  return sql<Row>`select * from (${all}) as merged order by ms desc, id desc limit ${limit} offset ${skip}`;
}

/** A column of text in SQL that no index serves, so that the planner keeps to the one that the way goes over. */
export function unindexed(column: string): RawBuilder<string> {
  return sql<string>`(${sql.ref(column)} || '')`;
}
