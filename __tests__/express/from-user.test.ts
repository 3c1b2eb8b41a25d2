import type { Express } from 'express';
import request from 'supertest';
import type { Authorize, Decision } from '../../lib/admin/authorize.js';
import { anyOf } from '../../lib/admin/authorizers/any-of.js';
import { bearerToken } from '../../lib/admin/authorizers/bearer-token.js';
import { clientCertificate } from '../../lib/admin/authorizers/client-certificate.js';
import { readOnly } from '../../lib/admin/authorizers/read-only.js';
import { createAdminHandler } from '../../lib/admin/handler.js';
import { adminMiddleware, fromUser } from '../../lib/express/index.js';
import { startSender, type TestSender } from '../support/sender.js';
import { EXPRESSES, type TestUser, withPassport } from './signed-in.js';

const SIGN_IN = { errorCode: 'UNAUTHORIZED', error: 'Sign in to use this' };
const TOKEN = 'operator-0123456789';
const ENDPOINT = { url: 'https://receiver.test/hook' };
const CROSS_SITE = { 'sec-fetch-site': 'cross-site', origin: 'https://evil.example' };

const byRole = fromUser((user: TestUser): Decision => {
  if (user.role === 'operator') return { allow: true, actor: { id: user.name } };
  // As it is easily written, without a thought for a user who has no orgId.
  return user.role === 'customer' && { allow: true, tenantId: user.orgId as string };
});

let sender: TestSender;
let onError: jest.Mock;
beforeAll(async () => {
  sender = await startSender({ started: false, lifetime: 'file' });
  for (const id of ['acme', 'other']) await sender.tenants.setMetadata(id, {});
});
beforeEach(() => {
  onError = jest.fn();
});

describe.each(EXPRESSES)('fromUser under Passport in %s', (_name, express) => {
  function mounted(authorize: Authorize = byRole): Express {
    const app = withPassport(express());
    return app.use('/admin', adminMiddleware(sender, { authorize, onError }));
  }

  async function signedIn(name: string, app = mounted()) {
    const agent = request.agent(app);
    await agent.post(`/login/${name}`).expect(204);
    return agent;
  }

  it('answers 401 to who has not signed in, and reports nothing', async () => {
    const { body, headers } = await request(mounted()).get('/admin/tenants').expect(401);
    expect(body).toEqual(SIGN_IN);
    expect(headers['www-authenticate']).toBe('Bearer');
    await request(mounted()).post('/admin/endpoints').send(ENDPOINT).expect(401);
    expect(onError).not.toHaveBeenCalled();
  });

  it('lets an operator read and write', async () => {
    const ada = await signedIn('ada');
    const { body } = await ada.get('/admin/tenants').expect(200);
    expect(body.tenants).toHaveLength(2);
    await ada.post('/admin/endpoints').send(ENDPOINT).expect(201);
  });

  it('binds a customer to its tenant', async () => {
    const carol = await signedIn('carol');
    const { body } = await carol.get('/admin/tenants').expect(200);
    expect(body.tenants).toMatchObject([{ id: 'acme' }]);
  });

  it('answers 403 to a user whom the callback refuses', async () => {
    const eve = await signedIn('eve');
    const { body } = await eve.get('/admin/tenants').expect(403);
    expect(body).toEqual({ errorCode: 'FORBIDDEN', error: 'No access' });
  });

  it('answers 401 after the user has signed out', async () => {
    const ada = await signedIn('ada');
    await ada.post('/logout').expect(204);
    await ada.get('/admin/tenants').expect(401);
  });

  it('never takes a user without a tenant for an operator', async () => {
    const app = mounted(fromUser((user: TestUser) => ({ allow: true, tenantId: user.orgId as string })));
    await (await signedIn('ada', app)).get('/admin/tenants').expect(403);
    expect(onError.mock.calls[0][0].message).toMatch(/^authorize answered a tenantId that is undefined/);
  });

  it('tells the callback the user, the request and the operation', async () => {
    const heard = jest.fn(() => true);
    const ada = await signedIn('ada', mounted(fromUser(heard)));
    await ada.get('/admin/endpoints/ep_1').expect(404);
    const info = { operation: 'endpoints.get', params: { id: 'ep_1' }, host: expect.anything() };
    expect(heard).toHaveBeenCalledWith({ name: 'ada', role: 'operator' }, expect.any(Request), info);
  });

  it('refuses a cross-site request of a user, before the callback and without reading the body', async () => {
    const callback = jest.fn(() => true);
    const didRead: boolean[] = [];
    const app = withPassport(express());
    app.use((req, res, next) => {
      res.once('finish', () => didRead.push(req.readableDidRead));
      next();
    });
    app.use('/admin', adminMiddleware(sender, { authorize: fromUser(callback), onError }));
    const ada = await signedIn('ada', app);
    const { body } = await ada.post('/admin/endpoints').set(CROSS_SITE).send(ENDPOINT).expect(403);
    expect(body).toEqual({ errorCode: 'FORBIDDEN', error: 'The request was made by a page of another site' });
    expect(callback).not.toHaveBeenCalled();
    expect(didRead.at(-1)).toBe(false);
  });

  it('answers 401 to a cross-site request of nobody', async () => {
    await request(mounted()).post('/admin/endpoints').set(CROSS_SITE).send(ENDPOINT).expect(401);
  });

  describe('beside other authorizers', () => {
    const either = anyOf(byRole, bearerToken({ token: TOKEN, name: 'ci' }));

    it('leaves a bearer token its own say, also where it refuses the same request', async () => {
      const app = mounted(either);
      const bearer = { authorization: `Bearer ${TOKEN}` };
      await request(app).post('/admin/endpoints').set(bearer).send(ENDPOINT).expect(201);
      for (const name of ['ada', 'eve']) {
        const agent = await signedIn(name, app);
        await agent
          .post('/admin/endpoints')
          .set({ ...bearer, ...CROSS_SITE })
          .send(ENDPOINT)
          .expect(201);
      }
    });

    it('is not overruled by a bearer token that is not valid', async () => {
      const ada = await signedIn('ada', mounted(either));
      await ada.get('/admin/tenants').expect(200);
      for (const headers of [CROSS_SITE, { ...CROSS_SITE, authorization: 'Bearer x' }]) {
        await ada.post('/admin/endpoints').set(headers).send(ENDPOINT).expect(401);
      }
    });

    it('is not overruled by a certificate, which the browser sends for the other site as well', async () => {
      const header = 'ssl-client-s-dn';
      const certificate = clientCertificate({ header, fromProxy: ['127.0.0.1', '::1'], allow: () => true });
      const ada = await signedIn('ada', mounted(anyOf(byRole, certificate)));
      await ada.post('/admin/endpoints').set(header, 'CN=ada').send(ENDPOINT).expect(201);
      await ada.post('/admin/endpoints').set(header, 'CN=ada').set(CROSS_SITE).send(ENDPOINT).expect(403);
    });

    it('may be read-only', async () => {
      const ada = await signedIn('ada', mounted(readOnly(byRole)));
      await ada.get('/admin/tenants').expect(200);
      const { body } = await ada.post('/admin/endpoints').send(ENDPOINT).expect(403);
      expect(body.error).toBe('The access is read-only: it allows GET and HEAD');
    });
  });

  it('knows a certificate that was sent twice', async () => {
    const header = 'ssl-client-s-dn';
    const authorize = clientCertificate({ header, fromProxy: ['127.0.0.1', '::1'], allow: () => true });
    const app = express().use('/admin', adminMiddleware(sender, { authorize }));
    await request(app).get('/admin/tenants').set(header, 'CN=ada').expect(200);
    await request(app)
      .get('/admin/tenants')
      .set(header, ['CN=ada', 'CN=eve'] as never)
      .expect(401);
  });
});

describe('fromUser without a host', () => {
  it.each([undefined, null, {}, { req: null }, { req: 'req' }])(
    'denies and says what to change: %j',
    async (host) => {
      const handler = createAdminHandler(sender, { authorize: byRole, onError });
      const response = await handler(new Request('http://localhost/tenants'), { host });
      expect(response.status).toBe(403);
      expect(onError.mock.calls[0][0].message).toBe(
        'fromUser: there is no req.user to decide by: mount adminMiddleware of "hookplane/express", or give the handler { host: { req } }',
      );
    },
  );

  it.each([undefined, null, false, 0, ''])('answers 401 when req.user is %j', async (user) => {
    const handler = createAdminHandler(sender, { authorize: fromUser(() => true), onError });
    const host = { req: { user } };
    expect((await handler(new Request('http://localhost/tenants'), { host })).status).toBe(401);
  });

  it('wants a callback', () => {
    expect(() => fromUser(true as unknown as () => true)).toThrow(
      'fromUser: it needs a function that decides',
    );
  });
});
