import { useEffect, useRef, useState } from 'preact/hooks';
import type { EndpointStats } from '../../../client/index.js';
import { formatNumber, formatPercent } from '../format.js';
import { whenInView } from '../in-view.js';
import { recall, remember } from '../live.js';
import { useAccess } from '../session.js';
import { t } from '../texts.js';
import { totalsOf } from './stat-plots.js';

const AT_ONCE = 2;
const FRESH_MS = 60_000;
const BAR = 4;
const HEIGHT = 22;

let running = 0;
const waiting: (() => void)[] = [];

/** A list of endpoints asks for the statistics of each: a few at a time, so that they hold nothing else up. */
async function inTurn<T>(work: () => Promise<T>): Promise<T> {
  if (running >= AT_ONCE) await new Promise<void>((resolve) => waiting.push(resolve));
  running++;
  try {
    return await work();
  } finally {
    running--;
    waiting.shift()?.();
  }
}

/** How an endpoint has answered in this hour and the 23 before it; read when it comes into view. */
export function Sparkline({ endpointId }: { endpointId: string }) {
  const { client } = useAccess();
  const element = useRef<HTMLDivElement>(null);
  const key = `spark:${endpointId}`;
  const [kept, setKept] = useState(() => recall<{ at: number; stats: EndpointStats }>(key));

  useEffect(() => {
    const controller = new AbortController();
    const load = async () => {
      if (Date.now() - (recall<{ at: number }>(key)?.at ?? 0) < FRESH_MS) return;
      try {
        const { signal } = controller;
        const stats = await inTurn(() =>
          client.endpoints.stats(endpointId, { interval: 'hour' }, { signal }),
        );
        if (signal.aborted) return;
        const next = { at: Date.now(), stats };
        remember(key, next);
        setKept(next);
      } catch {
        // The list is of use without it.
      }
    };
    const stop = whenInView(element.current!, () => {
      stop();
      void load();
    });
    return () => {
      stop();
      controller.abort();
    };
  }, [client, endpointId, key]);

  const buckets = kept?.stats.buckets ?? [];
  const totals = kept && totalsOf(kept.stats);
  const all = totals ? totals.succeeded + totals.failed : 0;
  const share = totals ? formatPercent(totals.succeeded, all) : '';
  const label = totals ? t.successOf(share, formatNumber(all), totals.since) : t.loading;
  return (
    <div class="spark" ref={element} title={label}>
      <svg viewBox={`0 0 ${24 * BAR} ${HEIGHT}`} preserveAspectRatio="none" role="img" aria-label={label}>
        {Array.from({ length: 24 }, (_, index) => {
          const bucket = buckets.at(index - 24);
          const total = bucket ? bucket.succeeded + bucket.failed : 0;
          const bad = total > 0 ? Math.ceil((HEIGHT * (bucket?.failed ?? 0)) / total) : 0;
          const x = index * BAR;
          if (total === 0) return <rect key={index} class="none" x={x} y={HEIGHT - 3} width="3" height="3" />;
          return (
            <g key={index}>
              <rect class="ok" x={x} y="0" width="3" height={HEIGHT - bad} />
              <rect class="not" x={x} y={HEIGHT - bad} width="3" height={bad} />
            </g>
          );
        })}
      </svg>
      <span class="small muted number" aria-hidden="true">
        {share}
      </span>
    </div>
  );
}
