import type { AttemptStatus } from './message.js';

export type StatsInterval = 'minute' | 'hour' | 'day';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

/** For each interval, how many of them are shown when no `since` is given, and how long a range may be. */
export const STATS_INTERVALS: Readonly<
  Record<StatsInterval, { ms: number; shown: number; maxRangeMs: number }>
> = {
  minute: { ms: 60_000, shown: 60, maxRangeMs: DAY_MS },
  hour: { ms: HOUR_MS, shown: 24, maxRangeMs: 31 * DAY_MS },
  day: { ms: DAY_MS, shown: 30, maxRangeMs: 31 * DAY_MS },
};

export interface StatsRequest {
  /** @default 'hour' */
  interval?: StatsInterval | undefined;
  /** RFC 3339, inclusive. Default: so that 60 minutes, 24 hours or 30 days are shown. */
  since?: string | undefined;
  /** RFC 3339, exclusive. Default: now. */
  until?: string | undefined;
}

export interface AttemptStatsRequest extends StatsRequest {
  /** Only attempts to the endpoints of this tenant. */
  tenantId?: string | undefined;
}

/** The attempts of one interval. */
export interface StatsBucket {
  /** The beginning of the interval, in UTC. */
  start: string;
  succeeded: number;
  failed: number;
  /** Half of the attempts, failed ones among them, took no longer; null when there was none. */
  p50DurationMs: number | null;
  /** 95 of 100 attempts took no longer. */
  p95DurationMs: number | null;
}

/** The attempts of one interval, and what was owed in it. */
export interface OutboxStatsBucket extends StatsBucket {
  /**
   * The most deliveries that were owed to active endpoints when workers looked, which they do once a minute; null when
   * none has looked.
   */
  outboxDepth: number | null;
  /** The longest that a delivery had been due then, in milliseconds; 0 when none was, null when none has looked. */
  oldestPendingAge: number | null;
}

/** How an endpoint has answered. The range is widened to whole intervals. */
export interface EndpointStats {
  interval: StatsInterval;
  /** The beginning of the first interval. */
  since: string;
  /** The end of the last one. */
  until: string;
  /** One for each interval, oldest first, those without an attempt too. */
  buckets: StatsBucket[];
}

/** How the attempts to all endpoints have ended, and what was owed. */
export interface AttemptStats extends EndpointStats {
  buckets: OutboxStatsBucket[];
}

/** How many attempts of one outcome took so long. */
export interface DurationCount {
  status: AttemptStatus;
  durationMs: number;
  count: number;
}

/** Counts the attempts of one interval; percentiles are by nearest rank. */
export function countAttempts(durations: readonly DurationCount[]): Omit<StatsBucket, 'start'> {
  const sum = (of: readonly DurationCount[]) => of.reduce((total, { count }) => total + count, 0);
  const sorted = [...durations].sort((a, b) => a.durationMs - b.durationMs);
  const total = sum(sorted);
  const percentile = (percent: number): number | null => {
    let before = Math.ceil((percent * total) / 100);
    for (const { durationMs, count } of sorted) {
      before -= count;
      if (before <= 0) return durationMs;
    }
    return null;
  };
  const succeeded = sum(sorted.filter(({ status }) => status === 'succeeded'));
  return {
    succeeded,
    failed: total - succeeded,
    p50DurationMs: percentile(50),
    p95DurationMs: percentile(95),
  };
}
