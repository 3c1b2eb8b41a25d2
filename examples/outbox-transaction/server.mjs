// An order and its webhook in one transaction: both are there, or neither is. The shop has three pieces to sell, and the
// last statement of the transaction takes one; where there is none left, the order and its message are gone with it.
import express from 'express';
import { bearerToken, createSender, sqliteStore } from 'hookplane';
import { adminMiddleware } from 'hookplane/express';

const TABLES = [
  'create table if not exists orders (body text not null)',
  'create table if not exists stock (item text primary key, pieces integer not null check (pieces >= 0))',
  "insert into stock values ('book', 3) on conflict do nothing",
];
const TAKE_ONE = "update stock set pieces = pieces - 1 where item = 'book'";

const messageOf = (order) => ({ type: 'order.created', tenantId: 'acme', data: order });

async function onSqlite(file) {
  const { default: Database } = await import('better-sqlite3');
  const database = new Database(file);
  database.exec(TABLES.join(';'));
  const place = database.transaction((order) => {
    database.prepare('insert into orders values (?)').run(JSON.stringify(order));
    const message = sender.sendSync(messageOf(order), { transaction: database });
    database.prepare(TAKE_ONE).run();
    return message;
  });
  return {
    store: sqliteStore({ database }),
    // It will write: better to wait for other writers at once than to fail in the middle.
    place: (order) => place.immediate(order),
    orders: () => database.prepare('select body from orders').all(),
    close: () => database.close(),
  };
}

async function onPostgres(connectionString) {
  const { default: pg } = await import('pg');
  const { postgresStore } = await import('hookplane/postgres');
  const pool = new pg.Pool({ connectionString });
  pool.on('error', (error) => console.error('A connection was lost:', error.message));
  for (const text of TABLES) await pool.query(text);
  return {
    store: postgresStore({ pool }),
    async place(order) {
      const client = await pool.connect();
      try {
        await client.query('begin');
        await client.query('insert into orders values ($1)', [JSON.stringify(order)]);
        const message = await sender.send(messageOf(order), { transaction: client });
        await client.query(TAKE_ONE);
        await client.query('commit');
        return message;
      } catch (error) {
        await client.query('rollback');
        throw error;
      } finally {
        client.release();
      }
    },
    orders: async () => (await pool.query('select body from orders')).rows,
    close: () => pool.end(),
  };
}

const { DATABASE_URL } = process.env;
const shop = await (DATABASE_URL ? onPostgres(DATABASE_URL) : onSqlite('shop.sqlite'));
const sender = createSender({ store: shop.store });
await sender.start();

const app = express();
app.use('/admin', adminMiddleware(sender, { authorize: bearerToken(process.env.ADMIN_TOKEN) }));
app.post('/orders', express.json(), async (req, res) => {
  try {
    const message = await shop.place(req.body);
    res.status(202).json({ messageId: message.id });
  } catch (error) {
    // The check of the column, by the codes of the two databases.
    if (!['SQLITE_CONSTRAINT_CHECK', '23514'].includes(error.code)) throw error;
    res.status(409).json({ error: 'Sold out' });
  }
});
app.get('/orders', async (_req, res) => {
  const rows = await shop.orders();
  res.json(rows.map(({ body }) => JSON.parse(body)));
});

const server = app.listen(3000);
process.once('SIGTERM', () =>
  server.close(async () => {
    await sender.stop();
    await shop.close();
  }),
);
