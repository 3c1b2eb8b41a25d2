import type { Health } from '../model/health.js';
import type { TenantScope } from '../store/store.js';
import type { SenderCore } from './core.js';
import { readHealth } from './health.js';
import type { Durations, Tally } from './tally.js';

/** As much of prom-client's `Registry` as it takes, so that the one of any version will do. */
export interface MetricRegistry {
  registerMetric(metric: never): void;
}

interface Sample {
  value: number;
  labels: Record<string, string | number>;
  /** Where it is not the metric's own: that of a part of a histogram. */
  metricName?: string;
}

/**
 * What a registry of prom-client asks of a metric. prom-client's own keep numbers themselves, at a price for each
 * attempt, and its histograms take none but single observations.
 */
interface Metric {
  name: string;
  help: string;
  type: 'counter' | 'gauge' | 'histogram';
  /** How prom-client joins those of the processes of a cluster. */
  aggregator: 'sum' | 'min' | 'max';
  get(): Promise<Omit<Metric, 'get' | 'reset'> & { values: Sample[] }>;
  /** Counts are the sender's; nobody else sets them back. */
  reset(): void;
}

/** The metrics as Prometheus text. A bound scope has what can be told of its tenant alone. */
export async function metricsText(core: SenderCore, tenant: TenantScope): Promise<string> {
  const { Registry } = await import('prom-client');
  const registry = new Registry();
  registerMetrics(core, tenant, registry);
  return registry.metrics();
}

export function registerMetrics(core: SenderCore, tenant: TenantScope, registry: MetricRegistry): void {
  const metrics = [
    ...storeMetrics(core, tenant),
    ...(tenant === undefined ? processMetrics(core.tally) : []),
  ];
  for (const metric of metrics) registry.registerMetric(metric as never);
}

/** What the store knows, of all processes. */
function storeMetrics(core: SenderCore, tenant: TenantScope): Metric[] {
  let reading: Promise<Health> | null = null;
  // A registry asks all of its metrics at once, and the store is to be asked once.
  const health = () => {
    reading ??= readHealth(core, tenant).finally(() => {
      reading = null;
    });
    return reading;
  };
  const gauge = (
    name: string,
    help: string,
    read: (health: Health) => number | null,
    aggregator: Metric['aggregator'] = 'max',
  ) =>
    metric({ name, help, type: 'gauge', aggregator }, async () => {
      const value = read(await health());
      return value === null ? [] : [{ value, labels: {} }];
    });
  const known = (found: Health) => found.outboxDepth !== null;
  const metrics = [
    gauge(
      'hookplane_store_up',
      'Whether the store answered just now, with the schema that this version needs: 1 or 0. At 0 the other gauges about the store are missing.',
      (found) => (known(found) ? 1 : 0),
      'min',
    ),
    gauge(
      'hookplane_outbox_depth',
      'Deliveries that are owed to active endpoints.',
      (found) => found.outboxDepth,
    ),
    gauge(
      'hookplane_oldest_pending_age_seconds',
      'For how long the most overdue delivery has been due; 0 when none is.',
      (found) => (known(found) ? (found.oldestPendingAge ?? 0) / 1000 : null),
    ),
  ];
  if (tenant === undefined) {
    metrics.push(
      gauge(
        'hookplane_workers',
        'Live workers of all processes, by their heartbeat.',
        (found) => found.workerCount,
      ),
    );
  }
  return metrics;
}

/** What this sender has done since it was made. */
function processMetrics(tally: Tally): Metric[] {
  const counter = (name: string, help: string, read: () => Sample[]) =>
    metric({ name, help, type: 'counter', aggregator: 'sum' }, read);
  const histogram = (name: string, help: string, read: () => Sample[]) =>
    metric({ name, help, type: 'histogram', aggregator: 'sum' }, read);
  return [
    metric(
      {
        name: 'hookplane_deliveries_in_flight',
        help: 'Requests of this process that are under way.',
        type: 'gauge',
        aggregator: 'sum',
      },
      () => [{ value: tally.inFlight, labels: {} }],
    ),
    counter('hookplane_messages_sent_total', 'Messages that this process has stored.', () => [
      { value: tally.messagesSent, labels: {} },
    ]),
    counter(
      'hookplane_messages_removed_total',
      'Messages that this process has removed because they had been kept long enough.',
      () => [{ value: tally.messagesRemoved, labels: {} }],
    ),
    counter(
      'hookplane_attempts_total',
      'Attempts that have ended in this process, by why they failed; those that succeeded have the error_kind none.',
      () =>
        Object.entries(tally.attempts).map(([kind, value]) => ({
          value,
          labels: { status: kind === 'none' ? 'succeeded' : 'failed', error_kind: kind },
        })),
    ),
    histogram(
      'hookplane_attempt_duration_seconds',
      'How long attempts took, from the look-up of the name to the end of the answer.',
      () =>
        Object.entries(tally.attemptDurations).flatMap(([status, durations]) =>
          samplesOf('hookplane_attempt_duration_seconds', durations, { status }),
        ),
    ),
    counter(
      'hookplane_deliveries_dead_total',
      'Deliveries that this process has given up: their attempts had run out, or they had expired.',
      () => [{ value: tally.deliveriesDead, labels: {} }],
    ),
    counter(
      'hookplane_endpoints_paused_total',
      'Endpoints that this process has paused for what their receiver answered, by reason.',
      () => Object.entries(tally.endpointsPaused).map(([reason, value]) => ({ value, labels: { reason } })),
    ),
    counter(
      'hookplane_store_errors_total',
      'How often the store failed this process, by what it was doing.',
      () => Object.entries(tally.storeErrors).map(([during, value]) => ({ value, labels: { during } })),
    ),
    histogram(
      'hookplane_turn_duration_seconds',
      'How long the transactions took in which this process settles and leases.',
      () => samplesOf('hookplane_turn_duration_seconds', tally.turnDurations, {}),
    ),
  ];
}

function metric(about: Omit<Metric, 'get' | 'reset'>, read: () => Sample[] | Promise<Sample[]>): Metric {
  return { ...about, get: async () => ({ ...about, values: await read() }), reset() {} };
}

function samplesOf(name: string, { bounds, counts, sumMs }: Durations, labels: Sample['labels']): Sample[] {
  let count = 0;
  const buckets = counts.map((each, index): Sample => {
    count += each;
    const bound = bounds[index];
    const le = bound === undefined ? '+Inf' : bound / 1000;
    return { metricName: `${name}_bucket`, labels: { le, ...labels }, value: count };
  });
  return [
    ...buckets,
    { metricName: `${name}_sum`, labels, value: sumMs / 1000 },
    { metricName: `${name}_count`, labels, value: count },
  ];
}
