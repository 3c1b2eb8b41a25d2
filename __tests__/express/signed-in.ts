import cookieSession from 'cookie-session';
import express, { type Express, type RequestHandler } from 'express';
import session from 'express-session';
import passport from 'passport';

// The types of Express 5 serve for both: what the tests use of Express 4 is the same.
const express4 = jest.requireActual<typeof express>('express4');

export const EXPRESSES: [string, typeof express][] = [
  ['Express 5', express],
  ['Express 4', express4],
];

export interface TestUser {
  name: string;
  role?: string | undefined;
  orgId?: string | undefined;
}

export const USERS: Readonly<Record<string, TestUser>> = {
  ada: { name: 'ada', role: 'operator' },
  carol: { name: 'carol', role: 'customer', orgId: 'acme' },
  eve: { name: 'eve' },
};

const SECRET = 'a secret of the session';

export function expressSession(cookie: session.CookieOptions = {}): RequestHandler {
  return session({ secret: SECRET, resave: false, saveUninitialized: false, unset: 'destroy', cookie });
}

export function cookieSessions(): RequestHandler {
  return cookieSession({ name: 'session', keys: [SECRET] }) as RequestHandler;
}

/** An application in which `POST /login/ada` and `POST /logout` do what they say, by Passport. */
export function withPassport(app: Express): Express {
  const authenticator = new passport.Passport();
  const strategy = Object.assign(new passport.Strategy(), {
    authenticate(this: passport.StrategyCreated<passport.Strategy>, req: express.Request) {
      const user = USERS[req.params.name as string];
      if (user) this.success(user);
      else this.fail(401);
    },
  });
  authenticator.use('by-name', strategy);
  authenticator.serializeUser((user, done) => done(null, (user as TestUser).name));
  authenticator.deserializeUser((name: string, done) => done(null, (USERS[name] ?? false) as Express.User));
  app.use(expressSession(), authenticator.initialize(), authenticator.session());
  app.post('/login/:name', authenticator.authenticate('by-name'), (_req, res) => {
    res.sendStatus(204);
  });
  app.post('/logout', (req, res, next) => {
    req.logout((error) => (error ? next(error) : res.sendStatus(204)));
  });
  return app;
}

/** An application in which `POST /login/ada` and `POST /logout` write to the session themselves. */
export function withSession(app: Express, middleware: RequestHandler): Express {
  app.use(middleware);
  app.post('/login/:name', (req, res) => {
    Object.assign(req.session, { user: USERS[req.params.name as string] });
    res.sendStatus(204);
  });
  app.post('/logout', (req, res) => {
    Object.assign(req, { session: null });
    res.sendStatus(204);
  });
  return app;
}
