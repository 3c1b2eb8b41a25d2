import { createHash } from 'node:crypto';
import { type Kysely, type RawBuilder, sql } from 'kysely';
import type { Position } from '../../model/page.js';
import type { NewMessage, TenantScope } from '../store.js';
import { newestOf } from './bounded-page.js';
import { removeSamplesOf } from './depth.js';
import type { SqlDialect } from './dialect.js';
import {
  REMOVAL_BATCH,
  REMOVED_COLUMNS,
  type RemovedMessage,
  removeKeys,
  removeMessages,
} from './removal.js';
import { positionOf } from './rows.js';
import type { DeletedTenantRow, Tables } from './schema.js';
import { changesOf, firstOf, rawChanges, rawRows, rowsOf, type Steps } from './steps.js';

/** For how long sends that were made before a deletion are refused. None takes so long to be stored. */
const REFUSED_FOR_MS = 3_600_000;

/** SQL that holds of a message, called `m`, unless it is what a deleted tenant has left. */
export const IS_KEPT = sql<boolean>`not exists (select 1 from hookplane_deleted_tenants x
  where x.tenant_id = m.tenant_id and m.id <= x.message_id)`;

/**
 * The last message of what a deleted tenant has left: of the one that had this id, or of any where none is named. The
 * messages of one tenant that are kept are a range, which begins behind it.
 * @returns an id; undefined when nothing is left
 */
export function* lastLeft(db: Kysely<Tables>, tenantId: TenantScope): Steps<string | undefined> {
  const left = db.selectFrom('hookplane_deleted_tenants').select('message_id');
  const query =
    tenantId === undefined ? left.where('tenant_id', 'is not', null) : left.where('tenant_id', '=', tenantId);
  return (yield* firstOf(query.limit(1)))?.message_id;
}

/** Makes all messages that the tenant has by now, or that were made up to `last`, ones that were a deleted tenant's. */
export function* markDeleted(db: Kysely<Tables>, tenantId: string, last: Position): Steps<DeletedTenantRow> {
  // One of a process whose clock is ahead counts as well.
  const newest = yield* newestOf(db, {
    table: sql`hookplane_messages`,
    key: 'id',
    ranges: [{ tenant_id: tenantId }],
    rest: [],
  });
  const { ms, id } = newest !== undefined && newest > last.id ? positionOf(newest) : last;
  const row = { tenant_hash: hashOf(tenantId), tenant_id: tenantId, at: ms, message_id: id };
  yield* changesOf(
    db
      .insertInto('hookplane_deleted_tenants')
      .values(row)
      .onConflict((conflict) => conflict.column('tenant_hash').doUpdateSet(row)),
  );
  return row;
}

/** Removes a batch of what a deleted tenant has left, and says so when that was the last. */
export function* purgeTenant(
  db: Kysely<Tables>,
  dialect: SqlDialect,
  { tenant_hash, tenant_id, at, message_id }: DeletedTenantRow,
): Steps<void> {
  const messages = yield* rawRows(
    db,
    sql<RemovedMessage>`
    select ${REMOVED_COLUMNS} from hookplane_messages
    where (tenant_id, id) >= (${tenant_id}, '') and (tenant_id, id) <= (${tenant_id}, ${message_id})
    order by tenant_id, id limit ${REMOVAL_BATCH} ${dialect.forUpdate()}`,
  );
  const whole = yield* removeMessages(db, dialect, messages, Number.MAX_SAFE_INTEGER);
  if (!whole || messages.length === REMOVAL_BATCH) return;
  const keys = yield* removeKeys(
    db,
    dialect,
    sql`tenant_id = ${tenant_id} and message is not null and message_id <= ${message_id}`,
  );
  if (keys === REMOVAL_BATCH) return;
  if (yield* removeSamplesOf(db, dialect, tenant_id, at)) return;
  yield* changesOf(
    db
      .updateTable('hookplane_deleted_tenants')
      .set({ tenant_id: null })
      .where('tenant_hash', '=', tenant_hash)
      .where('message_id', '=', message_id),
  );
}

/** Removes a batch of what any deleted tenant has left; answers whether there was one. */
export function* purgeNext(db: Kysely<Tables>, dialect: SqlDialect, now: number): Steps<boolean> {
  const [next] = yield* rowsOf(
    db
      .selectFrom('hookplane_deleted_tenants')
      .selectAll()
      .where('tenant_id', 'is not', null)
      .orderBy('tenant_id')
      .limit(1),
  );
  if (next) {
    yield* purgeTenant(db, dialect, next);
    return true;
  }
  yield* rawChanges(
    db,
    sql`delete from hookplane_deleted_tenants where tenant_id is null and at <= ${now - REFUSED_FOR_MS}`,
  );
  return false;
}

/** The last position of what was their tenant's before it was deleted, for those of the tenants that were. */
export function* deletionsOf(
  db: Kysely<Tables>,
  dialect: SqlDialect,
  tenantIds: Iterable<string>,
): Steps<Map<string, Position>> {
  const deletions = new Map<string, Position>();
  const ids = new Set(tenantIds);
  if (ids.size === 0) return deletions;
  // Hardly ever any. Where it is a round trip to ask, the hashes cost less.
  const any = dialect.concurrent
    ? true
    : yield* firstOf(db.selectFrom('hookplane_deleted_tenants').select('at').limit(sql.lit(1)));
  if (!any) return deletions;
  const byHash = new Map([...ids].map((id) => [hashOf(id), id]));
  const rows = yield* rawRows(
    db,
    sql<DeletedTenantRow>`select x.* from ${deletedOf(dialect, byHash.keys())}`,
  );
  for (const row of rows) deletions.set(byHash.get(row.tenant_hash)!, { ms: row.at, id: row.message_id });
  return deletions;
}

/** Holds where none of these tenants was deleted at `since` or after it, as far as that is kept. */
export function wereKept(
  dialect: SqlDialect,
  tenantIds: readonly string[],
  since: number,
): RawBuilder<boolean> {
  return sql`not exists (select 1 from ${deletedOf(dialect, tenantIds.map(hashOf))} where x.at >= ${since})`;
}

/** What is kept of tenants that were deleted, as `x`. */
function deletedOf(dialect: SqlDialect, tenantHashes: Iterable<string>): RawBuilder<unknown> {
  const hashes = dialect.tableOf(
    [...tenantHashes].map((hash) => [hash]),
    { hash: 'text' },
  );
  return sql`${hashes} as r join hookplane_deleted_tenants x on x.tenant_hash = r.hash`;
}

/** Whether a message was made before its tenant was deleted. */
export function isLeft(
  deletions: ReadonlyMap<string, Position>,
  { tenantId, createdAt, id }: Pick<NewMessage, 'tenantId' | 'createdAt' | 'id'>,
): boolean {
  const deletion = tenantId === null ? undefined : deletions.get(tenantId);
  return deletion !== undefined && isUpTo({ ms: createdAt, id }, deletion);
}

/** By the time as well, which may have been set back since: see followClock. */
function isUpTo(position: Position, last: Position): boolean {
  return position.ms < last.ms || (position.ms === last.ms && position.id <= last.id);
}

/** What stays of a tenant for a while does not name it. */
function hashOf(tenantId: string): string {
  return createHash('sha256').update(tenantId).digest('base64url');
}
