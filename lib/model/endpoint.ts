import { z } from 'zod';
import type { Filter } from './filter.js';
import { endpointHeaders } from './headers.js';
import { jsonObject, jsonValue } from './input.js';
import { type RateLimit, rateLimitInput } from './rate-limit.js';
import { tenantId } from './tenant.js';
import { MAX_TYPE_LENGTH, TYPE_PATTERN } from './types.js';

export type EndpointStatus = 'active' | 'paused';
/** `manual`: by `disable`; `failing`: every attempt failed for days; `gone`: the receiver answered 410. */
export type PausedReason = 'manual' | 'failing' | 'gone';

export const ENDPOINT_STATUSES: readonly EndpointStatus[] = ['active', 'paused'];

/** Waits between the attempts of one delivery; the first attempt is made at once. */
export interface RetrySchedule {
  /** Seconds before the second, third, … attempt. After the last one the delivery is dead. */
  delaysSeconds: number[];
  /** Share of a wait by which it is moved at random, up or down; 0 to 1. */
  jitter: number;
}

/** Where messages go. The signing secret is not part of the record. */
export interface Endpoint {
  id: string;
  tenantId: string | null;
  url: string;
  description: string | null;
  status: EndpointStatus;
  pausedReason: PausedReason | null;
  pausedAt: string | null;
  /** Patterns of the message types it wants; null is every type. */
  types: string[] | null;
  /** The channels it listens to; null is every channel. */
  channels: string[] | null;
  filter: Filter | null;
  /** Headers sent along with every attempt. */
  headers: Record<string, string>;
  metadata: Record<string, unknown>;
  /** null is the sender's schedule. */
  retry: RetrySchedule | null;
  rateLimit: RateLimit | null;
  /** How many requests may be under way to it at once, in all processes together; null is the sender's ceiling. */
  maxInFlight: number | null;
  /** The deadline of one attempt; null is the sender's. */
  timeoutMs: number | null;
  createdAt: string;
  updatedAt: string;
}

const channelName = z
  .string()
  .regex(/^[\w.:-]{1,128}$/, 'must be 1 to 128 letters, digits, "_", ".", ":" or "-"');
export const channelNames = z
  .array(channelName)
  .min(1, 'must name at least one channel; null is every channel')
  .max(32);

const dataPath = z
  .string()
  .min(1)
  .max(256)
  .refine((path) => path.split('.').length <= 16, 'must have at most 16 segments')
  .refine((path) => path.split('.').every(Boolean), 'must not have empty segments')
  .refine(
    (path) => !/(?:^|\.)(?:__proto__|constructor|prototype)(?:\.|$)/.test(path),
    'names a property that no data has',
  );

export const filterClause = z
  .strictObject({ dataPath, equals: jsonValue })
  .refine((value) => Object.hasOwn(value, 'equals') && value.equals !== undefined, {
    path: ['equals'],
    message: 'is required',
  });
export const filter = z.union(
  [z.array(filterClause).min(1, 'must hold at least one clause').max(32), filterClause],
  'must be a clause, or a list of clauses',
);

export const retrySchedule = z.strictObject({
  delaysSeconds: z
    .array(
      z
        .number()
        .min(0)
        .max(30 * 86_400),
    )
    .max(50),
  jitter: z.number().min(0).max(1).default(0.1),
});

/** The longest deadline of an attempt. */
export const MAX_TIMEOUT_MS = 60_000;

const fields = {
  url: z.string().min(1).max(2048),
  description: z
    .string()
    .max(1000)
    .refine((text) => !text.includes('\0'), 'must hold no NUL')
    .nullable(),
  types: z
    .array(
      z
        .string()
        .max(MAX_TYPE_LENGTH)
        .regex(TYPE_PATTERN, 'must be a message type, "*", or a type followed by ".*"'),
    )
    .min(1, 'must hold at least one pattern; null is every type')
    .max(256)
    .nullable(),
  channels: channelNames.nullable(),
  filter: filter.nullable(),
  headers: endpointHeaders.nullable(),
  metadata: jsonObject.nullable(),
  retry: retrySchedule.nullable(),
  rateLimit: rateLimitInput.nullable(),
  maxInFlight: z.int().min(1).max(10_000).nullable(),
  timeoutMs: z.int().min(1000).max(MAX_TIMEOUT_MS).nullable(),
};

/** The body of a create: every field but `url` may be left out, and null means the default. */
export const endpointCreate = z.strictObject({
  ...z.object(fields).partial().shape,
  url: fields.url,
  tenantId: tenantId.nullable().optional(),
  secret: z.string().optional(),
});

/** The body of an update: an absent field stays, null clears an optional one. */
export const endpointUpdate = z.strictObject(z.object(fields).partial().shape);

export type EndpointCreate = z.input<typeof endpointCreate>;
export type EndpointUpdate = z.input<typeof endpointUpdate>;

/** Every live secret signs every attempt, and receivers read only so many signatures. */
export const MAX_LIVE_SECRETS = 10;

export const secretRotation = z.strictObject({
  secret: z.string().optional(),
  overlapSeconds: z.int().min(0).max(604_800).default(86_400),
});
/** `overlapSeconds`, default 86400, is how long the secrets before keep signing beside the new one; 0 revokes them at once. */
export type SecretRotation = z.input<typeof secretRotation>;

/** What an endpoint's attempts are signed with. */
export interface EndpointSecrets {
  /** The current one. */
  secret: string;
  /** Those that were rotated out and still sign beside it, newest first. */
  previousSecrets: { secret: string; expiresAt: string }[];
}

/** What is said of a field of an endpoint that is not one. */
export function unknownEndpointField(name: string): string {
  if (name === 'filterFn' || name === 'transform') {
    return "is code and cannot be set here: set it in the sender's configuration, in endpointHooks";
  }
  if (name === 'secret') return 'cannot be changed here: rotate the secret instead';
  if (['id', 'status', 'pausedReason', 'pausedAt', 'createdAt', 'updatedAt', 'tenantId'].includes(name)) {
    return 'cannot be set';
  }
  return 'is not a field of an endpoint';
}
