import {
  type DynamicModule,
  Inject,
  Module,
  type ModuleMetadata,
  type OnApplicationBootstrap,
  type OnApplicationShutdown,
  type Provider,
} from '@nestjs/common';
import type { Sender } from '../sender/sender.js';
import type { Settings } from './options.js';

/**
 * The token of the sender, for `overrideProvider`, `app.get` and the `inject` of factories. Registered by name: a
 * process may hold the CommonJS and the ES module copy of the package at once.
 */
export const HOOKPLANE_SENDER: symbol = Symbol.for('hookplane.sender');

export const SETTINGS: symbol = Symbol.for('hookplane.settings');

/** Injects the {@link Sender} of the `HookplaneModule`. */
export function InjectSender(): PropertyDecorator & ParameterDecorator {
  return Inject(HOOKPLANE_SENDER);
}

/** The sender as a provider, and its life: started behind the bootstrap, stopped when the application is closed. */
@Module({})
export class SenderModule implements OnApplicationBootstrap, OnApplicationShutdown {
  constructor(
    @Inject(HOOKPLANE_SENDER) private readonly sender: Sender,
    @Inject(SETTINGS) private readonly settings: Settings,
  ) {}

  static with(
    settings: Provider<Settings>,
    { imports, isGlobal }: Pick<ModuleMetadata, 'imports'> & { isGlobal: boolean },
  ): DynamicModule {
    return {
      module: SenderModule,
      global: isGlobal,
      imports: imports ?? [],
      providers: [
        settings,
        { provide: HOOKPLANE_SENDER, inject: [SETTINGS], useFactory: ({ sender }: Settings) => sender() },
      ],
      exports: [HOOKPLANE_SENDER, SETTINGS],
    };
  }

  async onApplicationBootstrap(): Promise<void> {
    if (this.settings.start) await this.sender.start();
  }

  /** Comes after the server has been closed, so nobody sends any more. */
  async onApplicationShutdown(): Promise<void> {
    const { drainMs } = this.settings;
    await this.sender.stop(drainMs === undefined ? {} : { drainMs });
  }
}
