import { useEffect, useState } from 'preact/hooks';

/** Where the page is: `#/messages?status=failed` is the path `['messages']` with a query. */
export interface Route {
  path: readonly string[];
  query: URLSearchParams;
  /** The hash as it stands, by which what belongs to this place is remembered. */
  key: string;
}

export type QueryInput = Readonly<Record<string, string | number | null | undefined>>;

export function parseHash(hash: string): Route {
  const text = hash.replace(/^#\/?/, '');
  const mark = text.indexOf('?');
  const path = (mark === -1 ? text : text.slice(0, mark)).split('/').filter(Boolean).map(decode);
  return { path, query: new URLSearchParams(mark === -1 ? '' : text.slice(mark + 1)), key: hash };
}

/** Somebody may have typed it. */
function decode(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}

/** The address of a view. Ids are one segment each, whatever they hold; empty values are left out. */
export function href(path: readonly string[], query: QueryInput = {}): string {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined && value !== null && value !== '') parameters.set(name, String(value));
  }
  const text = parameters.toString();
  return `#/${path.map(encodeURIComponent).join('/')}${text ? `?${text}` : ''}`;
}

export function go(path: readonly string[], query?: QueryInput): void {
  location.hash = href(path, query);
}

/** Changes the query of the present view. It is no step of its own in the history: filters are typed letter by letter. */
export function setQuery(changes: QueryInput): void {
  const { path, query } = parseHash(location.hash);
  const next = href(path, { ...Object.fromEntries(query), ...changes });
  if (next === location.hash) return;
  history.replaceState(history.state, '', next);
  dispatchEvent(new HashChangeEvent('hashchange'));
}

export function useRoute(): Route {
  const [route, setRoute] = useState(() => parseHash(location.hash));
  useEffect(() => {
    const read = () => setRoute(parseHash(location.hash));
    // A view inside may have changed it before this listens.
    read();
    addEventListener('hashchange', read);
    return () => removeEventListener('hashchange', read);
  }, []);
  return route;
}

/** The parts of a value that lists several by commas. */
export function listOf(value: string | null): string[] {
  return (value ?? '')
    .split(',')
    .map((part) => part.trim())
    .filter(Boolean);
}
