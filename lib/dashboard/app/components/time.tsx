import { formatExact, formatRelative, formatShort, NONE } from '../format.js';
import { useNow } from '../live.js';

/** How long ago, or until when; the exact time is its title, and is written beside it with `exact`. */
export function Time({ value, exact = false }: { value: string | null; exact?: boolean }) {
  const now = useNow();
  if (value === null || Number.isNaN(Date.parse(value))) return <span class="muted">{NONE}</span>;
  return (
    <time dateTime={value} title={formatExact(value)} class="number">
      {formatRelative(value, now)}
      {exact && <span class="muted"> · {formatExact(value)}</span>}
    </time>
  );
}

/** For lists: what is wide shows both. */
export function ListTime({ value }: { value: string }) {
  const now = useNow();
  return (
    <time dateTime={value} title={formatExact(value)} class="number nowrap">
      {formatRelative(value, now)} <span class="muted small hide-medium">{formatShort(value)}</span>
    </time>
  );
}
