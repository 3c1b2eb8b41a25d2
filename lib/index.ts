export type { AdminContext, AdminHandler, AdminHandlerOptions } from './admin/handler.js';
export { createAdminHandler } from './admin/handler.js';
export type { Authorize, AuthorizeInfo, Decision } from './admin/authorize.js';
export type { CreateSenderOptions } from './create-sender.js';
export { createSender } from './create-sender.js';
export type {
  Endpoint,
  EndpointCreate,
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
  EndpointListRequest,
  EndpointWithSecret,
  MessageListRequest,
  SenderScope,
} from './model/scope.js';
export type { Tenant } from './model/tenant.js';
export type { SenderEventName, SenderEvents } from './sender/events.js';
export type { EndpointHooks, HookMessage } from './sender/options.js';
export type { Sender } from './sender/sender.js';
export type { VerificationErrorCode, VerifySignatureOptions } from './sender/verify-signature.js';
export { verifySignature, WebhookVerificationError } from './sender/verify-signature.js';
export type { SqliteStoreOptions } from './store/sqlite.js';
export { sqliteStore } from './store/sqlite.js';
export type { Store } from './store/store.js';
