import { Gauge, Registry } from 'prom-client';
import type { Store } from '../../lib/store/store.js';
import type { Sender } from '../../lib/sender/sender.js';
import { createClock, MINUTE } from '../support/clock.js';
import { startReceiver } from '../support/receiver.js';
import { startSender } from '../support/sender.js';
import { applicationDatabase, newStore } from '../support/test-store.js';
import { eventually } from '../support/wait-for.js';
import { untilStatus } from './probe.js';

const NO_RETRY = { delaysSeconds: [], jitter: 0 };

/** Every sample of a text: `name{labels}` and its value. */
function samplesOf(text: string): Record<string, number> {
  const lines = text.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  return Object.fromEntries(
    lines.map((line) => [
      line.slice(0, line.lastIndexOf(' ')),
      Number(line.slice(line.lastIndexOf(' ') + 1)),
    ]),
  );
}

async function read(sender: Pick<Sender, 'metrics'>): Promise<Record<string, number>> {
  return samplesOf(await sender.metrics());
}

test('each metric is named, explained and typed as Prometheus has it, and no other line is there', async () => {
  const sender = await startSender();
  const text = await sender.metrics();
  expect(text.endsWith('\n')).toBe(true);
  const types = [...text.matchAll(/^# TYPE (\S+) (\S+)$/gm)].map(([, name, type]) => [name!, type!] as const);
  expect(types).toEqual([
    ['hookplane_store_up', 'gauge'],
    ['hookplane_outbox_depth', 'gauge'],
    ['hookplane_oldest_pending_age_seconds', 'gauge'],
    ['hookplane_workers', 'gauge'],
    ['hookplane_deliveries_in_flight', 'gauge'],
    ['hookplane_messages_sent_total', 'counter'],
    ['hookplane_messages_removed_total', 'counter'],
    ['hookplane_attempts_total', 'counter'],
    ['hookplane_attempt_duration_seconds', 'histogram'],
    ['hookplane_deliveries_dead_total', 'counter'],
    ['hookplane_endpoints_paused_total', 'counter'],
    ['hookplane_store_errors_total', 'counter'],
    ['hookplane_turn_duration_seconds', 'histogram'],
  ]);
  for (const [name, type] of types) {
    expect(text).toMatch(new RegExp(`^# HELP ${name} [A-Z].*\\.$`, 'm'));
    expect([name, name.endsWith('_total')]).toEqual([name, type === 'counter']);
  }
  for (const line of text.split('\n').filter((each) => each !== '' && !each.startsWith('#'))) {
    expect(line).toMatch(/^hookplane_[a-z_]+(?:\{[a-z_]+="[^"]*"(?:,[a-z_]+="[^"]*")*\})? \d+(?:\.\d+)?$/);
  }
});

test('what never happened is there as 0, so that its first time is a change', async () => {
  const sender = await startSender({ started: false });
  const samples = await read(sender);
  expect(samples).toMatchObject({
    'hookplane_attempts_total{status="succeeded",error_kind="none"}': 0,
    'hookplane_attempts_total{status="failed",error_kind="blocked_address"}': 0,
    'hookplane_endpoints_paused_total{reason="gone"}': 0,
    'hookplane_endpoints_paused_total{reason="failing"}': 0,
    'hookplane_store_errors_total{during="turn"}': 0,
    'hookplane_store_errors_total{during="heartbeat"}': 0,
    'hookplane_store_errors_total{during="sweep"}': 0,
    'hookplane_store_errors_total{during="send"}': 0,
    hookplane_messages_removed_total: 0,
    'hookplane_attempt_duration_seconds_count{status="failed"}': 0,
    hookplane_deliveries_dead_total: 0,
    hookplane_oldest_pending_age_seconds: 0,
  });
  expect(Object.keys(samples).filter((name) => name.startsWith('hookplane_attempts_total'))).toHaveLength(11);
});

test('messages are counted as they are stored: a duplicate is none, each of a batch is one', async () => {
  const sender = await startSender({ started: false });
  const message = { type: 'a.b', data: 1, idempotencyKey: 'once' };
  await Promise.all([sender.send(message), sender.send(message), sender.send({ type: 'a.b', data: 2 })]);
  await sender.sendMany([message, { type: 'a.b', data: 3 }, { type: 'a.b', data: 4 }]);
  await expect(sender.send({ ...message, data: 9 })).rejects.toThrow('idempotency key');
  expect(await read(sender)).toMatchObject({
    hookplane_messages_sent_total: 4,
    'hookplane_store_errors_total{during="send"}': 0,
  });
});

test('attempts are counted by how they ended, and so are the deliveries that are given up', async () => {
  const receiver = await startReceiver();
  receiver.answer('/', 200, 200, 500, 302);
  const sender = await startSender({ retry: NO_RETRY, endpointHooks: () => ({ transform: maybeThrow }) });
  await sender.endpoints.create({ url: receiver.url() });
  for (const [data, status] of [
    [1, 'delivered'],
    [2, 'delivered'],
    [3, 'failed'],
    [4, 'failed'],
    ['throw', 'failed'],
  ] as const) {
    await untilStatus(sender, (await sender.send({ type: 'a.b', data })).id, status);
  }
  const samples = await read(sender);
  expect(samples).toMatchObject({
    'hookplane_attempts_total{status="succeeded",error_kind="none"}': 2,
    'hookplane_attempts_total{status="failed",error_kind="http_status"}': 1,
    'hookplane_attempts_total{status="failed",error_kind="redirect"}': 1,
    'hookplane_attempts_total{status="failed",error_kind="transform"}': 1,
    'hookplane_attempt_duration_seconds_count{status="succeeded"}': 2,
    'hookplane_attempt_duration_seconds_count{status="failed"}': 3,
    hookplane_deliveries_dead_total: 3,
    hookplane_deliveries_in_flight: 0,
  });
  expect(samples.hookplane_turn_duration_seconds_count).toBeGreaterThanOrEqual(5);
  expect(samples.hookplane_turn_duration_seconds_sum).toBeGreaterThan(0);
});

function maybeThrow(payload: { data: unknown }): unknown {
  if (payload.data === 'throw') throw new Error('mine');
  return payload;
}

test('durations are counted in buckets that hold those below, in seconds', async () => {
  const receiver = await startReceiver();
  const held = receiver.hold('/');
  const sender = await startSender();
  await sender.endpoints.create({ url: receiver.url() });
  const sent = await sender.send({ type: 'a.b', data: 1 });
  await receiver.waitFor(1);
  await new Promise((resolve) => setTimeout(resolve, 30));
  held.release();
  await untilStatus(sender, sent.id, 'delivered');
  const { attempts } = await sender.messages.attempts(sent.id);
  const seconds = attempts[0]!.durationMs / 1000;
  expect(seconds).toBeGreaterThan(0.025);
  const samples = await read(sender);
  const name = 'hookplane_attempt_duration_seconds';
  expect(samples[`${name}_sum{status="succeeded"}`]).toBeCloseTo(seconds, 6);
  const buckets = Object.entries(samples).flatMap(([sample, count]) => {
    const [, le] = /_attempt_.*_bucket\{le="(.*?)",status="succeeded"\}/.exec(sample) ?? [];
    return le === undefined ? [] : [[le === '+Inf' ? Infinity : Number(le), count] as const];
  });
  expect(buckets.map(([le]) => le)).toEqual([
    0.005,
    0.01,
    0.025,
    0.05,
    0.1,
    0.25,
    0.5,
    1,
    2.5,
    5,
    10,
    15,
    30,
    60,
    Infinity,
  ]);
  expect(buckets.map(([, count]) => count)).toEqual(buckets.map(([le]) => (seconds <= le ? 1 : 0)));
});

test('what is under way is counted while it is', async () => {
  const receiver = await startReceiver();
  const held = receiver.hold('/');
  const sender = await startSender();
  await sender.endpoints.create({ url: receiver.url() });
  const [first, second] = await sender.sendMany([1, 2].map((data) => ({ type: 'a.b', data })));
  await receiver.waitFor(2);
  expect(await read(sender)).toMatchObject({ hookplane_deliveries_in_flight: 2, hookplane_outbox_depth: 2 });
  held.release();
  for (const { id } of [first!, second!]) await untilStatus(sender, id, 'delivered');
  expect(await read(sender)).toMatchObject({ hookplane_deliveries_in_flight: 0, hookplane_outbox_depth: 0 });
});

test('a request that a stop cuts off is under way no more, and no attempt', async () => {
  const receiver = await startReceiver();
  receiver.hold('/');
  const sender = await startSender();
  await sender.endpoints.create({ url: receiver.url() });
  await sender.send({ type: 'a.b', data: 1 });
  await receiver.waitFor(1);
  await sender.stop({ drainMs: 1 });
  const samples = await read(sender);
  expect(samples).toMatchObject({ hookplane_deliveries_in_flight: 0, hookplane_store_up: 0 });
  expect(samples['hookplane_attempt_duration_seconds_count{status="failed"}']).toBe(0);
});

test('an endpoint that is paused for its answers is counted by the reason, one that is disabled is not', async () => {
  const receiver = await startReceiver();
  receiver.answer('/', 410);
  const sender = await startSender({ retry: NO_RETRY });
  const { id } = await sender.endpoints.create({ url: receiver.url() });
  await untilStatus(sender, (await sender.send({ type: 'a.b', data: 1 })).id, 'failed');
  await eventually(async () => expect((await sender.endpoints.get(id)).pausedReason).toBe('gone'));
  await sender.endpoints.disable((await sender.endpoints.create({ url: receiver.url() })).id);
  expect(await read(sender)).toMatchObject({
    'hookplane_endpoints_paused_total{reason="gone"}': 1,
    'hookplane_endpoints_paused_total{reason="failing"}': 0,
  });
});

test('the outbox and the workers are those of all processes, the age is in seconds', async () => {
  const clock = createClock();
  const sender = await startSender({ now: clock.now, started: false });
  const { id } = await sender.endpoints.create({ url: 'https://example.com/', rateLimit: { perSecond: 1 } });
  await sender.send({ type: 'a.b', data: 1 });
  clock.advance(1500);
  const other = await startSender({ file: sender.file, now: clock.now, started: false });
  expect(await read(other)).toMatchObject({
    hookplane_store_up: 1,
    hookplane_outbox_depth: 1,
    hookplane_oldest_pending_age_seconds: 1.5,
    hookplane_workers: 0,
    hookplane_messages_sent_total: 0,
  });
  await sender.endpoints.disable(id);
  await sender.start();
  expect(await read(other)).toMatchObject({
    hookplane_outbox_depth: 0,
    hookplane_oldest_pending_age_seconds: 0,
    hookplane_workers: 1,
  });
});

test('a store that is away is one that is not up; what is known without it is told all the same', async () => {
  const sender = await startSender({ started: false });
  await sender.send({ type: 'a.b', data: 1 });
  await sender.stop();
  const samples = await read(sender);
  expect(samples).toMatchObject({ hookplane_store_up: 0, hookplane_messages_sent_total: 1 });
  for (const name of ['outbox_depth', 'oldest_pending_age_seconds', 'workers'])
    expect(samples).not.toHaveProperty([`hookplane_${name}`]);
});

test('failures of the store are counted by what it was asked for', async () => {
  const { store, fill } = await applicationDatabase();
  const sender = await startSender({ store });
  await fill();
  const message = { type: 'a.b', data: 'x'.repeat(100_000) };
  await expect(sender.send(message)).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' });
  await expect(sender.sendMany([message])).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' });
  await expect(sender.send({ type: 'no type', data: 1 })).rejects.toMatchObject({
    code: 'MESSAGE_VALIDATION',
  });
  expect(await read(sender)).toMatchObject({
    'hookplane_store_errors_total{during="send"}': 2,
    hookplane_messages_sent_total: 0,
  });
});

test('turns that the store fails are counted', async () => {
  const inner = await newStore();
  let failing = true;
  const store: Store = {
    ...inner,
    outbox: {
      ...inner.outbox,
      turn: (turn) => (failing ? Promise.reject(new Error('the disk is gone')) : inner.outbox.turn(turn)),
    },
  };
  const sender = await startSender({ store });
  await eventually(async () =>
    expect((await read(sender))['hookplane_store_errors_total{during="turn"}']).toBeGreaterThan(0),
  );
  failing = false;
});

test('a bound scope has the outbox of its tenant and nothing of anybody else', async () => {
  const clock = createClock();
  const sender = await startSender({ now: clock.now, started: false });
  for (const tenantId of ['acme', 'other']) {
    await sender.endpoints.create({ url: 'https://example.com/', tenantId });
    await sender.send({ type: 'a.b', data: 1, tenantId });
    clock.advance(MINUTE);
  }
  await sender.send({ type: 'a.b', data: 1, tenantId: 'other' });
  expect(await read(sender.forTenant('other'))).toEqual({
    hookplane_store_up: 1,
    hookplane_outbox_depth: 2,
    hookplane_oldest_pending_age_seconds: 60,
  });
  expect(await read(sender.forTenant('nobody'))).toEqual({
    hookplane_store_up: 1,
    hookplane_outbox_depth: 0,
    hookplane_oldest_pending_age_seconds: 0,
  });
});

test('no label tells an endpoint, a tenant, a type or a message', async () => {
  const receiver = await startReceiver();
  const sender = await startSender();
  const { id } = await sender.endpoints.create({ url: receiver.url('/mark'), tenantId: 'mark' });
  const sent = await sender.send({ type: 'mark.sent', data: 'mark', tenantId: 'mark' });
  await untilStatus(sender, sent.id, 'delivered');
  const text = await sender.metrics();
  for (const told of [id, sent.id, 'mark']) expect(text).not.toContain(told);
});

describe("an application's own registry", () => {
  test('has them beside its own metrics, with its own labels, as they are whenever it is asked', async () => {
    const registry = new Registry();
    const own = new Gauge({ name: 'own', help: 'Own.', registers: [registry] });
    registry.setDefaultLabels({ app: 'shop' });
    const sender = await startSender({ started: false });
    sender.registerMetrics(registry);
    own.set(7);
    await sender.send({ type: 'a.b', data: 1 });
    expect(samplesOf(await registry.metrics())).toMatchObject({
      'own{app="shop"}': 7,
      'hookplane_messages_sent_total{app="shop"}': 1,
      'hookplane_store_errors_total{during="send",app="shop"}': 0,
    });
    await sender.send({ type: 'a.b', data: 1 });
    expect(await registry.getSingleMetricAsString('hookplane_messages_sent_total')).toMatch(/ 2$/);
    registry.resetMetrics();
    expect(await registry.getSingleMetricAsString('hookplane_messages_sent_total')).toMatch(/ 2$/);
  });

  test('may be merged with others, and read as JSON', async () => {
    const registry = new Registry();
    const sender = await startSender({ started: false });
    sender.registerMetrics(registry);
    const merged = Registry.merge([registry, new Registry()]);
    expect(samplesOf(await merged.metrics())).toEqual(await read(sender));
    expect(await registry.getMetricsAsJSON()).toContainEqual({
      name: 'hookplane_outbox_depth',
      help: expect.any(String),
      type: 'gauge',
      aggregator: 'max',
      values: [{ value: 0, labels: {} }],
    });
  });

  test('asks the store once each time', async () => {
    const inner = await newStore();
    let asked = 0;
    const store: Store = {
      ...inner,
      outbox: {
        ...inner.outbox,
        depth(tenant) {
          asked += 1;
          return inner.outbox.depth(tenant);
        },
      },
    };
    const registry = new Registry();
    const sender = await startSender({ store, started: false });
    sender.registerMetrics(registry);
    await registry.metrics();
    await registry.metrics();
    expect(asked).toBe(2);
  });

  test('refuses the metrics of a second sender, which has a registry of its own', async () => {
    const registry = new Registry();
    (await startSender({ started: false })).registerMetrics(registry);
    const second = await startSender({ started: false });
    expect(() => second.registerMetrics(registry)).toThrow('already been registered');
    expect(() => second.registerMetrics(new Registry())).not.toThrow();
  });
});
