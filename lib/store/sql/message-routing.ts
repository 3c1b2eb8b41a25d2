import { type Kysely, type RawBuilder, sql } from 'kysely';
import type { Endpoint } from '../../model/endpoint.js';
import { tenantDeleted } from '../../model/errors.js';
import type { Position } from '../../model/page.js';
import type { NewMessage, SendLease } from '../store.js';
import type { SqlContext } from './context.js';
import { deletionsOf, isLeft } from './deleted-tenants.js';
import type { SqlDialect } from './dialect.js';
import { type DueLane, readLanes } from './due-lanes.js';
import { holdTenants } from './locks.js';
import type { RoutedMessage } from './rows.js';
import type { Tables } from './schema.js';
import { rawRows, type Steps, together } from './steps.js';

export interface RouteOptions {
  allOrNone: boolean;
  lease?: SendLease | undefined;
}

export interface Routed {
  /** The tenants that are there, which cannot be deleted until the transaction ends. */
  held: Set<string>;
  deletions: Map<string, Position>;
  /** Without those that are refused. */
  messages: RoutedMessage[];
  /** The lanes of their endpoints that are open, where something may be leased. */
  open: DueLane[];
  /** The lease that was asked for, unless more is owed than it has requests for. */
  leasing: SendLease | undefined;
}

/**
 * Finds whom messages are owed to, as the transaction that stores them sees it, in one round trip where the endpoints are
 * those of the last time.
 * @throws HookplaneError `TENANT_NOT_FOUND` where one is refused and all are wanted
 */
export function* route(
  db: Kysely<Tables>,
  context: SqlContext,
  given: readonly NewMessage[],
  { allOrNone, lease }: RouteOptions,
): Steps<Routed> {
  const { dialect, endpointCache } = context;
  // Chosen of the endpoints of the last time, which hardly ever change: they are asked about in the same round trip.
  const choice = createChoice();
  const expected = (message: NewMessage) =>
    choice(message, endpointCache.lastOf(message.tenantId)?.endpoints ?? []);
  const looking = lease && countOf(given.map(expected)) <= lease.most ? lease : undefined;
  // What was chosen before may have been deleted since. A lease has to know more of all.
  const isLookedAt = ({ owedTo }: NewMessage) => looking !== undefined || typeof owedTo !== 'function';
  const looked = new Set(given.filter(isLookedAt).flatMap(expected));
  // From here on no tenant can be deleted; of those that were, it is known.
  const [held, deletions, endpoints, lookedAt] = yield* together(
    holdTenants(db, dialect, tenantsOf(given)),
    deletionsOf(db, dialect, tenantsOf(given)),
    endpointsToChooseOf(db, context, given),
    lookAt(db, dialect, looked, looking),
  );
  const isRefused = (message: NewMessage) => isLeft(deletions, message);
  if (allOrNone && given.some(isRefused)) throw tenantDeleted();
  const chosen = given
    .filter((message) => !isRefused(message))
    .map((message) => ({
      ...message,
      endpointIds: choice(message, endpoints.get(message.tenantId) ?? []),
    }));
  const others = chosen
    .filter(isLookedAt)
    .flatMap(({ endpointIds }) => endpointIds.filter((id) => !looked.has(id)));
  const more = yield* lookAt(db, dialect, new Set(others), looking);
  const gone = new Set([...lookedAt.gone, ...more.gone]);
  const open = [...lookedAt.open, ...more.open];
  if (looking) {
    // Of one that fails a lease says since when: that is read.
    const well = open.filter(({ failingSince }) => failingSince === null);
    const ids = new Set(well.map(({ endpointId }) => endpointId));
    endpointCache.noteLanes([...looked, ...others], (id) => ids.has(id));
  }
  const isThere = (id: string) => !gone.has(id);
  const messages =
    gone.size === 0
      ? chosen
      : chosen.map((message) => ({ ...message, endpointIds: message.endpointIds.filter(isThere) }));
  const isWithin = looking && countOf(messages.map(({ endpointIds }) => endpointIds)) <= looking.most;
  return {
    held,
    deletions,
    messages,
    open,
    leasing: isWithin ? looking : undefined,
  };
}

/** The endpoints of the tenants whose messages choose of them. */
function endpointsToChooseOf(
  db: Kysely<Tables>,
  { endpointCache }: SqlContext,
  messages: readonly NewMessage[],
): Steps<ReadonlyMap<string | null, readonly Endpoint[]>> {
  const choosing = messages.filter(({ owedTo }) => typeof owedTo === 'function');
  return endpointCache.ofTenants(
    db,
    choosing.map(({ tenantId }) => tenantId),
  );
}

/** Has each message choose once of the same endpoints: those that are found mostly are those of the last time. */
function createChoice(): (message: NewMessage, ofTenant: readonly Endpoint[]) => readonly string[] {
  const made = new Map<NewMessage, { ofTenant: readonly Endpoint[]; ids: readonly string[] }>();
  return (message, ofTenant) => {
    if (typeof message.owedTo !== 'function') return message.owedTo;
    let choice = made.get(message);
    if (choice?.ofTenant !== ofTenant) {
      choice = { ofTenant, ids: message.owedTo(ofTenant) };
      made.set(message, choice);
    }
    return choice.ids;
  };
}

function countOf(lists: readonly (readonly string[])[]): number {
  return lists.reduce((sum, list) => sum + list.length, 0);
}

/** Which of the endpoints are not there; and for a lease, the lanes that are open. */
function* lookAt(
  db: Kysely<Tables>,
  dialect: SqlDialect,
  endpointIds: ReadonlySet<string>,
  lease: SendLease | undefined,
): Steps<{ gone: Set<string>; open: DueLane[] }> {
  const gone = new Set(endpointIds);
  if (gone.size === 0) return { gone, open: [] };
  const wanted = dialect.tableOf(
    [...gone].map((id) => [id]),
    { id: 'text' },
  );
  const { present, open } = lease
    ? yield* readLanes(db, wanted, lease.now)
    : { present: yield* readPresent(db, wanted), open: [] };
  for (const id of present) gone.delete(id);
  return { gone, open };
}

function* readPresent(db: Kysely<Tables>, wanted: RawBuilder<unknown>): Steps<Set<string>> {
  const found = yield* rawRows(
    db,
    sql<{ id: string }>`
    select e.id from ${wanted} as r join hookplane_endpoints e on e.id = r.id`,
  );
  return new Set(found.map(({ id }) => id));
}

export function tenantsOf(messages: readonly Pick<NewMessage, 'tenantId'>[]): string[] {
  return messages.flatMap((message) => message.tenantId ?? []);
}
