import type { AuditEntry } from '../../model/audit.js';
import type { Endpoint, RetrySchedule } from '../../model/endpoint.js';
import { timeOfId } from '../../model/ids.js';
import type { Filter } from '../../model/filter.js';
import type { Attempt, Delivery, Message } from '../../model/message.js';
import type { Position } from '../../model/page.js';
import type { RateLimit } from '../../model/rate-limit.js';
import type { Tenant } from '../../model/tenant.js';
import { isoTime, isoTimeOrNull } from '../../model/time.js';
import type { NewMessage, PageOf } from '../store.js';
import type { AttemptRow, AuditRow, DeliveryRow, EndpointRow, MessageRow, TenantRow } from './schema.js';

export function toEndpoint(row: EndpointRow): Endpoint {
  return {
    id: row.id,
    tenantId: row.tenant_id,
    url: row.url,
    description: row.description,
    status: row.status,
    pausedReason: row.paused_reason,
    pausedAt: isoTimeOrNull(row.paused_at),
    types: fromJson<string[]>(row.types),
    channels: fromJson<string[]>(row.channels),
    filter: fromJson<Filter>(row.filter),
    headers: JSON.parse(row.headers),
    metadata: JSON.parse(row.metadata),
    retry: fromJson<RetrySchedule>(row.retry),
    rateLimit: toRateLimit(row.rate_per_second, row.rate_burst),
    maxInFlight: row.max_in_flight,
    timeoutMs: row.timeout_ms,
    createdAt: isoTime(row.created_at),
    updatedAt: isoTime(row.updated_at),
  };
}

export function toTenant(row: TenantRow): Tenant {
  return {
    id: row.id,
    rateLimit: toRateLimit(row.rate_per_second, row.rate_burst),
    metadata: JSON.parse(row.metadata),
    createdAt: isoTime(row.created_at),
    updatedAt: isoTime(row.updated_at),
  };
}

/** The columns of a message record, for queries that call its table `m`. */
export const LISTED = [
  'm.id',
  'm.tenant_id',
  'm.type',
  'm.channels',
  'm.status',
  'm.idempotency_key',
  'm.created_at',
  'm.expires_at',
] as const;

export function toMessage(row: Omit<MessageRow, 'finished_at' | 'trace_context'>): Message {
  return {
    id: row.id,
    tenantId: row.tenant_id,
    type: row.type,
    channels: fromJson<string[]>(row.channels),
    status: row.status,
    idempotencyKey: row.idempotency_key,
    createdAt: isoTime(row.created_at),
    expiresAt: isoTime(row.expires_at),
  };
}

/** A message of which it is known whom it is owed to. */
export interface RoutedMessage extends Omit<NewMessage, 'owedTo'> {
  endpointIds: readonly string[];
}

/** The record of a message that is being stored. */
export function messageOf(message: RoutedMessage): Message {
  return {
    id: message.id,
    tenantId: message.tenantId,
    type: message.type,
    channels: message.channels,
    status: message.endpointIds.length > 0 ? 'pending' : 'unrouted',
    idempotencyKey: message.idempotencyKey,
    createdAt: isoTime(message.createdAt),
    expiresAt: isoTime(message.expiresAt),
  };
}

export function toDelivery(
  row: Pick<DeliveryRow, 'endpoint_id' | 'status' | 'attempt_count' | 'due_at' | 'last_error'>,
): Delivery {
  return {
    endpointId: row.endpoint_id,
    status: row.status,
    attemptCount: row.attempt_count,
    nextAttemptAt: row.status === 'pending' ? isoTime(row.due_at) : null,
    lastError: row.last_error,
  };
}

export function toAttempt(row: AttemptRow): Attempt {
  return {
    id: row.id,
    messageId: row.message_id,
    endpointId: row.endpoint_id,
    number: row.number,
    status: row.status,
    trigger: row.trigger,
    startedAt: isoTime(row.started_at),
    durationMs: row.duration_ms,
    requestUrl: row.request_url,
    remoteAddress: row.remote_address,
    responseStatus: row.response_status,
    responseHeaders: fromJson<Record<string, string>>(row.response_headers),
    responseBody: row.response_body,
    errorKind: row.error_kind,
    error: row.error,
    nextAttemptAt: isoTimeOrNull(row.next_attempt_at),
  };
}

export function toAuditEntry(row: AuditRow): AuditEntry {
  return {
    id: row.id,
    at: isoTime(row.at),
    requestId: row.request_id,
    actor: row.actor_id === null ? null : { id: row.actor_id, name: row.actor_name },
    tenantId: row.tenant_id,
    operation: row.operation,
    targetId: row.target_id,
    changes: JSON.parse(row.changes),
  };
}

export function toRateLimit(perSecond: number | null, burst: number | null): RateLimit | null {
  return perSecond === null || burst === null ? null : { perSecond, burst };
}

export function toJson(value: unknown): string | null {
  return value === null || value === undefined ? null : JSON.stringify(value);
}

export function fromJson<T>(text: string | null): T | null {
  return text === null ? null : (JSON.parse(text) as T);
}

/** The position of what has an id of `createId`. */
export function positionOf(id: string): Position {
  return { ms: timeOfId(id), id };
}

/** A page out of rows that were asked for with one more than the limit. */
export function toPage<Row, Item>(
  rows: Row[],
  limit: number,
  position: (row: Row) => Position,
  toItem: (row: Row) => Item,
): PageOf<Item> {
  const kept = rows.slice(0, limit);
  const last = kept.at(-1);
  return { rows: kept.map(toItem), next: rows.length > limit && last !== undefined ? position(last) : null };
}
