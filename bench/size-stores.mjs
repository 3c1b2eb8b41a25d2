// The stores of bench/size.mjs, filled: a file of SQLite for each size, or a schema of PostgreSQL.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import Database from 'better-sqlite3';
import { sqliteStore } from 'hookplane';
import { postgresStore } from 'hookplane/postgres';
import pg from 'pg';
import { fillStore } from './size-fill.mjs';

/** When messages of a store were made, by what it holds. */
const SPAN = (table) => `select min(created_at) as first, max(created_at) as last from ${table('messages')}`;

/** @returns `open(count)`, which answers a store of so many messages, when they were made, and how to look into it */
export function sqliteStores(folder) {
  const table = (name) => `hookplane_${name}`;
  return {
    async open(count) {
      const file = join(folder, `${count}.sqlite`);
      const isFilled = existsSync(file);
      // Deliveries are not what is measured: no send waits for the disk.
      const store = sqliteStore({ file, synchronous: 'normal' });
      await store.open();
      const database = new Database(file);
      database.pragma('cache_size = -1000000');
      database.pragma('synchronous = off');
      if (!isFilled) await fillStore({ run: async (text) => void database.exec(text), table, count });
      database.pragma('wal_checkpoint(truncate)');
      const { first, last } = database.prepare(SPAN(table)).get();
      return {
        store,
        first,
        last,
        sizes: () =>
          database
            .prepare('select name, sum(pgsize) as bytes from dbstat group by name order by 2 desc')
            .all(),
        close: async () => {
          database.close();
          await store.close();
        },
      };
    },
    close: async () => {},
  };
}

/** In the database of `url`, or in one of a server that is started for it. */
export async function postgresStores(url) {
  const server = url ? undefined : await startServer();
  const connectionString = url ?? server.url;
  return {
    async open(count) {
      const schema = `size_${count}`;
      const client = new pg.Client({ connectionString });
      // A server that is stopped after a failure must not hide it.
      client.on('error', () => {});
      await client.connect();
      const { rowCount } = await client.query('select from pg_namespace where nspname = $1', [schema]);
      const store = postgresStore({ connectionString, schema, listen: false });
      await store.open();
      const table = (name) => `${schema}.hookplane_${name}`;
      if (rowCount === 0) await fillStore({ run: (text) => client.query(text), table, count });
      await client.query('vacuum analyze');
      const { first, last } = (await client.query(SPAN(table))).rows[0];
      return {
        store,
        first: Number(first),
        last: Number(last),
        sizes: async () =>
          (
            await client.query(
              `select relname as name, pg_relation_size(c.oid) as bytes from pg_class c
                where relnamespace = '${schema}'::regnamespace and relkind in ('r', 'i') order by 2 desc`,
            )
          ).rows.map(({ name, bytes }) => ({ name, bytes: Number(bytes) })),
        close: async () => {
          await client.end();
          await store.close();
        },
      };
    },
    close: async () => server?.stop(),
  };
}

/** The server of the tests. */
async function startServer() {
  const file = fileURLToPath(new URL('../__tests__/support/postgres/server.mjs', import.meta.url));
  const child = spawn(process.execPath, [file], { stdio: ['pipe', 'pipe', 'inherit'] });
  const [url] = await once(createInterface(child.stdout), 'line');
  return {
    url,
    async stop() {
      const ended = once(child, 'exit');
      child.stdin.end();
      await ended;
    },
  };
}
