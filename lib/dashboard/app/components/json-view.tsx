import { useState } from 'preact/hooks';
import { formatNumber } from '../format.js';
import { t } from '../texts.js';
import { CopyButton } from './copy-button.js';
import { Icon } from './icons.js';

/** Deeper ones are folded at first. */
const OPEN_DEPTH = 3;
const CHILDREN_SHOWN = 100;
const TEXT_SHOWN = 2000;

/** Any JSON value as a tree that folds. All of it is text: nothing that a payload holds is ever markup. */
export function JsonView({ value, label }: { value: unknown; label: string }) {
  const [raw, setRaw] = useState(false);
  const text = JSON.stringify(value, null, 2) ?? '';
  return (
    <div class="stack-small">
      <div class="line spread">
        <div class="segments">
          <button type="button" aria-pressed={!raw} onClick={() => setRaw(false)}>
            {t.tree}
          </button>
          <button type="button" aria-pressed={raw} onClick={() => setRaw(true)}>
            {t.raw}
          </button>
        </div>
        <CopyButton text={text} label={label} />
      </div>
      {raw ? (
        <pre>
          <LongText text={text} shown={50_000} />
        </pre>
      ) : (
        <div class="json">
          <Node value={value} depth={0} />
        </div>
      )}
    </div>
  );
}

function Node({ name, value, depth }: { name?: string; value: unknown; depth: number }) {
  const key = name !== undefined && (
    <>
      <span class="key">{JSON.stringify(name)}</span>:{' '}
    </>
  );
  if (typeof value !== 'object' || value === null) {
    return (
      <>
        {key}
        <Leaf value={value} />
      </>
    );
  }
  const isList = Array.isArray(value);
  const entries = Object.entries(value);
  const [open, close] = isList ? ['[', ']'] : ['{', '}'];
  if (entries.length === 0) {
    return (
      <>
        {key}
        {open}
        {close}
      </>
    );
  }
  return (
    <details open={depth < OPEN_DEPTH && entries.length <= CHILDREN_SHOWN}>
      <summary>
        <Icon name="chevron" size={11} />
        <span>
          {key}
          {open}
          <span class="folded muted">
            {' '}
            {t.entries(entries.length, formatNumber(entries.length))} {close}
          </span>
        </span>
      </summary>
      <Children entries={entries} isList={isList} depth={depth} />
      {close}
    </details>
  );
}

function Children({
  entries,
  isList,
  depth,
}: {
  entries: [string, unknown][];
  isList: boolean;
  depth: number;
}) {
  const [shown, setShown] = useState(CHILDREN_SHOWN);
  return (
    <ul>
      {entries.slice(0, shown).map(([name, child]) => (
        <li key={name}>
          <Node name={isList ? undefined : name} value={child} depth={depth + 1} />
        </li>
      ))}
      {entries.length > shown && (
        <li>
          <button type="button" class="button small" onClick={() => setShown(shown + 1000)}>
            {t.showMore(formatNumber(entries.length - shown))}
          </button>
        </li>
      )}
    </ul>
  );
}

function Leaf({ value }: { value: unknown }) {
  if (typeof value !== 'string') return <span class="value">{String(value)}</span>;
  return (
    <span class="text">
      <LongText text={JSON.stringify(value)} shown={TEXT_SHOWN} />
    </span>
  );
}

/** A text of megabytes would hold the page up. */
export function LongText({ text, shown }: { text: string; shown: number }) {
  const [all, setAll] = useState(false);
  if (all || text.length <= shown) return <>{text}</>;
  return (
    <>
      {text.slice(0, shown)}…{' '}
      <button type="button" class="button small" onClick={() => setAll(true)}>
        {t.showMore(formatNumber(text.length - shown))}
      </button>
    </>
  );
}
