import type { FactoryProvider, ModuleMetadata } from '@nestjs/common';
import { type CreateSenderOptions, createSender } from '../create-sender.js';
import type { AdminMiddlewareOptions, DashboardMiddlewareOptions } from '../express/index.js';
import { HookplaneError } from '../model/errors.js';
import type { Logger } from '../model/logger.js';
import type { Sender } from '../sender/sender.js';
import { nestLogger } from './logger.js';

/** What the module decides itself. */
interface OwnOptions {
  /**
   * Where the control plane is mounted: the public path, whatever the global prefix and the versioning say. All that
   * is below it is the control plane's. `false` mounts none.
   * @default '/admin'
   */
  path?: string | false;
  /** Put the global prefix in front of `path` and `dashboardPath`. @default false */
  useGlobalPrefix?: boolean;
  /**
   * Where the dashboard is mounted, such as `/webhooks`: a public path, as `path` is. Everybody may load its page, which
   * holds no data and asks the control plane for all that it shows. `false` mounts none.
   * @default false
   */
  dashboardPath?: string | false;
  /** The title, the theme and the like of the dashboard. It finds the control plane at `path`, unless `adminUrl` is given. */
  dashboard?: DashboardOptions;
  /**
   * Begin to deliver when the application has been bootstrapped. A process with `false` sends and serves the control
   * plane, and leaves the delivering to others.
   * @default true
   */
  start?: boolean;
  /** How long a shutdown waits for attempts under way, in milliseconds. @default 10000 */
  drainMs?: number;
}

type DashboardOptions = Partial<Omit<DashboardMiddlewareOptions, 'basePath' | 'logger'>>;

type ControlPlaneOptions = Omit<AdminMiddlewareOptions, 'basePath'>;

/** A sender that is there already. Its options are its own: the module takes none for it. */
type GivenSender = { sender: Sender } & {
  [Name in Exclude<keyof CreateSenderOptions, keyof ControlPlaneOptions>]?: never;
};

/**
 * The options of `createSender`, or a `sender`, beside those of the control plane and of the module itself. `logger`
 * is for both, and is Nest's own unless it is given.
 */
export type HookplaneModuleOptions = OwnOptions &
  ControlPlaneOptions &
  (GivenSender | (CreateSenderOptions & { sender?: never }));

export interface ModuleScope {
  /** Lets every module inject the sender. Otherwise only those that import `HookplaneModule` can. @default true */
  isGlobal?: boolean;
}

export interface HookplaneModuleAsyncOptions extends ModuleScope, Pick<ModuleMetadata, 'imports'> {
  /** What `useFactory` is called with; it comes from `imports` or from global modules. */
  inject?: FactoryProvider['inject'];
  // biome-ignore lint/suspicious/noExplicitAny: what is injected has whatever types the factory declares.
  useFactory: (...injected: any[]) => HookplaneModuleOptions | Promise<HookplaneModuleOptions>;
}

export interface Settings {
  /** With a leading slash and no trailing one; null when nothing is to be mounted. */
  path: string | null;
  useGlobalPrefix: boolean;
  start: boolean;
  drainMs: number | undefined;
  /** Null when none is to be mounted. */
  dashboard: { path: string; options: DashboardMiddlewareOptions } | null;
  /** Each of them by name, so that the compiler misses here what the control plane learns later. */
  controlPlane: { [Name in keyof Required<ControlPlaneOptions>]: ControlPlaneOptions[Name] };
  sender(): Sender;
}

/** Only what means itself to the router of every host: parameters and wildcards are spelled differently. */
const PATH = /^(?:\/[A-Za-z0-9_][A-Za-z0-9._~-]*)+$/;

/** @throws HookplaneError `INVALID_OPTIONS` */
export function resolveSettings(options: HookplaneModuleOptions): Settings {
  const {
    useGlobalPrefix = false,
    start = true,
    drainMs,
    dashboardPath = false,
    dashboard,
    ...others
  } = options;
  const { path: givenPath = '/admin', ...rest } = others;
  const {
    authorize,
    requireTenant,
    maxBodyBytes,
    onError,
    logger = nestLogger(),
    sender,
    ...senderOptions
  } = rest;
  if (typeof useGlobalPrefix !== 'boolean') throw invalid('useGlobalPrefix must be a boolean');
  if (typeof start !== 'boolean') throw invalid('start must be a boolean');
  if (drainMs !== undefined && !(typeof drainMs === 'number' && drainMs >= 0)) {
    throw invalid('drainMs must be a number of milliseconds ≥ 0');
  }
  // By the key: a `sender` that came out undefined must not become a sender with a store of its own.
  const given = 'sender' in options;
  if (given) checkGiven(sender, senderOptions);
  const path = givenPath === false ? null : normalizePath('path', givenPath);
  return {
    path,
    useGlobalPrefix,
    start,
    drainMs,
    dashboard: resolveDashboard(dashboardPath, dashboard, { path, logger }),
    controlPlane: { authorize, requireTenant, maxBodyBytes, onError, logger },
    sender: () => (given ? (sender as Sender) : createSender({ ...senderOptions, logger })),
  };
}

function checkGiven(sender: unknown, senderOptions: object): void {
  if (typeof (sender as Partial<Sender> | null | undefined)?.forTenant !== 'function') {
    throw invalid('sender must be one that createSender made');
  }
  const [name] = Object.entries(senderOptions).find(([, value]) => value !== undefined) ?? [];
  if (name !== undefined) throw invalid(`${name} has no effect beside sender: give it to createSender`);
}

function resolveDashboard(
  given: unknown,
  options: DashboardOptions | undefined,
  { path: adminPath, logger }: { path: string | null; logger: Logger },
): Settings['dashboard'] {
  if (given === false) {
    if (options !== undefined)
      throw invalid('dashboard has no effect without dashboardPath: say where it is');
    return null;
  }
  const path = normalizePath('dashboardPath', given);
  if (path === adminPath) throw invalid(`dashboardPath must be another path than path, ${path}`);
  const adminUrl = options?.adminUrl ?? (adminPath === null ? undefined : relativePath(path, adminPath));
  if (adminUrl === undefined) {
    throw invalid('dashboardPath needs dashboard.adminUrl, as path is false: say where the control plane is');
  }
  return { path, options: { ...options, adminUrl, logger } };
}

/** From a page in the folder `from`: relative, as a proxy may change what is in front of both paths. */
function relativePath(from: string, to: string): string {
  const [steps, target] = [from.slice(1).split('/'), to.slice(1).split('/')];
  const known = target.slice(0, -1).findIndex((segment, index) => segment !== steps[index]);
  const shared = known === -1 ? Math.min(target.length - 1, steps.length) : known;
  const way = [...steps.slice(shared).map(() => '..'), ...target.slice(shared)];
  return way[0] === '..' ? way.join('/') : `./${way.join('/')}`;
}

/** As Nest takes paths: with or without slashes around them. */
function normalizePath(name: string, path: unknown): string {
  const normalized = `/${String(path).replace(/^\/|\/$/g, '')}`;
  if (typeof path !== 'string' || !PATH.test(normalized)) {
    throw invalid(
      `${name} must be false or a literal path below the root, such as /admin: ${JSON.stringify(path)}`,
    );
  }
  return normalized;
}

function invalid(message: string): HookplaneError {
  return new HookplaneError('INVALID_OPTIONS', message);
}
