import { CompiledQuery } from 'kysely';
import { HookplaneError } from '../../model/errors.js';
import { translatePostgresError } from './postgres-errors.js';
import { createStatements, withoutNul } from './postgres-statements.js';
import type { Answer, Execute } from './postgres-steps.js';
import { TransactionConflict } from './steps.js';

type Within = <T>(transaction: unknown, use: (execute: Execute) => Promise<T>) => Promise<T>;

const SAVEPOINT = 'hookplane_send';
const NO_ACTIVE_TRANSACTION = '25P01';
const UNDEFINED_TABLE = '42P01';

/**
 * Runs statements in transactions of the application's, within a savepoint: what fails takes back what it has done and
 * leaves a transaction that can be gone on with. Where none is open, the savepoint is refused before anything is done.
 */
export function withinSavepoint(schema: string): Within {
  const statementOf = createStatements(schema, false);

  /**
   * Libraries and applications write and read values each in a way of their own: arrays by their type, 64-bit integers as
   * text, names of columns in camel case. Values are therefore handed over as texts, or null, and rows are asked for as one text of
   * JSON, which all of them leave as it is.
   */
  function executeBy(ask: Ask): Execute {
    return async (shared, given) => {
      const text = statementOf(shared).text.replace(/\$\d+/g, '$&::text');
      const hasRows = /^\s*select\b|\breturning\b/.test(text);
      const asked = hasRows ? `with t as (${text}) select json_agg(t)::text as rows from t` : text;
      try {
        const texts = withoutNul(given).map((value) => (value === null ? null : String(value)));
        const answer = await ask(asked, texts);
        const [row] = Array.isArray(answer) ? answer : (answer as Answer).rows;
        return { rows: (hasRows && JSON.parse(Object.values(row)[0] as string)) || [], rowCount: null };
      } catch (error) {
        const problem = `is of a database without the tables of the schema ${schema}`;
        throw codesOf(error).includes(UNDEFINED_TABLE) ? unusable(problem, error) : error;
      }
    };
  }

  return async (transaction, use) => {
    const ask = askOf(transaction);
    try {
      await ask(`savepoint ${SAVEPOINT}`, []);
    } catch (error) {
      throw codesOf(error).includes(NO_ACTIVE_TRANSACTION) ? unusable('is not open', error) : error;
    }
    try {
      const result = await use(executeBy(ask));
      await ask(`release savepoint ${SAVEPOINT}`, []);
      return result;
    } catch (error) {
      // Where the connection is lost, the transaction is as well.
      await ask(`rollback to savepoint ${SAVEPOINT}`, []).catch(() => {});
      await ask(`release savepoint ${SAVEPOINT}`, []).catch(() => {});
      throw error instanceof TransactionConflict ? translatePostgresError(error) : error;
    }
  };
}

/** Runs a statement by the application's library: answers its rows, or an object that has them. */
type Ask = (text: string, values: (string | null)[]) => Promise<unknown>;

/** Of the libraries, the method that each of them has alone, or shares with those whose method is called alike. */
interface Libraries {
  $queryRawUnsafe(text: string, ...values: (string | null)[]): unknown;
  withoutPlugins(): { executeQuery(query: CompiledQuery): unknown };
  raw(text: string, bindings: (string | null)[]): unknown;
  execute(text: string, params: (string | null)[]): unknown;
  execute(query: { getSQL(): { toQuery(): { sql: string; params: (string | null)[] } } }): unknown;
  query(text: string, values: (string | null)[]): unknown;
  _: object;
}

/** @throws HookplaneError `INVALID_OPTIONS` */
function askOf(transaction: unknown): Ask {
  const tx = (transaction ?? {}) as Libraries;
  const has = (method: unknown) => typeof method === 'function';
  // Prisma
  if (has(tx.$queryRawUnsafe)) return async (text, values) => tx.$queryRawUnsafe(text, ...values);
  // Kysely, whose plugins are for the application's own statements
  if (has(tx.withoutPlugins))
    return async (text, values) => tx.withoutPlugins().executeQuery(CompiledQuery.raw(text, values));
  // Knex
  if (has(tx.raw)) return async (text, values) => tx.raw(...withQuestionMarks(text, values));
  // Drizzle, which takes what can be made into a query; any other executor takes the text
  if (has(tx.execute)) {
    return tx._
      ? async (sql, params) => tx.execute({ getSQL: () => ({ toQuery: () => ({ sql, params }) }) })
      : async (text, values) => tx.execute(text, values);
  }
  // pg and TypeORM
  if (has(tx.query)) return async (text, values) => tx.query(text, values);
  throw unusable('is not one of pg, Kysely, Knex, Drizzle, Prisma or TypeORM, and has no method execute');
}

/** Knex has a `?` for each value, in their order, where PostgreSQL has its number. */
function withQuestionMarks(text: string, values: readonly (string | null)[]): [string, (string | null)[]] {
  const bindings: (string | null)[] = [];
  const sql = text.replace(/\?|\$(\d+)/g, (mark, number) => {
    if (mark === '?') return '\\?';
    bindings.push(values[number - 1] ?? null);
    return '?';
  });
  return [sql, bindings];
}

/** The codes of an error and of what it wraps: of Drizzle as its cause, of Prisma among what it tells beside. */
function codesOf(error: unknown): unknown[] {
  const { code, cause, meta } = (error ?? {}) as {
    code?: unknown;
    cause?: { code?: unknown };
    meta?: { code?: unknown; driverAdapterError?: { cause?: { code?: unknown } } };
  };
  return [code, cause?.code, meta?.code, meta?.driverAdapterError?.cause?.code];
}

function unusable(problem: string, cause?: unknown): HookplaneError {
  return new HookplaneError('INVALID_OPTIONS', `The transaction ${problem}`, { cause });
}
