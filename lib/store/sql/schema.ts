import type {
  AttemptStatus,
  AttemptTrigger,
  DeliveryStatus,
  ErrorKind,
  MessageStatus,
} from '../../model/message.js';
import type { AuditedOperation } from '../../model/audit.js';
import type { EndpointStatus, PausedReason } from '../../model/endpoint.js';

/** JSON kept as text. */
type Json = string;
/** Milliseconds since the epoch. */
type Ms = number;

/** The tables, which carry the product's name because an application may keep its own in the same database. */
export interface Tables {
  hookplane_tenants: TenantRow;
  hookplane_deleted_tenants: DeletedTenantRow;
  hookplane_endpoints: EndpointRow;
  hookplane_deleted_endpoints: DeletedEndpointRow;
  hookplane_endpoint_secrets: EndpointSecretRow;
  hookplane_messages: MessageRow;
  hookplane_payloads: PayloadRow;
  hookplane_idempotency_keys: IdempotencyKeyRow;
  hookplane_deliveries: DeliveryRow;
  hookplane_attempts: AttemptRow;
  hookplane_workers: WorkerRow;
  hookplane_audit_log: AuditRow;
  hookplane_depth_samples: DepthSampleRow;
  hookplane_schema_migrations: SchemaMigrationRow;
}

export interface TenantRow {
  id: string;
  rate_per_second: number | null;
  rate_burst: number | null;
  /** See BucketTime. */
  rate_used: number | null;
  metadata: Json;
  created_at: Ms;
  updated_at: Ms;
}

/** What a tenant that was deleted had: every message up to `message_id`, of the time `at`. */
export interface DeletedTenantRow {
  tenant_hash: string;
  /** null when nothing of it is left: the hash alone still tells sends that come too late. */
  tenant_id: string | null;
  at: Ms;
  message_id: string;
}

export interface EndpointRow {
  id: string;
  tenant_id: string | null;
  url: string;
  description: string | null;
  status: EndpointStatus;
  paused_reason: PausedReason | null;
  paused_at: Ms | null;
  types: Json | null;
  channels: Json | null;
  filter: Json | null;
  headers: Json;
  metadata: Json;
  retry: Json | null;
  rate_per_second: number | null;
  rate_burst: number | null;
  rate_used: number | null;
  max_in_flight: number | null;
  timeout_ms: number | null;
  /** The first failure since the last success. */
  failing_since: Ms | null;
  slow_until: Ms | null;
  slow_step: number;
  /** See EndpointCache. */
  revision: string;
  created_at: Ms;
  updated_at: Ms;
}

/** Whose attempts are still counted. */
export interface DeletedEndpointRow {
  id: string;
  tenant_id: string | null;
  deleted_at: Ms;
}

export interface EndpointSecretRow {
  id: string;
  endpoint_id: string;
  secret: string;
  created_at: Ms;
  /** null for the current one. */
  expires_at: Ms | null;
}

export interface MessageRow {
  id: string;
  tenant_id: string | null;
  type: string;
  channels: Json | null;
  status: MessageStatus;
  idempotency_key: string | null;
  created_at: Ms;
  expires_at: Ms;
  finished_at: Ms | null;
  /** Of the send: a W3C `traceparent`, and behind a space the `tracestate` if there was one. */
  trace_context: string | null;
}

/** Apart from the messages, whose rows change and are walked: those stay small. */
export interface PayloadRow {
  message_id: string;
  payload: string;
}

export interface IdempotencyKeyRow {
  /** Empty for messages of no tenant, so that the key is unique among them too. */
  tenant_id: string;
  key: string;
  message_id: string;
  fingerprint: string;
  created_at: Ms;
  /** The record of the message once that is gone; null before. */
  message: Json | null;
}

export interface DeliveryRow {
  message_id: string;
  endpoint_id: string;
  status: DeliveryStatus;
  trigger: AttemptTrigger;
  attempt_count: number;
  schedule_step: number;
  due_at: Ms;
  expires_at: Ms;
  lease_owner: string | null;
  lease_until: Ms | null;
  fence: number;
  /** How often its lease was taken from another worker since an outcome was known. */
  takeovers: number;
  /** Set by a replay under a fresh id. */
  webhook_id: string | null;
  last_error: string | null;
  /** The latest success; stays when a replay makes it pending again. */
  delivered_at: Ms | null;
}

export interface AttemptRow {
  id: string;
  message_id: string;
  endpoint_id: string;
  number: number;
  status: AttemptStatus;
  trigger: AttemptTrigger;
  started_at: Ms;
  duration_ms: number;
  request_url: string;
  remote_address: string | null;
  response_status: number | null;
  response_headers: Json | null;
  response_body: string | null;
  error_kind: ErrorKind | null;
  error: string | null;
  next_attempt_at: Ms | null;
}

export interface WorkerRow {
  id: string;
  heartbeat_at: Ms;
}

export interface AuditRow {
  at: Ms;
  id: string;
  tenant_id: string | null;
  operation: AuditedOperation;
  target_id: string;
  /** The names of fields. */
  changes: Json;
  actor_id: string | null;
  actor_name: string | null;
  request_id: string | null;
}

/** What was owed in one minute. */
export interface DepthSampleRow {
  /** Empty for all together, those without a tenant too: the row of every minute in which somebody looked. */
  tenant_id: string;
  /** The beginning of the minute. */
  at: Ms;
  depth: number;
  oldest_age_ms: number;
}

export interface SchemaMigrationRow {
  version: number;
  name: string;
  applied_at: Ms;
}
