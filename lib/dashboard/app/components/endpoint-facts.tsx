import type { ComponentChildren } from 'preact';
import type { Endpoint } from '../../../client/index.js';
import { formatDuration, formatNumber } from '../format.js';
import { useAccess } from '../session.js';
import { t } from '../texts.js';
import { CopyButton } from './copy-button.js';
import type { EndpointDialog } from './endpoint-dialogs.js';
import { JsonView } from './json-view.js';
import { Time } from './time.js';

/** What an endpoint is set to. */
export function EndpointFacts({
  endpoint,
  openDialog,
}: {
  endpoint: Endpoint;
  openDialog: (dialog: EndpointDialog) => void;
}) {
  const { canWrite, isOperator } = useAccess();
  const { types, channels, filter, headers, metadata, retry, rateLimit } = endpoint;
  const clauses = filter === null ? [] : Array.isArray(filter) ? filter : [filter];
  return (
    <div class="halves">
      <section class="card">
        <div class="card-head">
          <h2>{t.whatItGets}</h2>
        </div>
        <dl class="card-body facts">
          <Fact name={t.types}>{types === null ? t.everyType : <Tags values={types} />}</Fact>
          <Fact name={t.channels}>{channels === null ? t.everyChannel : <Tags values={channels} />}</Fact>
          <Fact name={t.filter}>
            {clauses.length === 0
              ? t.noFilter
              : clauses.map(({ dataPath, equals }) => (
                  <div class="mono wrap" key={dataPath}>
                    {dataPath} = {JSON.stringify(equals)}
                  </div>
                ))}
          </Fact>
          <Fact name={t.headers}>
            {Object.keys(headers).length === 0 ? (
              t.none
            ) : (
              <dl class="headers">
                {Object.entries(headers).map(([name, value]) => (
                  <div key={name}>
                    <dt>{name}:</dt>
                    <dd>{value}</dd>
                  </div>
                ))}
              </dl>
            )}
          </Fact>
          {Object.keys(metadata).length > 0 && (
            <Fact name={t.metadata}>
              <JsonView value={metadata} label={t.metadata} />
            </Fact>
          )}
        </dl>
      </section>
      <section class="card">
        <div class="card-head">
          <h2>{t.settings}</h2>
        </div>
        <dl class="card-body facts">
          <Fact name={t.id}>
            <span class="line">
              <span class="mono">{endpoint.id}</span>
              <CopyButton text={endpoint.id} label={t.id} />
            </span>
          </Fact>
          {isOperator && <Fact name={t.tenant}>{endpoint.tenantId ?? t.none}</Fact>}
          {canWrite && (
            <Fact name={t.secret}>
              <span class="line">
                <button type="button" class="button small" onClick={() => openDialog('secret')}>
                  {t.showSecret}
                </button>
                <button type="button" class="button small" onClick={() => openDialog('rotate')}>
                  {t.rotate}
                </button>
              </span>
            </Fact>
          )}
          <Fact name={t.retries}>
            {retry === null
              ? t.senderDefault
              : retry.delaysSeconds.length === 0
                ? t.neverRetried
                : retry.delaysSeconds.map((seconds) => formatDuration(seconds * 1000)).join(', ')}
          </Fact>
          <Fact name={t.rateLimit}>
            {rateLimit === null
              ? t.noLimit
              : t.rateText(formatNumber(rateLimit.perSecond), formatNumber(rateLimit.burst))}
          </Fact>
          <Fact name={t.maxInFlight}>
            {endpoint.maxInFlight === null ? t.senderDefault : formatNumber(endpoint.maxInFlight)}
          </Fact>
          <Fact name={t.timeout}>
            {endpoint.timeoutMs === null ? t.senderDefault : formatDuration(endpoint.timeoutMs)}
          </Fact>
          <Fact name={t.created}>
            <Time value={endpoint.createdAt} exact />
          </Fact>
          <Fact name={t.updated}>
            <Time value={endpoint.updatedAt} exact />
          </Fact>
        </dl>
      </section>
    </div>
  );
}

function Fact({ name, children }: { name: string; children: ComponentChildren }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}

function Tags({ values }: { values: readonly string[] }) {
  return (
    <span class="chips">
      {values.map((value) => (
        <span class="tag" key={value}>
          {value}
        </span>
      ))}
    </span>
  );
}
