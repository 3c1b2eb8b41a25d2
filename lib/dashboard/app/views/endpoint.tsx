import { useState } from 'preact/hooks';
import type { Endpoint } from '../../../client/index.js';
import { EndpointBadge } from '../components/badge.js';
import { CopyButton } from '../components/copy-button.js';
import { EndpointDialogs, type EndpointDialog } from '../components/endpoint-dialogs.js';
import { EndpointFacts } from '../components/endpoint-facts.js';
import { PageHead } from '../components/page-head.js';
import { RangeSwitch, rangeOf, StatPlots, statsRequest, totalsOf } from '../components/stat-plots.js';
import { ErrorNotice, Loaded } from '../components/states.js';
import { Time } from '../components/time.js';
import { toast } from '../components/toast.js';
import { formatNumber, formatPercent, linkable } from '../format.js';
import { useLive } from '../live.js';
import { href, type Route, setQuery } from '../query-state.js';
import { useAccess } from '../session.js';
import { t } from '../texts.js';
import { useAction } from '../use-action.js';
import { EndpointAttempts } from './endpoint-attempts.js';

/** One endpoint: how it answers, what it is set to, and what can be done with it. */
export function EndpointView({ id, tab, route }: { id: string; tab: 'overview' | 'attempts'; route: Route }) {
  const { client, canWrite } = useAccess();
  const [dialog, setDialog] = useState<EndpointDialog | null>(null);
  const action = useAction();
  const {
    data: endpoint,
    error,
    reload,
  } = useLive(`endpoint:${id}`, (signal) => client.endpoints.get(id, { signal }));
  const toggle = (read: Endpoint) =>
    action.start(async () => {
      if (read.status === 'active') await client.endpoints.disable(id);
      else await client.endpoints.enable(id);
      toast(read.status === 'active' ? t.pausedToast : t.enabledToast);
      reload();
    });
  return (
    <>
      <PageHead
        title={endpoint?.url ?? t.endpoint}
        back={{ href: href(['endpoints']), text: t.nav.endpoints }}
        lead={endpoint && <Lead endpoint={endpoint} />}
      >
        {endpoint && canWrite && (
          <>
            <button type="button" class="button" disabled={action.busy} onClick={() => void toggle(endpoint)}>
              {endpoint.status === 'active' ? t.pause : t.enable}
            </button>
            <button
              type="button"
              class="button"
              disabled={endpoint.status !== 'active'}
              title={endpoint.status === 'active' ? undefined : t.testPaused}
              onClick={() => setDialog('test')}
            >
              {t.sendTest}
            </button>
            <a class="button" href={href(['endpoints', id, 'edit'])}>
              {t.edit}
            </a>
            <button type="button" class="button danger" onClick={() => setDialog('delete')}>
              {t.delete}
            </button>
          </>
        )}
      </PageHead>
      {/* Another element than the one that waits: the head above it grows. */}
      <div class="stack" key={endpoint ? 'read' : 'reading'}>
        {action.error !== null && <ErrorNotice error={action.error} />}
        <Loaded data={endpoint} error={error} reload={reload} lines={9}>
          {(read) => (
            <>
              <nav class="tabs" aria-label={t.parts}>
                <a href={href(['endpoints', id])} aria-current={tab === 'overview' ? 'page' : undefined}>
                  {t.nav.overview}
                </a>
                <a
                  href={href(['endpoints', id, 'attempts'])}
                  aria-current={tab === 'attempts' ? 'page' : undefined}
                >
                  {t.attempts}
                </a>
                <a href={href(['messages'], { endpointId: id })}>{t.nav.messages}</a>
              </nav>
              {tab === 'attempts' ? (
                <EndpointAttempts id={id} route={route} />
              ) : (
                <Overview endpoint={read} route={route} openDialog={setDialog} />
              )}
            </>
          )}
        </Loaded>
      </div>
      {endpoint && dialog && (
        <EndpointDialogs
          dialog={dialog}
          endpoint={endpoint}
          onClose={() => {
            setDialog(null);
            reload();
          }}
        />
      )}
    </>
  );
}

function Lead({ endpoint }: { endpoint: Endpoint }) {
  const link = linkable(endpoint.url);
  return (
    <>
      <span class="line">
        <EndpointBadge endpoint={endpoint} />
        {endpoint.pausedAt !== null && (
          <span>
            {t.since} <Time value={endpoint.pausedAt} />
          </span>
        )}
        <CopyButton text={endpoint.url} label={t.url} />
        {link && (
          <a class="small" href={link} target="_blank" rel="noopener noreferrer">
            {t.openUrl}
          </a>
        )}
      </span>
      {endpoint.description && <p>{endpoint.description}</p>}
    </>
  );
}

interface OverviewProps {
  endpoint: Endpoint;
  route: Route;
  openDialog: (dialog: EndpointDialog) => void;
}

function Overview({ endpoint, route, openDialog }: OverviewProps) {
  const { client } = useAccess();
  const range = rangeOf(route.query.get('range') ?? 'day');
  const stats = useLive(
    `endpoint-stats:${endpoint.id}:${range}`,
    (signal) => client.endpoints.stats(endpoint.id, statsRequest(range), { signal }),
    range === 'hour' ? 6000 : 20_000,
  );
  const totals = stats.data && totalsOf(stats.data);
  const all = totals ? totals.succeeded + totals.failed : 0;
  return (
    <>
      <div class="line spread">
        <span class="muted number summary">
          {totals && all > 0
            ? t.successOf(formatPercent(totals.succeeded, all), formatNumber(all), totals.since)
            : totals
              ? t.noAttempts
              : t.loading}
        </span>
        <RangeSwitch range={range} onChange={(next) => setQuery({ range: next })} />
      </div>
      <div class="plots">
        <Loaded data={stats.data} error={stats.error} reload={stats.reload} lines={9}>
          {(read) => <StatPlots stats={read} range={range} />}
        </Loaded>
      </div>
      <EndpointFacts endpoint={endpoint} openDialog={openDialog} />
    </>
  );
}
