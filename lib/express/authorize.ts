import {
  type Authorize,
  type AuthorizeInfo,
  type Decider,
  type Decision,
  lazyAuthorizer,
  lazyDecider,
} from '../admin/authorize.js';
import { CROSS_SITE, type CrossSiteOptions } from '../admin/authorizers/cross-site.js';
import { invalidOptions } from '../admin/authorizers/invalid-options.js';
import { createCsrfGuard } from './csrf.js';
import type { HostRequest } from './target.js';

declare global {
  // The places where hosts and their packages say what they put on a request. Named here, they are there for those
  // who have none of these packages' types, too.
  namespace Express {
    interface User {}
    interface Request {}
  }
}

/** `req.session` as the types of express-session or cookie-session declare it; without them, an object. */
export type HostSession = 'session' extends keyof Express.Request
  ? Express.Request extends { session?: infer Session }
    ? NonNullable<Session>
    : never
  : Record<string, unknown>;

/** Protection against cross-site requests is on unless `csrf` is `false`. */
export type FromHostOptions = CrossSiteOptions;

const SIGN_IN = { allow: false, status: 401, publicMessage: 'Sign in to use this' } satisfies Decision;

const NO_SESSION = 'there is no req.session: mount the session middleware before hookplane';

/**
 * Decides by the user that earlier middleware has put on the request as `req.user`, as Passport does. Without a user
 * the answer is 401. A cross-site request that carries a cookie is refused with 403 unless its method is GET or HEAD.
 *
 * The user has the type that the application gives to `Express.User`, or that of the callback's parameter.
 * @param decideOn asked for a user that is there; what it may answer is what `authorize` may. An arrow function of
 *   one plain parameter is called without the others: the native request need not be made for it.
 * @throws HookplaneError `INVALID_OPTIONS`
 */
export function fromUser<User = Express.User>(
  decideOn: Decider<User>,
  options: FromHostOptions = {},
): Authorize {
  assertCallback(decideOn, 'fromUser');
  const decider = lazyDecider(decideOn);
  const isRefused = createCsrfGuard(options, 'fromUser');
  return lazyAuthorizer((request, info) => {
    const req = hostRequest(info, 'fromUser', 'req.user');
    const { user } = req as { user?: unknown };
    if (!user) return SIGN_IN;
    return isRefused(request.head, req) ? CROSS_SITE : decider(user as User, request, info);
  });
}

/**
 * Decides by `req.session`, as express-session and cookie-session make it. Without a session the answer is 401; one of
 * express-session is always there, so the callback has to look whether somebody has signed in. A cross-site request that
 * carries a cookie is refused with 403 unless its method is GET or HEAD.
 *
 * The session has the type that `SessionData` of express-session has in the application, or that of the callback's
 * parameter.
 * @param decideOn asked for a session that is there; what it may answer is what `authorize` may. An arrow function
 *   of one plain parameter is called without the others: the native request need not be made for it.
 * @throws HookplaneError `INVALID_OPTIONS`
 */
export function fromSession<Session = HostSession>(
  decideOn: Decider<Session>,
  options: FromHostOptions = {},
): Authorize {
  assertCallback(decideOn, 'fromSession');
  const invalid = invalidOptions('fromSession');
  const decider = lazyDecider(decideOn);
  const isRefused = createCsrfGuard(options, 'fromSession');
  return lazyAuthorizer((request, info) => {
    const req = hostRequest(info, 'fromSession', 'req.session');
    const { session } = req as { session?: unknown };
    // Session middleware leaves an object, or null; where there is nothing at all, it has not been at work.
    if (session === undefined) return { ...SIGN_IN, fault: invalid(NO_SESSION) };
    if (typeof session !== 'object' || session === null) return SIGN_IN;
    return isRefused(request.head, req) ? CROSS_SITE : decider(session as Session, request, info);
  });
}

function hostRequest({ host }: AuthorizeInfo, where: string, what: string): HostRequest {
  const { req } = (host ?? {}) as { req?: unknown };
  if (typeof req === 'object' && req !== null) return req as HostRequest;
  throw invalidOptions(where)(
    `there is no ${what} to decide by: mount adminMiddleware of "hookplane/express", or give the handler { host: { req } }`,
  );
}

function assertCallback(decideOn: unknown, where: string): void {
  if (typeof decideOn === 'function') return;
  throw invalidOptions(where)('it needs a function that decides');
}
