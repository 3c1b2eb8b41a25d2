import type { AddressInfo } from 'node:net';
import type * as Common from '@nestjs/common';
import type { INestApplication, NestApplicationOptions, Type } from '@nestjs/common';
import type * as Core from '@nestjs/core';
import type * as Nest from '../../lib/nest/index.js';
import type * as Mount from '../../lib/nest/mount.js';
import { type Lifetime, onCleanUp } from '../support/clean-up.js';

/** One version of NestJS, and hookplane/nest as it loads beside it. */
export interface Kit
  extends Pick<typeof Core, 'NestFactory' | 'APP_GUARD' | 'APP_FILTER' | 'APP_INTERCEPTOR'> {
  common: typeof Common;
  hookplane: typeof Nest;
  mountMiddleware: typeof Mount.mountMiddleware;
  adapter(platform: Platform): Core.AbstractHttpAdapter;
}

export type Platform = 'express' | 'fastify';

export interface Stack {
  name: string;
  kit: Kit;
  platform: Platform;
}

const PACKAGES = [
  '@nestjs/common',
  '@nestjs/core',
  '@nestjs/platform-express',
  '@nestjs/platform-fastify',
] as const;

/** Each version in a module registry of its own, in which the sources of lib find that version. */
function loadKit(folder: string): Kit {
  const load = <T extends object>(name: string): T => jest.requireActual<T>(`${folder}${name}`);
  let kit: Kit | undefined;
  jest.isolateModules(() => {
    if (folder !== '') for (const name of PACKAGES) jest.doMock(name, () => load(name));
    const core = load<typeof Core>('@nestjs/core');
    const platforms = {
      express: load<{ ExpressAdapter: new () => Core.AbstractHttpAdapter }>('@nestjs/platform-express'),
      fastify: load<{ FastifyAdapter: new () => Core.AbstractHttpAdapter }>('@nestjs/platform-fastify'),
    };
    kit = {
      ...core,
      common: load<typeof Common>('@nestjs/common'),
      hookplane: require('../../lib/nest/index.js'),
      mountMiddleware: require('../../lib/nest/mount.js').mountMiddleware,
      adapter: (platform) =>
        platform === 'express'
          ? new platforms.express.ExpressAdapter()
          : new platforms.fastify.FastifyAdapter(),
    };
    for (const name of PACKAGES) jest.dontMock(name);
  });
  return kit!;
}

const kits = { 10: loadKit('./nest-10/node_modules/'), 11: loadKit('') };

/** What the module is for, as far as Jest can load it: Nest 12 consists of ES modules alone. */
export const stacks: Stack[] = [
  { name: 'Nest 11 on Express 5', kit: kits[11], platform: 'express' },
  { name: 'Nest 11 on Fastify 5', kit: kits[11], platform: 'fastify' },
  { name: 'Nest 10 on Express 4', kit: kits[10], platform: 'express' },
  { name: 'Nest 10 on Fastify 4', kit: kits[10], platform: 'fastify' },
];

export interface AppOptions extends NestApplicationOptions {
  /** What `main.ts` does between the creation and the start. */
  prepare?: (app: INestApplication) => void;
  lifetime?: Lifetime;
}

export interface RunningApp {
  app: INestApplication;
  port: number;
  url: string;
}

/** Starts an application as its `main.ts` would. It is closed when its lifetime ends. */
export async function startApp(
  { kit, platform }: Pick<Stack, 'kit' | 'platform'>,
  root: Type | Common.DynamicModule,
  { prepare, lifetime = 'test', ...options }: AppOptions = {},
): Promise<RunningApp> {
  const app = await kit.NestFactory.create(root, kit.adapter(platform), {
    logger: false,
    abortOnError: false,
    ...options,
  });
  onCleanUp(lifetime, 'receiver', () => app.close());
  prepare?.(app);
  await app.listen(0, '127.0.0.1');
  const { port } = app.getHttpServer().address() as AddressInfo;
  return { app, port, url: `http://127.0.0.1:${port}` };
}
