import { HookplaneError } from '../../model/errors.js';
import type { Store } from '../store.js';
import { auditStore } from './audit.js';
import { depthStore } from './depth.js';
import type { SqlContext } from './context.js';
import type { SqlDialect } from './dialect.js';
import { createEndpointCache } from './endpoint-cache.js';
import { endpointStore } from './endpoints.js';
import { messageStore } from './messages.js';
import { migrate, schemaState } from './migrate.js';
import { outboxStore } from './outbox.js';
import { sendingWithin } from './sending.js';
import type { SqlConnection } from './steps.js';
import { tenantStore } from './tenants.js';
import { workerStore } from './workers.js';

export interface SqlStoreOptions {
  dialect: SqlDialect;
  migrate: boolean;
  connect(): Promise<SqlConnection>;
}

/** The store that every SQL database shares; what differs between them is in the dialect and in `connect`. */
export function createSqlStore(options: SqlStoreOptions): Store {
  const { dialect } = options;
  let opening: Promise<void> | null = null;
  let connection: SqlConnection | null = null;

  async function open(): Promise<void> {
    let opened: SqlConnection | undefined;
    try {
      opened = await options.connect();
      await migrate(opened, dialect, options.migrate, Date.now());
      connection = opened;
    } catch (error) {
      await opened?.close();
      throw dialect.translateError(error) ?? error;
    }
  }

  function opened(): SqlConnection {
    if (!connection) throw new HookplaneError('STORE_UNAVAILABLE', 'The store is not open');
    return connection;
  }

  async function run<T>(work: (connection: SqlConnection) => Promise<T>): Promise<T> {
    const used = opened();
    try {
      return await work(used);
    } catch (error) {
      throw dialect.translateError(error) ?? error;
    }
  }

  const context: SqlContext = {
    dialect,
    endpointCache: createEndpointCache(dialect),
    read: (steps) => run((opened) => opened.read(() => steps(opened.db))),
    walk: (steps) => run((opened) => opened.walk(() => steps(opened.db))),
    write: (steps) => run((opened) => opened.write(() => steps(opened.db))),
    insertIf: (given, onSend) => run(async (opened) => (await opened.insertIf?.(given, onSend)) ?? false),
    writeRelaxed: (steps) => run((opened) => opened.writeRelaxed(() => steps(opened.db))),
  };

  return {
    open() {
      opening ??= open().catch((error) => {
        opening = null;
        throw error;
      });
      return opening;
    },
    async close() {
      await opening?.catch(() => {});
      const closing = connection;
      connection = null;
      opening = null;
      await closing?.close();
    },
    async schema() {
      let opened: SqlConnection | undefined;
      try {
        // One of its own: the store may refuse to open, for the very reason that is asked for.
        opened = await options.connect();
        return await schemaState(opened, dialect);
      } catch (error) {
        throw dialect.translateError(error) ?? error;
      } finally {
        await opened?.close();
      }
    },
    endpoints: endpointStore(context),
    messages: messageStore(context),
    tenants: tenantStore(context),
    outbox: outboxStore(context),
    workers: workerStore(context),
    audit: auditStore(context),
    depths: depthStore(context),
    ...sendingWithin(context, opened),
  };
}
