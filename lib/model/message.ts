import { z } from 'zod';
import { channelNames } from './endpoint.js';
import { tenantId } from './tenant.js';
import { MAX_TYPE_LENGTH, MESSAGE_TYPE } from './types.js';

/**
 * The roll-up of a message's deliveries: `pending` (one is still owed), `failed` (none is owed, at least one is
 * dead), `delivered` (all succeeded), `unrouted` (it is owed to no endpoint). Canceled deliveries do not count.
 */
export type MessageStatus = 'pending' | 'delivered' | 'failed' | 'unrouted';
export const MESSAGE_STATUSES: readonly MessageStatus[] = ['pending', 'delivered', 'failed', 'unrouted'];

/** `canceled`: the endpoint was deleted, or the payload of the message expunged. */
export type DeliveryStatus = 'pending' | 'delivered' | 'failed' | 'canceled';

export interface Message {
  id: string;
  tenantId: string | null;
  type: string;
  channels: string[] | null;
  status: MessageStatus;
  idempotencyKey: string | null;
  createdAt: string;
  expiresAt: string;
}

/** The event exactly as it is delivered. */
export interface Payload {
  type: string;
  timestamp: string;
  data: unknown;
}

/** What a message owes to one endpoint. */
export interface Delivery {
  endpointId: string;
  status: DeliveryStatus;
  attemptCount: number;
  nextAttemptAt: string | null;
  lastError: string | null;
}

export interface MessageDetail extends Message {
  /** null once it was expunged. */
  payload: Payload | null;
  deliveries: Delivery[];
}

/** What `send` answers: the message, and whether an earlier send with the same idempotency key had stored it. */
export interface SentMessage extends Message {
  duplicate: boolean;
}

export type AttemptStatus = 'succeeded' | 'failed';
export type AttemptTrigger = 'send' | 'retry' | 'replay' | 'test';

/** Why an attempt failed; `http_status` is an answer that is not 2xx and no redirect. */
export type ErrorKind =
  | 'http_status'
  | 'timeout'
  | 'dns'
  | 'connect'
  | 'tls'
  | 'reset'
  | 'blocked_address'
  | 'redirect'
  | 'invalid_response'
  | 'transform';

/** One request made for a delivery, or to test an endpoint. */
export interface Attempt {
  id: string;
  messageId: string;
  endpointId: string;
  /** 1-based, per delivery; goes on after a replay. */
  number: number;
  status: AttemptStatus;
  trigger: AttemptTrigger;
  startedAt: string;
  durationMs: number;
  requestUrl: string;
  /** The address connected to; null when there was none, or when only the egress proxy knows it. */
  remoteAddress: string | null;
  /** null when no response came. */
  responseStatus: number | null;
  responseHeaders: Record<string, string> | null;
  /** The first 4 KiB, as text. */
  responseBody: string | null;
  errorKind: ErrorKind | null;
  error: string | null;
  nextAttemptAt: string | null;
}

export const idempotencyKey = z
  .string()
  .min(1)
  .max(255)
  .regex(/^\P{Cc}*$/u, 'must hold no control characters');

export const messageInput = z.strictObject({
  type: z
    .string()
    .max(MAX_TYPE_LENGTH)
    .regex(
      MESSAGE_TYPE,
      'must be segments of letters, digits, "_" or "-" joined by full stops, such as "invoice.paid"',
    ),
  data: z
    .unknown()
    .refine(
      (data) => data !== undefined && typeof data !== 'function',
      'is required and must be a JSON value',
    ),
  tenantId: tenantId.nullable().optional(),
  channels: channelNames.nullable().optional(),
  idempotencyKey: idempotencyKey.nullable().optional(),
  expiresAt: z.string().nullable().optional(),
});

/** What `send` takes. */
export interface MessageInput {
  /** `invoice.paid` */
  type: string;
  /** Any JSON value. */
  data: unknown;
  tenantId?: string | null | undefined;
  channels?: string[] | null | undefined;
  /** A second send of the same tenant with the same key stores nothing and answers the first message. */
  idempotencyKey?: string | null | undefined;
  /** RFC 3339; when it passes, what is still owed is given up. Default: the sender's `messageTtlSeconds` after the send. */
  expiresAt?: string | null | undefined;
}

/** The type of a test event, unless the caller gives another. */
export const TEST_TYPE = 'hookplane.test';

export const testInput = z.strictObject({
  type: messageInput.shape.type.default(TEST_TYPE),
  data: z.unknown().optional(),
});

/** What a test of an endpoint sends in place of its own event. */
export interface TestInput {
  /** @default 'hookplane.test' */
  type?: string | undefined;
  /** Any JSON value. @default an object with a sentence */
  data?: unknown;
}
