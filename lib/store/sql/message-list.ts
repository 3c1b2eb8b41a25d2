import { type Kysely, type RawBuilder, sql } from 'kysely';
import type { Message } from '../../model/message.js';
import type { MessageQuery, PageOf } from '../store.js';
import { boundedPage, newestOf, unindexed, type Way } from './bounded-page.js';
import { IS_KEPT, lastLeft } from './deleted-tenants.js';
import { boundsOf } from './page-bounds.js';
import { LISTED, toMessage } from './rows.js';
import type { MessageRow, Tables } from './schema.js';
import { firstOf, type Steps } from './steps.js';

/** Of more types than these each message is asked for its own. */
const MAX_RANGES = 20;
const COLUMNS = sql.raw(LISTED.join(', '));

export function* listMessages(db: Kysely<Tables>, query: MessageQuery): Steps<PageOf<Message>> {
  const { tenant, endpointId } = query;
  if (tenant !== undefined && endpointId !== undefined && !(yield* isOwed(db, tenant, endpointId)))
    return { rows: [], next: null };
  const left = yield* lastLeft(db, tenant);
  return yield* boundedPage<MessageRow, Message>(db, {
    ways: waysOf(query, tenant === undefined && left !== undefined),
    columns: COLUMNS,
    bounds: boundsOf('msg', query, tenant === undefined ? undefined : left),
    limit: query.limit,
    toItem: toMessage,
  });
}

/** Whether this tenant's messages are what the endpoint is owed: they are all of one tenant. */
function* isOwed(db: Kysely<Tables>, tenant: string, endpointId: string): Steps<boolean> {
  const newest = yield* newestOf(db, {
    table: sql`hookplane_deliveries`,
    key: 'message_id',
    ranges: [{ endpoint_id: endpointId }],
    rest: [],
  });
  if (newest === undefined) return false;
  const message = db.selectFrom('hookplane_messages').select('id').where('id', '=', newest);
  return (yield* firstOf(message.where('tenant_id', '=', tenant))) !== undefined;
}

/** @param hasLeft whether there is something of a deleted tenant's to be passed over */
function waysOf({ tenant, types, statuses, endpointId }: MessageQuery, hasLeft: boolean): Way[] {
  const isType = types && sql`${unindexed('m.type')} in (${sql.join(types)})`;
  const isStatus = statuses && sql`${unindexed('m.status')} in (${sql.join(statuses)})`;
  // Counted, not asked for its existence, of which PostgreSQL would make a join, and go over all that the endpoint has.
  const owed =
    endpointId !== undefined &&
    sql`(select count(*) from hookplane_deliveries
      where message_id = m.id and ${unindexed('endpoint_id')} = ${endpointId}) > 0`;
  const isKept = hasLeft && IS_KEPT;
  const overMessages = (
    ranges: Record<string, string>[],
    rest: Way['rest'],
    where: RawBuilder<unknown>[] = [],
  ): Way => ({
    table: sql`hookplane_messages m`,
    key: 'm.id',
    ranges: ranges.map((range) => ({ 'm.tenant_id': tenant, ...range })),
    where: tenant === undefined ? where : [...where, sql`m.tenant_id is not null`],
    rest,
  });

  const ways: Way[] = [];
  if (endpointId !== undefined) {
    const within = tenant === undefined ? sql`` : sql`and ${unindexed('m.tenant_id')} = ${tenant}`;
    ways.push({
      table: sql`hookplane_deliveries d`,
      join: sql`join hookplane_messages m on m.id = d.message_id ${within}`,
      key: 'd.message_id',
      ranges: [{ 'd.endpoint_id': endpointId }],
      rest: present([isType, isStatus, isKept]),
    });
  }
  if (statuses && !statuses.includes('delivered')) {
    const ranges = distinct(statuses).map((status) => ({ 'm.status': status }));
    ways.push(overMessages(ranges, present([isType, owed, isKept]), [sql`m.status <> 'delivered'`]));
  }
  if (types && types.length <= MAX_RANGES) {
    const ranges = distinct(types).map((type) => ({ 'm.type': type }));
    ways.push(overMessages(ranges, present([isStatus, owed, isKept])));
  }
  return ways.length > 0 ? ways : [overMessages([{}], present([isType, isStatus, isKept]))];
}

function present(conditions: (RawBuilder<unknown> | false | undefined)[]): RawBuilder<unknown>[] {
  return conditions.filter((condition) => condition !== undefined && condition !== false);
}

function distinct<Value>(values: readonly Value[]): Value[] {
  return [...new Set(values)];
}
