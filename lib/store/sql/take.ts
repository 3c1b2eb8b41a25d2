import { type Kysely, type RawBuilder, sql } from 'kysely';
import type { AttemptTrigger } from '../../model/message.js';
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

function columns(owner: string): RawBuilder<unknown> {
  const takenOver = sql`case when lease_owner <> ${owner} then 1 else 0 end`;
  return sql`message_id, endpoint_id, fence + 1 as fence, takeovers + ${takenOver} as takeovers,
    ${takenOver} as taken_over, attempt_count, schedule_step, "trigger", webhook_id, due_at, expires_at`;
}

/**
 * Leases of each lane what was ordered, what was abandoned first, and the most overdue first, those of one millisecond in
 * the order of their messages. It finds, and then marks: on SQLite a tenth of what one `update … where … in (select …)
 * returning …` costs.
 */
export function* take(
  db: Kysely<Tables>,
  dialect: SqlDialect,
  orders: readonly TakeOrder[],
  { owner, now }: { owner: string; now: number },
): Steps<Taken[]> {
  const find = dialect.concurrent ? findTogether : findOneByOne;
  const abandoned = orders.filter((order) => order.abandoned);
  const overdue = sql`lease_until <= ${now} order by lease_until`;
  const found = abandoned.length > 0 ? yield* find(db, dialect, abandoned, owner, overdue) : [];
  const counts = new Map<string, number>();
  for (const row of found) counts.set(row.endpoint_id, (counts.get(row.endpoint_id) ?? 0) + 1);
  const left = orders
    .map((order) => ({ ...order, quota: order.quota - (counts.get(order.endpointId) ?? 0) }))
    .filter(({ quota }) => quota > 0);
  const waiting = sql`${WAITING_ROWS} and due_at <= ${now} order by due_at, message_id`;
  found.push(...(yield* find(db, dialect, left, owner, waiting)));
  const untilOf = new Map(orders.map(({ endpointId, until }) => [endpointId, until]));
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
}

type Find = (
  db: Kysely<Tables>,
  dialect: SqlDialect,
  orders: readonly TakeOrder[],
  owner: string,
  rows: RawBuilder<unknown>,
) => Steps<Taken[]>;

const findOneByOne: Find = function* (db, _dialect, orders, owner, rows) {
  const found: Taken[] = [];
  for (const { endpointId, quota } of orders) {
    const ofLane = yield* rawRows(
      db,
      sql<Taken>`
      select ${columns(owner)} from hookplane_deliveries where endpoint_id = ${endpointId} and ${rows} limit ${quota}`,
    );
    found.push(...ofLane);
  }
  return found;
};

/** Where each statement is a round trip. */
const findTogether: Find = function* (db, dialect, orders, owner, rows) {
  if (orders.length === 0) return [];
  const lanes = dialect.tableOf(
    orders.map(({ endpointId, quota }) => [endpointId, quota]),
    { id: 'text', quota: 'integer' },
  );
  return yield* rawRows(
    db,
    sql<Taken>`
    select taken.* from ${lanes} as lane cross join lateral (
      select ${columns(owner)} from hookplane_deliveries where endpoint_id = lane.id and ${rows}
      limit lane.quota ${dialect.skipLocked()}) as taken`,
  );
};
