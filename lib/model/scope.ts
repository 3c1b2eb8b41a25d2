import type { AuditedOperation, AuditEntry } from './audit.js';
import type {
  Endpoint,
  EndpointCreate,
  EndpointSecrets,
  EndpointStatus,
  EndpointUpdate,
  SecretRotation,
} from './endpoint.js';
import type { Health } from './health.js';
import type {
  Attempt,
  AttemptStatus,
  Message,
  MessageDetail,
  MessageInput,
  MessageStatus,
  SentMessage,
  TestInput,
} from './message.js';
import type { PageRequest } from './page.js';
import type {
  MessageReplay,
  RangeReplay,
  ReconcileRequest,
  ReconcileResult,
  ReplayResult,
} from './replay.js';
import type { AttemptStats, AttemptStatsRequest, EndpointStats, StatsRequest } from './stats.js';
import type { Tenant } from './tenant.js';
import type { SqliteTransaction, Transaction } from './transaction.js';

export interface SendOptions {
  /**
   * An open transaction of the application's, on the database of its `postgresStore`, that the send is to be a part of.
   * Until the send has answered, no other statement of it may be under way.
   */
  transaction: Transaction;
}

export interface SendSyncOptions {
  /** The database with the open transaction that the send is to be a part of, on the file of the `sqliteStore`. */
  transaction: SqliteTransaction;
}

export interface EndpointListRequest extends PageRequest {
  status?: EndpointStatus | undefined;
  tenantId?: string | undefined;
}

export interface MessageListRequest extends PageRequest {
  types?: readonly string[] | undefined;
  statuses?: readonly MessageStatus[] | undefined;
  /** RFC 3339, inclusive. */
  since?: string | undefined;
  /** RFC 3339, exclusive. */
  until?: string | undefined;
  endpointId?: string | undefined;
  tenantId?: string | undefined;
}

export interface AttemptListRequest extends PageRequest {
  status?: AttemptStatus | undefined;
}

export interface EndpointAttemptListRequest extends AttemptListRequest {
  /** When the attempt began: RFC 3339, inclusive. */
  since?: string | undefined;
  /** RFC 3339, exclusive. */
  until?: string | undefined;
}

export interface AuditListRequest extends PageRequest {
  /** The id of the actor. */
  actor?: string | undefined;
  operation?: AuditedOperation | undefined;
  /** The endpoint, message or tenant that was changed. */
  targetId?: string | undefined;
  /** RFC 3339, inclusive. */
  since?: string | undefined;
  /** RFC 3339, exclusive. */
  until?: string | undefined;
  tenantId?: string | undefined;
}

/** An endpoint together with its signing secret, which is no part of the record. */
export type EndpointWithSecret = Endpoint & { secret: string };

export interface EndpointOperations {
  /** Newest first. */
  list(request?: EndpointListRequest): Promise<{ endpoints: Endpoint[]; nextCursor: string | null }>;
  /** @throws `ENDPOINT_VALIDATION` */
  create(input: EndpointCreate): Promise<EndpointWithSecret>;
  /** @throws `ENDPOINT_NOT_FOUND` */
  get(id: string): Promise<Endpoint>;
  /** @throws `ENDPOINT_NOT_FOUND`, `ENDPOINT_VALIDATION` */
  update(id: string, input: EndpointUpdate): Promise<Endpoint>;
  /** Cancels what is still owed to it; its history stays readable. @throws `ENDPOINT_NOT_FOUND` */
  delete(id: string): Promise<void>;
  /** Pauses: what it is owed is held, not dropped. @throws `ENDPOINT_NOT_FOUND` */
  disable(id: string): Promise<Endpoint>;
  /** Ends a pause of any reason. @throws `ENDPOINT_NOT_FOUND` */
  enable(id: string): Promise<Endpoint>;
  /**
   * @throws `ENDPOINT_NOT_FOUND`, `ENDPOINT_VALIDATION`; `SECRET_SEALED` when one that would sign on cannot be opened:
   * `overlapSeconds` 0 revokes it
   */
  rotateSecret(
    id: string,
    input?: SecretRotation,
  ): Promise<EndpointWithSecret & { previousSecretExpiresAt: string }>;
  /** The secrets that sign at this moment. @throws `ENDPOINT_NOT_FOUND`, `SECRET_SEALED` when one cannot be opened */
  secret(id: string): Promise<EndpointSecrets>;
  /**
   * Sends a signed `hookplane.test` event now, whatever the endpoint's filters say, and answers with the attempt.
   * Neither the event nor the attempt is stored: their ids name nothing afterwards. It is not retried, and touches no
   * failure count and no rate limit. It needs no started sender. It answers within the endpoint's deadline; where other
   * tests take that up, with an attempt whose `errorKind` is `timeout`.
   * @throws `ENDPOINT_NOT_FOUND`, `MESSAGE_VALIDATION`, `ENDPOINT_DISABLED`
   */
  test(id: string, input?: TestInput): Promise<Attempt>;
  /** What was sent to it, newest first. @throws `ENDPOINT_NOT_FOUND`, `INVALID_QUERY` */
  attempts(
    id: string,
    request?: EndpointAttemptListRequest,
  ): Promise<{ attempts: Attempt[]; nextCursor: string | null }>;
  /**
   * How it has answered, per minute, hour or day. The range is at most a day of minutes or 31 days.
   * @throws `ENDPOINT_NOT_FOUND`, `INVALID_QUERY`
   */
  stats(id: string, request?: StatsRequest): Promise<EndpointStats>;
}

export interface MessageOperations {
  /** Newest first. */
  list(request?: MessageListRequest): Promise<{ messages: Message[]; nextCursor: string | null }>;
  /** @throws `MESSAGE_NOT_FOUND` */
  get(id: string): Promise<MessageDetail>;
  /** Oldest first. @throws `MESSAGE_NOT_FOUND` */
  attempts(
    id: string,
    request?: AttemptListRequest,
  ): Promise<{ attempts: Attempt[]; nextCursor: string | null }>;
  /**
   * Removes the payload of a message and what receivers answered to it, and cancels what is still owed of it; the
   * history stays readable. Again, it changes nothing.
   * @throws `MESSAGE_NOT_FOUND`
   */
  expungePayload(id: string): Promise<void>;
}

export interface TenantOperations {
  list(request?: PageRequest): Promise<{ tenants: Tenant[]; nextCursor: string | null }>;
  /** @throws `TENANT_NOT_FOUND` */
  get(id: string): Promise<Tenant>;
  /** Makes the tenant if it is not there. @throws `TENANT_VALIDATION`, `FORBIDDEN` for another tenant */
  setRateLimit(id: string, input: { perSecond: number | null; burst?: number | undefined }): Promise<Tenant>;
  /** Makes the tenant if it is not there, and replaces its metadata. @throws `TENANT_VALIDATION`, `FORBIDDEN` for another tenant */
  setMetadata(id: string, metadata: Record<string, unknown>): Promise<Tenant>;
  /**
   * Removes the tenant with all that it has. When this resolves, nothing of it is found or leased any more, and only
   * requests that are under way may still arrive; rows that are too many for one transaction are removed in the
   * background. The id may be used again at once; a send that was called before and is not stored yet is refused.
   * @throws `TENANT_NOT_FOUND`, `FORBIDDEN` for another tenant
   */
  delete(id: string): Promise<void>;
}

export interface AuditOperations {
  /**
   * Who changed what through the control plane, and through scopes of `forCaller`; newest first. A bound scope is shown
   * what concerns its tenant, and if there was one of that id before, which was deleted, nothing of that one.
   * @throws `INVALID_QUERY`
   */
  list(request?: AuditListRequest): Promise<{ entries: AuditEntry[]; nextCursor: string | null }>;
}

export interface KeyOperations {
  /** `whsec_` and the base64 of 32 random bytes. */
  generateSymmetric(): { secret: string };
  /** An ed25519 pair: `whsk_…` to sign with, `whpk_…` for receivers. */
  generateAsymmetric(): { privateKey: string; publicKey: string };
}

/**
 * All that a caller may do. The sender itself is the unscoped one; `forTenant` gives one that sees and changes a
 * single tenant's data, for which everybody else's ids do not exist.
 */
export interface SenderScope {
  /** The tenant this scope is bound to; null for the unscoped one. */
  readonly tenantId: string | null;
  readonly endpoints: EndpointOperations;
  readonly messages: MessageOperations;
  readonly tenants: TenantOperations;
  readonly keys: KeyOperations;
  readonly audit: AuditOperations;
  /**
   * Stores a message and a delivery for every endpoint of its tenant that matches, in one transaction; answers when
   * that is durable. In a transaction of the application's, it is sent if that is committed.
   * @throws `MESSAGE_VALIDATION`, `IDEMPOTENCY_CONFLICT`, `STORE_UNAVAILABLE`, and `TENANT_NOT_FOUND` when the tenant
   * is deleted before it is stored; `INVALID_OPTIONS` when the transaction is not open on the database of the store. What
   * the application's own library throws comes through as it is. After any of them the transaction can be gone on with
   */
  send(message: MessageInput, options?: SendOptions): Promise<SentMessage>;
  /**
   * The same for a store in SQLite: stores a message within the call, as a part of a transaction of better-sqlite3. The
   * store has to be open already, by `start` or any operation before.
   * @throws the same, and `INVALID_OPTIONS` when a `filterFn` answers a promise
   */
  sendSync(message: MessageInput, options: SendSyncOptions): SentMessage;
  /** Sends several messages in one transaction: all are stored, or none is. */
  sendMany(messages: readonly MessageInput[], options?: SendOptions): Promise<SentMessage[]>;
  /**
   * Makes deliveries due again, a page a call, oldest first.
   * @throws `REPLAY_VALIDATION`, `INVALID_QUERY`, `ENDPOINT_NOT_FOUND`, `MESSAGE_NOT_FOUND`, `ENDPOINT_DISABLED`
   */
  replay(request: MessageReplay | RangeReplay): Promise<ReplayResult>;
  /**
   * The messages of a range that match an endpoint and were never delivered to it; changes nothing.
   * @throws `REPLAY_VALIDATION`, `INVALID_QUERY`, `ENDPOINT_NOT_FOUND`
   */
  reconcile(request: ReconcileRequest): Promise<ReconcileResult>;
  /**
   * How attempts have ended, per minute, hour or day: to all endpoints in scope, and to those that were deleted for as
   * long as the messages are kept. The range is at most a day of minutes or 31 days. Intervals that are over are
   * remembered by the process, so that asking again counts the present one alone.
   * @throws `INVALID_QUERY`
   */
  stats(request?: AttemptStatsRequest): Promise<AttemptStats>;
  /** Never rejects: a store that does not answer is a record that says so. */
  health(): Promise<Health>;
  /**
   * What there is to watch, in the text format of Prometheus, version 0.0.4. The store is counted for all processes;
   * messages and attempts are counted by this sender, since it was made. A bound scope has its own outbox alone.
   * Never rejects: a store that does not answer is a `hookplane_store_up` of 0.
   */
  metrics(): Promise<string>;
}
