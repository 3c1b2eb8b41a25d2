import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { startServer } from '../../../__tests__/support/postgres/start-server.mjs';
import { createRandom } from '../random.mjs';

/** Longer than any outage that a campaign makes. */
const PATIENCE_MS = 60_000;
/** One statement in so many has its connection cut, where a process is told to cut them. */
const CUT_ONE_IN = 100;

const toNumber = { getTypeParser: (oid) => (oid === 20 ? Number : String) };

/** What this process has started and opened, by the URL. */
const servers = new Map();
const pools = new Map();

export const postgres = {
  /** A server of the campaign's own, which it may kill. */
  async create() {
    const server = await startServer();
    servers.set(server.url, server);
    return { url: server.url };
  },

  server: ({ url }) => servers.get(url),

  /**
   * @param options.afterStatement called when a statement has been answered, those that begin and end transactions included
   * @param options.cuts a seed: connections are cut before, while or after one of their statements
   */
  async open({ url }, { afterStatement, cuts } = {}) {
    const { postgresStore } = await import('../package.mjs');
    if (!afterStatement && !cuts) return postgresStore({ connectionString: url });
    const pool = new pg.Pool({ connectionString: url, connectionTimeoutMillis: 4000 });
    const random = cuts && createRandom(cuts);
    pool.on('connect', (client) => watch(client, { afterStatement, random }));
    return postgresStore({ pool });
  },

  /** Rows as they lie in the database, read beside those who work with it; asked again when the server is away. */
  async query({ url }, sql) {
    if (!pools.has(url)) {
      const pool = new pg.Pool({
        connectionString: url,
        options: '-c search_path=hookplane',
        types: toNumber,
      });
      pool.on('error', () => {});
      pool.on('connect', (client) => client.on('error', () => {}));
      pools.set(url, pool);
    }
    for (const end = Date.now() + PATIENCE_MS; ; await sleep(50)) {
      try {
        return (await pools.get(url).query(sql)).rows;
      } catch (error) {
        if (error.severity === 'ERROR' || Date.now() > end) throw error;
      }
    }
  },

  /** Every row by its indexes: what a crash had left half written would not be found, or be found twice. */
  async damage(descriptor) {
    const tables = await postgres.query(
      descriptor,
      `select tablename from pg_tables where schemaname = 'hookplane' order by 1`,
    );
    await postgres.query(descriptor, 'create extension if not exists amcheck');
    const failures = [];
    for (const { tablename } of tables) {
      const check = `select bt_index_check(indexrelid, true) from pg_index where indrelid = '${tablename}'::regclass`;
      await postgres.query(descriptor, check).catch((error) => failures.push(String(error)));
    }
    return failures;
  },

  async close({ url }) {
    await pools.get(url)?.end();
    await servers.get(url).stop();
  },
};

function watch(client, { afterStatement, random }) {
  const query = client.query.bind(client);
  const cut = () => client.connection.stream.destroy();
  client.on('error', () => {});
  client.query = (...given) => {
    const when = random?.integer(1, CUT_ONE_IN) === 1 ? random.pick(['before', 'while', 'after']) : null;
    if (when === 'before') cut();
    const result = query(...given);
    if (when === 'while') setImmediate(cut);
    return afterStatement || when === 'after'
      ? result.then((answer) => {
          if (when === 'after') cut();
          afterStatement?.();
          return answer;
        })
      : result;
  };
}
