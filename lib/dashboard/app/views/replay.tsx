import { useEffect, useState } from 'preact/hooks';
import { isAdminClientError, type RangeReplay } from '../../../client/index.js';
import { Field, issuesOf } from '../components/field.js';
import { PageHead } from '../components/page-head.js';
import { ReplayProgress } from '../components/replay-progress.js';
import { fromLocalInput, toLocalInput } from '../format.js';
import { useLive } from '../live.js';
import { listOf, type Route, setQuery } from '../query-state.js';
import { count, dropJob, useReplayJob } from '../replay-job.js';
import { useAccess } from '../session.js';
import { t } from '../texts.js';

const LISTED = 1000;
const DAY_MS = 86_400_000;

/** Sends a range of messages to an endpoint again, or finds what it never got. */
export function ReplayView({ route: { query } }: { route: Route }) {
  const { client } = useAccess();
  const job = useReplayJob();
  const reconciling = query.get('mode') === 'reconcile';
  const endpointId = query.get('endpointId') ?? '';
  const since = query.get('since');
  const [freshId, setFreshId] = useState(false);
  const busy = job?.phase === 'counting' || job?.phase === 'running' || job?.phase === 'paused';
  const error = job?.phase === 'failed' ? job.error : null;
  const issues = (isAdminClientError(error) && error.issues) || [];

  // A range that nobody has chosen is the last day.
  useEffect(() => {
    if (!since)
      setQuery({ since: new Date(Math.floor((Date.now() - DAY_MS) / 60_000) * 60_000).toISOString() });
  }, [since]);

  const request = (): RangeReplay => {
    const types = listOf(query.get('types'));
    const status = query.get('status');
    const until = query.get('until');
    return {
      endpointId,
      since: since ?? '',
      ...(until && { until }),
      ...(!reconciling && types.length > 0 && { types }),
      ...(!reconciling && status && { status: status as NonNullable<RangeReplay['status']> }),
      ...(freshId && { freshId }),
    };
  };

  return (
    <>
      <PageHead title={t.nav.replay} lead={t.replayLead} />
      <div class="columns">
        <form
          class="card card-body form"
          noValidate
          onChange={() => {
            // What was counted is what would be replayed: what is asked for now has to be counted anew.
            if (job?.phase === 'counted') dropJob();
          }}
          onSubmit={(event) => {
            event.preventDefault();
            void count(client, reconciling ? 'reconcile' : 'replay', request());
          }}
        >
          <fieldset class="stack-small" disabled={busy}>
            <legend class="label">{t.whatToDo}</legend>
            <Mode value="replay" text={t.modeReplay} hint={t.modeReplayText} current={!reconciling} />
            <Mode value="reconcile" text={t.modeReconcile} hint={t.modeReconcileText} current={reconciling} />
          </fieldset>
          <fieldset class="form" disabled={busy}>
            <legend class="visually-hidden">{t.range}</legend>
            <Field label={t.endpoint} issues={issuesOf(issues, 'endpointId')}>
              {(control) => <EndpointPicker control={control} value={endpointId} />}
            </Field>
            <div class="field-row">
              <Field label={t.from} issues={issuesOf(issues, 'since')}>
                {(control) => (
                  <input
                    {...control}
                    type="datetime-local"
                    value={toLocalInput(since)}
                    onChange={(event) => setQuery({ since: fromLocalInput(event.currentTarget.value) })}
                  />
                )}
              </Field>
              <Field label={t.until} hint={t.untilHint} issues={issuesOf(issues, 'until')}>
                {(control) => (
                  <input
                    {...control}
                    type="datetime-local"
                    value={toLocalInput(query.get('until'))}
                    onChange={(event) => setQuery({ until: fromLocalInput(event.currentTarget.value) })}
                  />
                )}
              </Field>
            </div>
            {!reconciling && (
              <div class="field-row">
                <Field label={t.types} hint={t.replayTypesHint} issues={issuesOf(issues, 'types')}>
                  {(control) => (
                    <input
                      {...control}
                      class="mono"
                      placeholder="order.*"
                      spellcheck={false}
                      value={query.get('types') ?? ''}
                      onInput={(event) => setQuery({ types: event.currentTarget.value })}
                    />
                  )}
                </Field>
                <Field label={t.deliveryState} issues={issuesOf(issues, 'status')}>
                  {(control) => (
                    <select
                      {...control}
                      value={query.get('status') ?? ''}
                      onChange={(event) => setQuery({ status: event.currentTarget.value })}
                    >
                      <option value="">{t.any}</option>
                      {(['failed', 'delivered', 'pending'] as const).map((status) => (
                        <option key={status} value={status}>
                          {t.deliveryStatus[status]}
                        </option>
                      ))}
                    </select>
                  )}
                </Field>
              </div>
            )}
            <label class="check">
              <input
                type="checkbox"
                checked={freshId}
                onChange={(event) => setFreshId(event.currentTarget.checked)}
              />
              <span>
                {t.freshId}
                <span class="hint"> {t.freshIdHint}</span>
              </span>
            </label>
            <div>
              <button type="submit" class="button primary" disabled={busy || endpointId === '' || !since}>
                {reconciling ? t.find : t.countFirst}
              </button>
            </div>
          </fieldset>
        </form>
        <ReplayProgress job={job} hasIssues={issues.length > 0} />
      </div>
    </>
  );
}

function Mode({
  value,
  text,
  hint,
  current,
}: {
  value: string;
  text: string;
  hint: string;
  current: boolean;
}) {
  return (
    <label class="check">
      <input
        type="radio"
        name="mode"
        value={value}
        checked={current}
        onChange={() => setQuery({ mode: value === 'reconcile' ? value : null })}
      />
      <span>
        {text}
        <span class="hint"> {hint}</span>
      </span>
    </label>
  );
}

/** A choice among all endpoints, as long as a browser can show them; by id beyond. */
function EndpointPicker({ control, value }: { control: { id: string }; value: string }) {
  const { client } = useAccess();
  const { data } = useLive(
    'endpoint-choice',
    (signal) => client.endpoints.list({ limit: LISTED }, { signal }),
    30_000,
  );
  if (data && data.nextCursor !== null) {
    return (
      <input
        {...control}
        class="mono"
        placeholder="ep_…"
        value={value}
        onInput={(event) => setQuery({ endpointId: event.currentTarget.value.trim() })}
      />
    );
  }
  const endpoints = data?.endpoints ?? [];
  return (
    <select
      {...control}
      value={value}
      onChange={(event) => setQuery({ endpointId: event.currentTarget.value })}
    >
      <option value="">{data ? t.choose : t.loading}</option>
      {value !== '' && !endpoints.some(({ id }) => id === value) && <option value={value}>{value}</option>}
      {endpoints.map((endpoint) => (
        <option key={endpoint.id} value={endpoint.id}>
          {endpoint.tenantId === null ? '' : `${endpoint.tenantId} · `}
          {endpoint.url}
          {endpoint.status === 'paused' ? ` (${t.endpointStatus.paused})` : ''}
        </option>
      ))}
    </select>
  );
}
