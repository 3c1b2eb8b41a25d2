import { useState } from 'preact/hooks';
import type { Attempt, Delivery, MessageDetail } from '../../../client/index.js';
import { AttemptItem } from '../components/attempt-item.js';
import { DeliveryBadge, MessageBadge } from '../components/badge.js';
import { CopyButton } from '../components/copy-button.js';
import { ConfirmDialog } from '../components/dialog.js';
import { EndpointLink } from '../components/endpoint-link.js';
import { JsonView } from '../components/json-view.js';
import { PageHead } from '../components/page-head.js';
import { ErrorNotice, isDenied, Loaded } from '../components/states.js';
import { Time } from '../components/time.js';
import { toast } from '../components/toast.js';
import { formatNumber } from '../format.js';
import { useLive } from '../live.js';
import { href } from '../query-state.js';
import { useAccess } from '../session.js';
import { t } from '../texts.js';
import { useAction } from '../use-action.js';

const PAGE_SIZE = 200;

type Loadable = { message: MessageDetail; attempts: Attempt[]; hasMore: boolean };

/** One message: what it says, to whom it is owed, and how each attempt went. */
export function MessageView({ id }: { id: string }) {
  const { client, canWrite, isOperator } = useAccess();
  const [pageCount, setPageCount] = useState(1);
  const [dialog, setDialog] = useState<'expunge' | null>(null);
  const action = useAction();
  const loaded = useLive<Loadable>(
    `message:${id}:${pageCount}`,
    async (signal) => {
      const message = await client.messages.get(id, { signal });
      const attempts: Attempt[] = [];
      let cursor: string | null | undefined;
      for (let page = 0; page < pageCount && cursor !== null; page++) {
        const read = await client.messages.attempts(id, { limit: PAGE_SIZE, cursor }, { signal });
        attempts.push(...read.attempts);
        cursor = read.nextCursor;
      }
      return { message, attempts, hasMore: cursor !== null };
    },
    3000,
  );
  const replay = (endpointId?: string) =>
    action.start(async () => {
      let replayed = 0;
      for await (const page of client.replayAll({ messageId: id, endpointId })) replayed = page.total;
      toast(t.replayed(replayed, formatNumber(replayed)));
      loaded.reload();
    });
  const message = loaded.data?.message;
  return (
    <>
      <PageHead
        title={message?.type ?? t.message}
        mono
        back={{ href: href(['messages']), text: t.nav.messages }}
        lead={
          message && (
            <span class="line">
              <MessageBadge status={message.status} /> <Time value={message.createdAt} />
            </span>
          )
        }
      >
        {message && canWrite && (
          <>
            <button
              type="button"
              class="button"
              disabled={action.busy || message.deliveries.length === 0 || message.payload === null}
              onClick={() => void replay()}
            >
              {t.replayToAll}
            </button>
            {message.payload !== null && (
              <button type="button" class="button danger" onClick={() => setDialog('expunge')}>
                {t.expunge}
              </button>
            )}
          </>
        )}
      </PageHead>
      {/* Another element than the one that waits: the head above it grows. */}
      <div class="stack" key={message ? 'read' : 'reading'}>
        {action.error !== null && !isDenied(loaded.error) && <ErrorNotice error={action.error} />}
        <Loaded data={loaded.data} error={loaded.error} reload={loaded.reload} lines={9}>
          {({ message: shown, attempts, hasMore }) => (
            <div class="columns">
              <div class="stack">
                <section class="card">
                  <div class="card-head">
                    <h2>{t.deliveries}</h2>
                    <span class="small muted">
                      {t.deliveryCount(shown.deliveries.length, formatNumber(shown.deliveries.length))}
                    </span>
                  </div>
                  {shown.deliveries.length === 0 && <p class="card-body muted">{t.unroutedText}</p>}
                  {shown.deliveries.map((delivery) => (
                    <DeliveryPart
                      key={delivery.endpointId}
                      delivery={delivery}
                      attempts={attempts.filter(({ endpointId }) => endpointId === delivery.endpointId)}
                      replay={
                        canWrite && shown.payload !== null && delivery.status !== 'canceled'
                          ? () => void replay(delivery.endpointId)
                          : null
                      }
                      busy={action.busy}
                    />
                  ))}
                  {hasMore && (
                    <div class="list-foot">
                      <button type="button" class="button small" onClick={() => setPageCount(pageCount + 1)}>
                        {t.more}
                      </button>
                    </div>
                  )}
                </section>
                <section class="card">
                  <div class="card-head">
                    <h2>{t.payload}</h2>
                  </div>
                  <div class="card-body">
                    {shown.payload === null ? (
                      <p class="muted">{t.expunged}</p>
                    ) : (
                      <JsonView value={shown.payload} label={t.payload} />
                    )}
                  </div>
                </section>
              </div>
              <Facts message={shown} isOperator={isOperator} />
            </div>
          )}
        </Loaded>
      </div>
      {dialog === 'expunge' && (
        <ConfirmDialog
          title={t.expungeTitle}
          action={t.expunge}
          danger
          onClose={() => setDialog(null)}
          run={async () => {
            await client.messages.expungePayload(id);
            toast(t.expungedToast);
            loaded.reload();
          }}
        >
          <p>{t.expungeText}</p>
        </ConfirmDialog>
      )}
    </>
  );
}

interface DeliveryProps {
  delivery: Delivery;
  attempts: readonly Attempt[];
  /** Null for those who may not. */
  replay: (() => void) | null;
  busy: boolean;
}

function DeliveryPart({ delivery, attempts, replay, busy }: DeliveryProps) {
  return (
    <article class="delivery" aria-label={delivery.endpointId}>
      <div class="delivery-head">
        <div>
          <EndpointLink id={delivery.endpointId} />
          <span class="small muted">
            {t.attemptCount(delivery.attemptCount, formatNumber(delivery.attemptCount))}
          </span>
        </div>
        <div class="line">
          <DeliveryBadge status={delivery.status} />
          {replay && (
            <button type="button" class="button small" disabled={busy} onClick={replay}>
              {t.replayOne}
            </button>
          )}
        </div>
      </div>
      {delivery.lastError !== null && delivery.status !== 'delivered' && (
        <p class="delivery-note small issue">{delivery.lastError}</p>
      )}
      <ol class="timeline">
        {attempts.map((attempt) => (
          <AttemptItem key={attempt.id} attempt={attempt} />
        ))}
        {delivery.status === 'pending' && (
          <li class="attempt next">
            {delivery.nextAttemptAt === null ? (
              t.heldOrDue
            ) : (
              <>
                {t.nextAttempt} <Time value={delivery.nextAttemptAt} exact />
              </>
            )}
          </li>
        )}
        {attempts.length === 0 && delivery.status !== 'pending' && (
          <li class="muted small">{t.noAttempts}</li>
        )}
      </ol>
    </article>
  );
}

function Facts({ message, isOperator }: { message: MessageDetail; isOperator: boolean }) {
  return (
    <section class="card">
      <div class="card-head">
        <h2>{t.details}</h2>
      </div>
      <div class="card-body">
        <dl class="facts">
          <div>
            <dt>{t.id}</dt>
            <dd class="line">
              <span class="mono">{message.id}</span>
              <CopyButton text={message.id} label={t.id} />
            </dd>
          </div>
          {isOperator && (
            <div>
              <dt>{t.tenant}</dt>
              <dd>
                {message.tenantId === null ? (
                  t.none
                ) : (
                  <a href={href(['messages'], { tenantId: message.tenantId })}>{message.tenantId}</a>
                )}
              </dd>
            </div>
          )}
          <div>
            <dt>{t.sent}</dt>
            <dd>
              <Time value={message.createdAt} exact />
            </dd>
          </div>
          <div>
            <dt>{t.expires}</dt>
            <dd>
              <Time value={message.expiresAt} exact />
            </dd>
          </div>
          <div>
            <dt>{t.channels}</dt>
            <dd>{message.channels?.join(', ') ?? t.none}</dd>
          </div>
          <div>
            <dt>{t.idempotencyKey}</dt>
            <dd class="mono">{message.idempotencyKey ?? t.none}</dd>
          </div>
        </dl>
      </div>
    </section>
  );
}
