import type { Endpoint } from '../model/endpoint.js';
import type {
  Attempt,
  AttemptStatus,
  Delivery,
  DeliveryStatus,
  Message,
  MessageStatus,
} from '../model/message.js';
import type { Position } from '../model/page.js';
import type { NewAuditEntry } from './audit.js';
import type { LeasedDelivery, SendLease, TenantScope } from './outbox.js';
import type { PageOf, PageQuery } from './page.js';

export interface NewMessage {
  /** As `createId` makes it of `createdAt`. */
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
  /**
   * The endpoints it is owed to, of which those that are gone by now are passed over; or what chooses them of its tenant's,
   * paused ones too, as the transaction that stores it finds them. It may be asked several times, about those of the last time
   * as well; the last answer counts.
   */
  owedTo: readonly string[] | ((ofTenant: readonly Endpoint[]) => readonly string[]);
  /** What to record if it is stored. */
  audit?: NewAuditEntry | undefined;
}

export type InsertedMessage =
  /**
   * `owed` counts its deliveries; `leased` are those of them that a lease was asked for and that nothing keeps from being
   * made at once.
   */
  | { outcome: 'stored'; message: Message; owed: number; leased: LeasedDelivery[] }
  | { outcome: 'duplicate'; message: Message }
  | { outcome: 'conflict'; messageId: string }
  | { outcome: 'refused' };

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

export interface RangeQuery {
  tenantId: string | null;
  endpointId: string;
  since: number;
  until: number;
  after: Position | null;
  limit: number;
  withPayload: boolean;
  now: number;
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

/** What a batch has removed, and whether another one would find more. */
export interface Removal {
  removed: number;
  more: boolean;
}

export interface MessageStore {
  /**
   * Stores messages and their deliveries, all in one transaction. A message whose (tenant, idempotency key) is taken
   * is not stored: `duplicate` when the fingerprint is the same, `conflict` when it is not. Nor is one whose tenant was
   * deleted after it was made: `refused`. With `allOrNone`, a conflict and a refusal keep every message from being
   * stored.
   *
   * With `lease`, deliveries are stored leased, as many as it gives to lanes in which nothing is due and which have no
   * limit: what was sent when there is nothing else to do is delivered without being looked for.
   */
  insert(messages: readonly NewMessage[], allOrNone: boolean, lease?: SendLease): Promise<InsertedMessage[]>;
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
  /**
   * Removes a batch of the messages that have been finished (nothing is owed of them) since `before`, with all that
   * belongs to them. An idempotency key goes with its message, but not within a day of the send: until then it answers
   * what the message was. Calls at the same time are harmless.
   */
  removeFinished(before: number, now: number): Promise<Removal>;
  /** The messages of the endpoint's tenant in a range of time, oldest first, without those that were expunged. */
  range(query: RangeQuery): Promise<RangeRow[]>;
}
