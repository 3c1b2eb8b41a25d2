import type { ComponentChildren } from 'preact';
import { EndpointBadge, MessageBadge } from '../components/badge.js';
import { noteEndpoints } from '../components/endpoint-link.js';
import { PageHead } from '../components/page-head.js';
import {
  DepthPlots,
  RangeSwitch,
  rangeOf,
  StatPlots,
  statsRequest,
  totalsOf,
} from '../components/stat-plots.js';
import { Loaded, Loading, Stale } from '../components/states.js';
import { Time } from '../components/time.js';
import { formatDuration, formatNumber, formatPercent, NONE } from '../format.js';
import { useLive } from '../live.js';
import { href, type Route, setQuery } from '../query-state.js';
import { useAccess } from '../session.js';
import { t } from '../texts.js';

const SHOWN = 6;

/** Whether deliveries flow, how they have gone, and what asks for attention. */
export function OverviewView({ route }: { route: Route }) {
  const { client } = useAccess();
  const range = rangeOf(route.query.get('range'));
  const health = useLive('health', (signal) => client.health({ signal }));
  const stats = useLive(
    `stats:${range}`,
    (signal) => client.stats(statsRequest(range), { signal }),
    range === 'hour' ? 5000 : 15_000,
  );
  const totals = stats.data ? totalsOf(stats.data) : undefined;
  const all = totals ? totals.succeeded + totals.failed : 0;

  return (
    <>
      <PageHead title={t.nav.overview}>
        <RangeSwitch range={range} onChange={(next) => setQuery({ range: next === 'hour' ? null : next })} />
      </PageHead>
      <div class="stack">
        {health.error !== undefined && <Stale error={health.error} retry={health.reload} />}
        <div class="tiles">
          <Tile caption={t.health} tone={health.data && (health.data.ok ? 'good' : 'bad')}>
            {health.data && {
              figure: health.data.ok ? t.healthy : t.unhealthy,
              note: health.data.ok
                ? t.workers(health.data.workerCount ?? 0)
                : (health.data.reason && t.healthReason[health.data.reason]) || '',
            }}
          </Tile>
          <Tile caption={t.outboxDepth}>
            {health.data && {
              figure: health.data.outboxDepth === null ? NONE : formatNumber(health.data.outboxDepth),
              note: t.outboxNote,
            }}
          </Tile>
          <Tile caption={t.oldestPending}>
            {health.data && {
              figure:
                health.data.oldestPendingAge === null ? NONE : formatDuration(health.data.oldestPendingAge),
              note: health.data.oldestPendingAge === null ? t.nothingDue : t.overdue,
            }}
          </Tile>
          <Tile caption={t.perMinute}>
            {totals && {
              figure: formatNumber(Math.round(totals.perMinute * 10) / 10),
              note: `${t.since} ${totals.since}`,
            }}
          </Tile>
          <Tile caption={t.successRate}>
            {totals && {
              figure: formatPercent(totals.succeeded, all),
              note: t.ofAttempts(formatNumber(all)),
            }}
          </Tile>
          <Tile caption={t.latencyTile}>
            {totals && {
              figure: totals.latest ? formatDuration(totals.latest.p50DurationMs ?? 0) : NONE,
              note: totals.latest
                ? t.p95Note(formatDuration(totals.latest.p95DurationMs ?? 0))
                : t.noAttempts,
            }}
          </Tile>
        </div>
        <div class="plots with-depth">
          <Loaded data={stats.data} error={stats.error} reload={stats.reload} lines={9}>
            {(read) => (
              <>
                <StatPlots stats={read} range={range} />
                <DepthPlots stats={read} range={range} />
              </>
            )}
          </Loaded>
        </div>
        <div class="halves">
          <FailedMessages />
          <PausedEndpoints />
        </div>
      </div>
    </>
  );
}

function Tile({
  caption,
  tone,
  children,
}: {
  caption: string;
  tone?: 'good' | 'bad' | undefined;
  /** Undefined while it is read. */
  children: { figure: string; note: string } | undefined;
}) {
  return (
    <div class="card tile">
      <span class="caption">{caption}</span>
      <span class={`figure ${tone ?? ''}`}>{children?.figure ?? NONE}</span>
      <span class="small muted">{children?.note ?? t.loading}</span>
    </div>
  );
}

function FailedMessages() {
  const { client } = useAccess();
  const failed = useLive(
    'overview:failed',
    async (signal) =>
      (await client.messages.list({ statuses: ['failed'], limit: SHOWN }, { signal })).messages,
    8000,
  );
  return (
    <Panel title={t.failedMessages} more={href(['messages'], { status: 'failed' })}>
      <Loaded data={failed.data} error={failed.error} reload={failed.reload}>
        {(messages) =>
          messages.length === 0 ? (
            <p class="card-body muted">{t.noFailed}</p>
          ) : (
            <ul class="short-rows">
              {messages.map((message) => (
                <li key={message.id}>
                  <a class="row-link clip mono" href={href(['messages', message.id])}>
                    {message.type}
                  </a>
                  <MessageBadge status={message.status} />
                  <span class="end muted">
                    <Time value={message.createdAt} />
                  </span>
                </li>
              ))}
            </ul>
          )
        }
      </Loaded>
    </Panel>
  );
}

function PausedEndpoints() {
  const { client } = useAccess();
  const paused = useLive(
    'overview:paused',
    async (signal) => {
      const { endpoints } = await client.endpoints.list({ status: 'paused', limit: SHOWN }, { signal });
      noteEndpoints(endpoints);
      return endpoints;
    },
    8000,
  );
  return (
    <Panel title={t.pausedEndpoints} more={href(['endpoints'], { status: 'paused' })}>
      <Loaded data={paused.data} error={paused.error} reload={paused.reload}>
        {(endpoints) =>
          endpoints.length === 0 ? (
            <p class="card-body muted">{t.nonePaused}</p>
          ) : (
            <ul class="short-rows">
              {endpoints.map((endpoint) => (
                <li key={endpoint.id}>
                  <a class="row-link clip" href={href(['endpoints', endpoint.id])} title={endpoint.url}>
                    {endpoint.url}
                  </a>
                  <EndpointBadge endpoint={endpoint} />
                  <span class="end muted">
                    <Time value={endpoint.pausedAt} />
                  </span>
                </li>
              ))}
            </ul>
          )
        }
      </Loaded>
    </Panel>
  );
}

function Panel({ title, more, children }: { title: string; more: string; children: ComponentChildren }) {
  return (
    <section class="card table-box">
      <div class="card-head">
        <h2>{title}</h2>
        <a href={more} class="small" aria-label={`${t.showAll}: ${title}`}>
          {t.showAll}
        </a>
      </div>
      {children ?? <Loading />}
    </section>
  );
}
