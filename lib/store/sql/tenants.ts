import { type Kysely, sql } from 'kysely';
import type { TenantStore } from '../store.js';
import { appendAudit } from './audit.js';
import { markDeleted, purgeNext, purgeTenant } from './deleted-tenants.js';
import type { SqlContext } from './dialect.js';
import { usedUnder } from './rate-used.js';
import { toPage, toTenant } from './rows.js';
import type { Tables } from './schema.js';
import { type Steps, rowsOf, firstOf, rowOf, changesOf } from './steps.js';

/** A statement takes some thirty thousand parameters, and a tenant is seven of them. */
const TENANTS_AT_ONCE = 500;

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
        yield* ensureTenants(db, [id], now);
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
        return toTenant(row);
      }),

    delete: (id, last, audit) =>
      write(function* (db) {
        const deleted = yield* changesOf(db.deleteFrom('hookplane_tenants').where('id', '=', id));
        if (deleted === 0) return false;
        yield* appendAudit([{ audit, tenantId: id }]);
        // Without its endpoints nothing of it is leased any more.
        const endpoints = db.selectFrom('hookplane_endpoints').select('id').where('tenant_id', '=', id);
        yield* changesOf(db.deleteFrom('hookplane_endpoint_secrets').where('endpoint_id', 'in', endpoints));
        yield* changesOf(db.deleteFrom('hookplane_endpoints').where('tenant_id', '=', id));
        yield* changesOf(db.deleteFrom('hookplane_deleted_endpoints').where('tenant_id', '=', id));
        yield* purgeTenant(db, dialect, yield* markDeleted(db, id, last));
        return true;
      }),

    purge: (now) => writeRelaxed((db) => purgeNext(db, dialect, now)),
  };
}

/** Makes the tenants that are not there yet: a tenant exists from the first endpoint or message it has. */
export function* ensureTenants(db: Kysely<Tables>, ids: Iterable<string>, now: number): Steps<void> {
  const rows = [...new Set(ids)].map((id) => ({ id, metadata: '{}', created_at: now, updated_at: now }));
  for (let start = 0; start < rows.length; start += TENANTS_AT_ONCE) {
    yield* changesOf(
      db
        .insertInto('hookplane_tenants')
        .values(
          rows
            .slice(start, start + TENANTS_AT_ONCE)
            .map((row) => ({ ...row, rate_per_second: null, rate_burst: null, rate_used: null })),
        )
        .onConflict((conflict) => conflict.column('id').doNothing()),
    );
  }
}
