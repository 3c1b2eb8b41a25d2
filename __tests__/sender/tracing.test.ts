import {
  context,
  createContextKey,
  createTraceState,
  ROOT_CONTEXT,
  SpanKind,
  type SpanContext,
  SpanStatusCode,
  trace,
  TraceFlags,
  type Tracer,
} from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import { AlwaysOffSampler, type ReadableSpan } from '@opentelemetry/sdk-trace-base';
import Database from 'better-sqlite3';
import diagnostics from 'node:diagnostics_channel';
import { sqliteStore } from '../../lib/store/sqlite.js';
import { onCleanUp } from '../support/clean-up.js';
import { startReceiver } from '../support/receiver.js';
import { startSender } from '../support/sender.js';
import { startTracing } from '../support/tracing.js';
import { eventually } from '../support/wait-for.js';
import { untilStatus } from './probe.js';

const NO_RETRY = { delaysSeconds: [], jitter: 0 };
const REMOTE: SpanContext = {
  traceId: '0af7651916cd43dd8448eb211c80319c',
  spanId: 'b7ad6b7169203331',
  traceFlags: TraceFlags.SAMPLED,
  isRemote: true,
  traceState: createTraceState('vendor=1'),
};
const TRACEPARENT = `00-${REMOTE.traceId}-${REMOTE.spanId}-01`;

const throwing = (): never => {
  throw new Error('mine');
};

/** Runs as code does that handles a request which came with a trace. */
const inTraceOf = <T>(span: SpanContext, work: () => T): T =>
  context.with(trace.setSpanContext(ROOT_CONTEXT, span), work);

function traceparentOf(span: ReadableSpan): string {
  const { traceId, spanId } = span.spanContext();
  return `00-${traceId}-${spanId}-01`;
}

describe('the span of a send', () => {
  test('is of a producer, below that of the caller, and ends when the message is stored', async () => {
    const traces = startTracing();
    const sender = await startSender({ started: false });
    const sent = await inTraceOf(REMOTE, () => sender.send({ type: 'a.b', data: 1, tenantId: 'acme' }));
    const [span, ...more] = traces.spans();
    expect(more).toEqual([]);
    expect(span).toMatchObject({
      name: 'send a.b',
      kind: SpanKind.PRODUCER,
      parentSpanContext: { traceId: REMOTE.traceId, spanId: REMOTE.spanId },
      status: { code: SpanStatusCode.UNSET },
      instrumentationScope: { name: 'hookplane' },
    });
    expect(span!.attributes).toEqual({
      'messaging.system': 'hookplane',
      'messaging.operation.name': 'send',
      'messaging.operation.type': 'send',
      'messaging.destination.name': 'a.b',
      'messaging.message.id': sent.id,
      'hookplane.tenant.id': 'acme',
    });
  });

  test('is one for a batch, with what its messages have in common', async () => {
    const traces = startTracing();
    const sender = await startSender({ started: false });
    const acme = sender.forTenant('acme');
    await acme.sendMany([1, 2, 3].map((data) => ({ type: 'a.b', data })));
    await sender.sendMany([
      { type: 'a.b', data: 1, tenantId: 'acme' },
      { type: 'c', data: 1 },
    ]);
    const [same, mixed] = traces.spans();
    expect(same).toMatchObject({
      name: 'send a.b',
      attributes: {
        'messaging.batch.message_count': 3,
        'messaging.destination.name': 'a.b',
        'hookplane.tenant.id': 'acme',
      },
    });
    expect(mixed!.name).toBe('send');
    expect(mixed!.attributes).toEqual({
      'messaging.system': 'hookplane',
      'messaging.operation.name': 'send',
      'messaging.operation.type': 'send',
      'messaging.batch.message_count': 2,
    });
  });

  test('that fails says why, by the code of the error', async () => {
    const traces = startTracing();
    const sender = await startSender({ started: false });
    await expect(sender.send({ type: 'no type', data: 1 })).rejects.toThrow('The message is not valid');
    await expect(sender.send(undefined as never)).rejects.toThrow('The message is not valid');
    await sender.stop();
    await expect(sender.sendMany([{ type: 'a.b', data: 1 }])).rejects.toThrow('has been stopped');
    const [invalid, none, stopped] = traces.spans();
    expect(invalid).toMatchObject({
      status: { code: SpanStatusCode.ERROR },
      attributes: { 'error.type': 'MESSAGE_VALIDATION' },
      events: [{ name: 'exception' }],
    });
    expect(none!.name).toBe('send');
    expect(stopped!.attributes['error.type']).toBe('STORE_UNAVAILABLE');
  });

  const tracedHooks = () => ({
    filterFn() {
      trace.getTracer('mine').startSpan('my filter').end();
      return true;
    },
  });

  test('has what the hooks do below it', async () => {
    const traces = startTracing();
    const sender = await startSender({ started: false, endpointHooks: tracedHooks });
    await sender.endpoints.create({ url: 'https://example.com/' });
    await sender.send({ type: 'a.b', data: 1 });
    const [filter, send] = traces.spans();
    expect(filter!.parentSpanContext?.spanId).toBe(send!.spanContext().spanId);
  });

  test('is the same for one in a transaction of SQLite', async () => {
    const traces = startTracing();
    const database = new Database(':memory:');
    onCleanUp('test', 'folder', async () => void database.close());
    const store = sqliteStore({ database });
    const sender = await startSender({ store, started: false, endpointHooks: tracedHooks });
    await sender.endpoints.create({ url: 'https://example.com/' });
    const send = database.transaction((type: string) =>
      sender.sendSync({ type, data: 1 }, { transaction: database }),
    );
    const { id } = inTraceOf(REMOTE, () => send('a.b'));
    expect(() => send('no type')).toThrow('The message is not valid');
    const [filter, sent, failed] = traces.spans();
    expect(filter!.parentSpanContext?.spanId).toBe(sent!.spanContext().spanId);
    expect(sent).toMatchObject({
      name: 'send a.b',
      parentSpanContext: { spanId: REMOTE.spanId },
      attributes: { 'messaging.message.id': id },
    });
    expect(failed!.attributes['error.type']).toBe('MESSAGE_VALIDATION');
    expect(database.prepare('select trace_context from hookplane_messages').pluck().get()).toBe(
      `${traceparentOf(sent!)} vendor=1`,
    );
  });
});

describe('the span of an attempt', () => {
  test('is of a client, tells of the request, and is no part of the trace of the send but linked to it', async () => {
    const traces = startTracing();
    const receiver = await startReceiver();
    const sender = await startSender();
    const url = receiver.url('/hook?token=very-secret');
    const { id } = await sender.endpoints.create({ url, tenantId: 'acme' });
    const sent = await inTraceOf(REMOTE, () => sender.send({ type: 'a.b', data: 1, tenantId: 'acme' }));
    const [deliver] = await traces.waitFor('deliver');
    const [send] = await traces.waitFor('send');
    expect(deliver).toMatchObject({
      name: 'deliver a.b',
      kind: SpanKind.CLIENT,
      status: { code: SpanStatusCode.UNSET },
    });
    expect(deliver!.parentSpanContext).toBeUndefined();
    expect(deliver!.spanContext().traceId).not.toBe(send!.spanContext().traceId);
    expect(deliver!.links).toEqual([
      { context: expect.objectContaining({ traceId: REMOTE.traceId, spanId: send!.spanContext().spanId }) },
    ]);
    expect(deliver!.attributes).toEqual({
      'messaging.system': 'hookplane',
      'messaging.operation.name': 'deliver',
      'messaging.operation.type': 'send',
      'messaging.destination.name': 'a.b',
      'messaging.message.id': sent.id,
      'hookplane.endpoint.id': id,
      'hookplane.tenant.id': 'acme',
      'hookplane.attempt.number': 1,
      'hookplane.attempt.trigger': 'send',
      'http.request.method': 'POST',
      'http.response.status_code': 200,
      'url.full': receiver.url('/hook?REDACTED'),
      'server.address': '127.0.0.1',
      'server.port': receiver.port,
      'network.peer.address': '127.0.0.1',
    });
  });

  test('that failed is an error: by the status where there was an answer, by its kind where there was none', async () => {
    const traces = startTracing();
    const receiver = await startReceiver();
    receiver.answer('/', 503, 200);
    receiver.answer('/broken', (_request, response) => response.socket?.destroy());
    const sender = await startSender({ retry: { delaysSeconds: [0], jitter: 0 } });
    const { id } = await sender.endpoints.create({ url: receiver.url(), types: ['answered'] });
    await sender.endpoints.create({ url: receiver.url('/broken'), types: ['broken'] });
    await untilStatus(sender, (await sender.send({ type: 'answered', data: 1 })).id, 'delivered');
    await untilStatus(sender, (await sender.send({ type: 'broken', data: 1 })).id, 'failed');
    const [refused, retried] = await traces.waitFor('deliver answered', 2);
    expect(refused).toMatchObject({
      status: { code: SpanStatusCode.ERROR, message: 'The receiver answered 503.' },
      attributes: { 'error.type': '503', 'http.response.status_code': 503, 'hookplane.endpoint.id': id },
    });
    expect(retried).toMatchObject({
      status: { code: SpanStatusCode.UNSET },
      attributes: {
        'http.request.resend_count': 1,
        'hookplane.attempt.number': 2,
        'hookplane.attempt.trigger': 'retry',
      },
    });
    expect(retried!.attributes).not.toHaveProperty(['error.type']);
    const [broken] = await traces.waitFor('deliver broken', 2);
    expect(broken).toMatchObject({
      status: { code: SpanStatusCode.ERROR },
      attributes: { 'error.type': 'reset' },
    });
    expect(broken!.attributes).not.toHaveProperty(['http.response.status_code']);
  });

  test('is linked to the send when another sender makes it, later', async () => {
    const traces = startTracing();
    const receiver = await startReceiver();
    const before = await startSender({ started: false });
    await before.endpoints.create({ url: receiver.url() });
    const sent = await inTraceOf(REMOTE, () => before.send({ type: 'a.b', data: 1 }));
    await before.stop();
    const after = await startSender({ file: before.file });
    await untilStatus(after, sent.id, 'delivered');
    const [send] = await traces.waitFor('send');
    const [deliver] = await traces.waitFor('deliver');
    expect(deliver!.links).toHaveLength(1);
    const { context: linked } = deliver!.links[0]!;
    expect(linked).toMatchObject({ ...send!.spanContext(), traceState: expect.anything(), isRemote: true });
    expect(linked.traceState?.serialize()).toBe('vendor=1');
  });

  test('has what the hooks do below it, and none that an instrumentation would make of its request', async () => {
    const traces = startTracing();
    const receiver = await startReceiver();
    const onRequest = () => trace.getTracer('undici').startSpan('a second one').end();
    diagnostics.subscribe('undici:request:create', onRequest);
    onCleanUp('test', 'folder', async () => void diagnostics.unsubscribe('undici:request:create', onRequest));
    const sender = await startSender({
      endpointHooks: () => ({
        async headers() {
          trace.getTracer('mine').startSpan('my headers').end();
          return { 'x-a': '1' };
        },
      }),
    });
    await sender.endpoints.create({ url: receiver.url() });
    await sender.send({ type: 'a.b', data: 1 });
    const [deliver] = await traces.waitFor('deliver');
    const [hook] = await traces.waitFor('my headers');
    expect(hook!.parentSpanContext?.spanId).toBe(deliver!.spanContext().spanId);
    expect(traces.spans().map(({ name }) => name)).not.toContain('a second one');
  });

  test('is made of a test of an endpoint too, linked to the caller', async () => {
    const traces = startTracing();
    const receiver = await startReceiver();
    const sender = await startSender({ started: false });
    const { id } = await sender.endpoints.create({ url: receiver.url() });
    await inTraceOf(REMOTE, () => sender.endpoints.test(id));
    const [deliver, ...more] = traces.spans();
    expect(more).toEqual([]);
    expect(deliver).toMatchObject({
      name: 'deliver hookplane.test',
      links: [{ context: { traceId: REMOTE.traceId, spanId: REMOTE.spanId } }],
      attributes: { 'hookplane.attempt.trigger': 'test' },
    });
    expect(deliver!.parentSpanContext).toBeUndefined();
  });

  test('of a message that was sent in no trace is linked to nothing', async () => {
    const receiver = await startReceiver();
    const sender = await startSender({ started: false });
    await sender.endpoints.create({ url: receiver.url() });
    await sender.send({ type: 'a.b', data: 1 });
    const traces = startTracing();
    await sender.start();
    const [deliver] = await traces.waitFor('deliver');
    expect(deliver!.links).toEqual([]);
  });
});

describe('an SDK', () => {
  test('that is registered after the sender was started traces all the same', async () => {
    const receiver = await startReceiver();
    const sender = await startSender();
    await sender.endpoints.create({ url: receiver.url() });
    const first = await sender.send({ type: 'a.b', data: 1 });
    await untilStatus(sender, first.id, 'delivered');
    const traces = startTracing();
    const second = await sender.send({ type: 'a.b', data: 2 });
    const [deliver] = await traces.waitFor('deliver');
    expect(deliver!.attributes['messaging.message.id']).toBe(second.id);
    expect((await traces.waitFor('send')).length).toBe(1);
  });

  test('that samples nothing records nothing, and the trace of the caller is remembered', async () => {
    const traces = startTracing(new AlwaysOffSampler());
    const receiver = await startReceiver();
    const sender = await startSender({ propagateTraceContext: true });
    await sender.endpoints.create({ url: receiver.url() });
    await untilStatus(sender, (await sender.send({ type: 'a.b', data: 1 })).id, 'delivered');
    expect(traces.spans()).toEqual([]);
    // It says that it was not sampled.
    expect(receiver.requests()[0]!.headers.traceparent).toMatch(/^00-[0-9a-f]{32}-[0-9a-f]{16}-00$/);
  });

  test('whose spans throw loses them, and no message', async () => {
    startTracing();
    trace.disable();
    trace.setGlobalTracerProvider({ getTracer: () => ({ startSpan: throwing, startActiveSpan: throwing }) });
    const receiver = await startReceiver();
    const sender = await startSender();
    await sender.endpoints.create({ url: receiver.url() });
    const sent = await sender.send({ type: 'a.b', data: 1 });
    await untilStatus(sender, sent.id, 'delivered');
  });

  test.each([
    'isRecording',
    'spanContext',
    'setAttribute',
    'setAttributes',
    'setStatus',
    'recordException',
    'end',
  ] as const)(
    'whose spans throw at %s harms neither sends nor attempts, and hides no error',
    async (method) => {
      startTracing();
      const tracer = trace.getTracer('mine');
      trace.disable();
      const faulty: Tracer = {
        ...tracer,
        startSpan(...given) {
          const span = tracer.startSpan(...given);
          span[method] = throwing;
          return span;
        },
      };
      trace.setGlobalTracerProvider({ getTracer: () => faulty });
      await expectWork();
    },
  );

  test('that cannot find a tracer, or set a context, harms neither sends nor attempts', async () => {
    startTracing();
    trace.disable();
    trace.setGlobalTracerProvider({ getTracer: throwing });
    await expectWork();
    trace.disable();
    startTracing();
    context.disable();
    context.setGlobalContextManager({
      active: () => ROOT_CONTEXT,
      with: throwing,
      bind: (_context, target) => target,
      enable() {
        return this;
      },
      disable() {
        return this;
      },
    });
    await expectWork();
  });

  /** Sends, delivers, fails an attempt and a send, and tests an endpoint. */
  async function expectWork(): Promise<void> {
    const receiver = await startReceiver();
    receiver.answer('/bad', 500);
    const sender = await startSender({ retry: NO_RETRY });
    const { id } = await sender.endpoints.create({ url: receiver.url('/good'), types: ['good'] });
    await sender.endpoints.create({ url: receiver.url('/bad'), types: ['bad'] });
    await untilStatus(sender, (await sender.send({ type: 'good', data: 1 })).id, 'delivered');
    await untilStatus(sender, (await sender.send({ type: 'bad', data: 1 })).id, 'failed');
    await expect(sender.send({ type: 'no type', data: 1 })).rejects.toMatchObject({
      code: 'MESSAGE_VALIDATION',
    });
    expect(await sender.endpoints.test(id)).toMatchObject({ status: 'succeeded' });
    expect(receiver.requests()).toHaveLength(3);
  }

  test('of which there is only the context: the trace of the caller goes through to a receiver that may know it', async () => {
    context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
    onCleanUp('test', 'folder', async () => context.disable());
    const receiver = await startReceiver();
    const sender = await startSender({ propagateTraceContext: true });
    await sender.endpoints.create({ url: receiver.url() });
    await inTraceOf(REMOTE, () => sender.send({ type: 'a.b', data: 1 }));
    const [request] = await receiver.waitFor(1);
    expect(request!.headers).toMatchObject({ traceparent: TRACEPARENT, tracestate: 'vendor=1' });
  });
});

describe('traceparent', () => {
  test('names the attempt to the receiver, when that was asked for', async () => {
    const traces = startTracing();
    const receiver = await startReceiver();
    const sender = await startSender({ propagateTraceContext: true });
    await sender.endpoints.create({ url: receiver.url(), headers: { 'x-own': '1' } });
    await inTraceOf(REMOTE, () => sender.send({ type: 'a.b', data: 1 }));
    const [request] = await receiver.waitFor(1);
    const [deliver] = await traces.waitFor('deliver');
    expect(request!.headers).toMatchObject({ traceparent: traceparentOf(deliver!), 'x-own': '1' });
    expect(request!.headers).not.toHaveProperty('tracestate');
  });

  test('is not sent otherwise, whatever the SDK does', async () => {
    startTracing();
    const receiver = await startReceiver();
    const sender = await startSender();
    await sender.endpoints.create({ url: receiver.url() });
    await inTraceOf(REMOTE, () => sender.send({ type: 'a.b', data: 1 }));
    const [request] = await receiver.waitFor(1);
    expect(Object.keys(request!.headers).filter((name) => name.startsWith('trace'))).toEqual([]);
  });

  test('is not sent where there is no trace', async () => {
    const receiver = await startReceiver();
    const sender = await startSender({ propagateTraceContext: true });
    await sender.endpoints.create({ url: receiver.url() });
    await sender.send({ type: 'a.b', data: 1 });
    const [request] = await receiver.waitFor(1);
    expect(request!.headers).not.toHaveProperty('traceparent');
  });

  test.each(['traceparent', 'TraceParent', 'tracestate'])(
    "cannot be an endpoint's own header, nor a hook's: %s",
    async (name) => {
      const receiver = await startReceiver();
      const headers = { [name]: TRACEPARENT };
      const sender = await startSender({
        retry: NO_RETRY,
        propagateTraceContext: true,
        endpointHooks: () => ({ headers: () => headers }),
      });
      await expect(sender.endpoints.create({ url: receiver.url(), headers })).rejects.toMatchObject({
        code: 'ENDPOINT_VALIDATION',
      });
      await sender.endpoints.create({ url: receiver.url() });
      await untilStatus(sender, (await sender.send({ type: 'a.b', data: 1 })).id, 'failed');
      expect(receiver.requests()).toEqual([]);
    },
  );
});

test('the context of a send does not stay with the worker that it wakes', async () => {
  startTracing();
  const key = createContextKey('mine');
  const receiver = await startReceiver();
  const sender = await startSender();
  const seen: unknown[] = [];
  sender.on('attempt', () => void seen.push(context.active().getValue(key)));
  await sender.endpoints.create({ url: receiver.url() });
  for (const data of [1, 2, 3]) {
    const sent = await context.with(ROOT_CONTEXT.setValue(key, data), () =>
      sender.send({ type: 'a.b', data }),
    );
    await untilStatus(sender, sent.id, 'delivered');
  }
  await eventually(() => expect(seen).toEqual([undefined, undefined, undefined]));
});
