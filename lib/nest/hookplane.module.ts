import { type DynamicModule, Inject, type MiddlewareConsumer, Module, type NestModule } from '@nestjs/common';
import { ApplicationConfig, HttpAdapterHost } from '@nestjs/core';
import { adminMiddleware, dashboardMiddleware, type NodeMiddleware } from '../express/index.js';
import type { Sender } from '../sender/sender.js';
import { mountMiddleware } from './mount.js';
import {
  type HookplaneModuleAsyncOptions,
  type HookplaneModuleOptions,
  type ModuleScope,
  resolveSettings,
  type Settings,
} from './options.js';
import { HOOKPLANE_SENDER, SenderModule, SETTINGS } from './sender.module.js';

/**
 * A sender and its control plane in a NestJS application, on Express and on Fastify. The sender can be injected
 * (`@InjectSender()`); it is started when the application has been bootstrapped, and stopped by `app.close()`, or by a
 * signal after `app.enableShutdownHooks()`. That holds for a `sender` that is passed in, too.
 *
 * The control plane is middleware: guards, interceptors, pipes and exception filters do not see its requests. Who may
 * enter is for `authorize` to say, which finds Node.js's or Express's request, with whatever earlier middleware put
 * on it, in `host`.
 */
// Two modules, since the middleware of a global one runs before that of all others in Nest 11 and later: the sender's
// may be global, and this one never is.
@Module({})
export class HookplaneModule implements NestModule {
  constructor(
    @Inject(HOOKPLANE_SENDER) private readonly sender: Sender,
    @Inject(SETTINGS) private readonly settings: Settings,
    @Inject(HttpAdapterHost) private readonly host: HttpAdapterHost,
    @Inject(ApplicationConfig) private readonly config: ApplicationConfig,
  ) {}

  /** @throws HookplaneError `INVALID_OPTIONS`, when the application is created */
  static forRoot({ isGlobal, ...options }: HookplaneModuleOptions & ModuleScope): DynamicModule {
    return HookplaneModule.forRootAsync({
      ...(isGlobal === undefined ? {} : { isGlobal }),
      useFactory: () => options as HookplaneModuleOptions,
    });
  }

  /**
   * The same with options that a factory makes of what is injected.
   * @throws HookplaneError `INVALID_OPTIONS`, when the application is created
   */
  static forRootAsync({
    isGlobal = true,
    imports,
    inject = [],
    useFactory,
  }: HookplaneModuleAsyncOptions): DynamicModule {
    // A factory also for options that are at hand: Nest 10 serialises values, however large, to tell modules apart.
    const settings = {
      provide: SETTINGS,
      inject,
      useFactory: async (...injected: unknown[]) => resolveSettings(await useFactory(...injected)),
    };
    const senderModule = SenderModule.with(settings, { imports, isGlobal });
    return { module: HookplaneModule, imports: [senderModule], exports: [senderModule] };
  }

  configure(consumer: MiddlewareConsumer): void {
    const { path, useGlobalPrefix, controlPlane, dashboard } = this.settings;
    const mounts: [string, NodeMiddleware][] = [];
    if (path !== null) mounts.push([path, adminMiddleware(this.sender, controlPlane)]);
    if (dashboard) mounts.push([dashboard.path, dashboardMiddleware(dashboard.options)]);
    // One may be below the other, which answers all that comes to it.
    mounts.sort(([a], [b]) => b.length - a.length);
    for (const [at, middleware] of mounts) {
      mountMiddleware(middleware, at, {
        consumer,
        adapter: this.host.httpAdapter,
        globalPrefix: this.config.getGlobalPrefix(),
        useGlobalPrefix,
        versioning: this.config.getVersioning(),
      });
    }
  }
}
