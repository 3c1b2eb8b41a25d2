import type { AuthorizeInfo } from '../authorize.js';
import { invalidOptions } from './invalid-options.js';

/**
 * Node.js's request, as the host has handed it over.
 * @param where names the authorizer that needs it, `what` the thing that it needs of it
 * @throws HookplaneError `INVALID_OPTIONS` when there is none
 */
export function nodeRequest<HostRequest extends object>(
  { host }: AuthorizeInfo,
  where: string,
  what: string,
): HostRequest {
  const { req } = (host ?? {}) as { req?: unknown };
  if (typeof req === 'object' && req !== null) return req as HostRequest;
  throw invalidOptions(where)(
    `there is no ${what}: mount adminMiddleware of "hookplane/express", or give the handler { host: { req } }`,
  );
}
