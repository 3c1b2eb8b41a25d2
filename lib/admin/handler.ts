import { HookplaneError } from '../model/errors.js';
import { createId } from '../model/ids.js';
import { defaultLogger, type Logger, safeLogger } from '../model/logger.js';
import type { Sender } from '../sender/sender.js';
import { type Authorize, decide } from './authorize.js';
import { readJsonObject, type SharedBody, shareBody } from './body.js';
import { readQuery } from './input.js';
import { type Answer, errorAnswer, jsonAnswer, MethodNotAllowed, toResponse } from './response.js';
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
  /** The largest request body. @default 262144 (256 KiB) */
  maxBodyBytes?: number;
  /** Told of what went wrong inside: a store that does not answer, an authorizer that throws or answers nonsense. */
  onError?: (error: unknown, details: { requestId: string }) => void;
  /** @default warnings and errors as Node.js process warnings */
  logger?: Logger;
}

/** What a host that is not Fetch-native knows better than the Request does. */
export interface AdminContext {
  /** The path relative to the mount, percent-encoded, without the query. @default the URL's path without `basePath` */
  path?: string;
  /** The method as it came, for one that no Request can have. @default the Request's */
  method?: string;
  /** Handed to `authorize`. */
  host?: unknown;
}

export type AdminHandler = (request: Request, context?: AdminContext) => Promise<Response>;

/**
 * The control plane over a sender, as a Fetch handler. It never rejects.
 * @throws HookplaneError `INVALID_OPTIONS`
 */
export function createAdminHandler(sender: Sender, options: AdminHandlerOptions = {}): AdminHandler {
  const answer = createControlPlane(sender, options);
  return async (request, context) => toResponse(await answer(request, context));
}

export type ControlPlane = (request: Request, context?: AdminContext) => Promise<Answer>;

/** What every kind of host shares: a request in, what to answer out. It never rejects. */
export function createControlPlane(sender: Sender, options: AdminHandlerOptions): ControlPlane {
  const { authorize, maxBodyBytes = 256 * 1024, onError } = options;
  // A logger that throws must not change an answer.
  const logger = safeLogger(options.logger ?? defaultLogger);
  const basePath = normalizeBasePath(options.basePath ?? '');
  if (authorize !== undefined && typeof authorize !== 'function') {
    throw new HookplaneError('INVALID_OPTIONS', 'authorize must be a function');
  }
  if (!Number.isInteger(maxBodyBytes) || maxBodyBytes < 1) {
    throw new HookplaneError('INVALID_OPTIONS', 'maxBodyBytes must be a whole number ≥ 1');
  }
  const router = createRouter(ROUTES);
  let warned = false;

  /** Never rejects, though onError may throw, or be an async function that rejects. */
  async function report(error: unknown, requestId: string): Promise<void> {
    try {
      if (onError) await onError(error, { requestId });
      else logger.error('The control plane failed', { requestId, error: describe(error) });
    } catch (second) {
      logger.error('onError of the control plane threw', { requestId, error: describe(second) });
    }
  }

  async function answer(request: Request, context: AdminContext, requestId: () => string): Promise<Answer> {
    const { pathname, search } = locate(request.url);
    const path = context.path ?? relativePath(pathname, basePath);
    const match: Match =
      path === null ? { kind: 'none' } : router.match(context.method ?? request.method, path);

    if (!authorize) {
      if (!warned) logger.warn('The control plane has no authorize callback: every request is refused');
      warned = true;
      throw new HookplaneError('FORBIDDEN', 'No access: the control plane has no authorize callback');
    }
    const body = shareBody(request, maxBodyBytes);
    const verdict = await decide(authorize, body.request, {
      operation: match.kind === 'route' ? match.route.operation : null,
      params: match.kind === 'route' ? match.params : {},
      host: context.host,
    });
    if (!verdict.allowed) {
      if ('fault' in verdict) void report(verdict.fault, requestId());
      throw verdict.status === 401
        ? new HookplaneError('UNAUTHORIZED', 'Authentication is required')
        : new HookplaneError('FORBIDDEN', 'No access');
    }
    const scope = verdict.tenantId === undefined ? sender : sender.forTenant(verdict.tenantId);

    const { route, params } = found(match);
    route.before?.({ scope, params });
    const query = readQuery(route, search);
    const result = await route.run({ scope, params, query, body: await readBody(route, body) });
    const headers: Record<string, string> =
      result.createdId === undefined
        ? {}
        : { location: `${pathname.replace(/\/$/, '')}/${result.createdId}` };
    return jsonAnswer(result.status, result.body, headers);
  }

  return async (request, context = {}) => {
    let known: string | undefined;
    const requestId = () => {
      known ??= createId('req', Date.now());
      return known;
    };
    let given: Answer;
    try {
      given = await answer(request, context, requestId);
    } catch (error) {
      given = errorAnswer(error, requestId);
      if (given.status >= 500) void report(error, requestId());
    }
    return (context.method ?? request.method) === 'HEAD' ? { ...given, body: null } : given;
  };
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

async function readBody(route: Route, body: SharedBody): Promise<Record<string, unknown>> {
  // A GET and a DELETE mean the same with and without a body.
  if (route.method === 'GET' || route.method === 'DELETE') return {};
  const value = await readJsonObject(body);
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

function locate(url: string): { pathname: string; search: string } {
  const { pathname, search } = new URL(url);
  return { pathname, search };
}

function normalizeBasePath(basePath: string): string {
  const trimmed = basePath.replace(/\/+$/, '');
  if (trimmed !== '' && !trimmed.startsWith('/')) {
    throw new HookplaneError('INVALID_OPTIONS', `basePath must begin with "/": ${JSON.stringify(basePath)}`);
  }
  // Spelled as the paths of requests are: their URLs are normalised.
  return trimmed === '' ? '' : new URL(trimmed, 'http://localhost').pathname;
}

/** Null when the path is not under the prefix. */
function relativePath(pathname: string, basePath: string): string | null {
  if (basePath === '') return pathname;
  if (pathname === basePath) return '/';
  return pathname.startsWith(`${basePath}/`) ? pathname.slice(basePath.length) : null;
}

function describe(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}
