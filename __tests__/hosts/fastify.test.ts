import middie from '@fastify/middie';
import Fastify, { type FastifyInstance } from 'fastify';
import { adminMiddleware } from '../../lib/express/index.js';
import { type Host, mountContract } from '../contracts/mount.js';
import { servedPlaneContract } from '../contracts/served-plane.js';
import { startSender } from '../support/sender.js';
import { exampleContract, servedByExample } from './examples.js';

const ORDER = {
  method: 'POST' as const,
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify({ url: 'https://receiver.test/hook' }),
};

describe('examples/fastify/server.mjs', () => {
  exampleContract('fastify/server.mjs');
  servedPlaneContract(servedByExample('fastify/server.mjs'));
});

describe('mounted in Fastify', () => {
  const host: Host = {
    name: 'Fastify',
    prefix: '/admin',
    refusesBrokenEscapes: true,
    async listener(middleware, { before, after }) {
      const app = Fastify();
      await app.register(middie);
      for (const step of before) app.use(step);
      app.use('/admin', middleware);
      app.setNotFoundHandler((request, reply) => {
        reply.hijack();
        after(request.raw, reply.raw, () => {});
      });
      await app.ready();
      return (req, res) => app.routing(req, res);
    },
  };
  mountContract(host, { name: 'no parser', steps: [] });
});

describe('in Fastify', () => {
  const onError = jest.fn();
  beforeEach(() => onError.mockClear());

  async function mounted(
    mount: (app: FastifyInstance, admin: ReturnType<typeof adminMiddleware>) => unknown,
  ) {
    const sender = await startSender({ started: false });
    const app = Fastify();
    await mount(app, adminMiddleware(sender, { authorize: () => true, basePath: '/admin', onError }));
    return app;
  }

  it('a plain route comes after the parser, which has taken the body', async () => {
    const app = await mounted((app, admin) =>
      app.all('/admin/*', (request, reply) => {
        reply.hijack();
        return admin(request.raw, reply.raw);
      }),
    );
    const { statusCode } = await app.inject({ ...ORDER, url: '/admin/endpoints', payload: ORDER.body });
    expect(statusCode).toBe(400);
    expect(String(onError.mock.calls[0])).toMatch('neither req.body nor req.rawBody holds it');
    const form = { 'content-type': 'application/x-www-form-urlencoded' };
    const refused = await app.inject({ ...ORDER, url: '/admin/endpoints', headers: form, payload: 'a=1' });
    expect(refused.json()).toMatchObject({ statusCode: 415, code: 'FST_ERR_CTP_INVALID_MEDIA_TYPE' });
  });

  it('a plugin of its own never sees a request of the control plane', async () => {
    const app = await mounted((app, admin) =>
      app.register(async (plugin) => {
        await plugin.register(middie);
        plugin.use('/admin', admin);
      }),
    );
    expect((await app.inject('/admin/endpoints')).json()).toMatchObject({ error: 'Not Found' });
  });
});
