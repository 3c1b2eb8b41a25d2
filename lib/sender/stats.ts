import { setImmediate } from 'node:timers/promises';
import type { Position } from '../model/page.js';
import type { SenderScope } from '../model/scope.js';
import {
  countAttempts,
  type DurationCount,
  type OutboxStatsBucket,
  type StatsBucket,
} from '../model/stats.js';
import { isoTime } from '../model/time.js';
import type { Store, TenantScope } from '../store/store.js';
import type { SenderCore } from './core.js';
import { narrowTenant } from './scope-rules.js';
import type { StatsOwner } from './stats-cache.js';
import { type StatsRange, statsRange } from './stats-range.js';

/**
 * How much is counted in one statement, during which a store in a file keeps the process from everything else: some
 * twenty milliseconds. Each endpoint costs a look-up, whether it was sent anything in the range or not.
 */
const ATTEMPTS_AT_ONCE = 50_000;
const ENDPOINTS_AT_ONCE = 1000;
/** Nobody knows how much there is in a range: the next piece is shorter or longer, by what the one before has held. */
const FIRST_PIECE_MS = 3_600_000;
/** So much is counted whatever there is. */
const SHORTEST_PIECE_MS = 1000;
/** By a few of them rather than by the last: of two at once, that of the process whose clock is behind counts as well. */
const LAST_DELETIONS = 10;

export function statsOperation(core: SenderCore, tenant: TenantScope): Pick<SenderScope, 'stats'> {
  const { options, statsCache } = core;

  /** Counts the intervals that are not remembered, in the order of time. */
  async function countAll(store: Store, owner: StatsOwner, range: StatsRange): Promise<StatsBucket[]> {
    const { interval, since, until, stepMs } = range;
    const now = options.now();
    const buckets: StatsBucket[] = [];
    const missing: number[] = [];
    for (let start = since; start < until; start += stepMs) {
      const known = statsCache.get(owner, { interval, start, end: start + stepMs }, now);
      if (!known) missing.push(start);
      buckets.push(known ?? { start: isoTime(start), ...countAttempts([]) });
    }
    for (const [from, to] of unbroken(missing, stepMs)) {
      const counted = await countPieces(store, owner.tenant, { since: from, until: to, stepMs });
      for (let start = from; start < to; start += stepMs) {
        const bucket = { start: isoTime(start), ...countAttempts([...(counted.get(start)?.values() ?? [])]) };
        buckets[(start - since) / stepMs] = bucket;
        statsCache.set(owner, { interval, start, end: start + stepMs }, bucket, now);
      }
    }
    return buckets;
  }

  return {
    async stats({ tenantId, ...request } = {}) {
      const wanted = narrowTenant(tenant, tenantId);
      const range = statsRange(request, options.now());
      const store = await core.ready();
      // In turn, so that of several who ask for the same at once one counts it and the others find it remembered.
      const buckets = await core.countInTurn(async () => {
        const owner = { tenant: wanted, version: await versionOf(store, wanted) };
        return countAll(store, owner, range);
      });
      return {
        interval: range.interval,
        since: isoTime(range.since),
        until: isoTime(range.until),
        buckets: await withDepths(store, wanted, range, buckets),
      };
    },
  };
}

/** Adds what was owed. It is not remembered: a week is 10 080 samples at most, which are read in a few milliseconds. */
async function withDepths(
  store: Store,
  tenant: TenantScope,
  { since, until, stepMs }: StatsRange,
  buckets: readonly StatsBucket[],
): Promise<OutboxStatsBucket[]> {
  const highest = await store.depths.highest({ tenant, since, until, stepMs });
  const byStart = new Map(highest.map((sample) => [isoTime(sample.start), sample]));
  return buckets.map((bucket) => {
    const sample = byStart.get(bucket.start);
    return {
      ...bucket,
      outboxDepth: sample?.depth ?? null,
      oldestPendingAge: sample?.oldestAgeMs ?? null,
    };
  });
}

/** Which tenants there are to count, as the store has it: whatever process deletes one, all of them count anew. */
async function versionOf(store: Store, tenant: TenantScope): Promise<string> {
  // One that is made anew has nothing to do with the one that had its id.
  if (tenant !== undefined) return (await store.tenants.get(tenant))?.createdAt ?? 'none';
  const { rows } = await store.audit.list({
    tenant,
    sinceDeletion: false,
    operation: 'tenants.delete',
    since: undefined,
    until: undefined,
    actor: undefined,
    targetId: undefined,
    after: null,
    limit: LAST_DELETIONS,
  });
  return rows.map(({ id }) => id).join(' ');
}

type Counts = Map<number, DurationCount>;

/** Counts piece by piece. @returns by the beginning of the interval, those without an attempt left out */
async function countPieces(
  store: Store,
  tenant: TenantScope,
  { since, until, stepMs }: { since: number; until: number; stepMs: number },
): Promise<Map<number, Counts>> {
  const counted = new Map<number, Counts>();
  let pieceMs = FIRST_PIECE_MS;
  for (let start = since; start < until; ) {
    const end = Math.min(until, start + pieceMs);
    const most = pieceMs > SHORTEST_PIECE_MS ? ATTEMPTS_AT_ONCE : Number.MAX_SAFE_INTEGER - 1;
    const found = await countPiece(store, { tenant, since: start, until: end, stepMs, most });
    if (found === null) {
      pieceMs = Math.max(SHORTEST_PIECE_MS, Math.ceil(pieceMs / 4));
      continue;
    }
    for (const { start: bucket, ...count } of found.rows) add(counted, bucket, count);
    if (found.fullest < ATTEMPTS_AT_ONCE / 4) pieceMs *= 2;
    start = end;
  }
  return counted;
}

/** Counts what began in a stretch of time, for all endpoints; null when it is too much for one statement. */
async function countPiece(
  store: Store,
  piece: { tenant: TenantScope; since: number; until: number; stepMs: number; most: number },
): Promise<{ rows: (DurationCount & { start: number })[]; fullest: number } | null> {
  const all: (DurationCount & { start: number })[] = [];
  let fullest = 0;
  let after: Position | null = null;
  do {
    const { rows, next } = await store.endpoints.durationsOfAll({
      ...piece,
      limit: ENDPOINTS_AT_ONCE,
      after,
    });
    // Between statements everybody else has a turn.
    await setImmediate();
    if (rows === null) return null;
    for (const row of rows) all.push(row);
    fullest = Math.max(
      fullest,
      rows.reduce((sum, { count }) => sum + count, 0),
    );
    after = next;
  } while (after);
  return { rows: all, fullest };
}

/** An interval may be counted in many pieces, whose durations are mostly the same. */
function add(counted: Map<number, Counts>, start: number, count: DurationCount): void {
  const counts = counted.get(start) ?? new Map<number, DurationCount>();
  counted.set(start, counts);
  const key = count.status === 'failed' ? -1 - count.durationMs : count.durationMs;
  const known = counts.get(key);
  if (known) known.count += count.count;
  else counts.set(key, count);
}

/** The ranges that intervals make which follow one another. */
function unbroken(starts: readonly number[], stepMs: number): [from: number, to: number][] {
  const ranges: [number, number][] = [];
  for (const start of starts) {
    const last = ranges.at(-1);
    if (last?.[1] === start) last[1] += stepMs;
    else ranges.push([start, start + stepMs]);
  }
  return ranges;
}
