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
import type { Tenant } from '../model/tenant.js';
import type { OutboxStore, TenantScope } from './outbox.js';

export type * from './outbox.js';

/**
 * Where a sender keeps its state. Every method that changes something is one transaction: it happens whole or not at
 * all. Times are
 * milliseconds since the epoch and come from the caller, so that one clock decides.
 *
 * `tenant` in a method is the scope of the caller and becomes part of the `WHERE`: undefined sees every tenant,
 * anything else sees that one alone, for which other tenants' ids do not exist.
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

export interface EndpointStore {
  insert(
    endpoint: EndpointSettings & { id: string; tenantId: string | null },
    secret: NewSecret,
    now: number,
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
  ): Promise<Endpoint | null>;
  /** Removes it with its secrets and cancels what it is owed. False when there is none. */
  delete(tenant: TenantScope, id: string, now: number): Promise<boolean>;
  /** Pauses an active endpoint; a paused one stays as it is. */
  pause(tenant: TenantScope, id: string, reason: PausedReason, now: number): Promise<Endpoint | null>;
  /** Makes it active and forgets its failures. */
  resume(tenant: TenantScope, id: string, now: number): Promise<Endpoint | null>;
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
  ): Promise<Endpoint | null>;
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
  createdAt: number;
  expiresAt: number;
  /** The endpoints it is owed to; those that are gone by now are passed over. */
  endpointIds: string[];
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
  payload: string;
  deliveries: Delivery[];
}

/** A message of a range, with what it owes or owed to one endpoint (null: never anything). */
export interface RangeRow {
  id: string;
  type: string;
  channels: string[] | null;
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
  /** The tenant a message belongs to, in an object; null when there is no such message in scope. */
  owner(tenant: TenantScope, id: string): Promise<{ tenantId: string | null } | null>;
  /** Newest first. */
  list(query: MessageQuery): Promise<PageOf<Message>>;
  /** Oldest first; null when there is no such message in scope. */
  attempts(
    query: PageQuery & { messageId: string; status: AttemptStatus | undefined },
  ): Promise<PageOf<Attempt> | null>;
  /** The messages of the endpoint's tenant in a range of time, oldest first. */
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
  ): Promise<Tenant>;
  /** Removes the tenant and all that is its. False when there is none. */
  delete(id: string): Promise<boolean>;
}

export interface WorkerStore {
  beat(workerId: string, now: number): Promise<void>;
  leave(workerId: string): Promise<void>;
  /** Workers that have given a sign of life since then. */
  countSince(since: number): Promise<number>;
}
