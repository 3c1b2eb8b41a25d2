// What is read off a PostgreSQL server of one's own and its host: processor time, log, bytes and rows.
import { cpus } from 'node:os';
import { readdirSync } from 'node:fs';
import pg from 'pg';
import { startServer } from '../../__tests__/support/postgres/start-server.mjs';
import { cpuOf, statOf } from '../support.mjs';

/** The tables that grow, and at which share of dead rows autovacuum comes. */
export const SCALES = { messages: 0.02, payloads: 0.2, deliveries: 0.02, attempts: 0.2 };

/** A server as durable as by default, which makes checkpoints and vacuums when it is told to alone. */
export async function startMeteredServer() {
  const server = await startServer(
    'fsync=on',
    'full_page_writes=on',
    'shared_buffers=512MB',
    'max_wal_size=8GB',
    'checkpoint_timeout=1h',
    'autovacuum=off',
    'autovacuum_naptime=1s',
  );
  const client = new pg.Client({ connectionString: server.url });
  await client.connect();
  const query = async (text) => (await client.query(text)).rows;
  const [{ pid, version }] = await query(
    "select pg_backend_pid() as pid, current_setting('server_version') as version",
  );
  const postmaster = Number(statOf(pid)[1]);

  /** Milliseconds that all processes of the server have had, those that are gone too. */
  function databaseMs() {
    const own = readdirSync('/proc').filter((name) => /^\d+$/.test(name) && isOfServer(name));
    return 1000 * (cpuOf([postmaster], true) + cpuOf(own));
  }
  const isOfServer = (name) => Number(statOf(name)?.[1]) === postmaster;

  async function read() {
    const [row] = await query(`
      select pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0') as wal,
        (select xact_commit from pg_stat_database where datname = current_database()) as transactions,
        (select active_time + idle_in_transaction_time from pg_stat_database
          where datname = current_database()) as "sessionMs",
        (select sum(write_bytes) from pg_stat_io where object = 'relation') as pages`);
    const numbers = Object.fromEntries(Object.entries(row).map(([name, value]) => [name, Number(value)]));
    return { ...numbers, databaseMs: databaseMs(), at: performance.now(), busyMs: busyMs() };
  }

  return {
    url: server.url,
    version,
    query,
    /** What happens meanwhile, and what `work` answers. */
    async during(work) {
      const before = await read();
      const result = await work();
      const after = await read();
      const taken = Object.fromEntries(Object.keys(after).map((name) => [name, after[name] - before[name]]));
      return { ...taken, result };
    },
    /** Bytes and rows of each table of a schema. */
    async tables(schema) {
      const rows = await query(`
        select substr(relname, 11) as name, pg_table_size(relid) as heap, pg_indexes_size(relid) as indexes,
          n_tup_ins as rows, n_tup_upd - n_tup_hot_upd as updated, n_tup_del as deleted
        from pg_stat_user_tables where schemaname = '${schema}'`);
      return Object.fromEntries(
        rows
          .filter(({ name }) => Object.hasOwn(SCALES, name))
          .map(({ name, ...numbers }) => [
            name,
            Object.fromEntries(Object.entries(numbers).map(([key, value]) => [key, Number(value)])),
          ]),
      );
    },
    vacuum: (schema, options = '') =>
      query(
        `vacuum ${options} ${Object.keys(SCALES)
          .map((name) => `${schema}.hookplane_${name}`)
          .join()}`,
      ),
    /** Connections of hookplane, the processes together. */
    connections: async () =>
      Number(
        (await query("select count(*) from pg_stat_activity where application_name = 'hookplane'"))[0].count,
      ),
    async stop() {
      await client.end();
      await server.stop();
    },
  };
}

/** Milliseconds that all processors of the host were at something. */
function busyMs() {
  return cpus().reduce((total, { times }) => total + times.user + times.nice + times.sys + times.irq, 0);
}
