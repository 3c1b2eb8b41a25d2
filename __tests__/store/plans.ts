import { join } from 'node:path';
import Database from 'better-sqlite3';
import { Pool } from 'pg';
import { postgresStore } from '../../lib/store/postgres.js';
import { sqliteStore } from '../../lib/store/sqlite.js';
import type { Store } from '../../lib/store/store.js';
import { onCleanUp } from '../support/clean-up.js';
import { createDatabase } from '../support/postgres/database.js';
import { temporaryFolder } from '../support/sender.js';

/** A store, and how its database goes about the statements that some work makes: a text for each. */
export interface PlannedStore {
  store: Store;
  plansOf(work: () => Promise<unknown>): Promise<string[]>;
}

const IS_PLANNED = /^\s*(?:with|select|update|delete)\b/i;

export async function planSqlite(): Promise<PlannedStore> {
  const database = new Database(join(await temporaryFolder('file'), 'store.sqlite'));
  const texts = new Set<string>();
  const { prepare } = database;
  database.prepare = ((text: string) => {
    texts.add(text);
    return prepare.call(database, text);
  }) as typeof prepare;
  const store = sqliteStore({ database });
  onCleanUp('file', 'sender', () => store.close());
  onCleanUp('file', 'folder', async () => void database.close());
  await store.open();
  return {
    store,
    async plansOf(work) {
      // Statements are prepared once: the store is told to forget them.
      await store.close();
      await store.open();
      texts.clear();
      await work();
      return [...texts]
        .filter((text) => IS_PLANNED.test(text))
        .map((text) => {
          const parameters: null[] = Array(text.split('?').length - 1).fill(null);
          const rows = database.prepare<null[]>(`explain query plan ${text}`).all(...parameters);
          return (rows as { detail: string }[]).map(({ detail }) => detail).join('\n');
        });
    },
  };
}

/**
 * Its tables are small, so the planner is told not to read them whole, nor to sort, where there is another way. Statements
 * are planned under the settings of their transactions.
 */
export async function planPostgres(): Promise<PlannedStore & { analyze(): Promise<unknown> }> {
  const database = await createDatabase();
  const pool = new Pool({ connectionString: database.url });
  const statements: { text: string; values?: unknown[] }[] = [];
  pool.on('connect', (client) => {
    const query = client.query.bind(client) as (statement: unknown) => unknown;
    client.query = ((statement: { text: string }) => {
      statements.push(statement);
      return query(statement);
    }) as typeof client.query;
  });
  const store = postgresStore({ pool, schema: 'planned', listen: false, statementTimeoutMs: 20_000 });
  onCleanUp('file', 'sender', async () => {
    await store.close();
    await pool.end();
  });
  await store.open();
  for (const way of ['seqscan', 'bitmapscan', 'hashjoin', 'mergejoin', 'sort', 'incremental_sort'])
    await database.query(`set enable_${way} = off`);
  return {
    store,
    analyze: () => database.query('analyze'),
    async plansOf(work) {
      statements.length = 0;
      await work();
      const plans: string[] = [];
      let isGeneric = false;
      for (const { text, values } of statements) {
        if (text.startsWith('begin')) {
          await database.query('rollback');
          await database.query(text);
          isGeneric = text.includes('force_generic_plan');
        }
        if (!IS_PLANNED.test(text)) continue;
        const rows = isGeneric
          ? await database.query(`explain (costs off, generic_plan) ${text}`)
          : await database.query(`explain (costs off) ${text}`, values);
        plans.push(rows.map((row) => row['QUERY PLAN']).join('\n'));
      }
      await database.query('rollback');
      return plans;
    },
  };
}
