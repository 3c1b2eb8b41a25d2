import type { AuditEntry } from '../model/audit.js';
import type { CallerRecord } from '../model/caller.js';
import type { Endpoint } from '../model/endpoint.js';
import type { Attempt, Message, MessageInput, SentMessage } from '../model/message.js';
import type { PageRequest } from '../model/page.js';
import type {
  MessageReplay,
  RangeReplay,
  ReconcileRequest,
  ReconcileResult,
  ReplayResult,
} from '../model/replay.js';
import type {
  AttemptListRequest,
  AuditListRequest,
  AuditOperations,
  EndpointAttemptListRequest,
  EndpointListRequest,
  EndpointOperations,
  KeyOperations,
  MessageListRequest,
  MessageOperations,
  SenderScope,
  TenantOperations,
} from '../model/scope.js';
import type { Tenant } from '../model/tenant.js';
import type { CallOptions } from './transport.js';

/** The operations of a scope as calls: each takes options of the call behind its own arguments. */
export type Remote<Operations> = {
  [Name in keyof Operations]: Operations[Name] extends (...args: infer Args) => infer Result
    ? (...args: [...args: Args, options?: CallOptions]) => Promise<Awaited<Result>>
    : never;
};

/** The rows of a list, whatever number of pages they are on; `limit` is the size of a page. */
export type Rows<Row> = AsyncGenerator<Row, void, undefined>;
/** The pages of a walk; `total` counts from its beginning. `nextCursor` is where it can be taken up again. */
export type Progress<Page> = AsyncGenerator<Page & { total: number }, void, undefined>;

export interface EndpointsClient extends Remote<EndpointOperations> {
  /** Newest first. */
  listAll(request?: EndpointListRequest, options?: CallOptions): Rows<Endpoint>;
  /** Newest first. @throws `ENDPOINT_NOT_FOUND`, `INVALID_QUERY` */
  attemptsAll(id: string, request?: EndpointAttemptListRequest, options?: CallOptions): Rows<Attempt>;
}

export interface MessagesClient extends Remote<MessageOperations> {
  /** Newest first. */
  listAll(request?: MessageListRequest, options?: CallOptions): Rows<Message>;
  /** Oldest first. @throws `MESSAGE_NOT_FOUND` */
  attemptsAll(id: string, request?: AttemptListRequest, options?: CallOptions): Rows<Attempt>;
}

export interface TenantsClient extends Remote<Omit<TenantOperations, 'setMetadata'>> {
  /** Newest first. */
  listAll(request?: PageRequest, options?: CallOptions): Rows<Tenant>;
}

export interface AuditClient extends Remote<AuditOperations> {
  /** Newest first. */
  listAll(request?: AuditListRequest, options?: CallOptions): Rows<AuditEntry>;
}

/**
 * The control plane as its sender has it: the same operations, by the same names, with the same records. All reject
 * with an {@link AdminClientError}, whose `code` is that of the operation, but for what the caller itself has thrown: the
 * reason of its signal, and the error of its function `headers`.
 */
export interface AdminClient extends Remote<Pick<SenderScope, 'replay' | 'reconcile' | 'stats' | 'health'>> {
  /**
   * Stores a message and a delivery for every endpoint of its tenant that matches. With an `idempotencyKey` it is
   * repeated when no answer came; it may then be answered as a `duplicate` of itself.
   * @throws `MESSAGE_VALIDATION`, `IDEMPOTENCY_CONFLICT`, `TENANT_NOT_FOUND`
   */
  send(message: MessageInput, options?: CallOptions): Promise<SentMessage>;
  readonly endpoints: EndpointsClient;
  readonly messages: MessagesClient;
  readonly tenants: TenantsClient;
  readonly keys: Remote<KeyOperations>;
  readonly audit: AuditClient;
  /** What the control plane takes this client for: its tenant, whether it may only read, and who it is. */
  caller(options?: CallOptions): Promise<CallerRecord>;
  readonly openapi: {
    /** The OpenAPI 3.1 document of the control plane. */
    get(options?: CallOptions): Promise<Record<string, unknown>>;
  };
  /** Replays page by page, as far as it is iterated: each step of the iteration is one call that re-queues a page. */
  replayAll(request: MessageReplay | RangeReplay, options?: CallOptions): Progress<ReplayResult>;
  /** Reconciles page by page. */
  reconcileAll(request: ReconcileRequest, options?: CallOptions): Progress<ReconcileResult>;
}
