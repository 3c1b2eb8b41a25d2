import type { RequestListener } from 'node:http';
import type { MiddlewareConsumer, NestApplicationOptions, NestModule } from '@nestjs/common';
import type { NodeMiddleware } from '../../lib/express/index.js';
import { type Host, mountContract, type Parser, type Step } from '../contracts/mount.js';
import { onCleanUp } from '../support/clean-up.js';
import { type Stack, stacks } from './kit.js';

interface Place {
  name: string;
  prefix: string;
  options?: NestApplicationOptions;
  globalPrefix?: string;
  useGlobalPrefix?: boolean;
}

const places: Place[] = [
  { name: 'as it comes', prefix: '/admin' },
  { name: 'with a global prefix', prefix: '/admin', globalPrefix: 'api' },
  { name: 'below a global prefix', prefix: '/api/v1/admin', globalPrefix: '/api/v1/', useGlobalPrefix: true },
];

/** On Fastify, middleware comes before the parsers: what they are told makes no difference. */
const expressPlaces: Place[] = [
  ...places,
  { name: 'with rawBody', prefix: '/admin', options: { rawBody: true } },
  { name: 'without parsers', prefix: '/admin', options: { bodyParser: false } },
];

describe.each(stacks)('mounted by $name', (stack) => {
  describe.each(stack.platform === 'express' ? expressPlaces : places)('$name', (place) => {
    const objectsOnly = stack.platform === 'express' && place.options?.bodyParser !== false;
    const parser: Parser = { name: 'Nest', steps: [], objectsOnly };
    mountContract(hostOf(stack, place), parser);
  });
});

function hostOf(stack: Stack, place: Place): Host {
  return {
    name: stack.name,
    prefix: place.prefix,
    refusesBrokenEscapes: stack.platform === 'fastify',
    listener: (middleware, around) => start(stack, place, middleware, around),
  };
}

async function start(
  { kit, platform }: Stack,
  { options, globalPrefix = '', useGlobalPrefix = false }: Place,
  middleware: NodeMiddleware,
  { before, after }: { before: Step[]; after: Step },
): Promise<RequestListener> {
  const adapter = kit.adapter(platform);

  @kit.common.Module({})
  class AppModule implements NestModule {
    configure(consumer: MiddlewareConsumer): void {
      kit.mountMiddleware(middleware, '/admin', { consumer, adapter, globalPrefix, useGlobalPrefix });
      consumer.apply(after).forRoutes('*');
    }
  }

  const app = await kit.NestFactory.create(AppModule, adapter, {
    logger: false,
    abortOnError: false,
    ...options,
  });
  onCleanUp('file', 'receiver', () => app.close());
  for (const step of before) app.use(step);
  if (globalPrefix) app.setGlobalPrefix(globalPrefix);
  await app.init();
  const instance = adapter.getInstance();
  if (platform === 'express') return instance as RequestListener;
  await instance.ready();
  return instance.routing as RequestListener;
}
