import { type Kysely, type RawBuilder, sql } from 'kysely';
import type { SqlDialect } from './dialect.js';
import type { Tables } from './schema.js';
import { rawRows, type Steps } from './steps.js';

// What keeps transactions apart where several write at the same time (`dialect.concurrent`); elsewhere nothing is asked.
// Whoever waits for rows takes them in this order, and those of one table in the order of their ids, so that no two wait
// for each other: tenants, endpoints, messages, deliveries. The lock of a message stands for its deliveries: whoever
// changes one that another may want has locked the message before, and sees after that what the others have committed.
// Leases, and what renews them, wait for nothing: they pass over what another transaction has.

/** For what changes deliveries of these messages, or makes their status of them. */
export function* lockMessages(
  db: Kysely<Tables>,
  dialect: SqlDialect,
  messageIds: readonly string[],
): Steps<void> {
  if (!dialect.concurrent || messageIds.length === 0) return;
  const ids = idTable(dialect, messageIds);
  yield* rawRows(
    db,
    sql`
    select m.id from ${ids} as r join hookplane_messages m on m.id = r.id order by m.id ${dialect.forUpdate('m')}`,
  );
}

/**
 * Keeps tenants from being deleted until the transaction ends; several may at once.
 * @returns those that are there
 */
export function* holdTenants(
  db: Kysely<Tables>,
  dialect: SqlDialect,
  tenantIds: readonly string[],
): Steps<Set<string>> {
  if (!dialect.concurrent || tenantIds.length === 0) return new Set();
  const found = yield* rawRows(db, heldTenants(dialect, tenantIds));
  return new Set(found.map(({ id }) => id));
}

/** Selects those of the tenants that are there, and keeps them from being deleted until the transaction ends. */
export function heldTenants(dialect: SqlDialect, tenantIds: readonly string[]): RawBuilder<{ id: string }> {
  return sql`
    select t.id from ${idTable(dialect, tenantIds)} as r join hookplane_tenants t on t.id = r.id
    order by t.id for key share of t`;
}

/**
 * Keeps an endpoint from being deleted until the transaction ends.
 * @returns it, if it is there
 */
export function* holdEndpoint(
  db: Kysely<Tables>,
  dialect: SqlDialect,
  id: string,
): Steps<{ tenant_id: string | null } | undefined> {
  const held = yield* rawRows(
    db,
    sql<{ tenant_id: string | null }>`
    select tenant_id from hookplane_endpoints where id = ${id} ${dialect.concurrent ? sql`for key share` : sql``}`,
  );
  return held[0];
}

/** For what deletes all endpoints of a tenant; it waits for whoever has one of them. Answers their ids. */
export function* lockEndpointsOf(db: Kysely<Tables>, dialect: SqlDialect, tenantId: string): Steps<string[]> {
  const locked = dialect.concurrent ? sql`order by id for update` : sql``;
  const found = yield* rawRows(
    db,
    sql<{ id: string }>`select id from hookplane_endpoints where tenant_id = ${tenantId} ${locked}`,
  );
  return found.map(({ id }) => id);
}

/**
 * For a lease: what is counted against a limit is counted by one worker at a time.
 * @returns those of the rows that no other transaction has
 */
export function* lockFree(
  db: Kysely<Tables>,
  dialect: SqlDialect,
  table: 'hookplane_endpoints' | 'hookplane_tenants',
  ids: readonly string[],
): Steps<Set<string>> {
  if (ids.length === 0) return new Set();
  const found = yield* rawRows(
    db,
    sql<{ id: string }>`
    select x.id from ${idTable(dialect, ids)} as r join ${sql.table(table)} x on x.id = r.id
    order by x.id for no key update of x skip locked`,
  );
  return new Set(found.map(({ id }) => id));
}

function idTable(dialect: SqlDialect, ids: readonly string[]) {
  return dialect.tableOf(
    [...new Set(ids)].map((id) => [id]),
    { id: 'text' },
  );
}
