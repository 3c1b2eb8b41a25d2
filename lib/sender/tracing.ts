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
  const span = openSendSpan(tracing, described);
  try {
    const sent = await span.within(send);
    span.succeeded(idOf?.(sent));
    return sent;
  } catch (error) {
    span.failed(error);
    throw error;
  }
}

/** The same within the call: where the API is not loaded yet, it is not traced. */
export function traceSendSync<T>(
  tracing: Tracing,
  described: TracedSend,
  send: (traceContext: string | null) => T,
  idOf: (sent: T) => string,
): T {
  const span = openSendSpan(tracing, described);
  try {
    const sent = span.within(send);
    span.succeeded(idOf(sent));
    return sent;
  } catch (error) {
    span.failed(error);
    throw error;
  }
}

interface SendSpan {
  within<T>(send: (traceContext: string | null) => T): T;
  succeeded(messageId: string | undefined): void;
  failed(error: unknown): void;
}

/** One that tells nobody anything where nobody traces. */
function openSendSpan(tracing: Tracing, described: TracedSend): SendSpan {
  const api = tracing.api();
  const span = api && unharmed(() => startSendSpan(api, described));
  const remembered = api && unharmed(() => (span?.isRecording() ? span.spanContext() : callerOf(api)));
  const traceContext = remembered && writeTraceContext(remembered);
  if (!api || !span) return { within: (send) => send(traceContext), succeeded() {}, failed() {} };
  return {
    within: (send) =>
      inContext(
        api,
        () => api.trace.setSpan(api.context.active(), span),
        () => send(traceContext),
      ),
    succeeded(messageId) {
      if (messageId !== undefined) unharmed(() => span.setAttribute('messaging.message.id', messageId));
      unharmed(() => span.end());
    },
    failed(error) {
      unharmed(() => markFailed(api, span, error));
      unharmed(() => span.end());
    },
  };
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
export function inContext<T>(api: TracingApi, find: () => Context, work: () => T): T {
  let begun: (() => T) | undefined;
  const begin = () => {
    begun ??= outcomeOf(work);
  };
  unharmed(() => api.context.with(find(), begin));
  begin();
  return begun!();
}

function outcomeOf<T>(work: () => T): () => T {
  try {
    const result = work();
    return () => result;
  } catch (error) {
    return () => {
      throw error;
    };
  }
}
