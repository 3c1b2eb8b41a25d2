import { DummyDriver, Kysely, SqliteAdapter, SqliteIntrospector, SqliteQueryCompiler } from 'kysely';
import { HookplaneError } from '../../model/errors.js';
import type { Tables } from './schema.js';
import { type BetterSqlite3Database, type SqliteStatements, sqliteStatements } from './sqlite-statements.js';
import { createWhenUnlocked, LOCK_TIMEOUT_MS } from './sqlite-lock.js';
import type { SqlConnection, Steps, Work } from './steps.js';
import { createWalFlush, type WalFlush } from './wal-flush.js';

const SAVEPOINT = 'hookplane_send';

export interface SqliteConnectionOptions {
  synchronous: 'full' | 'normal';
  keepOpen: boolean;
}

/** Runs steps on a database of better-sqlite3: each to its end at once, in the call. */
export function connectSqlite(
  database: BetterSqlite3Database,
  { synchronous, keepOpen }: SqliteConnectionOptions,
): SqlConnection {
  // A database of the application's waits within the call, for as long as the application has set.
  const timeoutMs = keepOpen ? 0 : LOCK_TIMEOUT_MS;
  const file = fileOf(database);
  const wal = synchronous === 'full' && file ? walFlushOf(database, file) : undefined;
  const own = sqliteStatements(database);
  const { run, drive } = own;
  /** Of other connections to the same file. */
  const others = new WeakMap<object, SqliteStatements>();

  function assertNoTransaction(): void {
    if (!database.inTransaction) return;
    throw new HookplaneError('STORE_UNAVAILABLE', 'The database has a transaction of the application open');
  }

  /**
   * Immediate: every transaction of the store writes. One that begins deferred and becomes a writer fails at once,
   * without waiting, when another process has written in between.
   */
  function transact<T>(steps: Steps<T>, commit: () => unknown = () => run('commit')): T {
    run('begin immediate');
    try {
      const result = drive(steps);
      commit();
      return result;
    } catch (error) {
      // A full disk has rolled it back already.
      if (database.inTransaction) run('rollback');
      throw error;
    }
  }

  /** Does not wait for the disk. What the application writes to a database of its own does, as it is set. */
  function transactRelaxed<T>(steps: Steps<T>): T {
    assertNoTransaction();
    if (synchronous === 'normal') return transact(steps);
    database.pragma('synchronous = normal');
    try {
      return transact(steps);
    } finally {
      database.pragma('synchronous = full');
    }
  }

  const toRead = createWhenUnlocked(timeoutMs);
  const toWrite = createWhenUnlocked(timeoutMs);
  const read = <T>(work: Work<T>): Promise<T> => toRead(() => drive(work()));
  const writeRelaxed = <T>(work: Work<T>): Promise<T> => toWrite(() => transactRelaxed(work()));

  async function write<T>(work: Work<T>): Promise<T> {
    if (!wal) return writeRelaxed(work);
    let isOnDisk = false;
    const result = await toWrite(() => {
      // What the application sets for a database of its own is not known here.
      isOnDisk = !keepOpen && wal.isQuick();
      return isOnDisk ? transact(work(), () => wal.watch(() => run('commit'))) : transactRelaxed(work());
    });
    if (!isOnDisk) await wal.flush();
    return result;
  }

  /** @throws HookplaneError `INVALID_OPTIONS` unless it is a connection to the same file with a transaction open */
  function statementsOf(given: BetterSqlite3Database | null | undefined): SqliteStatements {
    if (typeof given?.inTransaction !== 'boolean' || typeof given.pragma !== 'function') {
      throw noTransaction('is not a database of better-sqlite3');
    }
    if (!given.inTransaction) throw noTransaction('has no transaction open');
    if (given === database) return own;
    let known = others.get(given);
    if (!known) {
      if (!file || fileOf(given) !== file) throw noTransaction('is of another file than the store');
      known = sqliteStatements(given);
      others.set(given, known);
    }
    return known;
  }

  return {
    db: new Kysely<Tables>({
      dialect: {
        createAdapter: () => new SqliteAdapter(),
        createDriver: () => new DummyDriver(),
        createIntrospector: (db) => new SqliteIntrospector(db),
        createQueryCompiler: () => new SqliteQueryCompiler(),
      },
    }),
    read,
    walk: read,
    write,
    writeRelaxed,
    migrate: write,
    async within() {
      throw noTransaction('of SQLite cannot be waited in: call sendSync');
    },
    withinSync(transaction, use) {
      const given = transaction as BetterSqlite3Database;
      const statements = statementsOf(given);
      statements.run(`savepoint ${SAVEPOINT}`);
      try {
        const result = use(statements.drive);
        statements.run(`release ${SAVEPOINT}`);
        return result;
      } catch (error) {
        if (given.inTransaction) {
          statements.run(`rollback to ${SAVEPOINT}`);
          statements.run(`release ${SAVEPOINT}`);
        }
        throw error;
      }
    },
    async close() {
      await wal?.close();
      own.clear();
      if (!keepOpen) database.close();
    },
  };
}

/** Without links; empty for a database that is in memory alone. */
function fileOf(database: BetterSqlite3Database): string | undefined {
  const files = database.pragma('database_list') as { name: string; file: string }[];
  return files.find(({ name }) => name === 'main')?.file;
}

function walFlushOf(database: BetterSqlite3Database, file: string): WalFlush {
  return createWalFlush(`${file}-wal`, () => {
    // Readers are not waited for: whoever asks tries again.
    const [set] = database.pragma('busy_timeout') as { timeout: number }[];
    database.pragma('busy_timeout = 0');
    try {
      const [row] = database.pragma('wal_checkpoint(truncate)') as { busy: number }[];
      return row?.busy === 0;
    } finally {
      database.pragma(`busy_timeout = ${set?.timeout ?? 0}`);
    }
  });
}

function noTransaction(problem: string): HookplaneError {
  return new HookplaneError('INVALID_OPTIONS', `The transaction ${problem}`);
}
