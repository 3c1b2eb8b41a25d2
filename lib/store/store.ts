import type { AuditedOperation, AuditEntry } from '../model/audit.js';
import type { Endpoint, EndpointStatus, PausedReason } from '../model/endpoint.js';
import type { Attempt, AttemptStatus } from '../model/message.js';
import type { Position } from '../model/page.js';
import type { RateLimit } from '../model/rate-limit.js';
import type { DurationCount } from '../model/stats.js';
import type { Tenant } from '../model/tenant.js';
import type { NewAuditEntry } from './audit.js';
import type { DepthStore } from './depth.js';
import type { InsertedMessage, MessageStore, NewMessage } from './messages.js';
import type { OutboxStore, StoredSecret, TenantScope } from './outbox.js';
import type { PageOf, PageQuery } from './page.js';

export type * from './audit.js';
export type * from './depth.js';
export type * from './messages.js';
export type * from './outbox.js';
export type * from './page.js';

/**
 * Where a sender keeps its state. Every method that changes something is one transaction: it happens whole or not at
 * all. Times are milliseconds since the epoch and come from the caller, so that one clock decides.
 *
 * `tenant` in a method is the scope of the caller and becomes part of the `WHERE`: undefined sees every tenant,
 * anything else sees that one alone, for which other tenants' ids do not exist.
 *
 * `audit` in a method is what to record of the change, in its transaction; absent, nothing is recorded.
 *
 * @throws HookplaneError `STORE_UNAVAILABLE` when the store does not answer, `MIGRATION_REQUIRED` when its schema is
 * older or newer than this version of the package
 */
export interface Store {
  /** Opens the store and brings its schema up to date; safe to call again and at the same time. */
  open(): Promise<void>;
  close(): Promise<void>;
  /** Looks how far the schema is, whether the store is open or not, and changes nothing. */
  schema(): Promise<SchemaState>;
  /** The clock that all processes share which share the store, where there is one. */
  now?(): number;
  /**
   * Lends `send` a transaction of the application's that is open: all that it stores is part of it, or nothing where it
   * throws, and the transaction can be gone on with. Workers are told of it when it is committed, those of this process
   * as well. What the database or the application's library throws comes through as it is. One call at a time for each
   * transaction.
   * @throws HookplaneError `INVALID_OPTIONS` for what is no transaction of this store's database
   */
  within<T>(transaction: unknown, send: (store: SendingStore) => Promise<T>): Promise<T>;
  /** The same within one call, of a database that answers at once. Workers are not told. */
  withinSync<T>(transaction: unknown, send: (store: SyncSendingStore) => T): T;
  /** How long it lets a statement take, in milliseconds, where it has such a limit. A lease has to last longer. */
  readonly statementTimeoutMs?: number;

  readonly endpoints: EndpointStore;
  readonly messages: MessageStore;
  readonly tenants: TenantStore;
  readonly outbox: OutboxStore;
  readonly workers: WorkerStore;
  readonly audit: AuditStore;
  readonly depths: DepthStore;
}

/** What a send asks of a store within a transaction of the application's. */
export interface SendingStore {
  ofTenants: EndpointStore['ofTenants'];
  /** All of them, or none. */
  insert(messages: readonly NewMessage[]): Promise<InsertedMessage[]>;
}

export interface SyncSendingStore {
  ofTenants(tenantIds: Iterable<string | null>): ReadonlyMap<string | null, readonly Endpoint[]>;
  /** All of them, or none. */
  insert(messages: readonly NewMessage[]): InsertedMessage[];
}

export interface SchemaState {
  /** The version that the store has; 0 when it has none yet. */
  version: number;
  /** The one that this version of the package works with. */
  wanted: number;
  /** What brings it from one to the other, in order; empty when it is up to date, or newer. */
  pending: { version: number; name: string }[];
}

/** The fields of an endpoint that its owner sets. */
export type EndpointSettings = Pick<
  Endpoint,
  | 'url'
  | 'description'
  | 'types'
  | 'channels'
  | 'filter'
  | 'headers'
  | 'metadata'
  | 'retry'
  | 'rateLimit'
  | 'maxInFlight'
  | 'timeoutMs'
>;

/** A secret that signs at this moment. */
export interface LiveSecret extends StoredSecret {
  /** null for the current one. */
  expiresAt: number | null;
}

export interface EndpointStore {
  insert(
    endpoint: EndpointSettings & { id: string; tenantId: string | null },
    secret: StoredSecret,
    now: number,
    audit?: NewAuditEntry,
  ): Promise<Endpoint>;
  get(tenant: TenantScope, id: string): Promise<Endpoint | null>;
  /** Newest first. */
  list(query: PageQuery & { status: EndpointStatus | undefined }): Promise<PageOf<Endpoint>>;
  /**
   * All endpoints of each tenant, paused ones too: what a send with hooks is matched against. The same array as the last time
   * where none of them has changed.
   */
  ofTenants(tenantIds: Iterable<string | null>): Promise<ReadonlyMap<string | null, readonly Endpoint[]>>;
  update(
    tenant: TenantScope,
    id: string,
    changes: Partial<EndpointSettings>,
    now: number,
    audit?: NewAuditEntry,
  ): Promise<Endpoint | null>;
  /** Removes it with its secrets and cancels what it is owed. False when there is none. */
  delete(tenant: TenantScope, id: string, now: number, audit?: NewAuditEntry): Promise<boolean>;
  /** Pauses an active endpoint; a paused one stays as it is. */
  pause(
    tenant: TenantScope,
    id: string,
    reason: PausedReason,
    now: number,
    audit?: NewAuditEntry,
  ): Promise<Endpoint | null>;
  /** Makes it active and forgets its failures. */
  resume(tenant: TenantScope, id: string, now: number, audit?: NewAuditEntry): Promise<Endpoint | null>;
  /**
   * Makes `secret` the current one. The one before keeps signing until `previousUntil`, older ones until the time
   * they had; `previousUntil` of now or earlier revokes them all.
   */
  rotateSecret(
    tenant: TenantScope,
    id: string,
    secret: StoredSecret,
    previousUntil: number,
    now: number,
    audit?: NewAuditEntry,
  ): Promise<Endpoint | null>;
  /**
   * The secrets that sign at `now`, newest first; null when there is no such endpoint in scope. What is recorded of
   * it is durable before they are answered.
   */
  secrets(tenant: TenantScope, id: string, now: number, audit?: NewAuditEntry): Promise<LiveSecret[] | null>;
  /**
   * At most `limit` of all secrets of all endpoints, in the order of their ids, from behind `after` on: those that
   * have expired and are still there, too.
   */
  allSecrets(after: string | null, limit: number): Promise<(StoredSecret & { endpointId: string })[]>;
  /**
   * Puts `to` in place of what a secret holds, where it still holds `from` and is still there. When it expires stays.
   * @returns how many it changed
   */
  replaceSecrets(
    changes: readonly { id: string; endpointId: string; from: string; to: string }[],
  ): Promise<number>;
  /** What was sent to it, newest first; null when there is no such endpoint in scope. */
  attempts(
    query: PageQuery & {
      endpointId: string;
      status: AttemptStatus | undefined;
      since: number | undefined;
      until: number | undefined;
    },
  ): Promise<PageOf<Attempt> | null>;
  /**
   * How many attempts began in each step of time from `since` to before `until`, by outcome and duration. Steps are
   * counted from the epoch; those without an attempt are left out. What it costs grows with the attempts in the range,
   * so a long range is asked for piece by piece.
   */
  durations(query: {
    endpointId: string;
    since: number;
    until: number;
    stepMs: number;
  }): Promise<(DurationCount & { start: number })[]>;
  /**
   * The same for all endpoints in scope, those that were deleted too, for as long as attempts to them are kept. It
   * counts those of at most `limit` endpoints, from behind `after` on; `next` is where to go on, null when that was all.
   * Of more than `most` attempts it counts none, and `rows` is null: the range has to be shorter.
   */
  durationsOfAll(query: {
    tenant: TenantScope;
    since: number;
    until: number;
    stepMs: number;
    after: Position | null;
    limit: number;
    most: number;
  }): Promise<{ rows: (DurationCount & { start: number })[] | null; next: Position | null }>;
}

export interface TenantStore {
  get(id: string): Promise<Tenant | null>;
  /** Newest first. */
  list(query: PageQuery): Promise<PageOf<Tenant>>;
  /** Makes the tenant if it is not there. */
  set(
    id: string,
    changes: { rateLimit?: RateLimit | null; metadata?: Record<string, unknown> },
    now: number,
    audit?: NewAuditEntry,
  ): Promise<Tenant>;
  /**
   * Removes the tenant and all that is its, but for what is recorded of it. False when there is none. From then on
   * none of it is found, leased or sent. What is more than a batch is removed by {@link purge}; the id may be used again
   * meanwhile. `last` is the position that a message of this moment would have: an earlier one that is stored later is
   * refused.
   */
  delete(id: string, last: Position, audit?: NewAuditEntry): Promise<boolean>;
  /** Removes a batch of what deleted tenants have left; answers whether there may be more. */
  purge(now: number): Promise<boolean>;
}

export interface AuditQuery extends PageQuery {
  /**
   * Leaves out the last deletion of `tenant` and all that came before it: a tenant that is made anew has nothing to do
   * with the one that had its id.
   */
  sinceDeletion: boolean;
  since: number | undefined;
  until: number | undefined;
  /** The id of the actor. */
  actor: string | undefined;
  operation: AuditedOperation | undefined;
  targetId: string | undefined;
}

export interface AuditStore {
  /** Newest first. */
  list(query: AuditQuery): Promise<PageOf<AuditEntry>>;
  /** Removes a batch of the entries from before that time; answers whether there may be more. */
  removeBefore(before: number): Promise<boolean>;
}

export interface WorkerStore {
  /**
   * A sign of life. One from the future, of any worker, says that the clock was set back: what waits, is leased, is
   * slowed down or has used up its rate is then set back with it.
   */
  beat(workerId: string, now: number): Promise<void>;
  leave(workerId: string): Promise<void>;
  /** Workers that have given a sign of life since then. */
  countSince(since: number): Promise<number>;
}
