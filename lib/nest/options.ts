import type { FactoryProvider, ModuleMetadata } from '@nestjs/common';
import { type CreateSenderOptions, createSender } from '../create-sender.js';
import type { AdminMiddlewareOptions } from '../express/index.js';
import { HookplaneError } from '../model/errors.js';
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
  /** Put the global prefix in front of `path`. @default false */
  useGlobalPrefix?: boolean;
  /**
   * Begin to deliver when the application has been bootstrapped. A process with `false` sends and serves the control
   * plane, and leaves the delivering to others.
   * @default true
   */
  start?: boolean;
  /** How long a shutdown waits for attempts under way, in milliseconds. @default 10000 */
  drainMs?: number;
}

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
  /** Each of them by name, so that the compiler misses here what the control plane learns later. */
  controlPlane: { [Name in keyof Required<ControlPlaneOptions>]: ControlPlaneOptions[Name] };
  sender(): Sender;
}

/** Only what means itself to the router of every host: parameters and wildcards are spelled differently. */
const PATH = /^(?:\/[A-Za-z0-9_][A-Za-z0-9._~-]*)+$/;

/** @throws HookplaneError `INVALID_OPTIONS` */
export function resolveSettings(options: HookplaneModuleOptions): Settings {
  const { path = '/admin', useGlobalPrefix = false, start = true, drainMs, ...rest } = options;
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
  return {
    path: path === false ? null : normalizePath(path),
    useGlobalPrefix,
    start,
    drainMs,
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

/** As Nest takes paths: with or without slashes around them. */
function normalizePath(path: unknown): string {
  const normalized = `/${String(path).replace(/^\/|\/$/g, '')}`;
  if (typeof path !== 'string' || !PATH.test(normalized)) {
    throw invalid(
      `path must be false or a literal path below the root, such as /admin: ${JSON.stringify(path)}`,
    );
  }
  return normalized;
}

function invalid(message: string): HookplaneError {
  return new HookplaneError('INVALID_OPTIONS', message);
}
