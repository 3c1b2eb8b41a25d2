import { join } from 'node:path';
import Database from 'better-sqlite3';
import { postgresStore } from '../../lib/store/postgres.js';
import { sqliteStore } from '../../lib/store/sqlite.js';
import type { Store } from '../../lib/store/store.js';
import { type Lifetime, onCleanUp } from './clean-up.js';
import { createDatabase, type TestDatabase } from './postgres/database.js';
import { temporaryFolder } from './temporary-folder.js';

/** Whether this run of the suite is on PostgreSQL: see `jest.config.js`. */
export const onPostgres = process.env.HOOKPLANE_TEST_STORE === 'postgres';

/** Where the state of a sender is: the path of a SQLite file, or the name of a schema. */
export type StoredAt = string;

const PREFIX = 'test_';
let database: Promise<TestDatabase> | undefined;
let made = 0;
/** Schemas of tests that are over: to make one takes ten times as long as to empty one. */
const used: string[] = [];

/** A place for the state of a sender, gone when the lifetime ends. */
export async function newPlace(lifetime: Lifetime = 'test'): Promise<StoredAt> {
  if (!onPostgres) return join(await temporaryFolder(lifetime), 'hookplane.sqlite');
  database ??= createDatabase();
  await database;
  const again = used.pop();
  if (again !== undefined) await (await database).empty(again);
  const schema = again ?? `${PREFIX}${++made}`;
  onCleanUp(lifetime, 'folder', async () => void used.push(schema));
  return schema;
}

export async function storeAt(place: StoredAt, { migrate = true } = {}): Promise<Store> {
  if (!place.startsWith(PREFIX)) return sqliteStore({ file: place, migrate });
  const { url } = await database!;
  // A machine that is busy with other things must not fail a test.
  return postgresStore({ connectionString: url, schema: place, migrate, statementTimeoutMs: 20_000 });
}

/** Runs a statement with a `?` for each value. */
export async function executeAt(place: StoredAt, text: string, values: unknown[]): Promise<void> {
  if (place.startsWith(PREFIX)) {
    let count = 0;
    const own = text.replace(/\?/g, () => `$${++count}`).replace(/\b(hookplane_\w+)/g, `${place}.$1`);
    await (await database!).query(own, values);
    return;
  }
  const file = new Database(place);
  try {
    file.prepare(text).run(values);
  } finally {
    file.close();
  }
}

/** Every row of every table, by the name of the table. */
export async function rowsAt(place: StoredAt): Promise<Record<string, Record<string, unknown>[]>> {
  if (place.startsWith(PREFIX)) return (await database!).rows(place);
  const file = new Database(place, { readonly: true });
  try {
    const tables = file
      .prepare("select name from sqlite_master where type = 'table' and name like 'hookplane%' order by name")
      .pluck()
      .all() as string[];
    const rowsOf = (name: string) => file.prepare(`select * from ${name} order by 1, 2`).all();
    return Object.fromEntries(tables.map((name) => [name, rowsOf(name) as Record<string, unknown>[]]));
  } finally {
    file.close();
  }
}
