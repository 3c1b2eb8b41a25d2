import { type Kysely, type RawBuilder, sql } from 'kysely';
import type { LeaseKey, LeaseRequest, OutboxStore, Turn, TurnResult } from '../store.js';
import { announceDue } from './announce.js';
import { appendAudit } from './audit.js';
import { cancelOrphans } from './cancel.js';
import { IS_KEPT } from './deleted-tenants.js';
import type { SqlContext } from './context.js';
import type { SqlDialect } from './dialect.js';
import { tellEndpoints } from './endpoint-news.js';
import { LEASED_ROWS, waitingFor } from './lanes.js';
import { lease } from './lease.js';
import { holdEndpoint, lockMessages } from './locks.js';
import { rollUp } from './roll-up.js';
import type { MessageRow, Tables } from './schema.js';
import { settle } from './settle.js';
import { type BulkUpdate, type Steps, firstOf, rawRows, rawChanges, updateRows } from './steps.js';

export function outboxStore(context: SqlContext): OutboxStore {
  const { read, write, writeRelaxed, dialect } = context;
  /** The next turn leases with what it settles, and fails with it. */
  let leaseFailed = false;
  return {
    async turn(turn) {
      const { owner, now, settlements } = turn;
      if (dialect.concurrent && turn.apart && turn.lease && settlements.length > 0 && !leaseFailed) {
        return settleBeside(context, turn, turn.lease, () => {
          leaseFailed = true;
        });
      }
      leaseFailed = false;
      return writeRelaxed(function* (db) {
        const settled = yield* record(db, dialect, turn);
        if (turn.release.length > 0) yield* release(db, dialect, owner, turn.release);
        const taken = turn.lease
          ? yield* lease(db, context, { ...turn.lease, owner, now })
          : { leased: [], nextAt: null };
        // What the worker has not taken up again itself.
        const again = new Set(taken.leased.map(nameOf));
        if (turn.release.some((key) => !again.has(nameOf(key)))) yield* announceDue(db, dialect);
        return { ...settled, ...taken };
      });
    },

    renew: async (owner, leases, leaseMs, now) => {
      if (leases.length === 0) return;
      await writeRelaxed((db) => renew(db, dialect, { owner, leases, until: now + leaseMs }));
    },

    expire: (now, limit) =>
      writeRelaxed(function* (db) {
        const over = sql`status = 'pending' and expires_at >= 0 and expires_at <= ${now} and (lease_until is null or lease_until <= ${now})`;
        const found = yield* rawRows(
          db,
          sql<{ message_id: string; endpoint_id: string }>`
          select message_id, endpoint_id from hookplane_deliveries where ${over} order by expires_at limit ${limit}`,
        );
        if (found.length === 0) return [];
        yield* lockMessages(
          db,
          dialect,
          found.map((row) => row.message_id),
        );
        const keys = dialect.tableOf(
          found.map((row) => [row.message_id, row.endpoint_id]),
          { message_id: 'text', endpoint_id: 'text' },
        );
        const expired = yield* rawRows(
          db,
          sql<{ message_id: string; endpoint_id: string }>`
          update hookplane_deliveries set status = 'failed', lease_owner = null, lease_until = null,
            last_error = 'The message expired before it was delivered'
          where (message_id, endpoint_id) in (select message_id, endpoint_id from ${keys} as r) and ${over}
          returning message_id, endpoint_id`,
        );
        const messageIds = expired.map((row) => row.message_id);
        yield* rollUp(db, dialect, messageIds, now);
        const messages = yield* readOwners(db, dialect, messageIds);
        return expired.flatMap((row) => {
          const message = messages.get(row.message_id);
          if (!message) return [];
          return [
            {
              messageId: row.message_id,
              endpointId: row.endpoint_id,
              messageType: message.type,
              tenantId: message.tenant_id,
            },
          ];
        });
      }),

    cancelOrphans: (now) => writeRelaxed((db) => cancelOrphans(db, dialect, now)),

    requeue: ({ endpointId, messageIds, webhookIds, expiresAt, now, audit }) =>
      write(function* (db) {
        const endpoint = yield* holdEndpoint(db, dialect, endpointId);
        if (!endpoint) return [];
        yield* lockMessages(db, dialect, messageIds);
        const rows = messageIds.map((id, index) => [id, webhookIds?.[index] ?? null]);
        const requeued = yield* rawRows(
          db,
          sql<{ message_id: string }>`
          insert into hookplane_deliveries (message_id, endpoint_id, status, "trigger", attempt_count, schedule_step,
            due_at, expires_at, fence, webhook_id)
          select m.id, e.id, 'pending', 'replay', 0, 0, ${now}, ${expiresAt}, 0, r.webhook_id
          from ${dialect.tableOf(rows, { message_id: 'text', webhook_id: 'text' })} as r
          join hookplane_messages m on m.id = r.message_id
          join hookplane_payloads p on p.message_id = m.id
          join hookplane_endpoints e on e.id = ${endpointId} and e.status = 'active'
          where true
          on conflict (message_id, endpoint_id) do update set
            status = 'pending', "trigger" = 'replay', due_at = excluded.due_at, lease_owner = null, lease_until = null,
            takeovers = 0,
            webhook_id = coalesce(excluded.webhook_id, hookplane_deliveries.webhook_id),
            schedule_step = case hookplane_deliveries.status when 'pending' then hookplane_deliveries.schedule_step else 0 end,
            expires_at = case when hookplane_deliveries.expires_at > excluded.expires_at
              then hookplane_deliveries.expires_at else excluded.expires_at end
          where hookplane_deliveries.lease_until is null or hookplane_deliveries.lease_until <= ${now}
          returning message_id`,
        );
        const ids = requeued.map((row) => row.message_id);
        if (ids.length === 0) return [];
        yield* rollUp(db, dialect, ids, now);
        yield* appendAudit([{ audit, tenantId: endpoint.tenant_id }]);
        yield* announceDue(db, dialect);
        return ids;
      }),

    inFlight: (messageId, endpointId, now) =>
      read(function* (db) {
        const row = yield* firstOf(
          db
            .selectFrom('hookplane_deliveries')
            .select('lease_until')
            .where('message_id', '=', messageId)
            .where('endpoint_id', '=', endpointId)
            .where('lease_until', '>', now),
        );
        return row !== undefined;
      }),

    depth: (tenant) =>
      read(function* (db) {
        const scope = tenant === undefined ? sql`` : sql`and e.tenant_id = ${tenant}`;
        const found = yield* rawRows(
          db,
          sql<{ depth: number; oldest: number | null }>`
          select coalesce(sum(
              (select count(*) from hookplane_deliveries where ${waitingFor(sql`e.id`)})
              + (select count(*) from hookplane_deliveries where endpoint_id = e.id and ${LEASED_ROWS})), 0) as depth,
            min((select min(due_at) from (
              select min(due_at) as due_at from hookplane_deliveries where ${waitingFor(sql`e.id`)}
              union all
              select min(due_at) from hookplane_deliveries where endpoint_id = e.id and ${LEASED_ROWS}) as owed)) as oldest
          from hookplane_endpoints e where e.status = 'active' ${scope}`,
        );
        const [row] = found;
        return { depth: Number(row?.depth ?? 0), oldestDueAt: row?.oldest ?? null };
      }),
  };
}

/** What has ended, and what it says of its endpoints. */
function* record(
  db: Kysely<Tables>,
  dialect: SqlDialect,
  turn: Turn,
): Steps<Pick<TurnResult, 'refused' | 'paused' | 'recovered'>> {
  const told = yield* tellEndpoints(db, dialect, turn.news, turn.now);
  const messageIds = [...turn.settlements, ...turn.release].map(({ messageId }) => messageId);
  yield* lockMessages(db, dialect, messageIds);
  return { ...told, refused: yield* settle(db, dialect, turn) };
}

/** Settles in one transaction and leases in another at the same time: neither waits for the answers of the other. */
async function settleBeside(
  context: SqlContext,
  turn: Turn,
  asked: LeaseRequest,
  leaseFailed: () => void,
): Promise<TurnResult> {
  const { dialect, writeRelaxed } = context;
  const { owner, now } = turn;
  const [settled, taken] = await Promise.allSettled([
    writeRelaxed((db) => record(db, dialect, turn)),
    writeRelaxed((db) => lease(db, context, { ...asked, owner, now, settling: turn.settlements })),
  ]);
  if (taken.status === 'rejected') {
    leaseFailed();
    if (settled.status === 'rejected') throw settled.reason;
    return { ...settled.value, leased: [], nextAt: now };
  }
  if (settled.status === 'fulfilled') return { ...settled.value, ...taken.value };
  // Nobody will be told of these leases. If they cannot be given back either, they end by themselves.
  await writeRelaxed((db) => release(db, dialect, owner, taken.value.leased)).catch(() => {});
  throw settled.reason;
}

function nameOf({ messageId, endpointId }: LeaseKey): string {
  return `${messageId} ${endpointId}`;
}

/** Without what deleted tenants have left. */
function* readOwners(
  db: Kysely<Tables>,
  dialect: SqlDialect,
  messageIds: readonly string[],
): Steps<Map<string, Pick<MessageRow, 'type' | 'tenant_id'>>> {
  if (messageIds.length === 0) return new Map();
  const ids = dialect.tableOf(
    [...new Set(messageIds)].map((id) => [id]),
    { id: 'text' },
  );
  const found = yield* rawRows(
    db,
    sql<Pick<MessageRow, 'id' | 'type' | 'tenant_id'>>`
    select m.id, m.type, m.tenant_id from ${ids} as r join hookplane_messages m on m.id = r.id
    where ${IS_KEPT}`,
  );
  return new Map(found.map((row) => [row.id, row]));
}

/** Gives leases back. */
export function* release(
  db: Kysely<Tables>,
  dialect: SqlDialect,
  owner: string,
  keys: readonly LeaseKey[],
): Steps<void> {
  yield* rawChanges(
    db,
    sql`
    update hookplane_deliveries set lease_owner = null, lease_until = null
    from ${leaseRows(dialect, keys)} as r
    where hookplane_deliveries.message_id = r.message_id and hookplane_deliveries.endpoint_id = r.endpoint_id
      and hookplane_deliveries.fence = r.fence and lease_owner = ${owner}`,
  );
}

const RENEWED: BulkUpdate = {
  table: 'hookplane_deliveries',
  set: { lease_until: 'integer' },
  key: { message_id: 'text', endpoint_id: 'text' },
};

function* renew(
  db: Kysely<Tables>,
  dialect: SqlDialect,
  { owner, leases, until }: { owner: string; leases: readonly LeaseKey[]; until: number },
): Steps<void> {
  // What a turn of the owner's has in hand meanwhile is about to be settled, and needs no more time.
  const held = yield* rawRows(
    db,
    sql<{ message_id: string; endpoint_id: string }>`
    select d.message_id, d.endpoint_id from ${leaseRows(dialect, leases)} as r
    join hookplane_deliveries d on d.message_id = r.message_id and d.endpoint_id = r.endpoint_id and d.fence = r.fence
    where d.lease_owner = ${owner} and d.lease_until < ${until} ${dialect.skipLocked('d')}`,
  );
  yield* updateRows(
    RENEWED,
    held.map((row) => [until, row.message_id, row.endpoint_id]),
  );
}

function leaseRows(dialect: SqlDialect, leases: readonly LeaseKey[]): RawBuilder<unknown> {
  const rows = leases.map(({ messageId, endpointId, fence }) => [messageId, endpointId, fence]);
  return dialect.tableOf(rows, { message_id: 'text', endpoint_id: 'text', fence: 'integer' });
}
