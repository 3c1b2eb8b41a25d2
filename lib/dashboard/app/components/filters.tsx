import type { ComponentChildren } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { fromLocalInput, toLocalInput } from '../format.js';
import { type QueryInput, setQuery } from '../query-state.js';
import { t } from '../texts.js';

const TYPED_MS = 350;

/** A filter begins its list anew. */
function filter(changes: QueryInput): void {
  setQuery({ ...changes, cursor: null });
}

interface FilterProps {
  name: string;
  label: string;
  query: URLSearchParams;
}

/** Goes into the address when the visitor has stopped typing. */
export function TextFilter({ name, label, query, placeholder }: FilterProps & { placeholder?: string }) {
  const given = query.get(name) ?? '';
  const [text, setText] = useState(given);
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  useEffect(() => setText(given), [given]);
  useEffect(() => () => clearTimeout(timer.current), []);
  const apply = (value: string) => {
    clearTimeout(timer.current);
    filter({ [name]: value.trim() });
  };
  return (
    <label class="grow">
      <span class="caption">{label}</span>
      <input
        type="search"
        name={name}
        value={text}
        placeholder={placeholder}
        spellcheck={false}
        autocapitalize="off"
        autocomplete="off"
        onInput={({ currentTarget: { value } }) => {
          setText(value);
          clearTimeout(timer.current);
          timer.current = setTimeout(() => apply(value), TYPED_MS);
        }}
        onKeyDown={(event) => {
          if (event.key === 'Enter') apply(event.currentTarget.value);
        }}
      />
    </label>
  );
}

export function SelectFilter({
  name,
  label,
  query,
  options,
}: FilterProps & { options: readonly (readonly [value: string, text: string])[] }) {
  const given = query.get(name) ?? '';
  return (
    <label class="half">
      <span class="caption">{label}</span>
      <select name={name} value={given} onChange={(event) => filter({ [name]: event.currentTarget.value })}>
        <option value="">{t.any}</option>
        {/* An address may name several. */}
        {given !== '' && !options.some(([value]) => value === given) && (
          <option value={given}>{given}</option>
        )}
        {options.map(([value, text]) => (
          <option key={value} value={value}>
            {text}
          </option>
        ))}
      </select>
    </label>
  );
}

export function TimeFilter({ name, label, query }: FilterProps) {
  const value = toLocalInput(query.get(name));
  return (
    <label class="half">
      <span class="caption">{label}</span>
      <input
        type="datetime-local"
        name={name}
        value={value}
        onChange={(event) => filter({ [name]: fromLocalInput(event.currentTarget.value) })}
      />
    </label>
  );
}

interface FilterBarProps {
  query: URLSearchParams;
  /** The filters in it. */
  names: readonly string[];
  children: ComponentChildren;
}

/** The filters of a list. On a phone they are folded until one is set, or they are asked for. */
export function FilterBar({ query, names, children }: FilterBarProps) {
  const [open, setOpen] = useState(() => hasAny(query, names));
  return (
    <search class={`card filters ${open ? '' : 'folded'}`}>
      <button type="button" class="button filters-toggle" aria-expanded={open} onClick={() => setOpen(!open)}>
        {t.filters}
      </button>
      {children}
      <ClearFilters query={query} names={names} />
    </search>
  );
}

function ClearFilters({ query, names }: { query: URLSearchParams; names: readonly string[] }) {
  if (!hasAny(query, names)) return null;
  return (
    <button
      type="button"
      class="button quiet small clear"
      onClick={() => filter(Object.fromEntries(names.map((name) => [name, null])))}
    >
      {t.clearFilters}
    </button>
  );
}

export function hasAny(query: URLSearchParams, names: readonly string[]): boolean {
  return names.some((name) => query.get(name));
}
