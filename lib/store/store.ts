import type { AuditedOperation, AuditEntry } from '../model/audit.js';
import type { Endpoint, EndpointStatus, PausedReason } from '../model/endpoint.js';
import type {
  Attempt,
  AttemptStatus,
  Delivery,
  DeliveryStatus,
  Message,
  MessageStatus,
} from '../model/message.js';
import type { Position } from '../model/page.js';
import type { RateLimit } from '../model/rate-limit.js';
import type { DurationCount } from '../model/stats.js';
import type { Tenant } from '../model/tenant.js';
import type { NewAuditEntry } from './audit.js';
import type { LeasedDelivery, OutboxStore, TenantScope } from './outbox.js';

export type * from './audit.js';
export type * from './outbox.js';

/**
 * Where a sender keeps its state. Every method that changes something is one transaction: it happens whole or not at
 * all. Times are
 * milliseconds since the epoch and come from the caller, so that one clock decides.
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

  readonly endpoints: EndpointStore;
  readonly messages: MessageStore;
  readonly tenants: TenantStore;
  readonly outbox: OutboxStore;
  readonly workers: WorkerStore;
  readonly audit: AuditStore;
}

export interface PageOf<Row> {
  rows: Row[];
  /** Where the page ended, or null when nothing comes after it. */
  next: Position | null;
}

export interface PageQuery {
  tenant: TenantScope;
  after: Position | null;
  limit: number;
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

export interface NewSecret {
  id: string;
  secret: string;
}

/** A secret that signs at this moment. */
export interface LiveSecret {
  secret: string;
  /** null for the current one. */
  expiresAt: number | null;
}

export interface EndpointStore {
  insert(
    endpoint: EndpointSettings & { id: string; tenantId: string | null },
    secret: NewSecret,
    now: number,
    audit?: NewAuditEntry,
  ): Promise<Endpoint>;
  get(tenant: TenantScope, id: string): Promise<Endpoint | null>;
  /** Newest first. */
  list(query: PageQuery & { status: EndpointStatus | undefined }): Promise<PageOf<Endpoint>>;
  /** All endpoints of one tenant, paused ones too: what a send is matched against. */
  ofTenant(tenantId: string | null): Promise<Endpoint[]>;
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
    secret: NewSecret,
    previousUntil: number,
    now: number,
    audit?: NewAuditEntry,
  ): Promise<Endpoint | null>;
  /**
   * The secrets that sign at `now`, newest first; null when there is no such endpoint in scope. What is recorded of
   * it is durable before they are answered.
   */
  secrets(tenant: TenantScope, id: string, now: number, audit?: NewAuditEntry): Promise<LiveSecret[] | null>;
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
}

export interface NewMessage {
  id: string;
  tenantId: string | null;
  type: string;
  channels: string[] | null;
  idempotencyKey: string | null;
  /** Tells two sends with one idempotency key apart when they do not say the same. */
  fingerprint: string;
  /** The serialized event, exactly the bytes that are signed and sent. */
  payload: string;
  /** The trace it was sent in, as {@link LeasedDelivery} answers it; null when it was sent in none. */
  traceContext: string | null;
  createdAt: number;
  expiresAt: number;
  /** The endpoints it is owed to; those that are gone by now are passed over. */
  endpointIds: string[];
  /** What to record if it is stored. */
  audit?: NewAuditEntry | undefined;
}

export type InsertedMessage =
  | { outcome: 'stored' | 'duplicate'; message: Message }
  | { outcome: 'conflict'; messageId: string };

export interface MessageQuery extends PageQuery {
  types: readonly string[] | undefined;
  statuses: readonly MessageStatus[] | undefined;
  since: number | undefined;
  until: number | undefined;
  endpointId: string | undefined;
}

export interface StoredMessage {
  message: Message;
  /** null once it was expunged. */
  payload: string | null;
  deliveries: Delivery[];
}

/** A message of a range, with what it owes or owed to one endpoint (null: never anything). */
export interface RangeRow {
  id: string;
  type: string;
  channels: string[] | null;
  /** null when it was not asked for. */
  payload: string | null;
  position: Position;
  delivery: { status: DeliveryStatus; everDelivered: boolean; inFlight: boolean } | null;
}

export interface MessageStore {
  /**
   * Stores messages and their deliveries, all in one transaction. A message whose (tenant, idempotency key) is taken
   * is not stored: `duplicate` when the fingerprint is the same, `conflict` when it is not. With `allOrNone`, a
   * conflict keeps every message from being stored.
   */
  insert(messages: readonly NewMessage[], allOrNone: boolean): Promise<InsertedMessage[]>;
  get(tenant: TenantScope, id: string): Promise<StoredMessage | null>;
  /** The tenant a message belongs to, and whether it can be sent again; null when there is no such message in scope. */
  owner(tenant: TenantScope, id: string): Promise<{ tenantId: string | null; expunged: boolean } | null>;
  /** Newest first. */
  list(query: MessageQuery): Promise<PageOf<Message>>;
  /** Oldest first; null when there is no such message in scope. */
  attempts(
    query: PageQuery & { messageId: string; status: AttemptStatus | undefined },
  ): Promise<PageOf<Attempt> | null>;
  /**
   * Removes the payload and the response bodies of the attempts, and cancels what is owed, in flight or not. What ends
   * in flight afterwards is recorded without its response body. False when there is no such message in scope.
   */
  expunge(tenant: TenantScope, id: string, now: number, audit?: NewAuditEntry): Promise<boolean>;
  /** The messages of the endpoint's tenant in a range of time, oldest first, without those that were expunged. */
  range(query: {
    tenantId: string | null;
    endpointId: string;
    since: number;
    until: number;
    after: Position | null;
    limit: number;
    withPayload: boolean;
    now: number;
  }): Promise<RangeRow[]>;
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
  /** Removes the tenant and all that is its, but for what is recorded of it. False when there is none. */
  delete(id: string, audit?: NewAuditEntry): Promise<boolean>;
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
