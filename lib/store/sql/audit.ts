import { type Kysely, type RawBuilder, sql } from 'kysely';
import type { AuditEntry } from '../../model/audit.js';
import { firstIdAt } from '../../model/ids.js';
import type { AuditQuery, AuditStore, NewAuditEntry } from '../store.js';
import { boundedPage, unindexed, type Way } from './bounded-page.js';
import type { SqlContext } from './context.js';
import { boundsOf } from './page-bounds.js';
import { toAuditEntry } from './rows.js';
import type { AuditRow, Tables } from './schema.js';
import { type BulkInsert, firstOf, insertRows, rawChanges, type RowsOf, type Steps } from './steps.js';

const ENTRIES: BulkInsert = {
  table: 'hookplane_audit_log',
  columns: {
    at: 'integer',
    id: 'text',
    tenant_id: 'text',
    operation: 'text',
    target_id: 'text',
    changes: 'text',
    actor_id: 'text',
    actor_name: 'text',
    request_id: 'text',
  },
};

/** Something that was changed, and what to record of it if the caller is one whose changes are recorded. */
interface Changed {
  tenantId: string | null;
  audit?: NewAuditEntry | undefined;
}

/** Records changes, inside the transaction that makes them. */
export function* appendAudit(changed: readonly Changed[]): Steps<void> {
  yield* insertRows(auditOf(changed));
}

/** The rows that record changes. */
export function auditOf(changed: readonly Changed[]): RowsOf {
  const rows = changed.flatMap(({ audit, tenantId }) => (audit ? [toColumns(audit, tenantId)] : []));
  return { into: ENTRIES, count: rows.length, rows: () => rows };
}

function toColumns(audit: NewAuditEntry, tenantId: string | null): unknown[] {
  const { at, id, operation, targetId, changes, actor, requestId } = audit;
  return [
    at,
    id,
    tenantId,
    operation,
    targetId,
    JSON.stringify(changes),
    actor?.id ?? null,
    actor?.name ?? null,
    requestId,
  ];
}

/** How many entries are removed in one transaction. */
const REMOVAL_BATCH = 1000;

export function auditStore({ walk, writeRelaxed, dialect }: SqlContext): AuditStore {
  return {
    removeBefore: (before) =>
      writeRelaxed(function* (db) {
        const removed = yield* rawChanges(
          db,
          sql`
          delete from hookplane_audit_log where id in (
            select id from hookplane_audit_log where id < ${firstIdAt('aud', before)} order by id limit ${REMOVAL_BATCH}
            ${dialect.skipLocked()})`,
        );
        return removed === REMOVAL_BATCH;
      }),

    list: (query) =>
      walk(function* (db) {
        const { tenant, sinceDeletion, targetId, limit } = query;
        if (tenant !== undefined && targetId !== undefined && !(yield* isOfTenant(db, tenant, targetId)))
          return { rows: [], next: null };
        const deletion = sinceDeletion && tenant !== undefined ? yield* lastDeletion(db, tenant) : undefined;
        return yield* boundedPage<AuditRow, AuditEntry>(db, {
          ways: waysOf(query),
          columns: sql`e.*`,
          bounds: boundsOf('aud', query, deletion),
          limit,
          toItem: toAuditEntry,
        });
      }),
  };
}

/** Whether a target, all of which is of one tenant, is this one's. */
function* isOfTenant(db: Kysely<Tables>, tenant: string, targetId: string): Steps<boolean> {
  // Any: in an order, the planner might go over all entries for it.
  const entry = yield* firstOf(
    db.selectFrom('hookplane_audit_log').select('tenant_id').where('target_id', '=', targetId).limit(1),
  );
  return entry?.tenant_id === tenant;
}

function waysOf({ tenant, actor, operation, targetId }: AuditQuery): Way[] {
  const filters = Object.entries({ target_id: targetId, actor_id: actor, operation }).flatMap(
    ([name, value]) => (value === undefined ? [] : [{ column: `e.${name}`, value }]),
  );
  const is = (column: string, value: string) => sql`${unindexed(column)} = ${value}`;
  const way = (range: Record<string, string>, rest: RawBuilder<unknown>[] = []): Way => ({
    table: sql`hookplane_audit_log e`,
    key: 'e.id',
    ranges: [range],
    rest: [...rest, ...filters.flatMap(({ column, value }) => (column in range ? [] : [is(column, value)]))],
  });
  if (tenant === undefined) {
    const ways = filters.map(({ column, value }) => way({ [column]: value }));
    return ways.length > 0 ? ways : [way({})];
  }
  // By a target, which is of one tenant. What an actor does may be another's, of which nothing is to be told.
  if (targetId === undefined) return [way({ 'e.tenant_id': tenant })];
  return [way({ 'e.target_id': targetId }, [is('e.tenant_id', tenant)])];
}

function* lastDeletion(db: Kysely<Tables>, tenant: string): Steps<string | undefined> {
  const last = yield* firstOf(
    db
      .selectFrom('hookplane_audit_log')
      .select('id')
      .where('tenant_id', '=', tenant)
      // Written out: the index of deletions serves only a statement that is seen to ask for them.
      .where(sql<boolean>`operation = 'tenants.delete'`)
      .orderBy('id', 'desc')
      .limit(1),
  );
  return last?.id;
}
