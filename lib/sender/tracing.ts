import type {
  Attributes,
  Context,
  Link,
  Span,
  SpanContext,
  Tracer,
  TracerProvider,
} from '@opentelemetry/api';
import { isHookplaneError } from '../model/errors.js';
import { MAX_TYPE_LENGTH } from '../model/types.js';
import { readTraceContext, writeTraceContext } from './trace-context.js';

export type TracingApi = typeof import('@opentelemetry/api');

/**
 * Where all copies of version 1 of the API keep what was registered with any of them. While it is not there nobody
 * traces, and the API, some seventy files, is not loaded.
 */
const REGISTERED = Symbol.for('opentelemetry.js.api.1');

/** OpenTelemetry, as far as the application uses it. */
export interface Tracing {
  /** Loads the API once it is of use; undefined when there is nothing to wait for. Never rejects. */
  ready(): Promise<void> | undefined;
  /** The API; null while it is of no use. Asked anew each time: an SDK may be registered late. */
  api(): TracingApi | null;
}

export function createTracing(): Tracing {
  let loaded: TracingApi | null = null;
  let loading: Promise<void> | undefined;

  function ready(): Promise<void> | undefined {
    if (loaded !== null || !(REGISTERED in globalThis)) return undefined;
    loading ??= import('@opentelemetry/api').then(
      (api) => {
        loaded = api;
      },
      // What cannot be traced is sent all the same.
      () => {},
    );
    return loading;
  }

  return {
    ready,
    api() {
      if (loaded === null) void ready();
      return loaded;
    },
  };
}

/** The tracer that the application has registered; null when there is none, and attributes would be made for nobody. */
export function tracerOf(api: TracingApi): Tracer | null {
  // The API's own provider stands in for one that is not there, and says so in this way only.
  const provider: TracerProvider & { getDelegateTracer?(name: string): Tracer | undefined } =
    api.trace.getTracerProvider();
  const tracer = provider.getDelegateTracer
    ? provider.getDelegateTracer('hookplane')
    : provider.getTracer('hookplane');
  return tracer ?? null;
}

/** The span that the caller is in, for a message to remember; null when it is in none. */
export function callersTraceContext(tracing: Tracing): string | null {
  const api = tracing.api();
  const caller = api && unharmed(() => callerOf(api));
  return caller ? writeTraceContext(caller) : null;
}

function callerOf(api: TracingApi): SpanContext | null {
  const caller = api.trace.getSpanContext(api.context.active());
  return caller && api.isSpanContextValid(caller) ? caller : null;
}

/** The span in which a message was sent, for other spans to link to. */
export function linksTo(api: TracingApi, traceContext: string | null): Link[] {
  const read = traceContext === null ? null : readTraceContext(traceContext);
  if (!read) return [];
  const { tracestate, ...context } = read;
  const state = tracestate === undefined ? undefined : { traceState: api.createTraceState(tracestate) };
  return [{ context: { ...context, isRemote: true, ...state } }];
}

/** A send, as its span tells of it before it is known to be right. */
export interface TracedSend {
  messages: readonly { type?: unknown; tenantId?: unknown }[];
  /** The tenant that the caller is bound to. */
  tenantId: string | undefined;
}

/**
 * Sends, in a span of its own where somebody traces.
 * @param send is given what its messages are to remember: that span, or the caller's where nobody records
 * @param idOf the id of the message that was stored, where it is one
 */
export async function traceSend<T>(
  tracing: Tracing,
  described: TracedSend,
  send: (traceContext: string | null) => Promise<T>,
  idOf?: (sent: T) => string,
): Promise<T> {
  const loading = tracing.ready();
  if (loading) await loading;
  const api = tracing.api();
  if (!api) return send(null);
  const span = unharmed(() => startSendSpan(api, described));
  const remembered = unharmed(() => (span?.isRecording() ? span.spanContext() : callerOf(api)));
  const traceContext = remembered && writeTraceContext(remembered);
  if (!span) return send(traceContext);
  try {
    const inSpan = () => api.trace.setSpan(api.context.active(), span);
    const sent = await inContext(api, inSpan, () => send(traceContext));
    if (idOf) unharmed(() => span.setAttribute('messaging.message.id', idOf(sent)));
    return sent;
  } catch (error) {
    unharmed(() => markFailed(api, span, error));
    throw error;
  } finally {
    unharmed(() => span.end());
  }
}

function startSendSpan(api: TracingApi, { messages, tenantId }: TracedSend): Span | null {
  const tracer = tracerOf(api);
  if (!tracer) return null;
  const type = common(messages, 'type');
  const tenant = tenantId ?? common(messages, 'tenantId');
  const attributes: Attributes = {
    'messaging.system': 'hookplane',
    'messaging.operation.name': 'send',
    'messaging.operation.type': 'send',
    ...(type !== undefined && { 'messaging.destination.name': type }),
    ...(tenant !== undefined && { 'hookplane.tenant.id': tenant }),
    ...(messages.length !== 1 && { 'messaging.batch.message_count': messages.length }),
  };
  const name = type === undefined ? 'send' : `send ${type}`;
  return tracer.startSpan(name, { kind: api.SpanKind.PRODUCER, attributes });
}

/** What all of them say, if they say the same; not what is no text, or too long to be right. */
function common(messages: TracedSend['messages'], field: 'type' | 'tenantId'): string | undefined {
  const first = messages[0]?.[field];
  if (typeof first !== 'string' || first.length > MAX_TYPE_LENGTH) return undefined;
  return messages.every((message) => message?.[field] === first) ? first : undefined;
}

function markFailed(api: TracingApi, span: Span, error: unknown): void {
  const name = error instanceof Error ? error.name : typeof error;
  span.setAttribute('error.type', isHookplaneError(error) ? error.code : name);
  span.setStatus({ code: api.SpanStatusCode.ERROR, message: String(error) });
  if (error instanceof Error) span.recordException(error);
}

/** An SDK that throws loses a span, or something of it, and harms nothing that the span is about: null stands for it. */
export function unharmed<T>(ask: () => T): T | null {
  try {
    return ask();
  } catch {
    return null;
  }
}

/** Begins work in a context, or in none where the SDK fails at that; it begins once, whatever the SDK does. */
export function inContext<T>(api: TracingApi, find: () => Context, work: () => Promise<T>): Promise<T> {
  let begun: Promise<T> | undefined;
  const begin = () => {
    begun ??= (async () => work())();
    return begun;
  };
  unharmed(() => api.context.with(find(), begin));
  return begin();
}
