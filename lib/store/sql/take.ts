import { type Kysely, type RawBuilder, sql } from 'kysely';
import type { AttemptTrigger } from '../../model/message.js';
import type { Settlement } from '../store.js';
import type { SqlDialect } from './dialect.js';
import { WAITING_ROWS } from './lanes.js';
import type { Tables } from './schema.js';
import { type BulkUpdate, rawRows, type Steps, updateRows } from './steps.js';

export interface Taken {
  message_id: string;
  endpoint_id: string;
  fence: number;
  takeovers: number;
  /** 1 where another owner's lease had run out. */
  taken_over: number;
  attempt_count: number;
  schedule_step: number;
  trigger: AttemptTrigger;
  webhook_id: string | null;
  due_at: number;
  expires_at: number;
}

const LEASED: BulkUpdate = {
  table: 'hookplane_deliveries',
  set: { lease_owner: 'text', lease_until: 'integer', fence: 'integer', takeovers: 'integer' },
  key: { message_id: 'text', endpoint_id: 'text' },
};

/** A lane, and how much is to be taken of it. */
export interface TakeOrder {
  endpointId: string;
  quota: number;
  /** When the leases are to end. */
  until: number;
  /** Whether some of what it has is leased for longer than its lease. */
  abandoned: boolean;
}

/**
 * Leases of each lane what was ordered, what was abandoned first, and the most overdue first, those of one millisecond in
 * the order of their messages.
 */
export function* take(
  db: Kysely<Tables>,
  dialect: SqlDialect,
  orders: readonly TakeOrder[],
  { owner, now, settling }: { owner: string; now: number; settling: readonly Settlement[] },
): Steps<Taken[]> {
  const takeSome = dialect.concurrent ? takeTogether : takeInSteps;
  const abandoned = orders.filter((order) => order.abandoned);
  const unlessSettled =
    settling.length > 0
      ? sql`and (message_id, endpoint_id) not in (select message_id, endpoint_id from ${dialect.tableOf(
          settling.map(({ messageId, endpointId }) => [messageId, endpointId]),
          { message_id: 'text', endpoint_id: 'text' },
        )} as r)`
      : sql``;
  const overdue = sql`lease_until <= ${now} ${unlessSettled} order by lease_until`;
  const taken = abandoned.length > 0 ? yield* takeSome(db, dialect, abandoned, owner, overdue) : [];
  const counts = new Map<string, number>();
  for (const row of taken) counts.set(row.endpoint_id, (counts.get(row.endpoint_id) ?? 0) + 1);
  const left = orders
    .map((order) => ({ ...order, quota: order.quota - (counts.get(order.endpointId) ?? 0) }))
    .filter(({ quota }) => quota > 0);
  const waiting = sql`${WAITING_ROWS} and due_at <= ${now} order by due_at, message_id`;
  if (left.length > 0) taken.push(...(yield* takeSome(db, dialect, left, owner, waiting)));
  return taken;
}

type Take = (
  db: Kysely<Tables>,
  dialect: SqlDialect,
  orders: readonly TakeOrder[],
  owner: string,
  rows: RawBuilder<unknown>,
) => Steps<Taken[]>;

/** SQLite would take the index by endpoint, whose entries name the same rows by the same columns, and go on to the row. */
const BY_KEY = sql`indexed by sqlite_autoindex_hookplane_deliveries_1`;

/**
 * Finds, and then marks: a tenth of what one `update … where … in (select …) returning …` costs on SQLite. Lanes that are
 * given as many are looked into by one statement, which takes a seventh of one for each.
 */
const takeInSteps: Take = function* (db, dialect, orders, owner, rows) {
  const ofLane = new Map<string, Taken[]>(orders.map(({ endpointId }) => [endpointId, []]));
  const takenOver = isTakenOver(owner);
  for (const quota of new Set(orders.map((order) => order.quota))) {
    const lanes = dialect.tableOf(
      orders.filter((order) => order.quota === quota).map(({ endpointId }) => [endpointId]),
      { id: 'text' },
    );
    const found = yield* rawRows(
      db,
      sql<Taken>`
      select d.message_id, d.endpoint_id, fence + 1 as fence, takeovers + ${takenOver} as takeovers,
        ${takenOver} as taken_over, attempt_count, schedule_step, "trigger", webhook_id, due_at, expires_at
      from ${lanes} as lane cross join hookplane_deliveries d ${BY_KEY} on d.endpoint_id = lane.id and d.message_id in (
        select message_id from hookplane_deliveries where endpoint_id = lane.id and ${rows} limit ${quota})`,
    );
    for (const row of found) ofLane.get(row.endpoint_id)!.push(row);
  }
  const untilOf = new Map(orders.map(({ endpointId, until }) => [endpointId, until]));
  const found = [...ofLane.values()].flatMap((taken) => taken.sort(byDue));
  yield* updateRows(
    LEASED,
    found.map((row) => [
      owner,
      untilOf.get(row.endpoint_id),
      row.fence,
      row.takeovers,
      row.message_id,
      row.endpoint_id,
    ]),
  );
  return found;
};

/**
 * All in one statement, where each is a round trip. The rows are updated where they lie: the planner could not choose an
 * index that is worse.
 */
const takeTogether: Take = function* (db, dialect, orders, owner, rows) {
  const lanes = dialect.tableOf(
    orders.map(({ endpointId, quota, until }) => [endpointId, quota, until]),
    { id: 'text', quota: 'integer', until: 'integer' },
  );
  return yield* rawRows(
    db,
    sql<Taken>`
    update hookplane_deliveries as d set lease_owner = ${owner}, lease_until = found.until, fence = d.fence + 1,
      takeovers = d.takeovers + found.taken_over
    from (
      select row.*, lane.until from ${lanes} as lane cross join lateral (
        select ctid as place, ${isTakenOver(owner)} as taken_over from hookplane_deliveries
        where endpoint_id = lane.id and ${rows} limit lane.quota ${dialect.skipLocked()}) as row) as found
    where d.ctid = found.place
    returning d.message_id, d.endpoint_id, d.fence, d.takeovers, found.taken_over, d.attempt_count, d.schedule_step,
      d."trigger", d.webhook_id, d.due_at, d.expires_at`,
  );
};

function isTakenOver(owner: string): RawBuilder<unknown> {
  return sql`case when lease_owner <> ${owner} then 1 else 0 end`;
}

/** The most overdue first, those of one millisecond in the order of their messages. */
function byDue(a: Taken, b: Taken): number {
  return a.due_at - b.due_at || (a.message_id < b.message_id ? -1 : 1);
}
