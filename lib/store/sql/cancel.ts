import { type Kysely, type RawBuilder, sql } from 'kysely';
import type { SqlDialect } from './dialect.js';
import { LEASED_ROWS, lanesOf, WAITING_ROWS, waitingFor } from './lanes.js';
import { lockMessages } from './locks.js';
import { rollUp } from './roll-up.js';
import type { Tables } from './schema.js';
import { type BulkUpdate, rawRows, type Steps, updateRows } from './steps.js';

/** How many deliveries are canceled in one transaction, so that none blocks the process for long. */
export const CANCEL_BATCH = 1000;

const CANCELED: BulkUpdate = {
  table: 'hookplane_deliveries',
  set: { status: 'text', last_error: 'text', lease_owner: 'text', lease_until: 'integer' },
  key: { message_id: 'text', endpoint_id: 'text' },
  // It may have been settled since it was found.
  condition: "status = 'pending'",
};

interface Key {
  message_id: string;
  endpoint_id: string;
}

/** Cancels a batch of what a deleted endpoint is owed; answers how many there were. */
export function* cancelOwed(
  db: Kysely<Tables>,
  dialect: SqlDialect,
  endpointId: string,
  now: number,
): Steps<number> {
  const owed = sql<Key>`
    select message_id, endpoint_id from hookplane_deliveries where ${waitingFor(endpointId)}
    union all
    select message_id, endpoint_id from hookplane_deliveries where endpoint_id = ${endpointId} and ${LEASED_ROWS}
    limit ${CANCEL_BATCH}`;
  return yield* cancel(db, dialect, owed, now);
}

/** Cancels a batch of what is owed to endpoints that are gone: their deletion did not come to its end. */
export function* cancelOrphans(db: Kysely<Tables>, dialect: SqlDialect, now: number): Steps<number> {
  const orphans = sql<Key>`
    ${lanesOf(WAITING_ROWS)}
    select message_id, endpoint_id from lane join hookplane_deliveries on ${waitingFor(sql`lane.id`)}
    where not exists (select 1 from hookplane_endpoints e where e.id = lane.id) limit ${CANCEL_BATCH}`;
  const abandoned = sql<Key>`
    ${lanesOf(LEASED_ROWS)}
    select d.message_id, d.endpoint_id
    from lane join hookplane_deliveries d on d.endpoint_id = lane.id and d.lease_until <= ${now}
    where not exists (select 1 from hookplane_endpoints e where e.id = lane.id) limit ${CANCEL_BATCH}`;
  return (yield* cancel(db, dialect, orphans, now)) + (yield* cancel(db, dialect, abandoned, now));
}

function* cancel(
  db: Kysely<Tables>,
  dialect: SqlDialect,
  which: RawBuilder<Key>,
  now: number,
): Steps<number> {
  const found = yield* rawRows(db, which);
  const messageIds = found.map((row) => row.message_id);
  yield* lockMessages(db, dialect, messageIds);
  yield* updateRows(
    CANCELED,
    found.map((row) => ['canceled', 'The endpoint was deleted', null, null, row.message_id, row.endpoint_id]),
  );
  yield* rollUp(db, dialect, messageIds, now);
  return found.length;
}
