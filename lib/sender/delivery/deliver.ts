import { headerProblems } from '../../model/headers.js';
import type { ErrorKind, Payload } from '../../model/message.js';
import { isoTime } from '../../model/time.js';
import type { LeasedDelivery } from '../../store/store.js';
import { within } from '../../model/deadline.js';
import type { EndpointHooks, HookMessage, ResolvedOptions } from '../options.js';
import { traceHeaders } from '../trace-context.js';
import type { SecretSeal } from '../secrets.js';
import type { Tracing } from '../tracing.js';
import { startDeliverySpan } from './delivery-span.js';
import type { HttpClient, PostResult } from './http-client.js';
import { signatureHeader } from './signature.js';

export interface DeliverContext {
  options: ResolvedOptions;
  client: HttpClient;
  secrets: SecretSeal;
  tracing: Tracing;
}

/** All that an attempt has to know of what it sends. */
export type Deliverable = Pick<
  LeasedDelivery,
  'webhookId' | 'message' | 'target' | 'attemptCount' | 'trigger'
>;

/** Makes one attempt: asks the endpoint's hooks, signs, posts. Answers what came of it, and never throws. */
export async function deliver(
  leased: Deliverable,
  context: DeliverContext,
  timeoutMs = leased.target.endpoint.timeoutMs ?? context.options.timeoutMs,
): Promise<PostResult> {
  const { options, client, tracing } = context;
  const startedAt = options.now();
  try {
    const span = startDeliverySpan(tracing, leased);
    const traceContext = span ? span.traceContext : leased.message.traceContext;
    const headers =
      options.propagateTraceContext && traceContext !== null ? traceHeaders(traceContext) : null;
    if (!span) return await attempt(leased, context, timeoutMs, headers);
    return await span.around(client, (quiet) =>
      attempt(leased, { ...context, client: quiet }, timeoutMs, headers),
    );
  } catch (error) {
    return failed(startedAt, error);
  }
}

async function attempt(
  leased: Deliverable,
  { options, client, secrets: seal }: DeliverContext,
  timeoutMs: number,
  traceContext: Record<string, string> | null,
): Promise<PostResult> {
  const { endpoint, secrets } = leased.target;
  const startedAt = options.now();
  try {
    const opened = secrets.map((each) => seal.open(endpoint.id, each));
    const started = performance.now();
    const hooks = options.endpointHooks?.(endpoint);
    const { body, headers } = hooks
      ? await within(askHooks(leased, hooks), timeoutMs, 'A hook of the endpoint')
      : { body: Buffer.from(leased.message.payload), headers: endpoint.headers };
    // The time of this attempt, not of the message: receivers refuse what was signed too long ago.
    const timestamp = Math.floor(options.now() / 1000);
    return await client.post({
      url: endpoint.url,
      headers: {
        ...headers,
        ...traceContext,
        'content-type': 'application/json',
        'user-agent': 'hookplane',
        'webhook-id': leased.webhookId,
        'webhook-timestamp': String(timestamp),
        'webhook-signature': signatureHeader(opened, leased.webhookId, timestamp, body),
      },
      body,
      // One deadline for the attempt: what the hooks took of it is gone.
      timeoutMs: hooks ? Math.max(1, Math.round(timeoutMs - (performance.now() - started))) : timeoutMs,
    });
  } catch (error) {
    return failed(startedAt, error);
  }
}

function failed(startedAt: number, error: unknown): PostResult {
  const reason = error instanceof Error ? error.message : String(error);
  return unsent(startedAt, `The request could not be made: ${reason}`);
}

/** What is sent: the payload or what `transform` made of it, and the endpoint's headers with those of the hook. */
async function askHooks(
  { message, target }: Deliverable,
  hooks: EndpointHooks,
): Promise<{ body: Buffer; headers: Record<string, string> }> {
  if (!hooks.transform && !hooks.headers) {
    return { body: Buffer.from(message.payload), headers: target.endpoint.headers };
  }
  const payload = JSON.parse(message.payload) as Payload;
  const { id, tenantId, type, channels } = message;
  const told: HookMessage = { id, tenantId, type, channels, createdAt: isoTime(message.createdAt) };
  const headers = hooks.headers ? await hooks.headers(payload, told) : {};
  // A Headers or a Map has no properties: its headers would be left out without a word.
  if (!isPlain(headers)) throw new Error('the headers of a hook must be a plain object of strings');
  const given = new Set(Object.keys(headers).map((name) => name.toLowerCase()));
  const kept = Object.entries(target.endpoint.headers).filter(([name]) => !given.has(name.toLowerCase()));
  const merged = { ...Object.fromEntries(kept), ...headers };
  const [problem] = headerProblems(merged);
  if (problem) throw new Error(`the header ${JSON.stringify(problem.name)} ${problem.problem}`);
  if (!hooks.transform) return { body: Buffer.from(message.payload), headers: merged };
  const transformed = JSON.stringify(await hooks.transform(payload, told));
  if (transformed === undefined) throw new Error('transform returned nothing that can be written as JSON');
  return { body: Buffer.from(transformed), headers: merged };
}

function isPlain(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  // Not compared with our own: an object of another realm, as Jest has them, is as plain.
  return prototype === null || Object.getPrototypeOf(prototype) === null;
}

/** What became of a request that was not made. */
export function unsent(
  startedAt: number,
  error: string,
  { errorKind = 'transform', durationMs = 0 }: { errorKind?: ErrorKind; durationMs?: number } = {},
): PostResult {
  return {
    startedAt,
    durationMs,
    remoteAddress: null,
    status: null,
    headers: null,
    body: null,
    errorKind,
    error,
    retryAfter: null,
  };
}
