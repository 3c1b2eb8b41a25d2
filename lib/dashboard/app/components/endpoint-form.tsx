import type { Issue } from '../../../client/index.js';
import { TYPE_PATTERN } from '../../../model/types.js';
import { type Draft, readValue } from '../endpoint-draft.js';
import { t } from '../texts.js';
import { ChipsInput } from './chips-input.js';
import { Field, FieldGroup, issuesOf } from './field.js';
import { PairsInput } from './pairs-input.js';

interface FormProps {
  draft: Draft;
  change: (change: Partial<Draft>) => void;
  issues: readonly Issue[];
  /** Shown for operators, while an endpoint is made. */
  withTenant: boolean;
  isNew: boolean;
}

/** The fields of an endpoint. */
export function EndpointForm({ draft, change, issues, withTenant, isNew }: FormProps) {
  // Called, not rendered: a component made anew each time would lose the focus at every letter.
  function short(name: TextName, label: string, hint: string, path: string) {
    return (
      <Field label={label} hint={hint} issues={issuesOf(issues, path)}>
        {(control) => (
          <input
            {...control}
            autocomplete="off"
            spellcheck={false}
            value={draft[name]}
            onInput={(event) => change({ [name]: event.currentTarget.value })}
          />
        )}
      </Field>
    );
  }

  return (
    <>
      <section class="card card-body form" aria-label={t.whereTo}>
        <Field label={t.url} hint={t.urlHint} issues={issuesOf(issues, 'url')}>
          {(control) => (
            <input
              {...control}
              type="url"
              class="mono"
              placeholder="https://example.com/webhooks"
              required
              spellcheck={false}
              autocomplete="off"
              value={draft.url}
              onInput={(event) => change({ url: event.currentTarget.value })}
            />
          )}
        </Field>
        <Field label={t.description} issues={issuesOf(issues, 'description')}>
          {(control) => (
            <input
              {...control}
              value={draft.description}
              onInput={(event) => change({ description: event.currentTarget.value })}
            />
          )}
        </Field>
        {withTenant && (
          <Field label={t.tenant} hint={t.tenantHint} issues={issuesOf(issues, 'tenantId')}>
            {(control) => (
              <input
                {...control}
                autocomplete="off"
                spellcheck={false}
                value={draft.tenantId}
                onInput={(event) => change({ tenantId: event.currentTarget.value })}
              />
            )}
          </Field>
        )}
      </section>
      <section class="card card-body form" aria-label={t.whatItGets}>
        <Field label={t.types} hint={t.typesHint} issues={issuesOf(issues, 'types')}>
          {(control) => (
            <ChipsInput
              {...control}
              values={draft.types}
              onChange={(types) => change({ types })}
              placeholder="order.*"
              isWrong={(pattern) => !TYPE_PATTERN.test(pattern)}
            />
          )}
        </Field>
        <Field label={t.channels} hint={t.channelsHint} issues={issuesOf(issues, 'channels')}>
          {(control) => (
            <ChipsInput {...control} values={draft.channels} onChange={(channels) => change({ channels })} />
          )}
        </Field>
        <FieldGroup label={t.filter} hint={t.filterHint} issues={own(issues, 'filter')}>
          <PairsInput
            pairs={draft.clauses}
            onChange={(clauses) => change({ clauses })}
            nameLabel={t.dataPath}
            valueLabel={t.equals}
            namePlaceholder="order.currency"
            valuePlaceholder="EUR"
            addLabel={t.addClause}
            issueAt={(index) => issuesOf(issues, `filter.${index}`)[0]}
            note={({ value }) => (value === '' ? '' : t.readAs(kindOf(readValue(value))))}
          />
        </FieldGroup>
      </section>
      <section class="card card-body form" aria-label={t.more}>
        <details class="fold" open={issues.some(({ path }) => ADVANCED.test(path))}>
          <summary>{t.advanced}</summary>
          <div class="form">
            <FieldGroup label={t.headers} hint={t.headersHint} issues={own(issues, 'headers')}>
              <PairsInput
                pairs={draft.headers}
                onChange={(headers) => change({ headers })}
                nameLabel={t.headerName}
                valueLabel={t.headerValue}
                namePlaceholder="x-environment"
                valuePlaceholder="production"
                addLabel={t.addHeader}
                issueAt={(index) => issuesOf(issues, `headers.${draft.headers[index]?.name}`)[0]}
              />
            </FieldGroup>
            <div class="field-row">
              {short('perSecond', t.perSecond, t.noneIsUnlimited, 'rateLimit.perSecond')}
              {short('burst', t.burst, t.burstHint, 'rateLimit.burst')}
              {short('maxInFlight', t.maxInFlight, t.maxInFlightHint, 'maxInFlight')}
              {short('timeoutMs', t.timeoutMs, t.timeoutHint, 'timeoutMs')}
            </div>
            <div class="field-row">
              {short('delays', t.delays, t.delaysHint, 'retry.delaysSeconds')}
              {short('jitter', t.jitter, t.jitterHint, 'retry.jitter')}
            </div>
            <Field label={t.metadata} hint={t.metadataHint} issues={issuesOf(issues, 'metadata')}>
              {(control) => (
                <textarea
                  {...control}
                  spellcheck={false}
                  value={draft.metadata}
                  onInput={(event) => change({ metadata: event.currentTarget.value })}
                />
              )}
            </Field>
            {isNew && short('secret', t.ownSecret, t.ownSecretHint, 'secret')}
          </div>
        </details>
      </section>
    </>
  );
}

type TextName = 'perSecond' | 'burst' | 'maxInFlight' | 'timeoutMs' | 'delays' | 'jitter' | 'secret';

const ADVANCED = /^(?:headers|rateLimit|maxInFlight|timeoutMs|retry|metadata|secret)/;

/** What is said of a group itself; its rows say the rest. */
function own(issues: readonly Issue[], path: string): string[] {
  return issues.filter((issue) => issue.path === path).map(({ message }) => message);
}

function kindOf(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return t.kinds.array;
  return (t.kinds as Record<string, string>)[typeof value] ?? typeof value;
}
