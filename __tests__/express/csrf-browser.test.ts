import http from 'node:http';
import https from 'node:https';
import express from 'express';
import type { CookieOptions } from 'express-session';
import type { BrowserContext, Page } from 'playwright-core';
import { adminMiddleware, fromSession } from '../../lib/express/index.js';
import { certificate, certificateKey } from '../sender/tls-fixture.js';
import { useBrowser } from '../support/browser.js';
import { startSender, type TestSender } from '../support/sender.js';
import { waitFor } from '../support/wait-for.js';
import { close, listen } from './http.js';
import { expressSession, type TestUser, withSession } from './signed-in.js';

// Every name is this machine, so that pages can be of sites and origins of their own.
const browser = useBrowser({ args: ['--host-resolver-rules=MAP * 127.0.0.1'] });
const APP = 'app.example';
/** Of the same site, but another origin: it gets the cookies of that site, whatever their SameSite. */
const SIBLING = 'pages.app.example';
const EVIL = 'evil.test';

const PROTECTED = '/admin/keys/symmetric';
/** The same control plane with `csrf: false`: what comes of the attack when nothing stops it. */
const UNPROTECTED = '/unprotected/keys/symmetric';

/** What the server saw of a request, and what it answered. */
interface Seen {
  path: string;
  /** The cookie came along. */
  user: string | undefined;
  status: number;
  origin: string | undefined;
  site: string | undefined;
}

let sender: TestSender;
let server: http.Server | undefined;
let seen: Seen[];
let context: BrowserContext;
beforeAll(async () => {
  sender = await startSender({ started: false, lifetime: 'file' });
});
beforeEach(async () => {
  seen = [];
  context = await browser().newContext({ ignoreHTTPSErrors: true });
});
afterEach(async () => {
  await context.close();
  if (server) await close(server);
});

async function serve(scheme: 'http' | 'https', cookie: CookieOptions): Promise<(host: string) => string> {
  const app = withSession(express(), expressSession(cookie));
  app.use((req, res, next) => {
    const { user } = req.session as { user?: TestUser };
    // Not `finish`: the browser hangs up on an answer that the page may not read.
    res.once('close', () => {
      const { origin, 'sec-fetch-site': site } = req.headers as Record<string, string | undefined>;
      seen.push({ path: req.originalUrl, user: user?.name, status: res.statusCode, origin, site });
    });
    next();
  });
  const decideOn = ({ user }: { user?: TestUser }) => user !== undefined;
  app.use('/admin', adminMiddleware(sender, { authorize: fromSession(decideOn) }));
  app.use('/unprotected', adminMiddleware(sender, { authorize: fromSession(decideOn, { csrf: false }) }));
  app.get('/', (_req, res) => void res.send('<!doctype html><title>A page</title><body></body>'));
  server =
    scheme === 'http'
      ? http.createServer(app)
      : https.createServer({ cert: certificate, key: certificateKey }, app);
  const port = await listen(server);
  return (host) => `${scheme}://${host}:${port}`;
}

async function signIn(url: (host: string) => string): Promise<void> {
  const page = await context.newPage();
  await page.goto(url(APP));
  await page.evaluate("fetch('/login/ada', { method: 'POST' })");
  await page.close();
}

/** A page of the host, which the victim has come to. */
async function open(address: string): Promise<Page> {
  const page = await context.newPage();
  await page.goto(address);
  return page;
}

const submitForm = (page: Page, action: string): Promise<unknown> =>
  page.evaluate(`(() => {
    const form = Object.assign(document.createElement('form'), { method: 'POST', action: ${JSON.stringify(action)} });
    document.body.append(form);
    form.submit();
  })()`);

const callFetch = (page: Page, url: string): Promise<unknown> =>
  page.evaluate(
    `fetch(${JSON.stringify(url)}, { method: 'POST', mode: 'no-cors', credentials: 'include' }).then(() => {})`,
  );

/** From a sandboxed frame, whose origin is no origin at all. */
const submitSandboxed = (page: Page, action: string): Promise<unknown> =>
  page.evaluate(`(() => {
    const frame = document.createElement('iframe');
    frame.sandbox = 'allow-scripts allow-forms allow-top-navigation';
    frame.srcdoc = ${JSON.stringify(`<form method="POST" target="_top" action="${action}"></form><script>document.forms[0].submit()</script>`)};
    document.body.append(frame);
  })()`);

async function outcome(path: string): Promise<Seen> {
  return waitFor(() => seen.find((each) => each.path === path));
}

type Way = (page: Page, url: string) => Promise<unknown>;
type Attack = [name: string, scheme: 'http' | 'https', cookie: CookieOptions, host: string, way: Way];
const NONE: CookieOptions = { sameSite: 'none', secure: true };

// A cookie without SameSite goes along with a form of any site for two minutes after it was set, one with
// SameSite=None always, and one with Strict with all that comes of a sibling.
const ATTACKS: Attack[] = [
  ['a form of another site', 'http', {}, EVIL, submitForm],
  ['a form of another site, in a sandbox', 'http', {}, EVIL, submitSandboxed],
  ['a form of another site, in a sandbox', 'https', {}, EVIL, submitSandboxed],
  ['a form of another site', 'https', NONE, EVIL, submitForm],
  ['a form of a sibling', 'http', { sameSite: 'strict' }, SIBLING, submitForm],
  ['a form of a sibling', 'https', { sameSite: 'strict', secure: true }, SIBLING, submitForm],
  ['fetch of a sibling', 'http', { sameSite: 'lax' }, SIBLING, callFetch],
  ['fetch of a sibling', 'https', { sameSite: 'strict', secure: true }, SIBLING, callFetch],
];

describe('in a browser, the cookie of who has signed in', () => {
  it.each(ATTACKS)(
    'is of no use to %s, by %s with the cookie %j on %s',
    async (_name, scheme, cookie, host, way) => {
      const url = await serve(scheme, cookie);
      await signIn(url);
      await way(await open(url(host)), url(APP) + UNPROTECTED);
      const control = await outcome(UNPROTECTED);
      expect(control).toMatchObject({ user: 'ada', status: 201 });
      await way(await open(url(host)), url(APP) + PROTECTED);
      const { status, user, origin, site } = await outcome(PROTECTED);
      expect({ status, user }).toEqual({ status: 403, user: 'ada' });
      // Browsers send Sec-Fetch-Site to HTTPS alone, so both halves of the rule have had their turn.
      expect({ origin, site }).toEqual({
        origin: way === submitSandboxed ? 'null' : url(host),
        site: scheme === 'http' ? undefined : host === SIBLING ? 'same-site' : 'cross-site',
      });
    },
  );

  it.each<[string, 'http' | 'https', CookieOptions, Way]>([
    ['a form', 'http', {}, submitForm],
    ['a form', 'https', NONE, submitForm],
    ['fetch', 'http', { sameSite: 'strict' }, callFetch],
    ['fetch', 'https', { sameSite: 'strict', secure: true }, callFetch],
  ])('serves %s of the application’s own, by %s with the cookie %j', async (_name, scheme, cookie, way) => {
    const url = await serve(scheme, cookie);
    await signIn(url);
    await way(await open(url(APP)), url(APP) + PROTECTED);
    const site = scheme === 'http' ? undefined : 'same-origin';
    expect(await outcome(PROTECTED)).toMatchObject({ user: 'ada', status: 201, origin: url(APP), site });
  });
});
