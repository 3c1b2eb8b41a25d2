import { type Kysely, sql } from 'kysely';
import { HookplaneError } from '../../model/errors.js';
import type { SchemaState } from '../store.js';
import type { SqlDialect } from './dialect.js';
import { initial } from './migrations/0001-initial.js';
import type { Migration } from './migrations/migration.js';
import type { Tables } from './schema.js';
import { changesOf, firstOf, rawChanges, rawRows, type SqlConnection, type Steps } from './steps.js';

const MIGRATIONS: readonly Migration[] = [initial];

/** The version of the schema that this package works with. */
export const SCHEMA_VERSION = MIGRATIONS.length;

/**
 * Brings the schema up to date inside a transaction that excludes other migrations. (Kysely's own migrator opens a
 * deferred one on SQLite, in which two processes that start at once can both believe they are first.)
 * @throws HookplaneError `MIGRATION_REQUIRED` for a newer schema, or an older one when `apply` is false
 */
export async function migrate(
  connection: SqlConnection,
  dialect: SqlDialect,
  apply: boolean,
  now: number,
): Promise<void> {
  const { db } = connection;
  const before = await connection.read(() => schemaVersion(db, dialect));
  if (before === SCHEMA_VERSION) return;
  if (before > SCHEMA_VERSION) {
    throw new HookplaneError(
      'MIGRATION_REQUIRED',
      `The store has schema version ${before}, newer than the ${SCHEMA_VERSION} this version of hookplane works with: upgrade hookplane`,
    );
  }
  if (!apply) {
    throw new HookplaneError(
      'MIGRATION_REQUIRED',
      `The store has schema version ${before}, this version of hookplane needs ${SCHEMA_VERSION}: migrate it`,
    );
  }
  await connection.migrate(() => applyMigrations(db, dialect, now));
}

/** How far the schema is. Changes nothing. */
export async function schemaState(connection: SqlConnection, dialect: SqlDialect): Promise<SchemaState> {
  const version = await connection.read(() => schemaVersion(connection.db, dialect));
  const pending = MIGRATIONS.slice(version).map((each) => ({ version: each.version, name: each.name }));
  return { version, wanted: SCHEMA_VERSION, pending };
}

function* applyMigrations(db: Kysely<Tables>, dialect: SqlDialect, now: number): Steps<void> {
  for (const statement of dialect.beforeMigration) yield* rawChanges(db, statement);
  yield* rawChanges(
    db,
    sql`create table if not exists hookplane_schema_migrations (
      version bigint primary key, name text not null, applied_at bigint not null)`,
  );
  const current = yield* schemaVersion(db, dialect);
  for (const { version, name, statements } of MIGRATIONS.slice(current)) {
    for (const statement of statements(dialect)) yield* rawChanges(db, statement);
    yield* changesOf(db.insertInto('hookplane_schema_migrations').values({ version, name, applied_at: now }));
  }
}

function* schemaVersion(db: Kysely<Tables>, dialect: SqlDialect): Steps<number> {
  const found = yield* rawRows(db, dialect.findTable('hookplane_schema_migrations'));
  if (found.length === 0) return 0;
  const row = yield* firstOf(
    db.selectFrom('hookplane_schema_migrations').select((eb) => eb.fn.max('version').as('version')),
  );
  return Number(row?.version ?? 0);
}
