import type { ComponentChildren } from 'preact';
import type { Attempt } from '../../../client/index.js';
import { formatDuration, formatNumber } from '../format.js';
import { href } from '../query-state.js';
import { t } from '../texts.js';
import { AnswerCode, AttemptBadge } from './badge.js';
import { Icon } from './icons.js';
import { LongText } from './json-view.js';
import { Time } from './time.js';

const BODY_SHOWN = 4096;

/** One attempt of a timeline; opened, it shows the request and the response. */
export function AttemptItem({ attempt, withMessage = false }: { attempt: Attempt; withMessage?: boolean }) {
  return (
    <li class={`attempt ${attempt.status}`}>
      <details>
        <summary>
          <Icon name="chevron" size={12} />
          <span class="number">{t.attemptNumber(formatNumber(attempt.number))}</span>
          <AttemptBadge status={attempt.status} />
          <AnswerCode attempt={attempt} />
          <span class="muted">{t.trigger[attempt.trigger] ?? attempt.trigger}</span>
          <span class="end number">
            <span>{formatDuration(attempt.durationMs)}</span>
            <Time value={attempt.startedAt} />
          </span>
        </summary>
        <AttemptExchange attempt={attempt} withMessage={withMessage} />
      </details>
    </li>
  );
}

/** What was sent where, and what came back. */
export function AttemptExchange({
  attempt,
  withMessage = false,
}: {
  attempt: Attempt;
  withMessage?: boolean;
}) {
  return (
    <div class="exchange">
      {attempt.error !== null && (
        <Part title={t.error}>
          <p class="issue">{attempt.error}</p>
        </Part>
      )}
      <Part title={t.request}>
        <p class="mono wrap">POST {attempt.requestUrl}</p>
        <p class="small muted wrap">
          {t.startedAt} <Time value={attempt.startedAt} exact />
          {attempt.remoteAddress !== null && (
            <>
              {' · '}
              {t.remoteAddress} <span class="mono">{attempt.remoteAddress}</span>
            </>
          )}
        </p>
        {withMessage && (
          <p>
            {t.message} <a href={href(['messages', attempt.messageId])}>{attempt.messageId}</a>
          </p>
        )}
      </Part>
      <Part title={t.response}>
        {attempt.responseStatus === null ? (
          <p class="muted">{t.noResponse}</p>
        ) : (
          <p>
            <AnswerCode attempt={attempt} />{' '}
            <span class="muted">{t.after(formatDuration(attempt.durationMs))}</span>
          </p>
        )}
      </Part>
      {attempt.responseHeaders && Object.keys(attempt.responseHeaders).length > 0 && (
        <Part title={t.responseHeaders}>
          <dl class="headers">
            {Object.entries(attempt.responseHeaders).map(([name, value]) => (
              <div key={name}>
                <dt>{name}:</dt>
                <dd>{value}</dd>
              </div>
            ))}
          </dl>
        </Part>
      )}
      {attempt.responseBody !== null && attempt.responseBody !== '' && (
        <Part title={t.responseBody}>
          {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls has to be reached by keyboard */}
          <pre tabIndex={0}>
            <LongText text={attempt.responseBody} shown={BODY_SHOWN} />
          </pre>
        </Part>
      )}
      {attempt.nextAttemptAt !== null && Date.parse(attempt.nextAttemptAt) > Date.now() && (
        <p class="small muted">
          {t.nextAttempt} <Time value={attempt.nextAttemptAt} exact />
        </p>
      )}
    </div>
  );
}

function Part({ title, children }: { title: string; children: ComponentChildren }) {
  return (
    <div>
      <p class="part-title">{title}</p>
      {children}
    </div>
  );
}
