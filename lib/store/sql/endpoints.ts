import { setImmediate } from 'node:timers/promises';
import { type Kysely, type RawBuilder, sql, type UpdateObject } from 'kysely';
import { type Endpoint, MAX_LIVE_SECRETS } from '../../model/endpoint.js';
import { validationError } from '../../model/errors.js';
import type { EndpointSettings, EndpointStore, NewAuditEntry, StoredSecret, TenantScope } from '../store.js';
import { announceDue } from './announce.js';
import { appendAudit } from './audit.js';
import type { SqlContext } from './context.js';
import { boundedPage, type Way } from './bounded-page.js';
import { CANCEL_BATCH, cancelOwed } from './cancel.js';
import { endpointAttempts } from './endpoint-attempts.js';
import { newRevision } from './endpoint-cache.js';
import { boundsOf } from './page-bounds.js';
import { pauseActive } from './pause.js';
import { usedUnder } from './rate-used.js';
import { toEndpoint, toJson } from './rows.js';
import type { EndpointRow, Tables } from './schema.js';
import { ensureTenants } from './tenants.js';
import { type Steps, rowsOf, firstOf, rowOf, changesOf } from './steps.js';

export function endpointStore(context: SqlContext): EndpointStore {
  const { read, walk, write, dialect, endpointCache } = context;
  return {
    ...endpointAttempts(context),

    insert: (endpoint, secret, now, audit) =>
      write(function* (db) {
        if (endpoint.tenantId !== null) yield* ensureTenants(db, dialect, [endpoint.tenantId], now);
        const row = yield* rowOf(
          db
            .insertInto('hookplane_endpoints')
            .values({
              ...settingColumns(endpoint),
              ...RESUMED,
              rate_used: null,
              revision: newRevision(),
              id: endpoint.id,
              tenant_id: endpoint.tenantId,
              created_at: now,
              updated_at: now,
            } as EndpointRow)
            .returningAll(),
        );
        yield* insertSecret(db, endpoint.id, secret, now);
        yield* appendAudit([{ audit, tenantId: endpoint.tenantId }]);
        return toEndpoint(row);
      }),

    get: (tenant, id) =>
      read(function* (db) {
        const row = yield* firstOf(visible(db, tenant).where('id', '=', id));
        return row ? toEndpoint(row) : null;
      }),

    list: ({ tenant, status, limit, after }) =>
      walk((db) =>
        boundedPage<EndpointRow, Endpoint>(db, {
          ways: [{ ...ENDPOINTS, ranges: [{ tenant_id: tenant, status }] }],
          columns: sql`hookplane_endpoints.*`,
          bounds: boundsOf('ep', { after }),
          limit,
          toItem: toEndpoint,
        }),
      ),

    ofTenants: (tenantIds) => read((db) => endpointCache.ofTenants(db, tenantIds)),

    update: (tenant, id, changes, now, audit) =>
      write(function* (db) {
        const { url, rateLimit } = changes;
        const columns = {
          ...settingColumns(changes),
          ...(url !== undefined && unchargedAt(url)),
          ...(rateLimit && { rate_used: usedUnder(rateLimit, now) }),
          updated_at: now,
        };
        yield* announceDue(db, dialect);
        return yield* change(db, tenant, id, columns, audit);
      }),

    async delete(tenant, id, now, audit) {
      const deleted = await write(function* (db) {
        let query = db.deleteFrom('hookplane_endpoints').where('id', '=', id);
        if (tenant !== undefined) query = query.where('tenant_id', '=', tenant);
        const row = yield* firstOf(query.returning('tenant_id'));
        if (!row) return null;
        yield* changesOf(
          db.insertInto('hookplane_deleted_endpoints').values({ ...row, id, deleted_at: now }),
        );
        yield* appendAudit([{ audit, tenantId: row.tenant_id }]);
        yield* changesOf(db.deleteFrom('hookplane_endpoint_secrets').where('endpoint_id', '=', id));
        return yield* cancelOwed(db, dialect, id, now);
      });
      if (deleted === null) return false;
      // Nothing is leased any more for an endpoint that is gone, so the rest may take its time; should it not come to
      // its end, the workers' heartbeat finishes it.
      for (let canceled = deleted; canceled === CANCEL_BATCH; ) {
        await setImmediate();
        canceled = await write((db) => cancelOwed(db, dialect, id, now));
      }
      return true;
    },

    pause: (tenant, id, reason, now, audit) =>
      write(function* (db) {
        const paused = yield* pauseActive(db, tenant, id, reason, now);
        if (!paused) return yield* find(db, tenant, id);
        yield* appendAudit([{ audit, tenantId: paused.tenantId }]);
        return paused;
      }),

    resume: (tenant, id, now, audit) =>
      write(function* (db) {
        const resumed = yield* change(db, tenant, id, { ...RESUMED, updated_at: now }, audit, IS_IN_TROUBLE);
        if (resumed) yield* announceDue(db, dialect);
        return resumed ?? (yield* find(db, tenant, id));
      }),

    rotateSecret: (tenant, id, secret, previousUntil, now, audit) =>
      write(function* (db) {
        // The update comes first: it locks the endpoint, so that rotations of it follow one another.
        const endpoint = yield* change(db, tenant, id, { updated_at: now }, audit);
        if (!endpoint) return null;
        const previous = db
          .updateTable('hookplane_endpoint_secrets')
          .set({ expires_at: previousUntil })
          .where('endpoint_id', '=', id);
        yield* changesOf(previousUntil <= now ? previous : previous.where('expires_at', 'is', null));
        yield* changesOf(
          db
            .deleteFrom('hookplane_endpoint_secrets')
            .where('endpoint_id', '=', id)
            .where('expires_at', '<=', now),
        );
        const live = yield* rowsOf(
          db.selectFrom('hookplane_endpoint_secrets').select('id').where('endpoint_id', '=', id),
        );
        if (live.length >= MAX_LIVE_SECRETS) {
          throw validationError('ENDPOINT_VALIDATION', 'The rotation', [
            {
              path: 'overlapSeconds',
              message: `would make more than ${MAX_LIVE_SECRETS} secrets sign: wait until one has expired, or revoke all at once with 0`,
            },
          ]);
        }
        yield* insertSecret(db, id, secret, now);
        return endpoint;
      }),

    secrets: (tenant, id, now, audit) =>
      (audit ? write : read)(function* (db) {
        const endpoint = yield* find(db, tenant, id);
        if (!endpoint) return null;
        yield* appendAudit([{ audit, tenantId: endpoint.tenantId }]);
        const rows = yield* rowsOf(
          db
            .selectFrom('hookplane_endpoint_secrets')
            .select(['id', 'secret', 'expires_at'])
            .where('endpoint_id', '=', id)
            .where((eb) => eb.or([eb('expires_at', 'is', null), eb('expires_at', '>', now)]))
            .orderBy('created_at', 'desc')
            .orderBy('id', 'desc'),
        );
        return rows.map((row) => ({ id: row.id, secret: row.secret, expiresAt: row.expires_at }));
      }),

    allSecrets: (after, limit) =>
      read(function* (db) {
        let query = db
          .selectFrom('hookplane_endpoint_secrets')
          .select(['id', 'endpoint_id as endpointId', 'secret']);
        if (after !== null) query = query.where('id', '>', after);
        return yield* rowsOf(query.orderBy('id').limit(limit));
      }),

    replaceSecrets: (changes) =>
      write(function* (db) {
        let changed = 0;
        // The endpoints first, in order, as whoever rotates a secret or deletes a tenant takes them.
        const owners = [...new Set(changes.map(({ endpointId }) => endpointId))].sort();
        for (const id of owners)
          yield* changesOf(
            db.updateTable('hookplane_endpoints').set({ revision: newRevision() }).where('id', '=', id),
          );
        for (const { id, from, to } of changes) {
          changed += yield* changesOf(
            db
              .updateTable('hookplane_endpoint_secrets')
              .set({ secret: to })
              .where('id', '=', id)
              .where('secret', '=', from),
          );
        }
        return changed;
      }),
  };
}

function visible(db: Kysely<Tables>, tenant: TenantScope) {
  const query = db.selectFrom('hookplane_endpoints').selectAll();
  return tenant === undefined ? query : query.where('tenant_id', '=', tenant);
}

function* find(db: Kysely<Tables>, tenant: TenantScope, id: string): Steps<Endpoint | null> {
  const row = yield* firstOf(visible(db, tenant).where('id', '=', id));
  return row ? toEndpoint(row) : null;
}

function* change(
  db: Kysely<Tables>,
  tenant: TenantScope,
  id: string,
  columns: UpdateObject<Tables, 'hookplane_endpoints'>,
  audit: NewAuditEntry | undefined,
  only?: RawBuilder<boolean>,
): Steps<Endpoint | null> {
  let query = db
    .updateTable('hookplane_endpoints')
    .set({ ...columns, revision: newRevision() })
    .where('id', '=', id);
  if (tenant !== undefined) query = query.where('tenant_id', '=', tenant);
  if (only) query = query.where(only);
  const row = yield* firstOf(query.returningAll());
  if (!row) return null;
  yield* appendAudit([{ audit, tenantId: row.tenant_id }]);
  return toEndpoint(row);
}

function* insertSecret(
  db: Kysely<Tables>,
  endpointId: string,
  { id, secret }: StoredSecret,
  now: number,
): Steps<void> {
  yield* changesOf(
    db
      .insertInto('hookplane_endpoint_secrets')
      .values({ id, endpoint_id: endpointId, secret, created_at: now, expires_at: null }),
  );
}

const ENDPOINTS: Omit<Way, 'ranges'> = { table: sql`hookplane_endpoints`, key: 'id', rest: [] };

const RESUMED = {
  status: 'active',
  paused_reason: null,
  paused_at: null,
  failing_since: null,
  slow_until: null,
  slow_step: 0,
} as const;

/** Where resuming changes something. */
const IS_IN_TROUBLE = sql<boolean>`(status <> 'active' or failing_since is not null or slow_step > 0)`;

/** Another receiver is not charged with what the one before did. */
function unchargedAt(url: string) {
  return {
    failing_since: sql<number | null>`case when url = ${url} then failing_since end`,
    slow_until: sql<number | null>`case when url = ${url} then slow_until end`,
    slow_step: sql<number>`case when url = ${url} then slow_step else 0 end`,
  };
}

function settingColumns(settings: Partial<EndpointSettings>): Partial<EndpointRow> {
  const columns: Partial<EndpointRow> = {};
  if (settings.url !== undefined) columns.url = settings.url;
  if (settings.description !== undefined) columns.description = settings.description;
  if (settings.types !== undefined) columns.types = toJson(settings.types);
  if (settings.channels !== undefined) columns.channels = toJson(settings.channels);
  if (settings.filter !== undefined) columns.filter = toJson(settings.filter);
  if (settings.headers !== undefined) columns.headers = JSON.stringify(settings.headers);
  if (settings.metadata !== undefined) columns.metadata = JSON.stringify(settings.metadata);
  if (settings.retry !== undefined) columns.retry = toJson(settings.retry);
  if (settings.rateLimit !== undefined) {
    columns.rate_per_second = settings.rateLimit?.perSecond ?? null;
    columns.rate_burst = settings.rateLimit?.burst ?? null;
    if (settings.rateLimit === null) columns.rate_used = null;
  }
  if (settings.maxInFlight !== undefined) columns.max_in_flight = settings.maxInFlight;
  if (settings.timeoutMs !== undefined) columns.timeout_ms = settings.timeoutMs;
  return columns;
}
