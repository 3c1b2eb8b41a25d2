import type { ComponentChildren } from 'preact';
import { useEffect, useId, useRef, useState } from 'preact/hooks';
import { t } from '../texts.js';
import { useAction } from '../use-action.js';
import { Icon } from './icons.js';
import { ErrorNotice } from './states.js';

interface DialogProps {
  title: string;
  onClose: () => void;
  children: ComponentChildren;
}

/** The browser's own modal dialog: it keeps the focus inside, closes by Escape, and gives the focus back. */
export function Dialog({ title, onClose, children }: DialogProps) {
  const element = useRef<HTMLDialogElement>(null);
  const id = useId();
  useEffect(() => {
    const opener = document.activeElement;
    const dialog = element.current;
    dialog?.showModal();
    return () => {
      dialog?.close();
      if (opener instanceof HTMLElement && opener.isConnected) opener.focus();
    };
  }, []);
  return (
    <dialog
      ref={element}
      aria-labelledby={id}
      onCancel={(event) => {
        event.preventDefault();
        onClose();
      }}
    >
      <div class="dialog-head">
        <h2 id={id}>{title}</h2>
        <button type="button" class="button quiet small" aria-label={t.close} onClick={onClose}>
          <Icon name="close" />
        </button>
      </div>
      <div class="dialog-body">{children}</div>
    </dialog>
  );
}

interface ConfirmProps {
  title: string;
  /** What comes of it. */
  children: ComponentChildren;
  action: string;
  danger?: boolean;
  /** To be typed before it can be done. */
  typed?: string;
  run: () => Promise<unknown>;
  onClose: () => void;
}

export function ConfirmDialog({
  title,
  children,
  action,
  danger = false,
  typed,
  run,
  onClose,
}: ConfirmProps) {
  const { busy, error, start } = useAction();
  const [entered, setEntered] = useState('');
  const id = useId();
  const ready = typed === undefined || entered === typed;
  return (
    <Dialog title={title} onClose={onClose}>
      <form
        class="stack"
        onSubmit={(event) => {
          event.preventDefault();
          if (!ready || busy) return;
          void start(async () => {
            await run();
            onClose();
          });
        }}
      >
        <div class="stack-small wrap">{children}</div>
        {typed !== undefined && (
          <div class="field">
            <label for={id}>
              {t.typeToConfirm} <code class="wrap">{typed}</code>
            </label>
            <input
              id={id}
              class="mono"
              autocomplete="off"
              spellcheck={false}
              value={entered}
              onInput={(event) => setEntered(event.currentTarget.value)}
            />
          </div>
        )}
        {error !== null && <ErrorNotice error={error} />}
        <div class="dialog-actions">
          <button type="button" class="button" onClick={onClose}>
            {t.cancel}
          </button>
          <button type="submit" class={`button primary ${danger ? 'danger' : ''}`} disabled={!ready || busy}>
            {action}
          </button>
        </div>
      </form>
    </Dialog>
  );
}
