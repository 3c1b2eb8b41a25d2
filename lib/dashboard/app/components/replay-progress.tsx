import { useState } from 'preact/hooks';
import { formatExact, formatNumber } from '../format.js';
import { href } from '../query-state.js';
import { cancel, dropJob, MAX_IDS, pause, type ReplayJob, start } from '../replay-job.js';
import { useAccess } from '../session.js';
import { t } from '../texts.js';
import { EndpointLink } from './endpoint-link.js';
import { ErrorNotice } from './states.js';

const IDS_SHOWN = 50;

/** How far a replay is, and what can be done with it. */
export function ReplayProgress({ job, hasIssues }: { job: ReplayJob | null; hasIssues: boolean }) {
  const { client } = useAccess();
  if (!job) {
    return (
      <section class="card card-body stack-small" aria-label={t.progress}>
        <h2>{t.progress}</h2>
        <p class="muted">{t.progressText}</p>
      </section>
    );
  }
  const { phase, kind } = job;
  const total = kind === 'replay' ? job.found : job.messageIds.length;
  const active = phase === 'running' || phase === 'paused';
  return (
    <section class="card" aria-label={t.progress}>
      <div class="card-head">
        <h2>{t.progress}</h2>
        <span class="muted">{t.phases[phase]}</span>
      </div>
      <div class="card-body stack">
        <div class="stack-small small muted">
          <EndpointLink id={job.request.endpointId} />
          <span>
            {formatExact(job.request.since)} – {job.request.until && formatExact(job.request.until)}
          </span>
        </div>
        {(!job.started || kind === 'reconcile') && (
          <p role="status">
            {phase === 'counting'
              ? t.countedSoFar(formatNumber(job.found))
              : kind === 'replay'
                ? t.matchingDeliveries(job.found, formatNumber(job.found))
                : t.missingMessages(job.found, formatNumber(job.found))}
          </p>
        )}
        {(active || phase === 'done' || job.done > 0) && (
          <div class="stack-small">
            <progress max={Math.max(1, total)} value={job.done} aria-label={t.progress} />
            <span class="number" role="status">
              {t.doneOf(formatNumber(job.done), formatNumber(total))}
            </span>
          </div>
        )}
        {phase === 'failed' && !hasIssues && <ErrorNotice error={job.error} />}
        {job.found > MAX_IDS && kind === 'reconcile' && (
          <p class="notice warn">{t.tooMany(formatNumber(MAX_IDS))}</p>
        )}
        <div class="line">
          {phase === 'counted' && total > 0 && (
            <button type="button" class="button primary" onClick={() => void start(client)}>
              {t.replayCount(formatNumber(total))}
            </button>
          )}
          {phase === 'running' && (
            <button type="button" class="button" onClick={pause}>
              {t.pause}
            </button>
          )}
          {phase === 'paused' && (
            <button type="button" class="button primary" onClick={() => void start(client)}>
              {t.resume}
            </button>
          )}
          {phase === 'failed' && job.started && (
            <button type="button" class="button primary" onClick={() => void start(client)}>
              {t.goOn}
            </button>
          )}
          {(active || phase === 'counting') && (
            <button type="button" class="button danger" onClick={phase === 'counting' ? dropJob : cancel}>
              {t.cancel}
            </button>
          )}
          {!active && phase !== 'counting' && (
            <button type="button" class="button quiet" onClick={dropJob}>
              {t.clear}
            </button>
          )}
        </div>
        {kind === 'reconcile' && job.messageIds.length > 0 && <Missing ids={job.messageIds} />}
      </div>
    </section>
  );
}

function Missing({ ids }: { ids: readonly string[] }) {
  const [shown, setShown] = useState(IDS_SHOWN);
  return (
    <details class="fold" open>
      <summary>{t.missing}</summary>
      <ul class="check-list">
        {ids.slice(0, shown).map((id) => (
          <li key={id}>
            <a class="mono clip small" href={href(['messages', id])}>
              {id}
            </a>
          </li>
        ))}
      </ul>
      {ids.length > shown && (
        <button type="button" class="button small" onClick={() => setShown(shown + 500)}>
          {t.showMore(formatNumber(ids.length - shown))}
        </button>
      )}
    </details>
  );
}
