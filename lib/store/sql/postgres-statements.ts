import { createHash } from 'node:crypto';
import { type CompiledQuery, type RawBuilder, sql } from 'kysely';
import type { Tables } from './schema.js';
import type { BulkClaim, BulkInsert, BulkUpdate, ColumnKind, RowsOf } from './steps.js';

const SQL_TYPES: Record<ColumnKind, string> = { text: 'text', integer: 'bigint', real: 'double precision' };

/** A record, so that none is forgotten. */
const TABLES: Readonly<Record<keyof Tables, true>> = {
  hookplane_tenants: true,
  hookplane_deleted_tenants: true,
  hookplane_endpoints: true,
  hookplane_deleted_endpoints: true,
  hookplane_endpoint_secrets: true,
  hookplane_messages: true,
  hookplane_payloads: true,
  hookplane_idempotency_keys: true,
  hookplane_deliveries: true,
  hookplane_attempts: true,
  hookplane_workers: true,
  hookplane_audit_log: true,
  hookplane_depth_samples: true,
  hookplane_schema_migrations: true,
};
const TABLE_NAME = new RegExp(`"?\\b(${Object.keys(TABLES).join('|')})\\b"?`, 'g');

/** How many statements are prepared on a connection at most: each stays in the memory of the server. */
const MAX_PREPARED = 300;
/** How many texts are remembered that have been run once, to be prepared the second time. */
const MAX_CANDIDATES = 700;

export interface Statement {
  text: string;
  /** Under which it is prepared; absent when it is not. */
  name?: string;
}

/**
 * Makes of the text that both databases share the one that is run. Every table is named with its schema here and nowhere
 * else: a pooler gives each transaction another session, so `search_path` cannot be relied upon. The names of the tables
 * carry the product's, so that they are not mistaken for anything else.
 * @param prepare whether what is run again and again is prepared
 */
export function createStatements(schema: string, prepare: boolean): (text: string) => Statement {
  const prepared = new Map<string, Statement>();
  const candidates = new Map<string, Statement>();

  return (text) => {
    const ready = prepared.get(text);
    if (ready) return ready;
    const known = candidates.get(text);
    if (known && prepare && prepared.size < MAX_PREPARED) {
      // By what it says: clients may be shared with another store.
      const name = `hookplane_${createHash('sha1').update(known.text).digest('hex').slice(0, 20)}`;
      const statement = { ...known, name };
      candidates.delete(text);
      prepared.set(text, statement);
      return statement;
    }
    if (known) return known;
    // What is prepared stays so on the connections, and is never forgotten.
    if (candidates.size >= MAX_CANDIDATES) candidates.clear();
    const statement = { text: text.replace(TABLE_NAME, `"${schema}"."$1"`) };
    candidates.set(text, statement);
    return statement;
  };
}

type Rows = readonly (readonly unknown[])[];

export interface BulkStatement {
  text: string;
  values: unknown[];
}

/** The most rows that are inserted by one statement with those of other tables. */
const MAX_COMBINED = 64;

/** Whether rows of several tables are inserted by one statement. */
export function areCombined(inserts: readonly RowsOf[]): boolean {
  return inserts.length === 1 || inserts.every(({ count }) => count <= MAX_COMBINED);
}

/**
 * Of few rows one statement for all tables, since each takes longer than its rows do; of many one for each table, made when it
 * is asked for: the server runs it while the next is made.
 */
export function* insertStatements(inserts: readonly RowsOf[]): Generator<BulkStatement> {
  if (!areCombined(inserts)) {
    for (const each of inserts) yield insertStatement(each.into, each.rows());
    return;
  }
  const values: unknown[] = [];
  const parts: string[] = [];
  for (const { into, rows } of inserts) {
    const statement = insertStatement(into, rows(), values.length);
    parts.push(statement.text);
    values.push(...statement.values);
  }
  const last = parts.pop()!;
  const before = parts.map((part, index) => `i${index} as (${part})`);
  yield { text: before.length > 0 ? `with ${before.join(', ')} ${last}` : last, values };
}

/** Inserts rows where a query has one, and answers a row then, for which `announcement` is made as well. */
export function insertIfStatement(
  condition: CompiledQuery,
  inserts: readonly RowsOf[],
  announcement: CompiledQuery | null,
): BulkStatement {
  const values = [...condition.parameters];
  const parts = [`condition as materialized (${condition.sql})`];
  for (const { into, rows } of inserts) {
    const statement = insertStatement(into, rows(), values.length, 'condition');
    parts.push(`i${parts.length} as (${statement.text})`);
    values.push(...statement.values);
  }
  let told = 'true';
  if (announcement) {
    const before = values.length;
    told = `(${announcement.sql.replace(/\$(\d+)/g, (_, number) => `$${before + Number(number)}`)})`;
    values.push(...announcement.parameters);
  }
  return { text: `with ${parts.join(', ')} select ${told} as inserted from condition`, values };
}

/**
 * @param first how many parameters there are before
 * @param beside what else it selects from
 */
function insertStatement(
  { table, columns, constants = {} }: BulkInsert,
  rows: Rows,
  first = 0,
  beside?: string,
): BulkStatement {
  const names = [...Object.keys(columns), ...Object.keys(constants)];
  const into = `insert into ${table} (${names.map(quote).join(', ')}) select`;
  const others = Object.values(constants);
  const [row] = rows;
  // A single row needs no arrays, which both sides would write and read.
  if (row && rows.length === 1) {
    const selected = [...parameters(columns, first), ...others].join(', ');
    return { text: `${into} ${selected}${beside ? ` from ${beside}` : ''}`, values: [...row] };
  }
  const from = `${beside ? `${beside}, ` : ''}${unnest(columns, first)} as r`;
  return {
    text: `${into} ${['r.*', ...others].join(', ')} from ${from}`,
    values: columnArrays(rows, Object.keys(columns).length),
  };
}

/** Answers the identities of the rows that were inserted. */
export function claimStatement(claim: BulkClaim, rows: Rows): BulkStatement {
  const { text, values } = insertStatement(claim, rows);
  return { text: `${text} on conflict do nothing returning ${quote(claim.identity)} as identity`, values };
}

/** Answers the positions, from 1 on, of those that had a row. */
export function updateStatement(
  { table, set, keep = [], key, condition }: BulkUpdate,
  rows: Rows,
): BulkStatement {
  const columns = [...Object.values(set), ...Object.values(key)];
  const aliases = columns.map((_, index) => `c${index}`);
  const assignments = Object.keys(set).map((name, index) =>
    keep.includes(name)
      ? `${quote(name)} = coalesce(r.c${index}, ${table}.${quote(name)})`
      : `${quote(name)} = r.c${index}`,
  );
  const first = Object.keys(set).length;
  const conditions = Object.keys(key).map((name, index) => `${table}.${quote(name)} = r.c${first + index}`);
  if (condition) conditions.push(condition);
  return {
    text: `update ${table} set ${assignments.join(', ')} from ${unnest(columns)} with ordinality
      as r(${aliases.join(', ')}, position) where ${conditions.join(' and ')} returning r.position`,
    values: columnArrays(rows, columns.length),
  };
}

/** The rows as arrays, one for each column: as many parameters for any number of rows. */
export function rowTable(rows: Rows, columns: Readonly<Record<string, ColumnKind>>): RawBuilder<unknown> {
  const kinds = Object.values(columns);
  const arrays = columnArrays(rows, kinds.length).map(
    (array, index) => sql`${array}::${sql.raw(`${SQL_TYPES[kinds[index]!]}[]`)}`,
  );
  const names = Object.keys(columns).map((name) => sql.ref(name));
  return sql`(select * from unnest(${sql.join(arrays)}) as t(${sql.join(names)}))`;
}

function unnest(columns: Readonly<Record<string, ColumnKind>> | readonly ColumnKind[], first = 0): string {
  return `unnest(${parameters(columns, first, '[]').join(', ')})`;
}

function parameters(
  columns: Readonly<Record<string, ColumnKind>> | readonly ColumnKind[],
  first: number,
  suffix: '' | '[]' = '',
): string[] {
  return Object.values(columns).map(
    (kind: ColumnKind, index) => `$${first + index + 1}::${SQL_TYPES[kind]}${suffix}`,
  );
}

function columnArrays(rows: Rows, count: number): string[] {
  return Array.from({ length: count }, (_, column) => arrayOf(rows, column));
}

/** As text, which every driver hands over as it is. */
function arrayOf(rows: Rows, column: number): string {
  const elements = rows.map((row) => {
    const value = row[column];
    if (value === null || value === undefined) return 'NULL';
    return typeof value === 'number' ? value : elementOf(String(value));
  });
  return `{${elements.join(',')}}`;
}

/** What is an element as it stands, as ids and words are. The word NULL would not be one. */
const PLAIN = /^(?!null$)[\w.:/+-]+$/i;
/** What JSON would write in a way of its own: control characters and halves of surrogate pairs. */
const ODD = /[\p{Cc}\p{Cs}]/u;

/** JSON puts a backslash before quotes and backslashes as well, in a third of the time that a pattern takes. */
function elementOf(text: string): string {
  if (PLAIN.test(text)) return text;
  return ODD.test(text) ? `"${text.replace(/["\\]/g, '\\$&')}"` : JSON.stringify(text);
}

function quote(name: string): string {
  return `"${name}"`;
}

const INT8 = 20;
const NUMBERS = new Set([INT8, 21, 23, 700, 701, 1700]);
const BOOLEAN = 16;

/**
 * How values are read, whatever the application has set for its own pool: milliseconds and counts as numbers (a driver
 * gives 64-bit integers as text), the rest as text.
 */
export const TYPES = {
  getTypeParser(oid: number) {
    if (NUMBERS.has(oid)) return Number;
    return oid === BOOLEAN ? (text: string) => text === 't' : (text: string) => text;
  },
};

/**
 * A text of PostgreSQL holds no NUL. Nothing that is stored has one, which the rules for input see to; what is looked for
 * may, and is then not found.
 */
export function withoutNul(values: readonly unknown[]): unknown[] {
  return values.map((value) =>
    typeof value === 'string' && value.includes('\0') ? value.replaceAll('\0', '\ufffd') : value,
  );
}
