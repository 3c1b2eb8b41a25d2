import { randomBytes } from 'node:crypto';
import { Client } from 'pg';
import { type Lifetime, onCleanUp } from '../clean-up.js';

export interface TestDatabase {
  /** The connection string. */
  url: string;
  /** Runs SQL on a connection that no store has. */
  query(text: string, values?: unknown[]): Promise<Record<string, unknown>[]>;
  /** Empties the tables of a store in this schema. */
  empty(schema: string): Promise<void>;
  /** Every row of every table of a store in this schema. */
  rows(schema: string): Promise<Record<string, Record<string, unknown>[]>>;
}

/** A new database on the server of the test run, dropped when its lifetime ends. */
export async function createDatabase(lifetime: Lifetime = 'file'): Promise<TestDatabase> {
  const server = process.env.HOOKPLANE_TEST_POSTGRES_URL;
  if (!server)
    throw new Error('The test run has no PostgreSQL server: see support/postgres/global-setup.mjs');
  const name = `hookplane_test_${randomBytes(8).toString('hex')}`;
  await onServer(server, `create database ${name}`);
  const url = new URL(server);
  url.pathname = `/${name}`;
  const client = new Client({ connectionString: url.href });
  // Tests cut connections, and may cut this one.
  client.on('error', () => {});
  await client.connect();
  onCleanUp(lifetime, 'folder', async () => {
    await client.end();
    await onServer(server, `drop database ${name} with (force)`);
  });
  let last: Promise<unknown> = Promise.resolve();
  const query: TestDatabase['query'] = async (text, values) => {
    const next = last.then(() => client.query(text, values));
    last = next.catch(() => {});
    return (await next).rows;
  };
  async function tablesOf(schema: string): Promise<string[]> {
    const found = await query(
      'select tablename from pg_tables where schemaname = $1 order by tablename collate "C"',
      [schema],
    );
    return found.map(({ tablename }) => String(tablename));
  }
  return {
    url: url.href,
    query,
    async empty(schema) {
      const tables = (await tablesOf(schema)).filter((name) => name !== 'hookplane_schema_migrations');
      await query(tables.map((name) => `delete from ${schema}.${name}`).join('; '));
    },
    async rows(schema) {
      const all: Record<string, Record<string, unknown>[]> = {};
      for (const name of await tablesOf(schema)) {
        all[name] = await query(`select * from ${schema}.${name} order by 1, 2`);
      }
      return all;
    },
  };
}

async function onServer(url: string, text: string): Promise<void> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    await client.query(text);
  } finally {
    await client.end();
  }
}
