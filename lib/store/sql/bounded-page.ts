import { type Kysely, type RawBuilder, sql } from 'kysely';
import type { PageOf } from '../store.js';
import type { PageBounds } from './page-bounds.js';
import { positionOf, toPage } from './rows.js';
import type { Tables } from './schema.js';
import { rawRows, type Steps } from './steps.js';

/**
 * A way to walk a list: ranges of one index, each in the order of time behind what its rows have in common. What else is
 * asked of a row is looked up row by row. Names of columns are written into the SQL as they are.
 */
export interface Way {
  /** The table that has the index. */
  table: RawBuilder<unknown>;
  /** Where else the row is: a join. */
  join?: RawBuilder<unknown>;
  /** The column of its order: of ids, which are in the order of time. */
  key: string;
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
  const { way, end } = yield* choose(db, ways, bounds, limit);
  const from = end === null ? bounds.from : { id: end, inclusive: true };
  const rows = yield* rawRows(db, walk<Row>(way, { columns, bounds: { ...bounds, from }, limit: limit + 1 }));
  const page = toPage(rows, limit, ({ id }) => positionOf(id), toItem);
  return { ...page, next: page.next ?? (end === null ? null : positionOf(end)) };
}

/**
 * Ranges share what a page goes over, so that of several it is no more; each has at least what the page may hold.
 * @returns with `end` where enough has been gone over; null where there is less, or all of it is wanted
 */
function* choose(
  db: Kysely<Tables>,
  ways: readonly Way[],
  bounds: PageBounds,
  limit: number,
): Steps<{ way: Way; end: string | null }> {
  const whole = ways.find(({ rest }) => rest.length === 0);
  if (whole) return { way: whole, end: null };
  const scan = Math.max(MIN_SCAN, limit * SCAN_FACTOR);
  const ends = ways.map((way, index) => {
    const columns = sql`${sql.raw(way.key)} as id`;
    const skip = Math.max(Math.ceil(scan / way.ranges.length), limit) - 1;
    const end = walk({ ...way, join: sql``, rest: [] }, { columns, bounds, limit: 1, skip });
    return sql`select ${sql.lit(index)} as way, id from (${end}) as scanned`;
  });
  const rows = yield* rawRows(db, sql<{ way: number; id: string }>`${sql.join(ends, sql` union all `)}`);
  const short = ways.find((_way, index) => rows.every(({ way }) => way !== index));
  if (short) return { way: short, end: null };
  const { way, id } = rows.reduce((farthest, row) => (row.id < farthest.id ? row : farthest));
  return { way: ways[way]!, end: id };
}

/**
 * The id of the newest row of a way that has one range. As a page of it, so that PostgreSQL does not go over the rows of all
 * others in the order of the key, where there is nothing of late.
 */
export function* newestOf(db: Kysely<Tables>, way: Way): Steps<string | undefined> {
  const columns = sql`${sql.raw(way.key)} as id`;
  const bounds = { from: null, to: null };
  return (yield* rawRows(db, walk<{ id: string }>(way, { columns, bounds, limit: 1 })))[0]?.id;
}

const BEHIND_ALL = '~';
const BEFORE_ALL = { id: '', inclusive: true };

/**
 * The newest rows of the ranges, of each without the first `skip`. Each is asked for by itself, from one position of the
 * index to another one, in the order of the whole index: what the planner believes of the values cannot make it go by
 * another one.
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
  const { id: from, inclusive } = bounds.from ?? BEFORE_ALL;
  const to = bounds.to ?? BEHIND_ALL;
  const parts = ranges.map((range) => {
    const shared = Object.entries(range).filter(([, value]) => value !== undefined);
    const names = [...shared.map(([name]) => name), key].map((name) => sql.raw(name));
    const at = (id: string) => sql.join([...shared.map(([, value]) => value), id]);
    const within = [
      sql`(${sql.join(names)}) ${sql.raw(inclusive ? '>=' : '>')} (${at(from)})`,
      sql`(${sql.join(names)}) < (${at(to)})`,
    ];
    return sql<Row>`
    select ${columns} from ${table} ${join ?? sql``}
    where ${sql.join([...within, ...where, ...rest], sql` and `)}
    order by ${sql.join(names.map((name) => sql`${name} desc`))} limit ${limit} offset ${skip}`;
  });
  if (parts.length === 1) return parts[0]!;
  const all = sql.join(
    parts.map((part) => sql`select * from (${part}) as part`),
    sql` union all `,
  );
  return sql<Row>`select * from (${all}) as merged order by id desc limit ${limit}`;
}

/** A column of text in SQL that no index serves, so that the planner keeps to the one that the way goes over. */
export function unindexed(column: string): RawBuilder<string> {
  return sql<string>`(${sql.raw(column)} || '')`;
}
