import type { Method, Route } from './route.js';

export type Match =
  | { kind: 'route'; route: Route; params: Record<string, string> }
  /** The path is known, the method is not one of it. */
  | { kind: 'method'; allow: string }
  | { kind: 'none' }
  /** The path cannot be one of any route: an escape that is none, a dot segment, a control character. */
  | { kind: 'malformed' };

export interface Router {
  /** `path` is relative to where the control plane is mounted, percent-encoded and without the query. */
  match(method: string, path: string): Match;
}

export function createRouter(routes: readonly Route[]): Router {
  const table = routes.map((route) => ({ route, segments: route.path.split('/').slice(1) }));
  return {
    match(method, path) {
      const segments = splitPath(path);
      if (!segments) return { kind: 'malformed' };
      const found = table.filter((row) => fits(row.segments, segments));
      if (found.length === 0) return { kind: 'none' };
      const wanted = method === 'HEAD' ? 'GET' : method;
      const row = found.find(({ route }) => route.method === wanted);
      if (!row) return { kind: 'method', allow: allowed(found.map(({ route }) => route.method)) };
      const params: Record<string, string> = Object.create(null);
      row.segments.forEach((segment, index) => {
        if (segment.startsWith(':')) params[segment.slice(1)] = segments[index]!;
      });
      return { kind: 'route', route: row.route, params };
    },
  };
}

/** Splits before it decodes, so that an escaped slash stays inside its segment; null when it is malformed. */
function splitPath(path: string): string[] | null {
  const parts = path.split('/');
  if (parts[0] === '') parts.shift();
  if (parts.at(-1) === '') parts.pop();
  const segments: string[] = [];
  for (const part of parts) {
    let segment: string;
    try {
      segment = decodeURIComponent(part);
    } catch {
      return null;
    }
    if (segment === '.' || segment === '..' || /\p{Cc}/u.test(segment)) return null;
    segments.push(segment);
  }
  return segments;
}

function fits(pattern: readonly string[], segments: readonly string[]): boolean {
  return (
    pattern.length === segments.length &&
    pattern.every((segment, index) =>
      segment.startsWith(':') ? segments[index] !== '' : segment === segments[index],
    )
  );
}

function allowed(methods: readonly Method[]): string {
  return methods.flatMap((method) => (method === 'GET' ? ['GET', 'HEAD'] : method)).join(', ');
}
