import type { MiddlewareConsumer } from '@nestjs/common';
import type { AbstractHttpAdapter } from '@nestjs/core';
import type { NodeMiddleware } from '../express/index.js';
import { type HostRequest, parseTarget } from '../express/target.js';

export interface MountPlace {
  consumer: MiddlewareConsumer;
  adapter: AbstractHttpAdapter;
  /** The application's; empty when it has none. */
  globalPrefix: string;
  useGlobalPrefix: boolean;
}

/**
 * Mounts middleware at a literal path and all that is below it. It runs behind what `app.use` was given, behind Nest's
 * body parser on Express, behind the middleware of modules nearer to the root, and before all controllers.
 */
export function mountMiddleware(
  middleware: NodeMiddleware,
  path: string,
  { consumer, adapter, globalPrefix, useGlobalPrefix }: MountPlace,
): void {
  const prefix = globalPrefix.replace(/^\/|\/$/g, '');
  const isPrefixed = prefix !== '' && useGlobalPrefix;
  const isFastify = adapter.getType() === 'fastify';
  const mounted = isFastify ? onlyBelow(isPrefixed ? `/${prefix}${path}` : path, middleware) : middleware;
  // Nest puts the prefix before whatever a consumer is given. Out of the prefix the middleware of modules does not
  // reach either, so that there is none to stand behind.
  if (prefix !== '' && !isPrefixed) adapter.use(path, mounted);
  else consumer.apply(mounted).forRoutes(isFastify ? path + fastifyWildcard(adapter) : path);
}

/** Express mounts a path; for Fastify, Nest makes a pattern of it that has to match the whole path. */
function fastifyWildcard(adapter: AbstractHttpAdapter): string {
  const { version } = adapter.getInstance<{ version: string }>();
  return /^[1-4]\./.test(version) ? '(.*)' : '{/*below}';
}

/**
 * Takes the mount's path off the request, as Express does. Fastify's middleware decodes a path before it compares it,
 * and how much of it is left over depends on the versions: here the path counts as it was sent.
 */
function onlyBelow(base: string, middleware: NodeMiddleware): NodeMiddleware {
  return async (req, res, next) => {
    const { originalUrl } = req as HostRequest;
    const { path, search } = parseTarget(typeof originalUrl === 'string' ? originalUrl : (req.url ?? '/'));
    if (path !== base && !path.startsWith(`${base}/`)) {
      next?.();
      return;
    }
    Object.assign(req, { baseUrl: base, url: (path.slice(base.length) || '/') + search });
    await middleware(req, res);
  };
}
