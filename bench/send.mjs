// Durable sends a second, beside inserts by hand of the same three rows into the same store: the least that an outbox
// has to do.
import { randomUUID } from 'node:crypto';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { createSender, sqliteStore } from 'hookplane';
import { postgresStore } from 'hookplane/postgres';
import pg from 'pg';
import { startPostgres } from './delivery/services.mjs';
import { dataOf, TYPE } from './delivery/webhook.mjs';
import { rounds, say, table, temporaryFolder } from './support.mjs';

const ROUNDS = Number(process.env.BENCH_ROUNDS ?? 5);
const BATCH = 250;
/**
 * How they are called: so many at once, each with so many messages, until there are so many. As many are sent before, for
 * files that have grown and code that is compiled.
 */
const WAYS = {
  'one after the other': { atOnce: 1, batch: 1, messages: 2000 },
  '64 at once': { atOnce: 64, batch: 1, messages: 8000 },
  [`in batches of ${BATCH}`]: { atOnce: 1, batch: BATCH, messages: 25_000 },
};

const TABLES = `
  create table messages (id text primary key, type text not null, created_at bigint not null);
  create table payloads (message_id text primary key, payload text not null);
  create table deliveries (message_id text not null, endpoint_id text not null, status text not null, due_at bigint not null,
    primary key (message_id, endpoint_id));
  create index due on deliveries (endpoint_id, due_at) where status = 'pending'`;

const payload = () => JSON.stringify({ type: TYPE, timestamp: new Date().toISOString(), data: dataOf(0) });

async function insertsIntoSqlite({ folder }) {
  const database = new Database(join(folder, 'bare.sqlite'));
  database.pragma('journal_mode = WAL');
  database.pragma('synchronous = full');
  database.exec(TABLES);
  const [message, body, delivery] = [
    'insert into messages values (?, ?, ?)',
    'insert into payloads values (?, ?)',
    `insert into deliveries values (?, ?, 'pending', ?)`,
  ].map((sql) => database.prepare(sql));
  const insert = database.transaction((count) => {
    for (let index = 0; index < count; index++) {
      const [id, at] = [`msg_${randomUUID()}`, Date.now()];
      message.run(id, TYPE, at);
      body.run(id, payload());
      delivery.run(id, 'ep_1', at);
    }
  });
  return { send: async (count) => insert(count), close: async () => void database.close() };
}

async function insertsIntoPostgres({ postgresUrl }) {
  const pool = new pg.Pool({ connectionString: postgresUrl, max: 10 });
  await pool.query(TABLES);
  // One statement, so that it is one round trip and one transaction.
  const text = `
    with given as (select * from unnest($1::text[], $2::text[]) as g(id, payload)),
      m as (insert into messages select id, $3, $4 from given),
      p as (insert into payloads select id, payload from given)
    insert into deliveries select id, 'ep_1', 'pending', $4 from given`;
  return {
    send: (count) => {
      const each = Array.from({ length: count });
      const values = [each.map(() => `msg_${randomUUID()}`), each.map(payload), TYPE, Date.now()];
      return pool.query({ name: 'insert', text, values });
    },
    close: () => pool.end(),
  };
}

async function hookplane(store) {
  const sender = createSender({
    store,
    allowHttp: true,
    allowTargets: ['127.0.0.1'],
    logger: { error: console.error, warn() {}, info() {}, debug() {} },
  });
  await sender.endpoints.create({ url: 'http://127.0.0.1:8080/', types: [TYPE] });
  const message = () => ({ type: TYPE, data: dataOf(0) });
  return {
    send: (count) =>
      count === 1 ? sender.send(message()) : sender.sendMany(Array.from({ length: count }, message)),
    close: () => sender.stop(),
  };
}

const CONTENDERS = {
  'inserts by hand, SQLite': insertsIntoSqlite,
  'hookplane, SQLite': ({ folder }) => hookplane(sqliteStore({ file: join(folder, 'bench.sqlite') })),
  'inserts by hand, PostgreSQL': insertsIntoPostgres,
  'hookplane, PostgreSQL': ({ postgresUrl }) => hookplane(postgresStore({ connectionString: postgresUrl })),
};

export async function run() {
  const { folder, remove } = await temporaryFolder();
  const postgres = await startPostgres();
  let runs = 0;

  async function measure(open, { atOnce, batch, messages }) {
    const own = join(folder, `run-${++runs}`);
    await mkdir(own);
    const { send, close } = await open({ folder: own, postgresUrl: await postgres.newDatabase() });
    async function sendAll() {
      let left = messages;
      await Promise.all(
        Array.from({ length: atOnce }, async () => {
          while (left > 0) {
            left -= batch;
            await send(batch);
          }
        }),
      );
    }
    await sendAll();
    const started = performance.now();
    await sendAll();
    const rate = messages / ((performance.now() - started) / 1000);
    await close();
    return rate;
  }

  try {
    const found = {};
    for (const [way, how] of Object.entries(WAYS)) {
      const contenders = Object.entries(CONTENDERS).map(([name, open]) => [name, () => measure(open, how)]);
      found[way] = await rounds(ROUNDS, Object.fromEntries(contenders));
    }
    say(
      `## Send\n\nDurable messages a second, 1 KiB, one delivery each; medians of ${ROUNDS} rounds, and the share of the inserts by hand. As many are sent before in each round.\n`,
    );
    const cell = (way, name) => {
      const [limit] = Object.keys(CONTENDERS).filter((each) => each.endsWith(name.split(', ')[1]));
      const { median } = found[way][name];
      return `${Math.round(median)} (${(median / found[way][limit].median).toFixed(2)})`;
    };
    table(
      ['', ...Object.keys(WAYS)],
      Object.keys(CONTENDERS).map((name) => [name, ...Object.keys(WAYS).map((way) => cell(way, name))]),
    );
  } finally {
    await postgres.stop();
    await remove();
  }
}

if (process.argv[1] === import.meta.filename) await run();
