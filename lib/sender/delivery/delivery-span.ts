import type { Attributes, Context, Span } from '@opentelemetry/api';
import { parseUrl } from '../../model/url.js';
import type { LeasedDelivery } from '../../store/store.js';
import { writeTraceContext } from '../trace-context.js';
import { inContext, linksTo, type Tracing, type TracingApi, tracerOf, unharmed } from '../tracing.js';
import type { HttpClient, PostResult } from './http-client.js';

/** By this key instrumentations are told to leave a request alone: `suppressTracing` of `@opentelemetry/core`. */
const SUPPRESSED = 'OpenTelemetry SDK Context Key SUPPRESS_TRACING';

/** The span of an attempt. */
export interface DeliverySpan {
  /** As {@link writeTraceContext} writes it. */
  traceContext: string;
  /** Makes the attempt within the span, and ends it. What the hooks do is part of it. */
  around(client: HttpClient, attempt: (client: HttpClient) => Promise<PostResult>): Promise<PostResult>;
}

/**
 * Begins the span of an attempt; null where nobody traces. It has no parent, for an attempt may come days after the
 * send: it links to the send instead, as the conventions for messaging say.
 */
export function startDeliverySpan(
  tracing: Tracing,
  leased: Pick<LeasedDelivery, 'message' | 'target' | 'attemptCount' | 'trigger'>,
): DeliverySpan | null {
  const api = tracing.api();
  return api && unharmed(() => start(api, leased));
}

function start(api: TracingApi, leased: Parameters<typeof startDeliverySpan>[1]): DeliverySpan | null {
  const tracer = tracerOf(api);
  if (!tracer) return null;
  const { message, target } = leased;
  const span = tracer.startSpan(`deliver ${message.type}`, {
    kind: api.SpanKind.CLIENT,
    root: true,
    links: linksTo(api, message.traceContext),
    attributes: {
      'messaging.system': 'hookplane',
      'messaging.operation.name': 'deliver',
      'messaging.operation.type': 'send',
      'messaging.destination.name': message.type,
      'messaging.message.id': message.id,
      'hookplane.endpoint.id': target.endpoint.id,
    },
  });
  unharmed(() => span.isRecording() && span.setAttributes(detailsOf(leased)));
  const inSpan = api.trace.setSpan(api.ROOT_CONTEXT, span);
  const traceContext = writeTraceContext(span.spanContext());
  return {
    traceContext,
    async around(client, attempt) {
      const result = await inContext(
        api,
        () => inSpan,
        () => attempt(quiet(api, client, inSpan)),
      );
      unharmed(() => span.isRecording() && tell(api, span, result));
      unharmed(() => span.end());
      return result;
    },
  };
}

/**
 * An instrumentation of undici or of sockets would make a second span of the same request, and would send receivers the
 * trace's ids whether they are to have them or not.
 */
function quiet(api: TracingApi, client: HttpClient, inSpan: Context): HttpClient {
  const suppressed = () => inSpan.setValue(api.createContextKey(SUPPRESSED), true);
  return { ...client, post: (request) => inContext(api, suppressed, () => client.post(request)) };
}

function detailsOf({
  message,
  target: { endpoint },
  attemptCount,
  trigger,
}: Parameters<typeof startDeliverySpan>[1]): Attributes {
  return {
    'http.request.method': 'POST',
    ...urlAttributes(endpoint.url),
    ...(attemptCount > 0 && { 'http.request.resend_count': attemptCount }),
    'hookplane.attempt.number': attemptCount + 1,
    'hookplane.attempt.trigger': trigger,
    ...(message.tenantId !== null && { 'hookplane.tenant.id': message.tenantId }),
  };
}

/** Without what may be a secret of the receiver: credentials, and the query. */
function urlAttributes(text: string): Attributes {
  const url = parseUrl(text);
  if (url === null) return {};
  url.username = '';
  url.password = '';
  url.search = url.search && 'REDACTED';
  url.hash = '';
  return {
    'url.full': url.href,
    'server.address': url.hostname.replace(/^\[|\]$/g, ''),
    'server.port': Number(url.port || (url.protocol === 'https:' ? 443 : 80)),
  };
}

function tell(api: TracingApi, span: Span, { status, remoteAddress, errorKind, error }: PostResult): void {
  if (remoteAddress !== null) span.setAttribute('network.peer.address', remoteAddress);
  if (status !== null) span.setAttribute('http.response.status_code', status);
  if (errorKind === null) return;
  // By the conventions for HTTP an answer that is an error is named by its status.
  span.setAttribute('error.type', status === null ? errorKind : String(status));
  span.setStatus({ code: api.SpanStatusCode.ERROR, message: error ?? errorKind });
}
