import { type Kysely, type RawBuilder, sql, type SqlBool } from 'kysely';
import { firstIdAt } from '../../model/ids.js';
import type { InsertedMessage, MessageStore, RangeQuery, RangeRow, TenantScope } from '../store.js';
import type { SqlContext } from './context.js';
import { IS_KEPT } from './deleted-tenants.js';
import { expectedInsert } from './expected-insert.js';
import { expungeMessage } from './expunge.js';
import { insertMessages } from './message-insert.js';
import { listMessages } from './message-list.js';
import { release } from './outbox.js';
import { removeFinished } from './removal.js';
import { fromJson, LISTED, toAttempt, toDelivery, toMessage, positionOf, toPage } from './rows.js';
import type { Tables } from './schema.js';
import { rowsOf, firstOf } from './steps.js';

export function messageStore(context: SqlContext): MessageStore {
  const { read, walk, write, writeRelaxed, insertIf, dialect } = context;
  return {
    async insert(messages, allOrNone, lease) {
      let inserted: InsertedMessage[] = [];
      try {
        const expected = dialect.concurrent ? expectedInsert(context, messages, lease) : null;
        if (expected) {
          const onSend = () => {
            inserted = expected.inserted;
          };
          if (await insertIf(expected, onSend)) return inserted;
        }
        return await write(function* (db) {
          inserted = yield* insertMessages(db, context, messages, { allOrNone, lease });
          return inserted;
        });
      } catch (error) {
        // They may be stored all the same, and nobody will be told of these leases: others take them up at once, or when
        // they are over, where a server that waited for a lock stores them after this.
        const leased = inserted.flatMap((result) => (result.outcome === 'stored' ? result.leased : []));
        if (lease && leased.length > 0)
          void writeRelaxed((db) => release(db, dialect, lease.owner, leased)).catch(() => {});
        throw error;
      }
    },

    get: (tenant, id) =>
      read(function* (db) {
        const row = yield* firstOf(
          visible(db, tenant)
            .leftJoin('hookplane_payloads as p', 'p.message_id', 'm.id')
            .select([...LISTED, 'p.payload'])
            .where('m.id', '=', id),
        );
        if (!row) return null;
        const deliveries = yield* rowsOf(
          db
            .selectFrom('hookplane_deliveries')
            .select(['endpoint_id', 'status', 'attempt_count', 'due_at', 'last_error'])
            .where('message_id', '=', id)
            .orderBy('endpoint_id'),
        );
        return { message: toMessage(row), payload: row.payload, deliveries: deliveries.map(toDelivery) };
      }),

    owner: (tenant, id) =>
      read(function* (db) {
        const row = yield* firstOf(
          visible(db, tenant)
            .leftJoin('hookplane_payloads as p', 'p.message_id', 'm.id')
            .select(['m.tenant_id', 'p.message_id as kept'])
            .where('m.id', '=', id),
        );
        return row ? { tenantId: row.tenant_id, expunged: row.kept === null } : null;
      }),

    list: (query) => walk((db) => listMessages(db, query)),

    attempts: ({ tenant, messageId, status, after, limit }) =>
      read(function* (db) {
        const message = yield* firstOf(visible(db, tenant).select('m.id').where('m.id', '=', messageId));
        if (!message) return null;
        let query = db.selectFrom('hookplane_attempts').selectAll().where('message_id', '=', messageId);
        if (status) query = query.where('status', '=', status);
        if (after) query = query.where('id', '>', after.id);
        const rows = yield* rowsOf(query.orderBy('id').limit(limit + 1));
        return toPage(rows, limit, (row) => positionOf(row.id), toAttempt);
      }),

    expunge: (tenant, id, now, audit) =>
      write((db) => expungeMessage(db, dialect, { tenant, id, now, audit })),

    removeFinished: (before, now) => writeRelaxed((db) => removeFinished(db, dialect, before, now)),

    range: (query) =>
      read(function* (db) {
        const rows = db
          .selectFrom('hookplane_messages as m')
          .leftJoin('hookplane_deliveries as d', (join) =>
            // Said of the message, so that PostgreSQL does not go over all of the endpoint's for each, believing them few.
            join
              .onRef('d.message_id', '=', 'm.id')
              .on('d.endpoint_id', '=', sql<string>`substr(m.id, 1, 0) || ${query.endpointId}`),
          )
          .select(['m.id', 'm.type', 'm.channels', 'd.status', 'd.delivered_at', 'd.lease_until'])
          .where(inRange(query))
          .where(IS_KEPT)
          .where(sql<boolean>`exists (select 1 from hookplane_payloads p where p.message_id = m.id)`);
        const found = yield* rowsOf(
          rows
            .$if(query.withPayload, (with_) =>
              with_.innerJoin('hookplane_payloads as p', 'p.message_id', 'm.id').select('p.payload'),
            )
            .orderBy('m.tenant_id')
            .orderBy('m.id')
            .limit(query.limit),
        );
        return found.map(
          (row): RangeRow => ({
            id: row.id,
            type: row.type,
            channels: fromJson<string[]>(row.channels),
            payload: row.payload ?? null,
            position: positionOf(row.id),
            delivery: row.status && {
              status: row.status,
              everDelivered: row.delivered_at !== null,
              inFlight: row.lease_until !== null && row.lease_until > query.now,
            },
          }),
        );
      }),
  };
}

/** A piece of the index by tenant: its order is said as well, so that the planner takes no other. */
function inRange({ tenantId, since, until, after }: RangeQuery): RawBuilder<SqlBool> {
  const from = firstIdAt('msg', since);
  const to = firstIdAt('msg', until);
  const [behind, bound] = after && after.id > from ? ['>', after.id] : ['>=', from];
  return tenantId === null
    ? sql`m.tenant_id is null and m.id ${sql.raw(behind)} ${bound} and m.id < ${to}`
    : sql`(m.tenant_id, m.id) ${sql.raw(behind)} (${tenantId}, ${bound}) and (m.tenant_id, m.id) < (${tenantId}, ${to})`;
}

function visible(db: Kysely<Tables>, tenant: TenantScope) {
  const query = db.selectFrom('hookplane_messages as m').where(IS_KEPT);
  return tenant === undefined ? query : query.where('m.tenant_id', '=', tenant);
}
