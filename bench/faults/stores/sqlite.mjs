import { join } from 'node:path';
import Database from 'better-sqlite3';

export const sqlite = {
  /** A database that is not there yet; what it answers goes to other processes as JSON. */
  create: async (folder) => ({ file: join(folder, 'faults.sqlite') }),

  /**
   * @param options.afterStatement called when a statement has run, those that begin and end transactions included
   * @param options.disk told who is to be called when the disk is to be full, and when it is to have room again
   */
  async open({ file }, { afterStatement, disk } = {}) {
    // Loaded where it is used: some processes of a campaign only look at the database.
    const { sqliteStore } = await import('../package.mjs');
    if (!afterStatement && !disk) return sqliteStore({ file });
    const database = new Database(file, { timeout: 5000 });
    disk?.(({ full }) => {
      const pages = full ? database.pragma('page_count', { simple: true }) : 1_000_000_000;
      database.pragma(`max_page_count = ${pages}`);
    });
    return sqliteStore({ database: afterStatement ? watch(database, afterStatement) : database });
  },

  /** Rows as they lie in the database, read beside those who work with it. */
  async query({ file }, sql) {
    const database = new Database(file, { timeout: 5000 });
    try {
      return database.prepare(sql).all();
    } finally {
      database.close();
    }
  },

  /** What the database itself finds wrong with its file. */
  async damage(descriptor) {
    const rows = await sqlite.query(descriptor, 'pragma integrity_check');
    return rows.map((row) => row.integrity_check).filter((line) => line !== 'ok');
  },
};

function watch(database, afterStatement) {
  const prepare = database.prepare.bind(database);
  database.prepare = (sql) => {
    const statement = prepare(sql);
    for (const method of ['run', 'all']) {
      const execute = statement[method].bind(statement);
      statement[method] = (...parameters) => {
        const result = execute(...parameters);
        afterStatement();
        return result;
      };
    }
    return statement;
  };
  return database;
}
