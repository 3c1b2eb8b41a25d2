import { randomBytes } from 'node:crypto';
import { Client, Pool, type QueryResult } from 'pg';
import { TYPES } from '../../../lib/store/sql/postgres-statements.js';
import { type Lifetime, onCleanUp } from '../clean-up.js';

type Rows = Record<string, unknown>[];

interface Contents {
  /** Runs SQL on a connection that no store has. */
  query(text: string, values?: unknown[]): Promise<Rows>;
  /** Empties the tables of a store in this schema. */
  empty(schema: string): Promise<void>;
  /** Every row of every table of a store in this schema. */
  rows(schema: string): Promise<Record<string, Rows>>;
}

export interface TestDatabase extends Contents {
  /** The connection string. */
  url: string;
}

export interface SharedDatabase extends Contents {
  /** For all the stores of a test file: to connect takes longer than most tests. */
  pool: Pool;
  newPool(): Pool;
  /** The names of the schemas that begin so. */
  schemas(prefix: string): Promise<string[]>;
}

/** A new database on the server of the test run, dropped when its lifetime ends. */
export async function createDatabase(lifetime: Lifetime = 'file'): Promise<TestDatabase> {
  const name = `hookplane_test_${randomBytes(8).toString('hex')}`;
  await onServer(`create database ${name}`);
  const url = urlOf(name);
  const client = new Client({ connectionString: url });
  // Tests cut connections, and may cut this one.
  client.on('error', () => {});
  await client.connect();
  onCleanUp(lifetime, 'folder', async () => {
    await client.end();
    await onServer(`drop database ${name} with (force)`);
  });
  let last: Promise<unknown> = Promise.resolve();
  const contents = contentsBy((text, values) => {
    const next = last.then(() => client.query(text, values));
    last = next.catch(() => {});
    return next;
  });
  return { url, ...contents };
}

/**
 * The database of this worker of the test run: what a test file leaves in it is there for the next one. Gives numbers as
 * SQLite does.
 */
export async function sharedDatabase(): Promise<SharedDatabase> {
  const name = `${process.env.HOOKPLANE_TEST_DATABASES}${process.env.JEST_WORKER_ID}`;
  const found = await onServer(`select from pg_database where datname = '${name}'`);
  if (found.length === 0) await onServer(`create database ${name}`);
  const settings = { connectionString: urlOf(name), pipeline: true };
  const pool = new Pool({ ...settings, types: TYPES, max: 50, idleTimeoutMillis: 0 });
  pool.setMaxListeners(0);
  onCleanUp('file', 'folder', () => pool.end());
  const contents = contentsBy((text, values) => pool.query(text, values));
  return {
    pool,
    newPool: () => new Pool(settings),
    ...contents,
    async schemas(prefix) {
      const rows = await contents.query('select nspname from pg_namespace where starts_with(nspname, $1)', [
        prefix,
      ]);
      return rows.map(({ nspname }) => String(nspname));
    },
  };
}

function contentsBy(run: (text: string, values?: unknown[]) => Promise<QueryResult>): Contents {
  const tables = new Map<string, string[]>();
  const query: Contents['query'] = async (text, values) => (await run(text, values)).rows;

  async function tablesOf(schema: string): Promise<string[]> {
    const known = tables.get(schema);
    if (known) return known;
    const rows = await query(
      'select tablename from pg_tables where schemaname = $1 order by tablename collate "C"',
      [schema],
    );
    const found = rows.map(({ tablename }) => String(tablename));
    if (found.length > 0) tables.set(schema, found);
    return found;
  }

  return {
    query,
    async empty(schema) {
      const emptied = (await tablesOf(schema)).filter((name) => name !== 'hookplane_schema_migrations');
      await query(emptied.map((name) => `delete from ${schema}.${name}`).join('; '));
    },
    async rows(schema) {
      const names = await tablesOf(schema);
      if (names.length === 0) return {};
      // Several statements at once are answered by as many results.
      const results = await run(
        names.map((name) => `select * from ${schema}.${name} order by 1, 2`).join('; '),
      );
      return Object.fromEntries([results].flat().map((result, index) => [names[index]!, result.rows]));
    },
  };
}

function urlOf(name: string): string {
  const url = new URL(server());
  url.pathname = `/${name}`;
  return url.href;
}

function server(): string {
  const url = process.env.HOOKPLANE_TEST_POSTGRES_URL;
  if (url) return url;
  throw new Error('The test run has no PostgreSQL server: see support/postgres/global-setup.mjs');
}

async function onServer(text: string): Promise<Rows> {
  const client = new Client({ connectionString: server() });
  await client.connect();
  try {
    return (await client.query(text)).rows;
  } finally {
    await client.end();
  }
}
