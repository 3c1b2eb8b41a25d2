import Koa from 'koa';
import { adminMiddleware } from '../../lib/express/index.js';
import { type Host, mountContract } from '../contracts/mount.js';
import { servedPlaneContract } from '../contracts/served-plane.js';
import { send, servers } from '../express/http.js';
import { startSender } from '../support/sender.js';
import { exampleContract, servedByExample } from './examples.js';

const serve = servers();

// Koa tells of clients that leave while they send, whoever serves them.
beforeAll(() => void jest.spyOn(console, 'error').mockImplementation());
afterAll(() => jest.restoreAllMocks());

describe('examples/koa/server.mjs', () => {
  exampleContract('koa/server.mjs');
  servedPlaneContract(servedByExample('koa/server.mjs'));
});

describe('mounted in Koa, which has no mounts, by stripping the prefix as connect does', () => {
  const host: Host = {
    name: 'Koa',
    prefix: '/admin',
    listener(middleware, { before, after }) {
      const app = new Koa();
      app.use(async ({ req, res }, next) => {
        for (const step of before) {
          await new Promise<void>((resolve, reject) => {
            step(req, res, (error) => (error ? reject(error) : resolve()));
          });
        }
        await next();
      });
      app.use(async (ctx, next) => {
        const { req } = ctx;
        const [, rest] = /^\/admin(?=[/?]|$)(.*)/.exec(req.url!) ?? [];
        if (rest === undefined) return next();
        ctx.respond = false;
        Object.assign(req, { originalUrl: req.url, url: rest.startsWith('/') ? rest : `/${rest}` });
        await middleware(req, ctx.res);
      });
      app.use(async (ctx) => {
        ctx.respond = false;
        after(ctx.req, ctx.res, () => {});
      });
      return app.callback();
    },
  };
  mountContract(host, { name: 'no parser', steps: [] });
});

describe('in Koa', () => {
  it('what comes before has its part of the answer, and what comes back after it harms nothing', async () => {
    const sender = await startSender({ started: false });
    const admin = adminMiddleware(sender, { authorize: () => true, basePath: '/admin' });
    const errors = jest.fn();
    const app = new Koa().on('error', errors);
    app.use(async (ctx, next) => {
      ctx.set('x-frame-options', 'DENY');
      await next();
      ctx.set('x-late', '1');
      ctx.status = 500;
      ctx.body = 'late';
    });
    app.use(async (ctx) => {
      ctx.respond = false;
      await admin(ctx.req, ctx.res);
    });
    const { status, headers, text } = await send(await serve(app.callback()), { path: '/admin/endpoints' });
    expect([status, JSON.parse(text)]).toEqual([200, { endpoints: [], nextCursor: null }]);
    expect(headers).toMatchObject({ 'x-frame-options': 'DENY' });
    expect(headers).not.toHaveProperty('x-late');
    expect(errors).not.toHaveBeenCalled();
  });

  it('authorize is told who the caller is by what is put on the request of Node.js', async () => {
    const sender = await startSender({ started: false });
    const authorize = (_request: Request, { host }: { host: unknown }) =>
      (host as { req: { user?: string } }).req.user === 'ada';
    const admin = adminMiddleware(sender, { authorize, basePath: '/admin' });
    const app = new Koa();
    app.use(async (ctx, next) => {
      ctx.state.user = ctx.get('x-user');
      await next();
    });
    app.use(async (ctx) => {
      ctx.respond = false;
      await admin(Object.assign(ctx.req, { user: ctx.state.user }), ctx.res);
    });
    const port = await serve(app.callback());
    for (const [user, status] of [
      ['ada', 200],
      ['eve', 403],
    ] as const) {
      const answer = await send(port, { path: '/admin/endpoints', headers: { 'x-user': user } });
      expect([user, answer.status]).toEqual([user, status]);
    }
  });
});
