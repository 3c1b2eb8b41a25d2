import { HookplaneError } from './errors.js';

/**
 * The prefix of a mount without a slash at its end, and spelled as the paths of requests are, whose URLs are normalised.
 * @throws HookplaneError `INVALID_OPTIONS`
 */
export function normalizeBasePath(basePath: string): string {
  const trimmed = basePath.replace(/\/+$/, '');
  if (trimmed !== '' && !/^\/[^?#]*$/.test(trimmed)) {
    throw new HookplaneError(
      'INVALID_OPTIONS',
      `basePath must begin with "/" and have no query: ${JSON.stringify(basePath)}`,
    );
  }
  return trimmed === '' ? '' : new URL(`http://localhost${trimmed}`).pathname;
}

/** Null when the path is not under the prefix. */
export function pathBelow(basePath: string, path: string): string | null {
  if (basePath === '') return path;
  if (path === basePath) return '/';
  return path.startsWith(`${basePath}/`) ? path.slice(basePath.length) : null;
}
