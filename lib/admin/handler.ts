import { normalizeBasePath, pathBelow } from '../model/base-path.js';
import { HookplaneError } from '../model/errors.js';
import { createId } from '../model/ids.js';
import { type KnownKeys, unknownKey } from '../model/known-keys.js';
import { defaultLogger, type Logger, safeLogger } from '../model/logger.js';
import type { SenderScope } from '../model/scope.js';
import type { Sender } from '../sender/sender.js';
import { type Authorize, type Caller, decide, isSafe } from './authorize.js';
import { readJsonObject } from './body.js';
import { type Incoming, incomingOf } from './incoming.js';
import { readHeaders, readQuery } from './input.js';
import type { RequestHead } from './lazy-request.js';
import { openApiWriter } from './openapi/document.js';
import { createReport } from './report.js';
import {
  type Answer,
  errorAnswer,
  jsonAnswer,
  MethodNotAllowed,
  textAnswer,
  toResponse,
} from './response.js';
import type { Route } from './route.js';
import { createRouter, type Match } from './router.js';
import { ROUTES } from './routes.js';

export interface AdminHandlerOptions {
  /** Who may enter. Without it every request is answered 403. */
  authorize?: Authorize;
  /**
   * The prefix under which a Fetch-native host hands over requests with their whole path, such as `/admin`. Hosts
   * that strip it (Express, Hono's `mount`) need none.
   * @default ''
   */
  basePath?: string;
  /**
   * Refuses every caller whom `authorize` has not bound to a tenant, for a control plane that only customers use.
   * @default false
   */
  requireTenant?: boolean;
  /** The largest request body. @default 262144 (256 KiB) */
  maxBodyBytes?: number;
  /** Told of what went wrong inside: a store that does not answer, an authorizer that throws or answers nonsense. */
  onError?: (error: unknown, details: { requestId: string }) => void;
  /** @default warnings and errors as Node.js process warnings */
  logger?: Logger;
}

const OPTIONS: KnownKeys<AdminHandlerOptions> = {
  authorize: true,
  basePath: true,
  requireTenant: true,
  maxBodyBytes: true,
  onError: true,
  logger: true,
};

/** What the application adds to a request. Hosts pass things of their own in its place: nothing else of it is looked at. */
export interface AdminContext {
  /** Handed to `authorize` as it is. */
  host?: unknown;
}

/** What a host that is not Fetch-native knows better than the Request does. */
export interface HostContext extends AdminContext {
  /**
   * The path relative to the mount, percent-encoded, without the query; null when it is not below the mount.
   * @default the URL's path without `basePath`
   */
  path?: string | null;
  /** The query as it came, with its `?`; empty when there is none. @default the URL's */
  search?: string;
  /** The method as it came, for one that no Request can have. @default the Request's */
  method?: string;
}

export type AdminHandler = (request: Request, context?: AdminContext) => Promise<Response>;

/**
 * The control plane over a sender, as a Fetch handler. It never rejects.
 * @throws HookplaneError `INVALID_OPTIONS`
 */
export function createAdminHandler(sender: Sender, options: AdminHandlerOptions = {}): AdminHandler {
  const answer = createControlPlane(sender, options);
  return async (request, context) =>
    toResponse(await answer(() => incomingOf(request), { host: context?.host }));
}

export type ControlPlane = (incoming: () => Incoming, context: HostContext) => Promise<Answer>;

/** What every kind of host shares: a request in, what to answer out. It never rejects. */
export function createControlPlane(sender: Sender, options: AdminHandlerOptions): ControlPlane {
  // Often it is the options that come first; without this, all is well until the first request.
  if (typeof sender?.health !== 'function') {
    throw new HookplaneError(
      'INVALID_OPTIONS',
      'The control plane needs a sender, as createSender answers it, as its first argument',
    );
  }
  const problem = unknownKey(options, OPTIONS);
  if (problem !== null) throw new HookplaneError('INVALID_OPTIONS', `The control plane ${problem}`);
  const { authorize, requireTenant = false, maxBodyBytes = 256 * 1024 } = options;
  // A logger that throws must not change an answer.
  const logger = safeLogger(options.logger ?? defaultLogger);
  const report = createReport(options);
  const basePath = normalizeBasePath(options.basePath ?? '');
  if (authorize !== undefined && typeof authorize !== 'function') {
    throw new HookplaneError('INVALID_OPTIONS', 'authorize must be a function');
  }
  if (typeof requireTenant !== 'boolean') {
    throw new HookplaneError('INVALID_OPTIONS', 'requireTenant must be a boolean');
  }
  if (!Number.isInteger(maxBodyBytes) || maxBodyBytes < 1) {
    throw new HookplaneError('INVALID_OPTIONS', 'maxBodyBytes must be a whole number ≥ 1');
  }
  const router = createRouter(ROUTES);
  const openApi = openApiWriter();
  let warned = false;

  async function answer(incoming: Incoming, context: HostContext, requestId: () => string): Promise<Answer> {
    const { head } = incoming;
    const url = publicUrl(head);
    const path = context.path === undefined ? pathBelow(basePath, url().pathname) : context.path;
    const match: Match = path === null ? { kind: 'none' } : router.match(context.method ?? head.method, path);

    if (!authorize) {
      if (!warned) logger.warn('The control plane has no authorize callback: every request is refused');
      warned = true;
      throw new HookplaneError('FORBIDDEN', 'No access: the control plane has no authorize callback');
    }
    if (incoming.bytes) incoming.bytes.maxBytes = maxBodyBytes;
    const verdict = await decide(authorize, incoming, {
      operation: match.kind === 'route' ? match.route.operation : null,
      params: match.kind === 'route' ? match.params : {},
      host: context.host,
    });
    if ('fault' in verdict) void report(verdict.fault, requestId());
    if (!verdict.allowed) {
      throw verdict.status === 401
        ? new HookplaneError('UNAUTHORIZED', verdict.publicMessage ?? 'Authentication is required')
        : new HookplaneError('FORBIDDEN', verdict.publicMessage ?? 'No access');
    }
    if (requireTenant && verdict.tenantId === undefined) {
      void report(new TypeError('authorize allowed a caller without a tenantId: requireTenant'), requestId());
      throw new HookplaneError('FORBIDDEN', 'No access');
    }
    if (verdict.readOnly && !isSafe(context.method ?? head.method)) {
      throw new HookplaneError('FORBIDDEN', 'The access is read-only: it allows GET and HEAD');
    }
    const { route, params } = found(match);
    if (verdict.readOnly && route.revealsSecret) {
      throw new HookplaneError('FORBIDDEN', 'The access is read-only: it shows no secrets');
    }
    const scope = scopeOf(sender, verdict, route, requestId);
    route.before?.({ scope, params });
    const query = readQuery(route, context.search ?? url().search);
    const sent = readHeaders(route, head.headers);
    const result = await route.run({
      scope,
      caller: verdict,
      params,
      query,
      headers: sent,
      body: await readBody(route, incoming),
      openApi: () => openApi(mountOf(url().pathname, path ?? '')),
    });
    const headers =
      result.createdId === undefined
        ? undefined
        : {
            location: locationOf(
              result.createdId,
              url().pathname,
              context.path !== undefined || basePath !== '',
            ),
          };
    return result.text === undefined
      ? jsonAnswer(result.status, result.body, headers)
      : textAnswer(result.status, result.text, route.mediaType, headers);
  }

  return async (asked, context) => {
    let known: string | undefined;
    const requestId = () => {
      known ??= createId('req', Date.now());
      return known;
    };
    let isHead = false;
    let given: Answer;
    try {
      const incoming = asked();
      isHead = (context.method ?? incoming.head.method) === 'HEAD';
      given = await answer(incoming, context, requestId);
    } catch (error) {
      given = errorAnswer(error, requestId);
      if (given.status >= 500) void report(error, requestId());
    }
    return isHead ? { ...given, body: null } : given;
  };
}

/** All that a route is given of its caller: a scope, which records what has to be answered for later. */
function scopeOf(
  sender: Sender,
  { tenantId, actor }: Caller,
  route: Route,
  requestId: () => string,
): SenderScope {
  if (isSafe(route.method) && !route.revealsSecret) {
    return tenantId === undefined ? sender : sender.forTenant(tenantId);
  }
  return sender.forCaller({ ...(tenantId !== undefined && { tenantId }), actor, requestId: requestId() });
}

function found(match: Match): { route: Route; params: Record<string, string> } {
  switch (match.kind) {
    case 'route':
      return match;
    case 'method':
      throw new MethodNotAllowed(match.allow);
    case 'malformed':
      throw new HookplaneError('INVALID_QUERY', 'The path is malformed');
    case 'none':
      throw new HookplaneError('ROUTE_NOT_FOUND', 'There is no such route');
  }
}

async function readBody(route: Route, incoming: Incoming): Promise<Record<string, unknown>> {
  // A GET and a DELETE mean the same with and without a body.
  if (route.method === 'GET' || route.method === 'DELETE') return {};
  const value = await readJsonObject(incoming);
  const wanted = route.body ?? 'none';
  if (value === undefined && wanted === 'required')
    throw new HookplaneError('INVALID_BODY', 'The body is missing');
  const [field] = wanted === 'none' ? Object.keys(value ?? {}) : [];
  if (field !== undefined) {
    throw new HookplaneError(
      'INVALID_BODY',
      `This route takes no fields, but ${JSON.stringify(field)} was given`,
    );
  }
  return value ?? {};
}

/** The URL, for the requests that need it: parsing it takes longer than routing does. */
function publicUrl(head: RequestHead): () => URL {
  let known: URL | undefined;
  return () => {
    known ??= new URL(head.url);
    return known;
  };
}

/** The path that the request saw the control plane at; empty for the root. */
function mountOf(pathname: string, path: string): string {
  return pathname.endsWith(path) ? pathname.slice(0, pathname.length - path.length) : '';
}

/** Whole where the prefix is known; where the host may have stripped one, relative to the URL of the request. */
function locationOf(id: string, pathname: string, prefixKnown: boolean): string {
  const collection = pathname.replace(/\/$/, '');
  if (prefixKnown) return `${collection}/${id}`;
  return collection === pathname ? `${collection.slice(collection.lastIndexOf('/') + 1)}/${id}` : id;
}
