import type { SpanContext } from '@opentelemetry/api';

/** Version 00 of W3C Trace Context §3.2, the only one there is. */
const TRACEPARENT = /^00-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})$/;

/** Writes which span something belongs to: its `traceparent`, and behind a space its `tracestate` if it has one. */
export function writeTraceContext({ traceId, spanId, traceFlags, traceState }: SpanContext): string {
  const traceparent = `00-${traceId}-${spanId}-${(traceFlags & 0xff).toString(16).padStart(2, '0')}`;
  const tracestate = traceState?.serialize();
  return tracestate ? `${traceparent} ${tracestate}` : traceparent;
}

/** The headers by which W3C Trace Context tells a receiver of it. */
export function traceHeaders(traceContext: string): Record<string, string> {
  const end = traceContext.indexOf(' ');
  if (end === -1) return { traceparent: traceContext };
  return { traceparent: traceContext.slice(0, end), tracestate: traceContext.slice(end + 1) };
}

/** Reads what {@link writeTraceContext} wrote; null for anything else. */
export function readTraceContext(
  traceContext: string,
): (Pick<SpanContext, 'traceId' | 'spanId' | 'traceFlags'> & { tracestate: string | undefined }) | null {
  const { traceparent, tracestate } = traceHeaders(traceContext);
  const [, traceId, spanId, flags] = TRACEPARENT.exec(traceparent!) ?? [];
  if (!traceId || !spanId || !flags) return null;
  return { traceId, spanId, traceFlags: Number.parseInt(flags, 16), tracestate };
}
