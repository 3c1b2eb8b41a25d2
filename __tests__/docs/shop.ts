import { join } from 'node:path';
import Database from 'better-sqlite3';
import { Kysely, PostgresDialect } from 'kysely';
import { Pool } from 'pg';
import { createSender, type Sender, sqliteStore, type Store } from '../../lib/index.js';
import { postgresStore } from '../../lib/store/postgres.js';
import { onCleanUp } from '../support/clean-up.js';
import { createDatabase } from '../support/postgres/database.js';
import { recordingLogger, temporaryFolder } from '../support/sender.js';
import type { Check } from './page-contract.js';

const ORDER = { id: 7, total: 42 };
const TABLE = 'create table orders (id integer, total integer)';

/** What a snippet that sends in a transaction uses without declaring it. */
export const SHOP_TYPES = {
  order: '{ id: number; total: number }',
  db: "import('kysely').Kysely<{ orders: { id: number; total: number } }>",
  pool: "import('pg').Pool",
  database: "import('better-sqlite3').Database",
};

interface Shop {
  store: Store;
  variables: object;
  orders(): unknown;
}

const SHOPS = {
  async PostgreSQL(): Promise<Shop> {
    const { url } = await createDatabase('test');
    const pool = new Pool({ connectionString: url });
    onCleanUp('test', 'sender', () => pool.end());
    await pool.query(TABLE);
    return {
      store: postgresStore({ connectionString: url }),
      variables: { pool, db: new Kysely({ dialect: new PostgresDialect({ pool }) }) },
      orders: async () => (await pool.query('select * from orders')).rows,
    };
  },
  async SQLite(): Promise<Shop> {
    const database = new Database(join(await temporaryFolder(), 'shop.sqlite'));
    onCleanUp('test', 'folder', async () => void database.close());
    database.exec(TABLE);
    return {
      store: sqliteStore({ database }),
      variables: { database },
      orders: () => database.prepare('select * from orders').all(),
    };
  },
};

/** Of a snippet that places an order and sends, in one transaction. */
export function shopCheck(mark: string, where: keyof typeof SHOPS): Check {
  const variables = {};
  let shop: Shop;
  let sender: Sender;
  return {
    mark,
    variables,
    async prepare() {
      shop = await SHOPS[where]();
      sender = createSender({ store: shop.store, logger: recordingLogger() });
      onCleanUp('test', 'sender', () => sender.stop());
      await sender.health();
      Object.assign(variables, { sender, order: ORDER, ...shop.variables });
    },
    async run() {
      const [message] = (await sender.messages.list()).messages;
      expect((await sender.messages.get(message!.id)).payload!.data).toEqual(ORDER);
      expect(await shop.orders()).toEqual([ORDER]);
    },
  };
}
