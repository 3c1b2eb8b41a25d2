import connect from 'connect';
import type { Express, RequestHandler } from 'express';
import request from 'supertest';
import type { Decision } from '../../lib/admin/authorize.js';
import { createAdminHandler } from '../../lib/admin/handler.js';
import { adminMiddleware, fromSession } from '../../lib/express/index.js';
import { startSender, type TestSender } from '../support/sender.js';
import { cookieSessions, EXPRESSES, expressSession, type TestUser, withSession } from './signed-in.js';

const SIGN_IN = { errorCode: 'UNAUTHORIZED', error: 'Sign in to use this' };
const ENDPOINT = { url: 'https://receiver.test/hook' };

const bySession = fromSession(({ user }: { user?: TestUser }): Decision => {
  if (!user) return { allow: false, status: 401, publicMessage: 'Nobody has signed in' };
  return user.role === 'operator' || (user.orgId !== undefined && { allow: true, tenantId: user.orgId });
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

const MIDDLEWARE: [string, () => RequestHandler][] = [
  ['express-session', expressSession],
  ['cookie-session', cookieSessions],
];

describe.each(EXPRESSES)('fromSession in %s', (_host, express) => {
  describe.each(MIDDLEWARE)('by %s', (_name, middleware) => {
    function mounted(): Express {
      const app = withSession(express(), middleware());
      return app.use('/admin', adminMiddleware(sender, { authorize: bySession, onError }));
    }

    async function signedIn(name: string) {
      const agent = request.agent(mounted());
      await agent.post(`/login/${name}`).expect(204);
      return agent;
    }

    it('leaves it to the callback to see that nobody has signed in', async () => {
      const { body } = await request(mounted()).get('/admin/tenants').expect(401);
      expect(body).toEqual({ errorCode: 'UNAUTHORIZED', error: 'Nobody has signed in' });
      expect(onError).not.toHaveBeenCalled();
    });

    it('lets in, binds and refuses as the callback says', async () => {
      const ada = await signedIn('ada');
      expect((await ada.get('/admin/tenants').expect(200)).body.tenants).toHaveLength(2);
      await ada.post('/admin/endpoints').send(ENDPOINT).expect(201);
      const carol = await signedIn('carol');
      expect((await carol.get('/admin/tenants').expect(200)).body.tenants).toMatchObject([{ id: 'acme' }]);
      await (await signedIn('eve')).get('/admin/tenants').expect(403);
    });

    it('answers 401 after the session has ended', async () => {
      const ada = await signedIn('ada');
      await ada.post('/logout').expect(204);
      await ada.get('/admin/tenants').expect(401);
    });

    it('refuses a cross-site request', async () => {
      const ada = await signedIn('ada');
      await ada.post('/admin/keys/symmetric').set('sec-fetch-site', 'same-site').expect(403);
      await ada.post('/admin/keys/symmetric').set('sec-fetch-site', 'same-origin').expect(201);
    });
  });

  it('answers 401 by itself when the session was ended by the same request', async () => {
    const end: RequestHandler = (req, _res, next) => {
      Object.assign(req, { session: null });
      next();
    };
    for (const [, middleware] of MIDDLEWARE) {
      const app = express().use(middleware(), end);
      app.use('/admin', adminMiddleware(sender, { authorize: fromSession(() => true), onError }));
      expect((await request(app).get('/admin/tenants').expect(401)).body).toEqual(SIGN_IN);
    }
    expect(onError).not.toHaveBeenCalled();
  });

  it('answers 401 and reports it when the session middleware is missing', async () => {
    const app = express().use(
      '/admin',
      adminMiddleware(sender, { authorize: fromSession(() => true), onError }),
    );
    expect((await request(app).get('/admin/tenants').expect(401)).body).toEqual(SIGN_IN);
    expect(onError.mock.calls[0][0].message).toBe(
      'fromSession: there is no req.session: mount the session middleware before hookplane',
    );
  });
});

describe('fromSession elsewhere', () => {
  it('works in connect', async () => {
    const app = connect();
    app.use(cookieSessions() as connect.NextHandleFunction);
    app.use('/admin', adminMiddleware(sender, { authorize: bySession, onError }));
    const { body } = await request(app).get('/admin/tenants').expect(401);
    expect(body.error).toBe('Nobody has signed in');
  });

  it('denies without a host, and says what to change', async () => {
    const handler = createAdminHandler(sender, { authorize: fromSession(() => true), onError });
    expect((await handler(new Request('http://localhost/tenants'))).status).toBe(403);
    expect(onError.mock.calls[0][0].message).toMatch(
      /^fromSession: there is no req\.session to decide by: mount/,
    );
  });

  it('wants a callback', () => {
    expect(() => fromSession(null as unknown as () => true)).toThrow(
      'fromSession: it needs a function that decides',
    );
  });
});
