import type {
  ArgumentsHost,
  CallHandler,
  INestApplication,
  MiddlewareConsumer,
  NestModule,
} from '@nestjs/common';
import session from 'express-session';
import type { Authorize } from '../../lib/admin/authorize.js';
import type { HookplaneModuleOptions } from '../../lib/nest/options.js';
import type { Step } from '../contracts/mount.js';
import { send } from '../express/http.js';
import { startSender, type TestSender } from '../support/sender.js';
import { type AppOptions, type RunningApp, stacks, startApp } from './kit.js';

interface HostContext {
  req: { user?: string; session?: { user?: string } };
}

const signIn =
  (user: string): Step =>
  (req, _res, next) => {
    Object.assign(req, { user });
    next();
  };
const isAda: Authorize = (_request, { host }) => (host as HostContext).req.user === 'ada';

describe.each(stacks)('the control plane in $name', (stack) => {
  const { kit, platform } = stack;
  const { All, Controller, Get, Injectable, Module, Post, UseGuards } = kit.common;
  const { HookplaneModule } = kit.hookplane;
  let sender: TestSender;
  let seen: string[];

  beforeEach(async () => {
    sender = await startSender({ started: false });
    seen = [];
  });

  const plane = (options: Partial<HookplaneModuleOptions> = {}) =>
    HookplaneModule.forRoot({
      sender,
      authorize: () => true,
      start: false,
      ...options,
    } as HookplaneModuleOptions);
  const start = (options?: Partial<HookplaneModuleOptions>, app?: AppOptions): Promise<RunningApp> =>
    startApp(stack, plane(options), app);
  const statuses = ({ port }: RunningApp, ...paths: string[]): Promise<number[]> =>
    Promise.all(paths.map(async (path) => (await send(port, { path })).status));

  describe('is mounted', () => {
    it('at /admin', async () => {
      const app = await start();
      expect(await statuses(app, '/admin/endpoints', '/endpoints', '/adminx/endpoints')).toEqual([
        200, 404, 404,
      ]);
    });

    it.each(['/internal/hooks.v1', 'internal/hooks.v1/'])('at %s, with and without slashes', async (path) => {
      const app = await start({ path });
      expect(await statuses(app, '/internal/hooks.v1/endpoints', '/admin/endpoints')).toEqual([200, 404]);
    });

    it('nowhere with path: false', async () => {
      expect(await statuses(await start({ path: false }), '/admin/endpoints')).toEqual([404]);
    });

    it('at its path whatever the global prefix and the versioning are', async () => {
      const prepare = (app: INestApplication) => {
        app.setGlobalPrefix('api', { exclude: ['other'] });
        app.enableVersioning({ type: kit.common.VersioningType.URI, defaultVersion: '1' });
      };
      const app = await start({}, { prepare });
      expect(
        await statuses(app, '/admin/endpoints', '/api/admin/endpoints', '/api/v1/admin/endpoints'),
      ).toEqual([200, 404, 404]);
    });

    it.each([
      { defaultVersion: '1' },
      { defaultVersion: ['1', '2'], prefix: false as const },
      { defaultVersion: '1', prefix: 'release-' },
    ])('at no second path below default versions: %j', async (versioning) => {
      const prepare = (app: INestApplication) =>
        void app.enableVersioning({ type: kit.common.VersioningType.URI, ...versioning });
      const app = await start({}, { prepare });
      expect(
        await statuses(
          app,
          '/admin/endpoints',
          '/v1/admin/endpoints',
          '/V1/Admin/endpoints',
          '/1/admin/endpoints',
          '/2/admin/endpoints',
          '/release-1/admin/endpoints',
        ),
      ).toEqual([200, 404, 404, 404, 404, 404]);
    });

    it('at no second path below a default version behind the global prefix', async () => {
      const prepare = (app: INestApplication) => {
        app.setGlobalPrefix('v1');
        app.enableVersioning({ type: kit.common.VersioningType.URI, defaultVersion: '1' });
      };
      const app = await start({ useGlobalPrefix: true }, { prepare });
      expect(await statuses(app, '/v1/admin/endpoints', '/v1/v1/admin/endpoints')).toEqual([200, 404]);
    });

    it.each(['api/v1', '/api/v1/'])('below the global prefix %s with useGlobalPrefix', async (prefix) => {
      const prepare = (app: INestApplication) => void app.setGlobalPrefix(prefix);
      const app = await start({ useGlobalPrefix: true }, { prepare });
      expect(
        await statuses(app, '/api/v1/admin/endpoints', '/api/v1/adminx/endpoints', '/admin/endpoints'),
      ).toEqual([200, 404, 404]);
      const { headers } = await send(app.port, {
        method: 'POST',
        path: '/api/v1/admin/endpoints',
        headers: { 'content-type': 'application/json' },
        body: '{"url":"https://receiver.test/hook"}',
      });
      expect(headers.location).toMatch(/^\/api\/v1\/admin\/endpoints\/ep_/);
    });

    it('before the controllers, and lets nothing fall through to them', async () => {
      @Controller()
      class CatchAll {
        @All('*')
        answer(): string {
          return 'the controller';
        }
      }
      @Module({ imports: [plane()], controllers: [CatchAll] })
      class AppModule {}
      const { port } = await startApp(stack, AppModule);
      const texts = await Promise.all(
        ['/admin/nowhere', '/other'].map(async (path) => (await send(port, { path })).text),
      );
      expect(texts).toEqual([expect.stringContaining('ROUTE_NOT_FOUND'), 'the controller']);
    });

    it('so that its path counts as it was sent', async () => {
      const app = await start();
      expect(
        await statuses(
          app,
          '/%61dmin/endpoints',
          '/admin/x/../endpoints',
          '/admin/%2e%2e/admin/endpoints',
          '/admin/tenants/a%252Fb',
        ),
      ).toEqual([404, 400, 400, 404]);
    });
  });

  describe('stands behind', () => {
    it('what app.use was given', async () => {
      const as = (user: string) =>
        start({ authorize: isAda }, { prepare: (app) => void app.use(signIn(user)) });
      expect(await statuses(await as('ada'), '/admin/endpoints')).toEqual([200]);
      expect(await statuses(await as('eve'), '/admin/endpoints')).toEqual([403]);
    });

    it.each([
      ['without a global prefix', {}, undefined, '/admin/endpoints'],
      ['below a global prefix', { useGlobalPrefix: true }, 'api', '/api/admin/endpoints'],
    ])('the middleware of the module that imports it, %s', async (_how, options, prefix, path) => {
      const root = plane({ ...options, authorize: isAda });
      @Module({ imports: [root] })
      class AppModule implements NestModule {
        configure(consumer: MiddlewareConsumer): void {
          consumer.apply(signIn('ada')).forRoutes('*');
        }
      }
      const prepare = (app: INestApplication) => void (prefix && app.setGlobalPrefix(prefix));
      expect(await statuses(await startApp(stack, AppModule, { prepare }), path)).toEqual([200]);
    });

    it('the middleware of a module that is imported before it', async () => {
      @Module({})
      class AuthModule implements NestModule {
        configure(consumer: MiddlewareConsumer): void {
          consumer.apply(signIn('ada')).forRoutes('*');
        }
      }
      @Module({ imports: [AuthModule, plane({ authorize: isAda })] })
      class AppModule {}
      expect(await statuses(await startApp(stack, AppModule), '/admin/endpoints')).toEqual([200]);
    });

    if (platform === 'express') {
      it('a session', async () => {
        @Controller()
        class Login {
          @Post('login')
          login(@kit.common.Session() current: { user?: string }): void {
            current.user = 'ada';
          }
        }
        const authorize: Authorize = (_request, { host }) =>
          (host as HostContext).req.session?.user === 'ada' || { allow: false, status: 401 };
        @Module({ imports: [plane({ authorize })], controllers: [Login] })
        class AppModule {}
        const { port } = await startApp(stack, AppModule, {
          prepare: (app) =>
            void app.use(session({ secret: 'a secret', resave: false, saveUninitialized: false })),
        });
        const login = await send(port, { method: 'POST', path: '/login' });
        const [cookie = ''] = login.headers['set-cookie'] ?? [];
        const ask = async (headers: Record<string, string>) =>
          (await send(port, { path: '/admin/endpoints', headers })).status;
        expect([await ask({}), await ask({ cookie: cookie.split(';')[0]! })]).toEqual([401, 200]);
      });
    }

    // There the headers are Fastify's own, and middleware answers without them.
    const corsReachesMiddleware = stack.name !== 'Nest 10 on Fastify 4';
    if (corsReachesMiddleware)
      it('enableCors', async () => {
        const { port } = await start({}, { prepare: (app) => app.enableCors({ origin: 'https://ui.test' }) });
        const { headers } = await send(port, { path: '/admin/endpoints' });
        expect(headers['access-control-allow-origin']).toBe('https://ui.test');
      });
  });

  it('is not touched by guards, interceptors, pipes and exception filters, nor keeps them from the others', async () => {
    @Injectable()
    class Guard {
      canActivate(): boolean {
        seen.push('guard');
        return true;
      }
    }
    @Injectable()
    class Refuses {
      canActivate(): boolean {
        return false;
      }
    }
    @Injectable()
    class Interceptor {
      intercept(_context: unknown, next: CallHandler): unknown {
        seen.push('interceptor');
        return next.handle();
      }
    }
    @kit.common.Catch()
    class Filter {
      catch(_error: unknown, host: ArgumentsHost): void {
        seen.push('filter');
        const response = host.switchToHttp().getResponse();
        response.status(418).send('filtered');
      }
    }
    @Controller('orders')
    class Orders {
      @Get()
      list(@kit.common.Query() query: unknown): unknown {
        return query;
      }
      @Get('secret')
      @UseGuards(Refuses)
      secret(): string {
        return 'secret';
      }
    }
    @Module({
      imports: [plane()],
      controllers: [Orders],
      providers: [
        { provide: kit.APP_GUARD, useClass: Guard },
        { provide: kit.APP_INTERCEPTOR, useClass: Interceptor },
        { provide: kit.APP_FILTER, useClass: Filter },
      ],
    })
    class AppModule {}
    const pipe = { transform: (value: unknown) => seen.push('pipe') && value };
    const app = await startApp(stack, AppModule, { prepare: (each) => void each.useGlobalPipes(pipe) });
    expect(await statuses(app, '/admin/endpoints', '/admin/nowhere', '/admin/messages?a=b')).toEqual([
      200, 404, 400,
    ]);
    expect(seen).toEqual([]);
    expect(await statuses(app, '/orders?a=b', '/orders/secret')).toEqual([200, 418]);
    expect(seen).toEqual(['guard', 'interceptor', 'pipe', 'guard', 'filter']);
  });

  it.each([
    ['as it comes', {}],
    ['with rawBody', { rawBody: true }],
  ])("takes bodies behind Nest's own parsers, %s", async (_how, options) => {
    const { port } = await start({}, options);
    const post = async (path: string, type: string, body: string) =>
      (await send(port, { method: 'POST', path, headers: { 'content-type': type }, body })).status;
    const JSON_TYPE = 'application/json';
    expect([
      await post('/admin/endpoints', JSON_TYPE, '{"url":"https://receiver.test/hook"}'),
      await post('/admin/endpoints', JSON_TYPE, '{}'),
      await post('/admin/endpoints', JSON_TYPE, '[]'),
      await post('/admin/keys/symmetric', JSON_TYPE, ''),
      await post('/admin/endpoints', 'application/x-www-form-urlencoded', 'url=https://receiver.test/hook'),
    ]).toEqual([201, 422, 400, 201, 415]);
  });
});
