import { sql } from 'kysely';
import { HookplaneError } from '../model/errors.js';
import { createDatabaseClock } from './sql/database-clock.js';
import type { SqlDialect } from './sql/dialect.js';
import { CONNECT_TIMEOUT_MS, type PostgresPool } from './sql/postgres-client.js';
import { connectPostgres } from './sql/postgres-connection.js';
import { translatePostgresError } from './sql/postgres-errors.js';
import { rowTable } from './sql/postgres-statements.js';
import { createSqlStore } from './sql/sql-store.js';
import { createWakeUps, type WakeUps } from './sql/postgres-wake.js';
import type { Store } from './store.js';

export type { PostgresClient, PostgresPool } from './sql/postgres-client.js';

interface PostgresSettings {
  /**
   * The schema that the tables lie in, made when absent: letters, digits and `_`, at most 40.
   * @default 'hookplane'
   */
  schema?: string;
  /**
   * Milliseconds that a statement may take, waiting for locks included; what takes longer fails with
   * `STORE_UNAVAILABLE`. A connection that gives no answer at all is given up half a second later. The `leaseMs` of a
   * sender has to be longer.
   * @default 4000
   */
  statementTimeoutMs?: number;
  /**
   * Bring the schema up to date when it is opened; otherwise an older one is refused.
   * @default true
   */
  migrate?: boolean;
  /**
   * Prepare statements on their connections. PgBouncer in transaction mode knows nothing of them unless its
   * `max_prepared_statements` is set: `false` there.
   * @default true
   */
  prepare?: boolean;
  /**
   * Have the workers of other processes deliver at once what this one sends, by LISTEN and NOTIFY: a worker then has a
   * connection of its own for it. Without it, and behind PgBouncer in transaction mode, which does not pass
   * notifications on, they find it when they look, every `pollIntervalMs`.
   * @default true
   */
  listen?: boolean;
}

export type PostgresStoreOptions = PostgresSettings &
  (
    | {
        /** `postgres://user:password@host:5432/database`, with whatever else `pg` reads from it. */
        connectionString: string;
        /**
         * Connections at most, beside the one for `listen`. A worker needs two or three, each send or request under
         * way one.
         * @default 10
         */
        maxConnections?: number;
        pool?: never;
      }
    | {
        /** A pool of `pg` of the application's; it is left open. */
        pool: PostgresPool;
        connectionString?: never;
        maxConnections?: never;
      }
  );

const SCHEMA = /^[a-z_][a-z0-9_]{0,39}$/i;

/**
 * A store in a PostgreSQL database (13 or later), by the package `pg`, for processes on any number of machines. Leases
 * go by the clock of the database. A send is as durable as the database's `synchronous_commit` makes it.
 * @throws HookplaneError `INVALID_OPTIONS`
 */
export function postgresStore(options: PostgresStoreOptions): Store {
  const { schema = 'hookplane', statementTimeoutMs = 4000, maxConnections = 10 } = checked(options);
  const { migrate = true, prepare = true, listen = true } = options;
  const clock = createDatabaseClock();
  const wakeUps = listen ? createWakeUps(`hookplane ${schema}`) : null;
  const store = createSqlStore({
    dialect: { ...postgresDialect(schema, wakeUps), latest: clock.latest },
    migrate,
    async connect() {
      const keepOpen = options.pool !== undefined;
      const max = wakeUps ? maxConnections + 1 : maxConnections;
      const pool = options.pool ?? (await openPool(options.connectionString, max));
      const connection = connectPostgres({ pool, keepOpen, schema, prepare, statementTimeoutMs, clock });
      const detach = wakeUps?.attach(pool);
      return {
        ...connection,
        async close() {
          await detach?.();
          await connection.close();
        },
      };
    },
  });
  const outbox = wakeUps ? { ...store.outbox, onWake: wakeUps.onWake } : store.outbox;
  return { ...store, outbox, now: clock.now, statementTimeoutMs };
}

function checked(options: PostgresStoreOptions): PostgresStoreOptions {
  const { connectionString, pool, schema, statementTimeoutMs, maxConnections } = options;
  if (!pool && (typeof connectionString !== 'string' || connectionString === '')) {
    throw new HookplaneError('INVALID_OPTIONS', 'postgresStore needs a connectionString, or a pool of pg');
  }
  if (schema !== undefined && !SCHEMA.test(schema)) {
    const problem = `schema ${JSON.stringify(schema)} must be 1 to 40 letters, digits and "_", no digit first`;
    throw new HookplaneError('INVALID_OPTIONS', problem);
  }
  for (const [name, value] of Object.entries({ statementTimeoutMs, maxConnections })) {
    if (value !== undefined && !(Number.isInteger(value) && value > 0)) {
      throw new HookplaneError('INVALID_OPTIONS', `${name} must be a whole number above 0`);
    }
  }
  return options;
}

async function openPool(connectionString: string, max: number): Promise<PostgresPool> {
  let pg: { Pool: typeof import('pg').Pool };
  try {
    ({ default: pg } = await import('pg'));
  } catch (cause) {
    throw new HookplaneError('INVALID_OPTIONS', 'postgresStore needs the package pg: install it', { cause });
  }
  return new pg.Pool({
    connectionString,
    max,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    keepAlive: true,
    // A statement need not wait for the answer of the one before. Older versions do not know it.
    pipeline: true,
    fallback_application_name: 'hookplane',
  });
}

function postgresDialect(schema: string, wakeUps: WakeUps | null): SqlDialect {
  return {
    tableOf: rowTable,
    text: sql`text collate "C"`,
    clustered: sql``,
    // Rows that come and go within seconds are not to wait until a fifth of the table is dead.
    busy: sql` with (autovacuum_vacuum_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.05)`,
    concurrent: true,
    skipLocked: (of) =>
      of === undefined ? sql`for update skip locked` : sql`for update of ${sql.ref(of)} skip locked`,
    forUpdate: (of) => (of === undefined ? sql`for update` : sql`for update of ${sql.ref(of)}`),
    findTable: (name) =>
      sql`select 1 from pg_catalog.pg_tables where schemaname = ${schema} and tablename = ${name}`,
    beforeMigration: [
      sql`select pg_advisory_xact_lock(hashtext(${`hookplane ${schema}`}))`,
      // Not `if not exists`, which asks for the right to make schemas even where there is nothing to make.
      sql.raw(`do $$ begin
        if not exists (select 1 from pg_catalog.pg_namespace where nspname = '${schema}') then
          create schema "${schema}";
        end if;
      end $$`),
    ],
    ...(wakeUps && { announceDue: wakeUps.announcement }),
    translateError: translatePostgresError,
  };
}
