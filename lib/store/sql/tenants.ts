import { type Kysely, sql } from 'kysely';
import type { TenantStore } from '../store.js';
import { announceDue } from './announce.js';
import { appendAudit } from './audit.js';
import { markDeleted, purgeNext, purgeTenant } from './deleted-tenants.js';
import type { SqlContext } from './context.js';
import type { SqlDialect } from './dialect.js';
import { holdTenants, lockEndpointsOf } from './locks.js';
import { usedUnder } from './rate-used.js';
import { toPage, toTenant } from './rows.js';
import type { Tables } from './schema.js';
import {
  type BulkClaim,
  type Steps,
  claimRows,
  rawChanges,
  rowsOf,
  firstOf,
  rowOf,
  changesOf,
} from './steps.js';

export function tenantStore({ read, write, writeRelaxed, dialect }: SqlContext): TenantStore {
  return {
    get: (id) =>
      read(function* (db) {
        const row = yield* firstOf(db.selectFrom('hookplane_tenants').selectAll().where('id', '=', id));
        return row ? toTenant(row) : null;
      }),

    list: ({ tenant, after, limit }) =>
      read(function* (db) {
        let query = db.selectFrom('hookplane_tenants').selectAll();
        if (tenant !== undefined) query = query.where('id', '=', tenant);
        if (after) query = query.where(sql<boolean>`(created_at, id) < (${after.ms}, ${after.id})`);
        const rows = yield* rowsOf(
          query
            .orderBy('created_at', 'desc')
            .orderBy('id', 'desc')
            .limit(limit + 1),
        );
        return toPage(rows, limit, (row) => ({ ms: row.created_at, id: row.id }), toTenant);
      }),

    set: (id, { rateLimit, metadata }, now, audit) =>
      write(function* (db) {
        yield* ensureTenants(db, dialect, [id], now);
        const row = yield* rowOf(
          db
            .updateTable('hookplane_tenants')
            .set({
              updated_at: now,
              ...(metadata !== undefined && { metadata: JSON.stringify(metadata) }),
              ...(rateLimit !== undefined && {
                rate_per_second: rateLimit?.perSecond ?? null,
                rate_burst: rateLimit?.burst ?? null,
                rate_used: rateLimit && usedUnder(rateLimit, now),
              }),
            })
            .where('id', '=', id)
            .returningAll(),
        );
        yield* appendAudit([{ audit, tenantId: id }]);
        if (rateLimit !== undefined) yield* announceDue(db, dialect);
        return toTenant(row);
      }),

    delete: (id, last, audit) =>
      write(function* (db) {
        const deleted = yield* changesOf(db.deleteFrom('hookplane_tenants').where('id', '=', id));
        if (deleted === 0) return false;
        yield* appendAudit([{ audit, tenantId: id }]);
        // Without its endpoints nothing of it is leased any more. They go before their secrets: a rotation that has one of
        // them is waited for, and what it has made is seen after that.
        const endpoints = yield* lockEndpointsOf(db, dialect, id);
        yield* changesOf(db.deleteFrom('hookplane_endpoints').where('tenant_id', '=', id));
        yield* rawChanges(
          db,
          sql`delete from hookplane_endpoint_secrets where endpoint_id in (
            select id from ${dialect.tableOf(
              endpoints.map((endpoint) => [endpoint]),
              { id: 'text' },
            )} as r)`,
        );
        yield* changesOf(db.deleteFrom('hookplane_deleted_endpoints').where('tenant_id', '=', id));
        yield* purgeTenant(db, dialect, yield* markDeleted(db, id, last));
        return true;
      }),

    purge: (now) => writeRelaxed((db) => purgeNext(db, dialect, now)),
  };
}

const NEW_TENANTS: BulkClaim = {
  table: 'hookplane_tenants',
  columns: { id: 'text', metadata: 'text', created_at: 'integer', updated_at: 'integer' },
  identity: 'id',
};

/**
 * Makes the tenants that are not there yet: a tenant exists from the first endpoint or message it has. None of them can
 * be deleted before the transaction ends.
 */
export function* ensureTenants(
  db: Kysely<Tables>,
  dialect: SqlDialect,
  ids: Iterable<string>,
  now: number,
): Steps<void> {
  // In order, for two transactions that make the same ones.
  let missing = [...new Set(ids)].sort();
  while (missing.length > 0) {
    yield* claimRows(
      NEW_TENANTS,
      missing.map((id) => [id, '{}', now, now]),
    );
    if (!dialect.concurrent) return;
    const held = yield* holdTenants(db, dialect, missing);
    missing = missing.filter((id) => !held.has(id));
  }
}
