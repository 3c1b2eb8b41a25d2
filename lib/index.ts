export type { AdminContext, AdminHandler, AdminHandlerOptions } from './admin/handler.js';
export { createAdminHandler } from './admin/handler.js';
export type { OpenApiDocument, OpenApiOptions } from './admin/openapi/document.js';
export { openApiDocument } from './admin/openapi/document.js';
export type { Actor, Authorize, AuthorizeInfo, Decider, Decision } from './admin/authorize.js';
export { anyOf } from './admin/authorizers/any-of.js';
export type { BearerLookup, BearerToken } from './admin/authorizers/bearer-token.js';
export { bearerToken } from './admin/authorizers/bearer-token.js';
export type { ClientCertificateOptions } from './admin/authorizers/client-certificate.js';
export { clientCertificate } from './admin/authorizers/client-certificate.js';
export type { CrossSiteOptions } from './admin/authorizers/cross-site.js';
export type { JwtClaims, JwtOptions } from './admin/authorizers/jwt.js';
export { jwt } from './admin/authorizers/jwt.js';
export { readOnly } from './admin/authorizers/read-only.js';
export type { CreateSenderOptions } from './create-sender.js';
export { createSender } from './create-sender.js';
export type { AuditActor, AuditEntry, AuditedOperation } from './model/audit.js';
export type {
  Endpoint,
  EndpointCreate,
  EndpointSecrets,
  EndpointStatus,
  EndpointUpdate,
  PausedReason,
  RetrySchedule,
  SecretRotation,
} from './model/endpoint.js';
export type { AdminErrorCode, ErrorCode, Issue, OperationErrorCode } from './model/errors.js';
export { HookplaneError, isHookplaneError } from './model/errors.js';
export type { Filter, FilterClause } from './model/filter.js';
export type { Health, HealthReason } from './model/health.js';
export type { Logger } from './model/logger.js';
export type {
  Attempt,
  AttemptStatus,
  AttemptTrigger,
  Delivery,
  DeliveryStatus,
  ErrorKind,
  Message,
  MessageDetail,
  MessageInput,
  MessageStatus,
  Payload,
  SentMessage,
  TestInput,
} from './model/message.js';
export type { RateLimit } from './model/rate-limit.js';
export type {
  MessageReplay,
  RangeReplay,
  ReconcileRequest,
  ReconcileResult,
  ReplayResult,
} from './model/replay.js';
export type {
  AttemptListRequest,
  AuditListRequest,
  EndpointAttemptListRequest,
  EndpointListRequest,
  EndpointWithSecret,
  MessageListRequest,
  SenderScope,
  SendOptions,
  SendSyncOptions,
} from './model/scope.js';
export type {
  AttemptStats,
  AttemptStatsRequest,
  EndpointStats,
  OutboxStatsBucket,
  StatsBucket,
  StatsInterval,
  StatsRequest,
} from './model/stats.js';
export type { Tenant } from './model/tenant.js';
export type { SqliteTransaction, Transaction, TransactionExecutor } from './model/transaction.js';
export type { ScopeCaller } from './sender/audit.js';
export type { EgressProxyOptions } from './sender/delivery/egress-proxy.js';
export type { SenderEventName, SenderEvents } from './sender/events.js';
export type { MetricRegistry } from './sender/metrics.js';
export type { EndpointHooks, HookMessage } from './sender/options.js';
export type { ResealResult } from './sender/reseal.js';
export type { SecretKey } from './sender/secrets.js';
export type { Sender } from './sender/sender.js';
export type { VerificationErrorCode, VerifySignatureOptions } from './sender/verify-signature.js';
export { verifySignature, WebhookVerificationError } from './sender/verify-signature.js';
export type { SqliteStoreOptions } from './store/sqlite.js';
export { sqliteStore } from './store/sqlite.js';
export type { Store } from './store/store.js';
