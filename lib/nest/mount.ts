import { type MiddlewareConsumer, type VersioningOptions, VersioningType } from '@nestjs/common';
import type { AbstractHttpAdapter } from '@nestjs/core';
import type { NodeMiddleware } from '../express/index.js';
import { type HostRequest, parseTarget } from '../express/target.js';

export interface MountPlace {
  consumer: MiddlewareConsumer;
  adapter: AbstractHttpAdapter;
  /** The application's; empty when it has none. */
  globalPrefix: string;
  useGlobalPrefix: boolean;
  /** The application's; absent when it has none. */
  versioning?: VersioningOptions | undefined;
}

/**
 * Mounts middleware at a literal path and all that is below it. It runs behind what `app.use` was given, behind Nest's
 * body parser on Express, behind the middleware of modules nearer to the root, and before all controllers.
 */
export function mountMiddleware(
  middleware: NodeMiddleware,
  path: string,
  { consumer, adapter, globalPrefix, useGlobalPrefix, versioning }: MountPlace,
): void {
  const prefix = globalPrefix.replace(/^\/|\/$/g, '');
  const isPrefixed = prefix !== '' && useGlobalPrefix;
  const isFastify = adapter.getType() === 'fastify';
  const base = isPrefixed ? `/${prefix}` : '';
  const mounted = isFastify
    ? onlyBelow(base + path, middleware)
    : exceptAt(
        defaultVersionPaths(versioning).map((version) => base + version + path),
        middleware,
      );
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

/** What stands before the paths of routes that name no version themselves, where versions are in the path. */
function defaultVersionPaths(versioning: VersioningOptions | undefined): string[] {
  if (versioning?.type !== VersioningType.URI) return [];
  const { prefix = 'v', defaultVersion = [] } = versioning;
  return [defaultVersion]
    .flat()
    .filter((version) => typeof version === 'string')
    .map((version) => `/${prefix === false ? '' : prefix}${version}`);
}

/**
 * On Express, Nest mounts middleware below its default versions as well. A second path to the control plane is one that
 * no rule of a proxy for the first one covers. An application within another has more before these paths.
 */
function exceptAt(bases: string[], middleware: NodeMiddleware): NodeMiddleware {
  if (bases.length === 0) return middleware;
  return async (req, res, next) => {
    const mountedAt = (req as HostRequest).baseUrl;
    const isOther =
      typeof mountedAt === 'string' &&
      bases.some((base) => mountedAt.toLowerCase().endsWith(base.toLowerCase()));
    if (isOther) next?.();
    else await middleware(req, res, next);
  };
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
