import { useEffect, useState } from 'preact/hooks';
import { t } from '../texts.js';
import { Icon } from './icons.js';

const SHOWN_MS = 1800;

export function CopyButton({ text, label }: { text: string; label: string }) {
  const [state, setState] = useState<'idle' | 'copied' | 'failed'>('idle');
  useEffect(() => {
    if (state === 'idle') return;
    const timer = setTimeout(() => setState('idle'), SHOWN_MS);
    return () => clearTimeout(timer);
  }, [state]);
  const copy = () =>
    // Not there on a page that came by plain http from another machine.
    (navigator.clipboard?.writeText(text) ?? Promise.reject(new Error('no clipboard'))).then(
      () => setState('copied'),
      () => setState('failed'),
    );
  const said = state === 'copied' ? t.copied : state === 'failed' ? t.copyFailed : t.copy;
  return (
    <button
      type="button"
      class="button small over"
      aria-label={`${said}: ${label}`}
      onClick={() => void copy()}
    >
      <Icon name={state === 'copied' ? 'check' : 'copy'} size={14} />
      <span aria-live="polite">{said}</span>
    </button>
  );
}

/** A secret that is shown, with a button that copies it. */
export function SecretBox({ secret, label }: { secret: string; label: string }) {
  return (
    <div class="stack-small">
      <span class="label">{label}</span>
      <div class="secret">
        <code>{secret}</code>
        <CopyButton text={secret} label={label} />
      </div>
    </div>
  );
}
