import { type Kysely, type RawBuilder, sql } from 'kysely';
import { idempotencyConflict } from '../../model/errors.js';
import type { Message } from '../../model/message.js';
import type { Position } from '../../model/page.js';
import type { InsertedMessage } from '../store.js';
import { isLeft } from './deleted-tenants.js';
import type { SqlDialect } from './dialect.js';
import { fromJson, LISTED, messageOf, type RoutedMessage, toMessage } from './rows.js';
import type { IdempotencyKeyRow, Tables } from './schema.js';
import {
  type BulkClaim,
  type BulkUpdate,
  claimRows,
  firstOf,
  rawRows,
  type RowsOf,
  type Steps,
  TransactionConflict,
  updateRows,
} from './steps.js';

const KEYS: BulkClaim = {
  table: 'hookplane_idempotency_keys',
  columns: {
    tenant_id: 'text',
    key: 'text',
    message_id: 'text',
    fingerprint: 'text',
    created_at: 'integer',
  },
  identity: 'message_id',
};

const INHERITED_KEY: BulkUpdate = {
  table: 'hookplane_idempotency_keys',
  set: { message_id: 'text', fingerprint: 'text', created_at: 'integer', message: 'text' },
  key: { tenant_id: 'text', key: 'text' },
};

type Holder = Pick<IdempotencyKeyRow, 'message_id' | 'fingerprint' | 'created_at' | 'message'>;

/**
 * Writes the keys first and lets the unique constraint decide who was first, in this batch or in another process.
 * Answers, by message id, what became of the messages whose key was taken.
 */
export function* claimIdempotencyKeys(
  db: Kysely<Tables>,
  dialect: SqlDialect,
  messages: readonly RoutedMessage[],
  deletions: ReadonlyMap<string, Position>,
  allOrNone: boolean,
): Steps<Map<string, InsertedMessage>> {
  const taken = new Map<string, InsertedMessage>();
  const keyed = keyedOf(messages);
  const claimed = yield* claimRows(KEYS, keyed.map(toRow));
  if (!claimed.includes(false)) return taken;

  const others = keyed.filter((_, index) => !claimed[index]);
  const holders = yield* readHolders(db, dialect, others);
  const sharedBefore = new Map<string, RoutedMessage>();
  for (const [index, { message, name }] of keyed.entries()) {
    const first = holders.get(name);
    const inherits =
      first !== undefined &&
      isLeft(deletions, { tenantId: message.tenantId, createdAt: first.created_at, id: first.message_id });
    if (claimed[index] || inherits) {
      const { id, fingerprint, createdAt } = message;
      // Of the tenant that had this id before: not yet purged, and no longer in force.
      if (inherits)
        yield* updateRows(INHERITED_KEY, [
          [id, fingerprint, createdAt, null, message.tenantId ?? '', message.idempotencyKey],
        ]);
      holders.set(name, { message_id: id, fingerprint, created_at: createdAt, message: null });
      sharedBefore.set(id, message);
      continue;
    }
    if (!first) throw goneMeanwhile();
    if (first.fingerprint !== message.fingerprint) {
      if (allOrNone) throw idempotencyConflict(message.idempotencyKey);
      taken.set(message.id, { outcome: 'conflict', messageId: first.message_id });
      continue;
    }
    const row = yield* firstOf(
      db.selectFrom('hookplane_messages as m').select(LISTED).where('m.id', '=', first.message_id),
    );
    const sameBatch = sharedBefore.get(first.message_id);
    const known = row
      ? toMessage(row)
      : (fromJson<Message>(first.message) ?? (sameBatch && messageOf(sameBatch)));
    if (!known) throw goneMeanwhile();
    taken.set(message.id, { outcome: 'duplicate', message: known });
  }
  return taken;
}

interface Keyed {
  message: RoutedMessage;
  name: string;
}

/** Those that have a key, in order, for two transactions that claim the same ones. */
function keyedOf(messages: readonly RoutedMessage[]): Keyed[] {
  return messages
    .filter((message) => message.idempotencyKey !== null)
    .map((message) => ({ message, name: keyName(message.tenantId ?? '', message.idempotencyKey) }))
    .sort((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0));
}

function toRow({ message }: Keyed): unknown[] {
  return [message.tenantId ?? '', message.idempotencyKey, message.id, message.fingerprint, message.createdAt];
}

/**
 * The keys of messages as rows to insert, and what holds while all of them are free; null where two messages have the same
 * one. The unique constraint decides, but what it refuses is an error in the server's log.
 */
export function freeKeys(
  dialect: SqlDialect,
  messages: readonly RoutedMessage[],
): { rows: RowsOf; areFree: RawBuilder<boolean> } | null {
  const keyed = keyedOf(messages);
  if (new Set(keyed.map(({ name }) => name)).size < keyed.length) return null;
  return {
    rows: { into: KEYS, count: keyed.length, rows: () => keyed.map(toRow) },
    areFree: keyed.length === 0 ? sql`true` : sql`not exists (select 1 from ${heldOf(dialect, keyed)})`,
  };
}

/** The keys that somebody has, as `k`. */
function heldOf(dialect: SqlDialect, keyed: readonly Keyed[]): RawBuilder<unknown> {
  const keys = dialect.tableOf(
    keyed.map(({ message }) => [message.tenantId ?? '', message.idempotencyKey]),
    { tenant_id: 'text', key: 'text' },
  );
  return sql`${keys} as r join hookplane_idempotency_keys k on k.tenant_id = r.tenant_id and k.key = r.key`;
}

/** Who has the keys, by the name of the key. */
function* readHolders(
  db: Kysely<Tables>,
  dialect: SqlDialect,
  keyed: readonly Keyed[],
): Steps<Map<string, Holder>> {
  const found = yield* rawRows(
    db,
    sql<Holder & Pick<IdempotencyKeyRow, 'tenant_id' | 'key'>>`
    select k.tenant_id, k.key, k.message_id, k.fingerprint, k.created_at, k.message
    from ${heldOf(dialect, keyed)} order by k.tenant_id, k.key ${dialect.forUpdate('k')}`,
  );
  return new Map(found.map((row) => [keyName(row.tenant_id, row.key), row]));
}

function keyName(tenantId: string, key: string | null): string {
  return JSON.stringify([tenantId, key]);
}

/** The key was taken, and is not: another transaction has removed it in between. What is done again finds it free. */
function goneMeanwhile(): Error {
  return new TransactionConflict('An idempotency key was removed while it was read');
}
