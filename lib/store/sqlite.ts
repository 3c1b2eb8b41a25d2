import { sql } from 'kysely';
import { HookplaneError } from '../model/errors.js';
import type { SqlDialect } from './sql/dialect.js';
import { createSqlStore } from './sql/sql-store.js';
import { connectSqlite } from './sql/sqlite-connection.js';
import { createWhenUnlocked, LOCK_TIMEOUT_MS, WAIT_IN_CALL_MS } from './sql/sqlite-lock.js';
import type { BetterSqlite3Database } from './sql/sqlite-statements.js';
import type { ColumnKind } from './sql/steps.js';
import type { Store } from './store.js';

export type { BetterSqlite3Database } from './sql/sqlite-statements.js';

interface SqliteSettings {
  /**
   * `full`: a send is on the disk when it is answered. `normal`: it survives the death of the process, but a power
   * failure can take back the last ones; several times faster on a disk that is slow to flush.
   * @default 'full'
   */
  synchronous?: 'full' | 'normal';
  /**
   * Bring the schema up to date when it is opened; otherwise an older one is refused.
   * @default true
   */
  migrate?: boolean;
}

export type SqliteStoreOptions = SqliteSettings &
  (
    | {
        /** Path of the database file, made when absent; its folder must exist. `:memory:` keeps nothing. */
        file: string;
        database?: never;
      }
    | {
        /**
         * An open better-sqlite3 database of the application's; it is left open. A transaction of the store begins
         * and ends within one call, so none ever takes in what the application writes.
         */
        database: BetterSqlite3Database;
        file?: never;
      }
  );

/**
 * A store in one SQLite file, by better-sqlite3. Processes on one machine may share the file; it must not lie on a
 * network file system.
 * @throws HookplaneError `INVALID_OPTIONS`
 */
export function sqliteStore(options: SqliteStoreOptions): Store {
  const synchronous = options.synchronous ?? 'full';
  if (!options.database && (typeof options.file !== 'string' || options.file === '')) {
    throw new HookplaneError('INVALID_OPTIONS', 'sqliteStore needs a file, or a database of better-sqlite3');
  }
  return createSqlStore({
    dialect: sqliteDialect,
    migrate: options.migrate ?? true,
    async connect() {
      const keepOpen = options.database !== undefined;
      const database = options.database ?? (await openFile(options.file));
      try {
        // Every time: a WAL database that is opened again runs with `normal` unless it is told otherwise, and an
        // acknowledged send could then vanish in a power failure.
        // Of several processes that find an empty file at once, all but one are refused the switch without any wait.
        await createWhenUnlocked(LOCK_TIMEOUT_MS)(() => database.pragma('journal_mode = WAL'));
        database.pragma(`synchronous = ${synchronous}`);
        // On macOS SQLite would else be content with less than the disk (a file of the application's is flushed by Node.js).
        if (!keepOpen) database.pragma('fullfsync = on');
        // A page that changes often is copied into the database once in 16 MB of log instead of once in 4.
        database.pragma('wal_autocheckpoint = 4000');
      } catch (error) {
        if (!keepOpen) database.close();
        throw error;
      }
      return connectSqlite(database, { synchronous, keepOpen });
    },
  });
}

async function openFile(file: string): Promise<BetterSqlite3Database> {
  let Database: new (file: string, options: { timeout: number }) => BetterSqlite3Database;
  try {
    ({ default: Database } = await import('better-sqlite3'));
  } catch (cause) {
    throw new HookplaneError('INVALID_OPTIONS', 'sqliteStore needs the package better-sqlite3: install it', {
      cause,
    });
  }
  try {
    return new Database(file, { timeout: WAIT_IN_CALL_MS });
  } catch (cause) {
    const { code, message } = cause as { code?: unknown; message?: unknown };
    if (code === 'ERR_DLOPEN_FAILED' || /bindings file/.test(String(message))) {
      const problem =
        'The package better-sqlite3 has no binary for this Node.js: rebuild it (npm rebuild better-sqlite3)';
      throw new HookplaneError('INVALID_OPTIONS', problem, { cause });
    }
    throw new HookplaneError('STORE_UNAVAILABLE', 'The SQLite file cannot be opened', { cause });
  }
}

/** Result codes that mean that the database does not answer, as opposed to a statement that is wrong. */
const UNAVAILABLE =
  /^SQLITE_(BUSY|LOCKED|FULL|IOERR|CANTOPEN|READONLY|CORRUPT|NOTADB|PROTOCOL|NOMEM|PERM|AUTH)/;

const AFFINITY: Record<ColumnKind, string> = { text: 'text', integer: 'integer', real: 'real' };

export const sqliteDialect: SqlDialect = {
  tableOf(rows, columns) {
    const fields = Object.entries(columns).map(
      ([name, kind], index) =>
        sql`cast(value ->> ${sql.lit(`$[${index}]`)} as ${sql.raw(AFFINITY[kind])}) as ${sql.ref(name)}`,
    );
    return sql`(select ${sql.join(fields)} from json_each(${JSON.stringify(rows)}))`;
  },
  text: sql`text`,
  clustered: sql` without rowid`,
  busy: sql``,
  concurrent: false,
  skipLocked: () => sql``,
  forUpdate: () => sql``,
  findTable: (name) => sql`select 1 from sqlite_master where type = 'table' and name = ${name}`,
  beforeMigration: [],
  translateError(error) {
    // By their fields: an error of a native module is not of this realm's classes under every test runner.
    const { code, message } = (error ?? {}) as { code?: unknown; message?: unknown };
    if (code === 'SQLITE_FULL')
      return new HookplaneError('STORE_UNAVAILABLE', 'The disk of the store is full', { cause: error });
    const closed = message === 'The database connection is not open';
    // While the application goes through the rows of a statement of its own on a database of its own.
    const busy = message === 'This database connection is busy executing a query';
    if (closed || busy || (typeof code === 'string' && UNAVAILABLE.test(code))) {
      return new HookplaneError('STORE_UNAVAILABLE', 'The store does not answer', { cause: error });
    }
    return null;
  },
};
