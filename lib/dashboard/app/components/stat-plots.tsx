import type { ComponentChildren } from 'preact';
import type { AttemptStats, EndpointStats, StatsBucket } from '../../../client/index.js';
import {
  formatClock,
  formatDay,
  formatDuration,
  formatMoment,
  formatNumber,
  formatPercent,
} from '../format.js';
import { t } from '../texts.js';
import { Plot } from './plot.js';

/** How far back the plots go, and how fine they are. */
export const STAT_RANGES = {
  hour: { ms: 3_600_000, interval: 'minute' },
  day: { ms: 86_400_000, interval: 'hour' },
  week: { ms: 7 * 86_400_000, interval: 'hour' },
} as const;

const SECOND_MS = 1000;
const MINUTE_MS = 60 * SECOND_MS;
const HOUR_MS = 60 * MINUTE_MS;
/** What durations are marked by. */
const DURATION_STEPS = [
  ...[1, 2, 5, 10, 20, 50, 100, 200, 500],
  ...[1, 2, 5, 10, 15, 30].map((count) => count * SECOND_MS),
  ...[1, 2, 5, 10, 15, 30].map((count) => count * MINUTE_MS),
  ...[1, 2, 6, 12, 24, 48, 120, 240].map((count) => count * HOUR_MS),
];

export type StatRange = keyof typeof STAT_RANGES;

export function rangeOf(value: string | null): StatRange {
  return value === 'day' || value === 'week' ? value : 'hour';
}

/** What to ask for; at the full minute, so that the answer of a moment ago is that of now. */
export function statsRequest(range: StatRange) {
  const { ms, interval } = STAT_RANGES[range];
  const now = Math.ceil(Date.now() / 60_000) * 60_000;
  return { interval, since: new Date(now - ms).toISOString() };
}

export interface Totals {
  succeeded: number;
  failed: number;
  perMinute: number;
  /** The beginning of what is counted, as it is written. The first interval is a whole one, so it may lie further back. */
  since: string;
  /** Of the newest interval that has an attempt. */
  latest: StatsBucket | undefined;
}

export function totalsOf(stats: EndpointStats): Totals {
  const since = Date.parse(stats.since);
  // The last interval goes on.
  const minutes = Math.max(1, (Math.min(Date.now(), Date.parse(stats.until)) - since) / 60_000);
  const sum = (name: 'succeeded' | 'failed') =>
    stats.buckets.reduce((total, bucket) => total + bucket[name], 0);
  return {
    succeeded: sum('succeeded'),
    failed: sum('failed'),
    perMinute: sum('succeeded') / minutes,
    since: formatMoment(since / 1000),
    latest: stats.buckets.findLast((bucket) => bucket.p50DurationMs !== null),
  };
}

/** What the plots of a range have in common. */
function axisOf({ buckets }: EndpointStats, range: StatRange) {
  return {
    times: buckets.map(({ start }) => Date.parse(start) / 1000),
    formatAxis: range === 'week' ? formatDay : formatClock,
    // Of a day and an hour, two intervals begin at the same time of day.
    formatTime: range === 'hour' ? formatClock : formatMoment,
  };
}

export function StatPlots({ stats, range }: { stats: EndpointStats; range: StatRange }) {
  const { buckets } = stats;
  const common = { ...axisOf(stats, range), note: t.perInterval[stats.interval] };
  return (
    <div class="stack">
      <PlotCard title={t.attempts}>
        <Plot
          {...common}
          kind="bars"
          label={t.attemptsPlot}
          format={formatNumber}
          series={[
            { label: t.attemptStatus.succeeded, tone: 'success', values: buckets.map((b) => b.succeeded) },
            { label: t.attemptStatus.failed, tone: 'danger', values: buckets.map((b) => b.failed) },
          ]}
        />
      </PlotCard>
      <div class="halves">
        <PlotCard title={t.successRate}>
          <Plot
            {...common}
            kind="lines"
            top={1}
            label={t.successPlot}
            format={(share) => formatPercent(share, 1)}
            series={[{ label: t.successRate, tone: 'success', values: buckets.map(shareOf) }]}
          />
        </PlotCard>
        <PlotCard title={t.latency}>
          <Plot
            {...common}
            kind="lines"
            label={t.latencyPlot}
            format={formatDuration}
            steps={DURATION_STEPS}
            series={[
              { label: 'p50', tone: 'a', values: buckets.map((b) => b.p50DurationMs) },
              { label: 'p95', tone: 'b', values: buckets.map((b) => b.p95DurationMs) },
            ]}
          />
        </PlotCard>
      </div>
    </div>
  );
}

/** What was owed: gaps are where no worker has looked. */
export function DepthPlots({ stats, range }: { stats: AttemptStats; range: StatRange }) {
  const { buckets } = stats;
  const isKnown = buckets.some(({ outboxDepth }) => outboxDepth !== null);
  const common = { ...axisOf(stats, range), note: t.highestOf[stats.interval] };
  const plots = [
    {
      title: t.outboxDepth,
      label: t.depthPlot,
      tone: 'a',
      scale: { format: formatNumber },
      values: buckets.map((b) => b.outboxDepth),
    },
    {
      title: t.oldestPending,
      label: t.oldestPlot,
      tone: 'b',
      scale: { format: formatDuration, steps: DURATION_STEPS },
      values: buckets.map((b) => b.oldestPendingAge),
    },
  ] as const;
  return (
    <div class="halves">
      {plots.map(({ title, label, scale, ...series }) => (
        <PlotCard key={title} title={title}>
          {isKnown ? (
            <Plot
              {...common}
              {...scale}
              kind="lines"
              broken
              label={label}
              series={[{ label: title, ...series }]}
            />
          ) : (
            <p class="no-history muted">{t.noHistory}</p>
          )}
        </PlotCard>
      ))}
    </div>
  );
}

function shareOf({ succeeded, failed }: StatsBucket): number | null {
  return succeeded + failed === 0 ? null : succeeded / (succeeded + failed);
}

function PlotCard({ title, children }: { title: string; children: ComponentChildren }) {
  return (
    <section class="card">
      <div class="card-head">
        <h2>{title}</h2>
      </div>
      <div class="card-body">{children}</div>
    </section>
  );
}

export function RangeSwitch({ range, onChange }: { range: StatRange; onChange: (range: StatRange) => void }) {
  return (
    <fieldset class="segments">
      <legend class="visually-hidden">{t.range}</legend>
      {(Object.keys(STAT_RANGES) as StatRange[]).map((each) => (
        <button key={each} type="button" aria-pressed={each === range} onClick={() => onChange(each)}>
          {t.ranges[each]}
        </button>
      ))}
    </fieldset>
  );
}
