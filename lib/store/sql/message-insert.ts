import type { Kysely } from 'kysely';
import type { InsertedMessage, NewMessage } from '../store.js';
import type { SqlContext } from './context.js';
import { claimIdempotencyKeys } from './idempotency.js';
import { readTargets } from './lease.js';
import { type RouteOptions, route, tenantsOf } from './message-routing.js';
import { rowsOfMessages, storedMessage } from './message-rows.js';
import type { Tables } from './schema.js';
import { leaseMessages, NO_LEASES, quotasOf } from './send-lease.js';
import { command, insertRows, type Steps } from './steps.js';
import { ensureTenants } from './tenants.js';

export interface InsertOptions extends RouteOptions {
  /** Whether the worker of this process is told as well: it is when nobody else can tell it. */
  everyone?: boolean;
}

/** What a send stores: the key, the message, its payload, and a delivery for each endpoint it is owed to. */
export function* insertMessages(
  db: Kysely<Tables>,
  context: SqlContext,
  given: readonly NewMessage[],
  { allOrNone, lease, everyone = false }: InsertOptions,
): Steps<InsertedMessage[]> {
  const { dialect } = context;
  const { held, deletions, messages, open, leasing } = yield* route(db, context, given, { allOrNone, lease });
  const absent = tenantsOf(messages).filter((id) => !held.has(id));
  yield* ensureTenants(db, dialect, absent, messages[0]?.createdAt ?? 0);
  const taken = yield* claimIdempotencyKeys(db, dialect, messages, deletions, allOrNone);
  const fresh = messages.filter((message) => !taken.has(message.id));
  let leases = NO_LEASES;
  if (leasing) {
    const quotas = quotasOf(fresh, open, leasing);
    const given = open.filter(({ endpointId }) => quotas.has(endpointId));
    leases = leaseMessages(fresh, quotas, yield* readTargets(db, context, given, leasing.now));
  }
  const { rows, isDue } = rowsOfMessages(fresh, leases, leasing);
  yield* insertRows(...rows);
  if (dialect.announceDue && isDue) yield* command(db, dialect.announceDue(everyone));
  const accepted = new Map(
    messages.map((message) => [message.id, taken.get(message.id) ?? storedMessage(message, leases)]),
  );
  return given.map(({ id }) => accepted.get(id) ?? { outcome: 'refused' });
}
