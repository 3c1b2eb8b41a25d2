import { useId, useState } from 'preact/hooks';
import { Icon } from '../components/icons.js';
import { errorText, Loading } from '../components/states.js';
import type { Session, SessionState, SignedOutReason } from '../session.js';
import { configuration } from '../configuration.js';
import { t } from '../texts.js';

/** What a header can carry. */
const TOKEN = /^[\x21-\x7e]+$/;

/** Before the views: until it is known who is asking, and for those who may not enter. */
export function Gate({ session, state }: { session: Session; state: SessionState }) {
  return (
    <main class="gate">
      <div class="card">
        <div class="stack">
          <div class="line">
            <span class="brand-mark">
              <Icon name="mark" />
            </span>
            <h1>{configuration.title}</h1>
          </div>
          <Inside session={session} state={state} />
        </div>
      </div>
    </main>
  );
}

function Inside({ session, state }: { session: Session; state: SessionState }) {
  switch (state.kind) {
    case 'signed-out':
      return <SignIn session={session} reason={state.reason} />;
    case 'denied':
      return (
        <>
          <h2>{t.denied}</h2>
          <p role="alert">{state.reason}</p>
          <p class="muted">{t.deniedHint}</p>
          <div class="line">
            <button type="button" class="button" onClick={() => void session.start()}>
              {t.retry}
            </button>
            <button type="button" class="button" onClick={() => session.signOut()}>
              {t.useToken}
            </button>
          </div>
        </>
      );
    case 'failed':
      return (
        <>
          <h2>{t.unreachable}</h2>
          <p role="alert" class="wrap">
            {errorText(state.error)}
          </p>
          <div>
            <button type="button" class="button primary" onClick={() => void session.start()}>
              {t.retry}
            </button>
          </div>
        </>
      );
    default:
      return <Loading lines={3} />;
  }
}

function SignIn({ session, reason }: { session: Session; reason: SignedOutReason }) {
  const id = useId();
  const [token, setToken] = useState('');
  const [wrong, setWrong] = useState(false);
  const problem = wrong ? t.tokenShape : reason === 'refused' ? t.tokenRefused : null;
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        const given = token.trim();
        setWrong(!TOKEN.test(given));
        if (TOKEN.test(given)) void session.signIn(given);
      }}
    >
      {reason === 'ended' && (
        <p class="notice warn" role="status">
          {t.accessEnded}
        </p>
      )}
      <p class="muted">{t.signInText}</p>
      <div class="stack-small">
        <label class="label" for={id}>
          {t.token}
        </label>
        <input
          id={id}
          type="password"
          class="mono"
          autocomplete="off"
          spellcheck={false}
          value={token}
          aria-invalid={problem !== null}
          aria-describedby={`${id}-hint`}
          // biome-ignore lint/a11y/noAutofocus: it is all that there is to do here
          autoFocus
          onInput={(event) => setToken(event.currentTarget.value)}
        />
        {problem !== null && (
          <span class="issue" role="alert">
            {problem}
          </span>
        )}
        <span class="hint" id={`${id}-hint`}>
          {t.tokenHint}
        </span>
      </div>
      <button type="submit" class="button primary">
        {t.signIn}
      </button>
    </form>
  );
}
