import 'reflect-metadata';
import { PrismaPg } from '@prisma/adapter-pg';
import { getPrismaClient } from '@prisma/client/runtime/client';
import { sql } from 'drizzle-orm';
import { drizzle } from 'drizzle-orm/node-postgres';
import knex from 'knex';
import { CamelCasePlugin, CompiledQuery, Kysely, PostgresDialect } from 'kysely';
import { Pool } from 'pg';
import { DataSource } from 'typeorm';
import type { Transaction } from '../../lib/index.js';

/** Runs a statement without values, as the application does. */
type Run = (text: string) => PromiseLike<unknown>;

/** A database as an application has it by one of the libraries. */
export interface Opened {
  /** Commits when `work` is done, rolls back when it throws. */
  transact(work: (transaction: Transaction, run: Run) => Promise<unknown>): Promise<unknown>;
  /** What an application may take for a transaction: it works by a connection, but no transaction is open on that. */
  outside: unknown;
  close(): Promise<unknown>;
}

export const LIBRARIES: Record<string, (url: string) => Opened | Promise<Opened>> = {
  pg(url) {
    const pool = poolOf(url);
    return { transact: (work) => transactBy(pool, work), outside: pool, close: () => pool.end() };
  },

  Kysely(url) {
    const db = new Kysely({
      dialect: new PostgresDialect({ pool: poolOf(url) }),
      plugins: [new CamelCasePlugin()],
    });
    return {
      transact: (work) =>
        db.transaction().execute((trx) => work(trx, (text) => trx.executeQuery(CompiledQuery.raw(text)))),
      outside: db,
      close: () => db.destroy(),
    };
  },

  Knex(url) {
    const log = { warn() {}, error() {}, deprecate() {}, debug() {} };
    const db = knex({ client: 'pg', connection: url, pool: { min: 0 }, log });
    return {
      transact: (work) => db.transaction((trx) => work(trx, (text) => trx.raw(text))),
      outside: db,
      close: () => db.destroy(),
    };
  },

  Drizzle(url) {
    const pool = poolOf(url);
    const db = drizzle(pool);
    return {
      transact: (work) => db.transaction((tx) => work(tx, (text) => tx.execute(sql.raw(text)))),
      outside: db,
      close: () => pool.end(),
    };
  },

  Prisma(url) {
    const client = prismaOf(url);
    return {
      transact: (work) => client.$transaction((tx) => work(tx, (text) => tx.$executeRawUnsafe(text))),
      outside: client,
      close: () => client.$disconnect(),
    };
  },

  async TypeORM(url) {
    const source = await new DataSource({ type: 'postgres', url }).initialize();
    return {
      transact: (work) => source.transaction((manager) => work(manager, (text) => manager.query(text))),
      outside: source.manager,
      close: () => source.destroy(),
    };
  },

  'another library': (url) => {
    const pool = poolOf(url);
    const executorOf = (client: Pick<Pool, 'query'>) => ({
      execute: async (text: string, params: (string | null)[]) => (await client.query(text, params)).rows,
    });
    return {
      transact: (work) => transactBy(pool, (client, run) => work(executorOf(client as never), run)),
      outside: executorOf(pool),
      close: () => pool.end(),
    };
  },
};

/** One whose values are read in ways of its own. */
function poolOf(url: string): Pool {
  const asBigInt = { getTypeParser: (oid: number) => (oid === 20 ? BigInt : String) };
  const pool = new Pool({ connectionString: url, max: 2, types: asBigInt as never });
  // Tests cut connections.
  pool.on('error', () => {});
  pool.on('connect', (client) => client.on('error', () => {}));
  return pool;
}

async function transactBy(pool: Pool, work: Parameters<Opened['transact']>[0]): Promise<void> {
  const client = await pool.connect();
  try {
    await client.query('begin');
    await work(client, (text) => client.query(text));
    await client.query('commit');
  } catch (error) {
    await client.query('rollback').catch(() => {});
    throw error;
  } finally {
    client.release();
  }
}

interface PrismaTransaction {
  $queryRawUnsafe(text: string, ...values: string[]): Promise<unknown>;
  $executeRawUnsafe(text: string): Promise<unknown>;
}

interface PrismaClient extends PrismaTransaction {
  $transaction<T>(work: (tx: PrismaTransaction) => Promise<T>): Promise<T>;
  $disconnect(): Promise<void>;
}

/** A client as `prisma generate` makes it of a schema without models. */
function prismaOf(url: string): PrismaClient {
  const compiler = '@prisma/client/runtime/query_compiler_fast_bg.postgresql';
  const Client = getPrismaClient({
    previewFeatures: [],
    clientVersion: '7.10.0',
    engineVersion: '',
    activeProvider: 'postgresql',
    inlineSchema: 'datasource db {\n  provider = "postgresql"\n}\n',
    runtimeDataModel: { models: {}, enums: {}, types: {} },
    parameterizationSchema: { strings: [], graph: 'AAAA' },
    compilerWasm: {
      getRuntime: async () => require(`${compiler}.js`),
      getQueryCompilerWasmModule: async () =>
        new WebAssembly.Module(Buffer.from(require(`${compiler}.wasm-base64.js`).wasm, 'base64')),
      importName: './query_compiler_fast_bg.js',
    },
  });
  return new Client({ adapter: new PrismaPg({ connectionString: url }) }) as unknown as PrismaClient;
}
