import { z } from 'zod';
import { type Endpoint, MAX_TIMEOUT_MS, type RetrySchedule, retrySchedule } from '../model/endpoint.js';
import { HookplaneError } from '../model/errors.js';
import { parseInput } from '../model/input.js';
import { defaultLogger, type Logger, safeLogger } from '../model/logger.js';
import type { Payload } from '../model/message.js';
import type { Store } from '../store/store.js';
import { readSecretKeys, type SealingKey, type SecretKey, secretKeyProblems } from './secrets.js';
import {
  type EgressProxy,
  type EgressProxyOptions,
  proxyUrlProblem,
  readEgressProxy,
} from './delivery/egress-proxy.js';
import { DEFAULT_RETRY } from './delivery/retry.js';

/** What endpoint hooks are told of a message. */
export interface HookMessage {
  id: string;
  tenantId: string | null;
  type: string;
  channels: string[] | null;
  createdAt: string;
}

/** The options of an endpoint that are code. They are looked up anew each time, so they survive a restart. */
export interface EndpointHooks {
  /** Asked at send, after the endpoint's own filters: false keeps the message from this endpoint. */
  filterFn?(payload: Payload, message: HookMessage): boolean | Promise<boolean>;
  /** Asked at each attempt: what to send in place of the payload. A throw fails the attempt, as `transform`. */
  transform?(payload: Payload, message: HookMessage): unknown;
  /** Asked at each attempt: headers beside the endpoint's own. A throw or a bad header fails the attempt, as `transform`. */
  headers?(payload: Payload, message: HookMessage): Record<string, string> | Promise<Record<string, string>>;
}

export interface SenderOptions {
  store: Store;
  /** How many requests this process has under way at once. @default 128 */
  concurrency?: number;
  /** How long an idle worker waits before it looks for work that other processes stored. @default 1000 */
  pollIntervalMs?: number;
  /**
   * How long a delivery is a worker's alone; must exceed `timeoutMs`, and the `statementTimeoutMs` of `postgresStore`.
   * @default 60000
   */
  leaseMs?: number;
  /** The deadline of one attempt, from the look-up of the name to the end of the answer. @default 15000 */
  timeoutMs?: number;
  /** Waits between attempts. @default 5 s, 5 min, 30 min, 2 h, 5 h, 10 h, 14 h, 20 h, 24 h, jitter 0.1 */
  retry?: RetrySchedule;
  /** Allow endpoints whose URL is `http:`. @default false */
  allowHttp?: boolean;
  /**
   * Private targets that may be reached all the same: CIDRs, addresses, host names, `*.example.internal`.
   * @default none
   */
  allowTargets?: readonly string[];
  /**
   * An HTTP proxy (`http://user:password@proxy:3128`) that every delivery goes through, by CONNECT, for http as for
   * https. It may have a private address. Unless `resolve` is `local`, names are resolved by the proxy, and keeping
   * them away from private addresses is its duty.
   * @default none
   */
  egressProxy?: string | EgressProxyOptions;
  /**
   * Seals signing secrets in the store: 32 random bytes, as base64, as 64 hexadecimal digits or as a `Buffer`. Of
   * several keys the first seals and all of them open, so that a key is replaced by putting the new one in front, calling
   * `resealSecrets` and dropping the old one.
   * @default none: secrets are stored as they are
   */
  secretKey?: SecretKey | readonly SecretKey[];
  /** The options of an endpoint that are code. The endpoint is frozen. */
  endpointHooks?: (endpoint: Endpoint) => EndpointHooks | undefined;
  /** How long a message stays owed unless the send says otherwise. @default 2592000 (30 days) */
  messageTtlSeconds?: number;
  /**
   * For how long a message is kept when nothing is owed of it any more, with its payload, deliveries and attempts. Then
   * the workers remove it. A replay makes it owed again, and its time begins anew. null keeps messages for ever.
   * @default 2592000 (30 days)
   */
  retentionSeconds?: number | null;
  /** For how long an entry of the audit log is kept; null is for ever. @default 34560000 (400 days) */
  auditRetentionSeconds?: number | null;
  /** `health()` is not ok when a delivery has been due for longer. @default 300000 */
  maxPendingAgeMs?: number;
  /**
   * Tell receivers which trace an attempt belongs to, by the headers `traceparent` and `tracestate` of W3C Trace
   * Context, where there is a trace. Receivers are mostly other people's: they learn ids of your traces, and whether a
   * request was sampled. Turn it on where they are your own services.
   * @default false
   */
  propagateTraceContext?: boolean;
  /** @default warnings and errors as Node.js process warnings */
  logger?: Logger;
  /** The clock, in milliseconds since the epoch, of which parts are left out. @default the store's, where processes share one, or else Date.now */
  now?: () => number;
}

export type ResolvedOptions = Required<Omit<SenderOptions, 'endpointHooks' | 'egressProxy' | 'secretKey'>> & {
  /** The current one first. */
  secretKey: readonly SealingKey[];
  egressProxy: EgressProxy | null;
  endpointHooks: ((endpoint: Endpoint) => EndpointHooks | undefined) | null;
};

const fn = z.custom<never>((value) => typeof value === 'function', 'must be a function');
const object = z.custom<never>((value) => typeof value === 'object' && value !== null, 'must be an object');

const proxyUrl = z.string().superRefine((text, context) => {
  const message = proxyUrlProblem(text);
  if (message !== null) context.addIssue({ code: 'custom', message });
});

const secretKey = z.unknown().superRefine((value, context) => {
  if (value === undefined) return;
  for (const problem of secretKeyProblems(value)) context.addIssue({ code: 'custom', ...problem });
});

const retention = z
  .int()
  .min(1)
  .max(100 * 365 * 86_400)
  .nullable()
  .optional();

const schema = z.strictObject({
  store: z.custom<never>(
    (value) => typeof value === 'object' && value !== null && 'outbox' in value,
    'must be a store, such as sqliteStore({ file })',
  ),
  concurrency: z.int().min(1).max(10_000).optional(),
  pollIntervalMs: z.int().min(10).max(3_600_000).optional(),
  leaseMs: z.int().min(1000).max(86_400_000).optional(),
  timeoutMs: z.int().min(1).max(MAX_TIMEOUT_MS).optional(),
  retry: retrySchedule.optional(),
  allowHttp: z.boolean().optional(),
  allowTargets: z.array(z.string()).optional(),
  egressProxy: z
    .union([proxyUrl, z.strictObject({ url: proxyUrl, resolve: z.enum(['proxy', 'local']).optional() })])
    .optional(),
  secretKey: secretKey.optional(),
  endpointHooks: fn.optional(),
  messageTtlSeconds: z
    .int()
    .min(1)
    .max(10 * 365 * 86_400)
    .optional(),
  retentionSeconds: retention,
  auditRetentionSeconds: retention,
  maxPendingAgeMs: z.int().min(1).optional(),
  propagateTraceContext: z.boolean().optional(),
  logger: object.optional(),
  now: fn.optional(),
});

/** @throws HookplaneError `INVALID_OPTIONS`, with every wrong setting among its issues */
export function resolveOptions(options: SenderOptions): ResolvedOptions {
  const given = parseInput(
    schema,
    options,
    'INVALID_OPTIONS',
    'The configuration of the sender',
    () => 'is not an option',
  );
  const resolved: ResolvedOptions = {
    store: options.store,
    concurrency: given.concurrency ?? 128,
    pollIntervalMs: given.pollIntervalMs ?? 1000,
    leaseMs: given.leaseMs ?? 60_000,
    timeoutMs: given.timeoutMs ?? 15_000,
    retry: given.retry ?? DEFAULT_RETRY,
    allowHttp: given.allowHttp ?? false,
    allowTargets: given.allowTargets ?? [],
    egressProxy: options.egressProxy === undefined ? null : readEgressProxy(options.egressProxy),
    secretKey: readSecretKeys(options.secretKey),
    endpointHooks: options.endpointHooks ?? null,
    messageTtlSeconds: given.messageTtlSeconds ?? 30 * 86_400,
    retentionSeconds: given.retentionSeconds === undefined ? 30 * 86_400 : given.retentionSeconds,
    auditRetentionSeconds:
      given.auditRetentionSeconds === undefined ? 400 * 86_400 : given.auditRetentionSeconds,
    maxPendingAgeMs: given.maxPendingAgeMs ?? 300_000,
    propagateTraceContext: given.propagateTraceContext ?? false,
    logger: safeLogger(options.logger ?? defaultLogger),
    now: options.now ? wholeMs(options.now) : (options.store.now ?? Date.now),
  };
  if (resolved.leaseMs <= resolved.timeoutMs) {
    throw new HookplaneError(
      'INVALID_OPTIONS',
      `leaseMs (${resolved.leaseMs}) must exceed timeoutMs (${resolved.timeoutMs}): an attempt must end before another worker may begin it again`,
    );
  }
  const { statementTimeoutMs } = resolved.store;
  if (statementTimeoutMs !== undefined && resolved.leaseMs <= statementTimeoutMs) {
    throw new HookplaneError(
      'INVALID_OPTIONS',
      `leaseMs (${resolved.leaseMs}) must exceed statementTimeoutMs of the store (${statementTimeoutMs}): a lease must not end before its worker is told of it`,
    );
  }
  return resolved;
}

/** What is stored are whole milliseconds, and ids are made of them. */
function wholeMs(now: () => number): () => number {
  return () => Math.floor(now());
}
