import { type Kysely, sql } from 'kysely';
import type { AuditStore, NewAuditEntry } from '../store.js';
import type { SqlContext } from './dialect.js';
import { endingAt } from './page-bounds.js';
import { toAuditEntry, toPage } from './rows.js';
import type { Tables } from './schema.js';
import { type BulkInsert, firstOf, insertRows, rawChanges, rowsOf, type Steps } from './steps.js';

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
  const rows = changed.flatMap(({ audit, tenantId }) => (audit ? [toColumns(audit, tenantId)] : []));
  yield* insertRows(ENTRIES, rows);
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

export function auditStore({ read, writeRelaxed, dialect }: SqlContext): AuditStore {
  return {
    removeBefore: (before) =>
      writeRelaxed(function* (db) {
        const removed = yield* rawChanges(
          db,
          sql`
          delete from hookplane_audit_log where (at, id) in (
            select at, id from hookplane_audit_log where at < ${before} order by at, id limit ${REMOVAL_BATCH}
            ${dialect.skipLocked()})`,
        );
        return removed === REMOVAL_BATCH;
      }),

    list: ({ tenant, sinceDeletion, since, until, actor, operation, targetId, after, limit }) =>
      read(function* (db) {
        let query = db.selectFrom('hookplane_audit_log').selectAll();
        if (tenant !== undefined) {
          query = query.where('tenant_id', '=', tenant);
          const deletion = sinceDeletion ? yield* lastDeletion(db, tenant) : undefined;
          if (deletion) query = query.where(sql<boolean>`(at, id) > (${deletion.at}, ${deletion.id})`);
        }
        if (since !== undefined) query = query.where('at', '>=', since);
        if (until !== undefined) query = query.where('at', '<', endingAt(until, after));
        if (actor !== undefined) query = query.where('actor_id', '=', actor);
        if (operation !== undefined) query = query.where('operation', '=', operation);
        if (targetId !== undefined) query = query.where('target_id', '=', targetId);
        if (after) query = query.where(sql<boolean>`(at, id) < (${after.ms}, ${after.id})`);
        const rows = yield* rowsOf(
          query
            .orderBy('at', 'desc')
            .orderBy('id', 'desc')
            .limit(limit + 1),
        );
        return toPage(rows, limit, (row) => ({ ms: row.at, id: row.id }), toAuditEntry);
      }),
  };
}

function* lastDeletion(db: Kysely<Tables>, tenant: string): Steps<{ at: number; id: string } | undefined> {
  return yield* firstOf(
    db
      .selectFrom('hookplane_audit_log')
      .select(['at', 'id'])
      .where('tenant_id', '=', tenant)
      // Written out: the index of deletions serves only a statement that is seen to ask for them.
      .where(sql<boolean>`operation = 'tenants.delete'`)
      .orderBy('at', 'desc')
      .orderBy('id', 'desc')
      .limit(1),
  );
}
