// An application of NestJS 12, which Jest cannot load: the test compiles it and runs it in a process of its own.
import type { AddressInfo } from 'node:net';
import {
  Body,
  Controller,
  Injectable,
  type MiddlewareConsumer,
  Module,
  type NestModule,
  Post,
} from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { ExpressAdapter } from '@nestjs/platform-express';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import { type Sender, sqliteStore } from 'hookplane';
import { HookplaneModule, InjectSender } from 'hookplane/nest';

@Injectable()
class Config {
  token = 'Bearer ada';
}

@Module({ providers: [Config], exports: [Config] })
class ConfigModule {}

@Injectable()
class Orders {
  constructor(@InjectSender() private readonly sender: Sender) {}

  async place(order: unknown): Promise<string> {
    const { id } = await this.sender.send({ type: 'order.created', data: order });
    return id;
  }
}

@Controller('orders')
class OrdersController {
  constructor(private readonly orders: Orders) {}

  @Post()
  async place(@Body() order: unknown): Promise<{ messageId: string }> {
    return { messageId: await this.orders.place(order) };
  }
}

const PLATFORMS = { Express: () => new ExpressAdapter(), Fastify: () => new FastifyAdapter() };
const PLACES = [
  { prefix: '', useGlobalPrefix: false },
  { prefix: 'api', useGlobalPrefix: false },
  { prefix: 'api', useGlobalPrefix: true },
];

async function start(platform: keyof typeof PLATFORMS, { prefix, useGlobalPrefix }: (typeof PLACES)[number]) {
  const plane = HookplaneModule.forRootAsync({
    imports: [ConfigModule],
    inject: [Config],
    useFactory: async ({ token }: Config) => ({
      store: sqliteStore({ file: ':memory:' }),
      secretKey: 'ab'.repeat(32),
      allowHttp: true,
      allowTargets: ['127.0.0.1'],
      useGlobalPrefix,
      authorize: (_request, { host }) => (host as { req: { token?: string } }).req.token === token,
    }),
  });
  const readToken = (
    req: { token?: string; headers: { authorization?: string } },
    _res: unknown,
    next: () => void,
  ) => {
    if (req.headers.authorization) req.token = req.headers.authorization;
    next();
  };

  @Module({ imports: [plane], controllers: [OrdersController], providers: [Orders] })
  class AppModule implements NestModule {
    configure(consumer: MiddlewareConsumer): void {
      if (prefix === '' || useGlobalPrefix) consumer.apply(readToken).forRoutes('{*path}');
    }
  }

  const app = await NestFactory.create(AppModule, PLATFORMS[platform](), { logger: ['error', 'warn'] });
  if (prefix !== '' && !useGlobalPrefix) app.use(readToken);
  app.setGlobalPrefix(prefix);
  app.enableShutdownHooks();
  await app.listen(0, '127.0.0.1');
  const { port } = app.getHttpServer().address() as AddressInfo;
  const url = `http://127.0.0.1:${port}`;
  const path = useGlobalPrefix ? `/${prefix}/admin` : '/admin';
  return {
    name: `${platform}, at ${path}${prefix && ` with the global prefix ${prefix}`}`,
    admin: `${url}${path}`,
    orders: `${url}${prefix && `/${prefix}`}/orders`,
  };
}

async function main(): Promise<void> {
  const apps = [];
  for (const place of PLACES) {
    for (const platform of ['Express', 'Fastify'] as const) apps.push(await start(platform, place));
  }
  process.stdout.write(`${JSON.stringify(apps)}\n`);
}

void main();
