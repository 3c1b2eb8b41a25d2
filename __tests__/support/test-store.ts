import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { postgresStore } from '../../lib/store/postgres.js';
import { sqliteStore } from '../../lib/store/sqlite.js';
import type { Store } from '../../lib/store/store.js';
import { type Lifetime, onCleanUp } from './clean-up.js';
import { type SharedDatabase, sharedDatabase } from './postgres/database.js';
import { temporaryFolder } from './temporary-folder.js';

/** Whether this run of the suite is on PostgreSQL: see `jest.config.js`. */
export const onPostgres = process.env.HOOKPLANE_TEST_STORE === 'postgres';

/** Where the state of a sender is: the path of a SQLite file, or the name of a schema. */
export type StoredAt = string;

export type Row = Record<string, unknown>;

/** A machine that is busy with other things must not fail a test. */
const STATEMENT_TIMEOUT_MS = 20_000;

const PREFIX = 'test_';
let database: Promise<SharedDatabase> | undefined;
/** Schemas of tests that are over: to make one takes a hundred times as long as to empty one. */
let free: string[] = [];
let made = 0;
/** Schemas whose tables are not as they were made. */
const altered = new Set<StoredAt>();

/** A place for the state of a sender, gone when the lifetime ends. */
export async function newPlace(lifetime: Lifetime = 'test'): Promise<StoredAt> {
  if (!onPostgres) return join(await temporaryFolder(lifetime), 'hookplane.sqlite');
  database ??= openDatabase();
  const { empty } = await database;
  const again = free.pop();
  if (again !== undefined) await empty(again);
  const schema = again ?? `${PREFIX}${++made}`;
  onCleanUp(lifetime, 'folder', async () => {
    if (!altered.has(schema)) free.push(schema);
    else await (await database!).query(`drop schema ${schema} cascade`);
  });
  return schema;
}

async function openDatabase(): Promise<SharedDatabase> {
  const opened = await sharedDatabase();
  free = await opened.schemas(PREFIX);
  made = Math.max(0, ...free.map((name) => Number(name.slice(PREFIX.length))));
  return opened;
}

export async function storeAt(place: StoredAt, { migrate = true } = {}): Promise<Store> {
  if (!onPostgres) return sqliteStore({ file: place, migrate });
  const { pool } = await database!;
  return postgresStore({ pool, schema: place, migrate, statementTimeoutMs: STATEMENT_TIMEOUT_MS });
}

/** A store that shares what it has with nobody. */
export async function newStore(lifetime: Lifetime = 'test'): Promise<Store> {
  return onPostgres ? storeAt(await newPlace(lifetime)) : sqliteStore({ file: ':memory:' });
}

/** Runs a statement with a `?` for each value, past every store. Answers the rows that it answers. */
export async function queryAt(place: StoredAt, text: string, values: unknown[] = []): Promise<Row[]> {
  if (onPostgres) {
    let count = 0;
    const own = text.replace(/\?/g, () => `$${++count}`).replace(/\b(hookplane_\w+)/g, `${place}.$1`);
    return (await database!).query(own, values);
  }
  const file = new Database(place);
  try {
    const statement = file.prepare<unknown[], Row>(text);
    if (statement.reader) return statement.all(values);
    statement.run(values);
    return [];
  } finally {
    file.close();
  }
}

/** Changes the tables themselves. */
export async function alterAt(place: StoredAt, text: string): Promise<void> {
  altered.add(place);
  await queryAt(place, text);
}

/** Every row of every table, by the name of the table. */
export async function rowsAt(place: StoredAt): Promise<Record<string, Row[]>> {
  if (onPostgres) return (await database!).rows(place);
  const file = new Database(place, { readonly: true });
  try {
    const tables = file
      .prepare("select name from sqlite_master where type = 'table' and name like 'hookplane%' order by name")
      .pluck()
      .all() as string[];
    const rowsOf = (name: string) => file.prepare(`select * from ${name} order by 1, 2`).all();
    return Object.fromEntries(tables.map((name) => [name, rowsOf(name) as Row[]]));
  } finally {
    file.close();
  }
}

/** What the disk holds of it at this moment, deleted rows included. */
export async function bytesAt(place: StoredAt): Promise<Buffer> {
  if (!onPostgres) {
    const files = ['', '-wal', '-shm'].map((end) => `${place}${end}`).filter((name) => existsSync(name));
    return Buffer.concat(files.map((name) => readFileSync(name)));
  }
  const { query } = await database!;
  await query('checkpoint');
  const relations = await query(
    `select pg_read_binary_file(pg_relation_filepath(oid)) as bytes from pg_class
      where relnamespace = $1::regnamespace and relkind in ('r', 'i')`,
    [place],
  );
  return Buffer.concat(relations.map(({ bytes }) => Buffer.from(String(bytes).slice(2), 'hex')));
}

/** A database of the application's: a handle of SQLite, or a pool. */
export interface ApplicationDatabase {
  place: StoredAt;
  store: Store;
  close(): Promise<void>;
  /** From now on its disk takes nothing more. */
  fill(): Promise<void>;
  /** The disk has room again. */
  clear(): Promise<void>;
}

export async function applicationDatabase(): Promise<ApplicationDatabase> {
  const place = await newPlace();
  return onPostgres ? applicationPool(place) : applicationFile(place);
}

function applicationFile(place: StoredAt): ApplicationDatabase {
  const file = new Database(place);
  const close = async () => void file.close();
  onCleanUp('test', 'folder', close);
  return {
    place,
    store: sqliteStore({ database: file }),
    close,
    fill: async () => void file.pragma(`max_page_count = ${file.pragma('page_count', { simple: true })}`),
    clear: async () => void file.pragma('max_page_count = 1000000'),
  };
}

/** No disk of a server can be filled by a test: the tables say so in its stead, as it would. */
async function applicationPool(place: StoredAt): Promise<ApplicationDatabase> {
  const { newPool, query } = await database!;
  const pool = newPool();
  const close = async () => {
    if (!pool.ending) await pool.end();
  };
  onCleanUp('test', 'folder', close);
  return {
    place,
    store: postgresStore({ pool, schema: place, statementTimeoutMs: STATEMENT_TIMEOUT_MS }),
    close,
    async fill() {
      altered.add(place);
      await query(`create function ${place}.full_disk() returns trigger language plpgsql as $$ begin
        raise 'could not extend file: No space left on device' using errcode = 'disk_full';
      end $$`);
      for (const table of ['endpoints', 'messages', 'attempts']) {
        await query(`create trigger full_disk before insert on ${place}.hookplane_${table}
          for each statement execute function ${place}.full_disk()`);
      }
    },
    clear: async () => void (await query(`drop function ${place}.full_disk cascade`)),
  };
}
