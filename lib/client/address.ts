import { invalidArgument } from './client-error.js';

/** Query parameters by name; a list is the parameter repeated. What is undefined is left out. */
export type Query = Readonly<Record<string, string | number | boolean | readonly string[] | undefined>>;

/**
 * Where the control plane is mounted, without the slash at its end.
 * @param relativeAllowed whether somebody is there who knows what it is relative to
 * @throws AdminClientError `INVALID_ARGUMENT`
 */
export function readBaseUrl(given: string | URL, relativeAllowed: boolean): string {
  const text = String(given ?? '');
  if (text === '') throw invalidArgument('baseUrl is missing: say where the control plane is mounted');
  if (/[?#]/.test(text)) throw invalidArgument(`baseUrl must have no query and no fragment: ${text}`);
  if (/^[a-z][a-z\d+.-]*:/i.test(text)) {
    let url: URL;
    try {
      url = new URL(text);
    } catch (cause) {
      throw invalidArgument(`baseUrl is not a URL: ${text}`, cause);
    }
    if (!/^https?:$/.test(url.protocol)) {
      throw invalidArgument(`baseUrl must begin with "https://" or "http://": ${text}`);
    }
    // fetch refuses them, and its error would show the password.
    if (url.username || url.password) {
      throw invalidArgument(
        'baseUrl must hold no credentials: put them into a header, by the option headers',
      );
    }
  } else if (!relativeAllowed) {
    throw invalidArgument(
      `baseUrl must be absolute outside a browser, such as "https://app.example.com/admin": ${text}`,
    );
  }
  return text.replace(/\/+$/, '');
}

/**
 * Joins segments to a path; an id is one segment, whatever it holds.
 * @throws AdminClientError `INVALID_ARGUMENT`
 */
export function joinPath(segments: readonly string[]): string {
  return segments.map((segment) => `/${encodeSegment(segment)}`).join('');
}

function encodeSegment(segment: unknown): string {
  // An empty one would ask for the list in place of the record.
  if (typeof segment !== 'string' || segment === '') {
    throw invalidArgument(
      `An id must be a string that is not empty, not ${typeof segment === 'string' ? '""' : String(segment)}`,
    );
  }
  // No escape keeps "." and ".." from being resolved, "%2E%2E" included (URL standard, "double-dot path segment"); and
  // proxies there are that decode "%2F" before they resolve.
  if (/(?:^|[/\\])\.{1,2}(?:[/\\]|$)/.test(segment)) {
    throw invalidArgument(`An id must have no "." or ".." as a part of a path: ${JSON.stringify(segment)}`);
  }
  try {
    return encodeURIComponent(segment);
  } catch (cause) {
    throw invalidArgument(`An id must hold no lone surrogates: ${JSON.stringify(segment)}`, cause);
  }
}

/**
 * From the `?` on, or empty. A list without values stays, as an empty value: left out, it would mean "all".
 * @throws AdminClientError `INVALID_ARGUMENT`
 */
export function formatQuery(query: Query): string {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value === undefined) continue;
    if (typeof value === 'object' && !Array.isArray(value)) {
      throw invalidArgument(`${name} must be text, a number, a boolean or a list of texts`);
    }
    if (typeof value !== 'object') parameters.append(name, String(value));
    else if (value.length === 0) parameters.append(name, '');
    else for (const each of value) parameters.append(name, each);
  }
  const text = parameters.toString();
  return text === '' ? '' : `?${text}`;
}
