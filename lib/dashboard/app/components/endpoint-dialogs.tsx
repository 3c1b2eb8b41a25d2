import { useEffect, useState } from 'preact/hooks';
import type { Attempt, Endpoint, EndpointSecrets } from '../../../client/index.js';
import { isAdminClientError } from '../../../client/index.js';
import { useDraft } from '../drafts.js';
import { formatDuration } from '../format.js';
import { go } from '../query-state.js';
import { useAccess } from '../session.js';
import { t } from '../texts.js';
import { useAction } from '../use-action.js';
import { AttemptExchange } from './attempt-item.js';
import { AttemptBadge } from './badge.js';
import { SecretBox } from './copy-button.js';
import { ConfirmDialog, Dialog } from './dialog.js';
import { Field, issuesOf } from './field.js';
import { ErrorNotice, Loading } from './states.js';
import { Time } from './time.js';
import { toast } from './toast.js';

export type EndpointDialog = 'test' | 'rotate' | 'secret' | 'delete';

interface DialogProps {
  endpoint: Endpoint;
  onClose: () => void;
}

/** What is done with an endpoint in a dialog of its own. */
export function EndpointDialogs({ dialog, ...props }: DialogProps & { dialog: EndpointDialog }) {
  switch (dialog) {
    case 'test':
      return <TestDialog {...props} />;
    case 'rotate':
      return <RotateDialog {...props} />;
    case 'secret':
      return <SecretDialog {...props} />;
    default:
      return <DeleteDialog {...props} />;
  }
}

function DeleteDialog({ endpoint, onClose }: DialogProps) {
  const { client } = useAccess();
  return (
    <ConfirmDialog
      title={t.deleteEndpointTitle}
      action={t.deleteEndpoint}
      danger
      onClose={onClose}
      run={async () => {
        await client.endpoints.delete(endpoint.id);
        toast(t.deleted);
        go(['endpoints']);
      }}
    >
      <p class="mono wrap">{endpoint.url}</p>
      <p>{t.deleteEndpointText}</p>
    </ConfirmDialog>
  );
}

function TestDialog({ endpoint, onClose }: DialogProps) {
  const { client } = useAccess();
  const action = useAction();
  const [{ type, data }, change] = useDraft(`test:${endpoint.id}`, () => ({ type: '', data: '' }));
  const [wrong, setWrong] = useState(false);
  const [attempt, setAttempt] = useState<Attempt | null>(null);
  const issues = (isAdminClientError(action.error) && action.error.issues) || [];
  const send = () => {
    let parsed: unknown;
    try {
      parsed = data.trim() === '' ? undefined : JSON.parse(data);
      setWrong(false);
    } catch {
      setWrong(true);
      return;
    }
    void action.start(async () => {
      setAttempt(null);
      const input = { ...(type !== '' && { type }), ...(parsed !== undefined && { data: parsed }) };
      setAttempt(await client.endpoints.test(endpoint.id, input));
    });
  };
  return (
    <Dialog title={t.sendTest} onClose={onClose}>
      <form
        class="stack"
        onSubmit={(event) => {
          event.preventDefault();
          send();
        }}
      >
        <p class="muted">{t.testText}</p>
        <Field label={t.type} issues={issuesOf(issues, 'type')}>
          {(control) => (
            <input
              {...control}
              class="mono"
              placeholder="hookplane.test"
              value={type}
              spellcheck={false}
              onInput={(event) => change({ type: event.currentTarget.value.trim() })}
            />
          )}
        </Field>
        <Field label={t.data} hint={t.testDataHint} issues={wrong ? [t.notJson] : issuesOf(issues, 'data')}>
          {(control) => (
            <textarea
              {...control}
              placeholder='{ "id": "ord_1" }'
              value={data}
              spellcheck={false}
              onInput={(event) => change({ data: event.currentTarget.value })}
            />
          )}
        </Field>
        {action.error !== null && issues.length === 0 && <ErrorNotice error={action.error} />}
        <div class="dialog-actions">
          <button type="button" class="button" onClick={onClose}>
            {t.close}
          </button>
          <button type="submit" class="button primary" disabled={action.busy}>
            {action.busy ? t.sending : t.send}
          </button>
        </div>
      </form>
      <div role="status">
        {attempt && (
          <section class="stack-small" aria-label={t.testResult}>
            <div class="line">
              <AttemptBadge status={attempt.status} />
              <span class="muted">{t.after(formatDuration(attempt.durationMs))}</span>
            </div>
            <AttemptExchange attempt={attempt} />
          </section>
        )}
      </div>
    </Dialog>
  );
}

function RotateDialog({ endpoint, onClose }: DialogProps) {
  const { client } = useAccess();
  const action = useAction();
  const [overlap, setOverlap] = useState('86400');
  const [secret, setSecret] = useState('');
  const [shown, setShown] = useState<{ secret: string; previousSecretExpiresAt: string } | null>(null);
  const issues = (isAdminClientError(action.error) && action.error.issues) || [];
  const rotate = () =>
    action.start(async () => {
      const input = { overlapSeconds: Number(overlap), ...(secret !== '' && { secret }) };
      setShown(await client.endpoints.rotateSecret(endpoint.id, input));
    });
  if (shown) {
    return (
      <Dialog title={t.rotated} onClose={onClose}>
        <p class="notice warn" role="status">
          {t.shownOnceSecret}
        </p>
        <SecretBox label={t.newSecret} secret={shown.secret} />
        <p class="muted">
          {t.previousEnds} <Time value={shown.previousSecretExpiresAt} exact />
        </p>
        <div class="dialog-actions">
          <button type="button" class="button primary" onClick={onClose}>
            {t.done}
          </button>
        </div>
      </Dialog>
    );
  }
  return (
    <Dialog title={t.rotate} onClose={onClose}>
      <form
        class="stack"
        onSubmit={(event) => {
          event.preventDefault();
          void rotate();
        }}
      >
        <p>{t.rotateText}</p>
        <Field label={t.overlap} issues={issuesOf(issues, 'overlapSeconds')}>
          {(control) => (
            <select {...control} value={overlap} onChange={(event) => setOverlap(event.currentTarget.value)}>
              {t.overlaps.map(([seconds, text]) => (
                <option key={seconds} value={seconds}>
                  {text}
                </option>
              ))}
            </select>
          )}
        </Field>
        <Field label={t.ownSecret} hint={t.ownSecretHint} issues={issuesOf(issues, 'secret')}>
          {(control) => (
            <input
              {...control}
              class="mono"
              autocomplete="off"
              spellcheck={false}
              value={secret}
              onInput={(event) => setSecret(event.currentTarget.value.trim())}
            />
          )}
        </Field>
        {action.error !== null && issues.length === 0 && <ErrorNotice error={action.error} />}
        <div class="dialog-actions">
          <button type="button" class="button" onClick={onClose}>
            {t.cancel}
          </button>
          <button type="submit" class="button primary" disabled={action.busy}>
            {t.rotate}
          </button>
        </div>
      </form>
    </Dialog>
  );
}

function SecretDialog({ endpoint, onClose }: DialogProps) {
  const { client } = useAccess();
  const { error, start } = useAction();
  const [secrets, setSecrets] = useState<EndpointSecrets | null>(null);
  useEffect(() => void start(async () => setSecrets(await client.endpoints.secret(endpoint.id))), []);
  return (
    <Dialog title={t.secret} onClose={onClose}>
      {error !== null ? <ErrorNotice error={error} /> : !secrets && <Loading lines={2} />}
      {secrets && (
        <>
          <p class="muted">{t.secretText}</p>
          <SecretBox label={t.currentSecret} secret={secrets.secret} />
          {secrets.previousSecrets.map(({ secret, expiresAt }) => (
            <div class="stack-small" key={secret}>
              <SecretBox label={t.previousSecret} secret={secret} />
              <span class="small muted">
                {t.signsUntil} <Time value={expiresAt} exact />
              </span>
            </div>
          ))}
        </>
      )}
      <div class="dialog-actions">
        <button type="button" class="button" onClick={onClose}>
          {t.close}
        </button>
      </div>
    </Dialog>
  );
}
