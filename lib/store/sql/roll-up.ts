import { type Kysely, sql } from 'kysely';
import type { SqlDialect } from './dialect.js';
import type { Tables } from './schema.js';
import { type BulkUpdate, type Steps, rawChanges, updateRows } from './steps.js';

const DELIVERED: BulkUpdate = {
  table: 'hookplane_messages',
  set: { status: 'text', finished_at: 'integer' },
  key: { id: 'text' },
  // Put so that PostgreSQL does not take it for the partial index of what is undelivered, all of which it would go over for
  // each row by statistics of an hour in which there was nothing.
  condition: `status || '' = 'pending' and not exists (select 1 from hookplane_deliveries d
    where d.message_id = hookplane_messages.id and d.status in ('pending', 'failed'))`,
};

/**
 * Marks messages that wait for nothing more, where nothing failed: a third of what {@link rollUp} costs, and how it
 * goes with nearly all.
 * @returns for each whether that was so
 */
export function* rollUpDelivered(messageIds: readonly string[], now: number): Steps<boolean[]> {
  return yield* updateRows(
    DELIVERED,
    messageIds.map((id) => ['delivered', now, id]),
  );
}

/** Brings the status of messages in line with their deliveries, after those have changed in the same transaction. */
export function* rollUp(
  db: Kysely<Tables>,
  dialect: SqlDialect,
  messageIds: readonly string[],
  now: number,
): Steps<void> {
  if (messageIds.length === 0) return;
  const ids = dialect.tableOf(
    [...new Set(messageIds)].map((id) => [id]),
    { id: 'text' },
  );
  yield* rawChanges(
    db,
    sql`
    update hookplane_messages set
      status = rolled.status,
      finished_at = case when rolled.status = 'pending' then null else coalesce(hookplane_messages.finished_at, ${now}) end
    from (
      select ids.id,
        case
          when count(case when d.status = 'pending' then 1 end) > 0 then 'pending'
          when count(case when d.status = 'failed' then 1 end) > 0 then 'failed'
          when count(case when d.status = 'delivered' then 1 end) > 0 then 'delivered'
          else 'unrouted'
        end as status
      from ${ids} as ids left join hookplane_deliveries d on d.message_id = ids.id
      group by ids.id
    ) as rolled
    where hookplane_messages.id = rolled.id and hookplane_messages.status <> rolled.status`,
  );
}
