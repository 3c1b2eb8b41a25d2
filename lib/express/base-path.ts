import { pathBelow } from '../model/base-path.js';
import type { NodeContext } from './node-bridge.js';
import { type HostRequest, mountPath } from './target.js';

/**
 * What follows `basePath` in the public path; where the host mounts by itself as well, in the path below its mount.
 * Null for a path that is in neither.
 */
export function pathBelowBase(
  basePath: string,
  { path, host }: Pick<NodeContext, 'path' | 'host'>,
): string | null {
  return pathBelow(basePath, mountPath(host.req as HostRequest) + path) ?? pathBelow(basePath, path);
}
