import { setTimeout } from 'node:timers/promises';
import { DummyDriver, Kysely, PostgresAdapter, PostgresIntrospector, PostgresQueryCompiler } from 'kysely';
import { HookplaneError } from '../../model/errors.js';
import type { DatabaseClock } from './database-clock.js';
import { type PostgresPool, type Session, watch, withClient } from './postgres-client.js';
import { isConflict, isOutdated, isTaken } from './postgres-errors.js';
import { createStatements, insertIfStatement } from './postgres-statements.js';
import { type Answer, type Drive, driveStatement, driveSteps } from './postgres-steps.js';
import { withinSavepoint } from './postgres-transaction.js';
import type { Tables } from './schema.js';
import type { ConditionalInsert, SqlConnection, Work } from './steps.js';

export interface PostgresConnectionOptions {
  pool: PostgresPool;
  /** A pool of the application's is left open. */
  keepOpen: boolean;
  schema: string;
  prepare: boolean;
  statementTimeoutMs: number;
  clock: DatabaseClock;
}

/** By how much the driver waits longer than the server, whose word it is where the server can still give it. */
const GRACE_MS = 500;
/** How long a transaction whose process has gone silent keeps its locks. */
const SILENT_MS = 15_000;
/** How often a transaction is made in all, when others come in its way. */
const MAX_ATTEMPTS = 6;
/** Of connections whose statements a migration has outdated, each is found out by a failure. */
const MAX_OUTDATED = 50;

const CLOCK = 'select extract(epoch from clock_timestamp()) * 1000 as ms';

/**
 * The planner is told to go by indexes: there is one for whatever a transaction asks, and a plan that was made while a
 * table was nearly empty would else read all of it for as long as the plan is kept.
 */
const BY_INDEX = ['seqscan', 'bitmapscan', 'hashjoin', 'mergejoin'].map(disabled);
/**
 * A page is a piece of an index, each row of which is looked up by itself: never the first of very many that would have to
 * be sorted, joined with what is read whole, or looked for by several processes of the server. Its plan is the same for
 * all values: one for those that are asked for, which is believed to be better where a table is large, is not made each
 * time.
 */
const IN_ORDER = [
  ...['sort', 'incremental_sort', 'material'].map(disabled),
  'set local max_parallel_workers_per_gather = 0',
  'set local plan_cache_mode = force_generic_plan',
];

/** Runs steps on clients of a pool of `pg`, those of a transaction on one. */
export function connectPostgres({
  pool,
  keepOpen,
  schema,
  prepare,
  statementTimeoutMs,
  clock,
}: PostgresConnectionOptions): SqlConnection {
  const db = new Kysely<Tables>({
    dialect: {
      createAdapter: () => new PostgresAdapter(),
      createDriver: () => new DummyDriver(),
      createIntrospector: (db) => new PostgresIntrospector(db),
      createQueryCompiler: () => new PostgresQueryCompiler(),
    },
  });
  const statementOf = createStatements(schema, prepare);
  const deadlineMs = statementTimeoutMs + GRACE_MS;
  const begin = beginning('read write', statementTimeoutMs, BY_INDEX);
  const relaxed = `${begin}; set local synchronous_commit = off`;
  const writing = { begin, timeoutMs: deadlineMs };
  const reading = { begin: beginning('read only', statementTimeoutMs), reads: true, timeoutMs: deadlineMs };
  const walking = {
    ...reading,
    begin: beginning('read only', statementTimeoutMs, [...BY_INDEX, ...IN_ORDER]),
  };
  const inSavepoint = withinSavepoint(schema);
  pool.on('error', ignore);
  pool.on('connect', watch);

  function inTransaction<T>(
    { begin, reads = false, timeoutMs }: Transaction,
    use: (session: Session, drive: Drive) => Promise<T>,
  ): Promise<T> {
    return withClient(pool, statementOf, timeoutMs, async (session) => {
      function ending(): Promise<unknown> {
        const committed = session.command('commit');
        if (!reads) return committed;
        // What was read is so, whether or not the server hears that nobody wants more.
        session.releaseAfter(committed);
        return Promise.resolve();
      }
      try {
        let opening: Promise<unknown> | undefined;
        if (clock.isDue()) await measure(session, `${begin}; ${CLOCK}`);
        else opening = session.command(begin);
        return await use(session, { opening, ending, pipelines: session.pipelines });
      } catch (error) {
        // A session that is lost ends with its transaction.
        if (!session.isLost()) await session.command('rollback').catch(ignore);
        throw error;
      }
    });
  }

  const transact = <T>(work: Work<T>, transaction: Transaction): Promise<T> =>
    inTransaction(transaction, ({ execute }, drive) => driveSteps(work(), execute, drive));

  async function insertIf(
    { condition, inserts, announcement }: ConditionalInsert,
    onSend: () => void,
  ): Promise<boolean> {
    const compiled = condition.compile(db);
    const { text, values } = insertIfStatement(compiled, inserts, announcement?.compile(db) ?? null);
    try {
      const { rows } = await inTransaction(writing, ({ execute }, drive) =>
        driveStatement(() => {
          onSend();
          return execute(text, values);
        }, drive),
      );
      return rows.length > 0;
    } catch (error) {
      if (isTaken(error)) return false;
      throw error;
    }
  }

  async function measure(session: Pick<Session, 'command'>, text: string): Promise<void> {
    const askedAt = performance.now();
    const answers = [await session.command(text)].flat() as Answer[];
    clock.set(Number(answers.at(-1)?.rows[0]?.ms), askedAt);
  }

  return {
    db,
    // A transaction as well: elsewhere the server would not know for how long somebody waits for the answer.
    read: (work) => again(() => transact(work, reading)),
    walk: (work) => again(() => transact(work, walking)),
    write: (work) => again(() => transact(work, writing)),
    insertIf: (given, onSend) => again(() => insertIf(given, onSend)),
    writeRelaxed: (work) => again(() => transact(work, { begin: relaxed, timeoutMs: deadlineMs })),
    migrate: (work) => again(() => transact(work, { begin: beginning('read write', 0, BY_INDEX) })),
    within: (transaction, use) =>
      inSavepoint(transaction, async (execute) => {
        if (clock.isDue()) await measure({ command: (text) => execute(text, []) }, CLOCK);
        return use((steps) => driveSteps(steps, execute));
      }),
    withinSync() {
      throw new HookplaneError(
        'INVALID_OPTIONS',
        'sendSync is for SQLite: await send(message, { transaction })',
      );
    },
    async close() {
      // A pool that has ended may still have a client that fails on its way out.
      if (!keepOpen) return pool.end();
      pool.off('error', ignore);
      pool.off('connect', watch);
      return undefined;
    },
  };
}

interface Transaction {
  /** What it begins with. */
  begin: string;
  /** Whether it changes nothing. */
  reads?: boolean;
  /** How long the driver waits for a statement; for as long as it takes when absent. */
  timeoutMs?: number;
}

/** @param statementTimeoutMs 0 for none */
function beginning(
  access: 'read write' | 'read only',
  statementTimeoutMs: number,
  settings: readonly string[] = [],
): string {
  return [
    `begin isolation level read committed ${access}`,
    `set local statement_timeout = ${statementTimeoutMs}`,
    `set local idle_in_transaction_session_timeout = ${SILENT_MS}`,
    'set local jit = off',
    ...settings,
  ].join('; ');
}

function disabled(way: string): string {
  return `set local enable_${way} = off`;
}

/** Makes a transaction again that was broken off for the sake of another. */
async function again<T>(attempt: () => Promise<T>): Promise<T> {
  let conflicts = 0;
  let outdated = 0;
  for (;;) {
    try {
      return await attempt();
    } catch (error) {
      if (isOutdated(error) && ++outdated < MAX_OUTDATED) continue;
      if (!isConflict(error) || ++conflicts >= MAX_ATTEMPTS) throw error;
      await setTimeout(Math.random() * 10 * 2 ** conflicts);
    }
  }
}

function ignore(): void {}
