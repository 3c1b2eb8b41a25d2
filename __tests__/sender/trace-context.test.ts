import { createTraceState, type SpanContext, TraceFlags } from '@opentelemetry/api';
import { readTraceContext, traceHeaders, writeTraceContext } from '../../lib/sender/trace-context.js';

const TRACE_ID = '0af7651916cd43dd8448eb211c80319c';
const SPAN_ID = 'b7ad6b7169203331';
const span: SpanContext = { traceId: TRACE_ID, spanId: SPAN_ID, traceFlags: TraceFlags.SAMPLED };

test('a span is written as the traceparent of W3C Trace Context §3.2', () => {
  expect(writeTraceContext(span)).toBe(`00-${TRACE_ID}-${SPAN_ID}-01`);
  expect(writeTraceContext({ ...span, traceFlags: TraceFlags.NONE })).toBe(`00-${TRACE_ID}-${SPAN_ID}-00`);
});

test('its tracestate follows, and both become headers again', () => {
  const written = writeTraceContext({ ...span, traceState: createTraceState('a=1,b=x y') });
  expect(traceHeaders(written)).toEqual({
    traceparent: `00-${TRACE_ID}-${SPAN_ID}-01`,
    tracestate: 'a=1,b=x y',
  });
  expect(traceHeaders(writeTraceContext({ ...span, traceState: createTraceState('') }))).toEqual({
    traceparent: `00-${TRACE_ID}-${SPAN_ID}-01`,
  });
});

test('what is written is read', () => {
  expect(readTraceContext(`00-${TRACE_ID}-${SPAN_ID}-01`)).toEqual({ ...span, tracestate: undefined });
  expect(readTraceContext(`00-${TRACE_ID}-${SPAN_ID}-00 a=1`)).toEqual({
    traceId: TRACE_ID,
    spanId: SPAN_ID,
    traceFlags: 0,
    tracestate: 'a=1',
  });
});

test.each([
  '',
  'x',
  `01-${TRACE_ID}-${SPAN_ID}-01`,
  `00-${TRACE_ID}-${SPAN_ID}`,
  `00-${SPAN_ID}-${TRACE_ID}-01`,
])('%j is read as none', (text) => {
  expect(readTraceContext(text)).toBeNull();
});
