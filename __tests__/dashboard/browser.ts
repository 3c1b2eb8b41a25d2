import { createServer, type RequestListener } from 'node:http';
import express, { type Express, type RequestHandler } from 'express';
import type { BrowserContext, Page } from 'playwright-core';
import { bearerToken } from '../../lib/admin/authorizers/bearer-token.js';
import type { DashboardHandlerOptions } from '../../lib/dashboard/index.js';
import { adminMiddleware, dashboardMiddleware, fromSession } from '../../lib/express/index.js';
import { close, listen } from '../express/http.js';
import { expressSession, type TestUser, withSession } from '../express/signed-in.js';
import { useBrowser } from '../support/browser.js';
import { onCleanUp } from '../support/clean-up.js';
import { type Receiver, startReceiver } from '../support/receiver.js';
import { recordingLogger, startSender, type TestSender } from '../support/sender.js';
import { useBuiltPage } from './built-page.js';

export const TOKEN = 'operator-token-of-the-tests';

/** To browsers, plain HTTP is as good as HTTPS here, and only here. */
export const LOOPBACK = '127.0.0.1';
/** Names of the application itself; of another origin of the same site; and of a site that has nothing to do with it. */
export const APP = 'app.example';
export const SIBLING = 'pages.app.example';
export const EVIL = 'evil.test';

/**
 * A Chromium that finds every name on this machine, and by itself speaks to nobody. Each test has a context of its own,
 * which is closed before the servers are.
 */
export function useDashboardBrowser(): () => BrowserContext {
  useBuiltPage();
  const browser = useBrowser({
    args: [
      '--host-resolver-rules=MAP * 127.0.0.1',
      '--disable-gpu',
      '--disable-quic',
      '--no-first-run',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
    ],
  });
  let context: BrowserContext | undefined;
  beforeEach(async () => {
    const opened = await browser().newContext({ locale: 'en-GB' });
    opened.setDefaultTimeout(15_000);
    onCleanUp('test', 'receiver', () => opened.close());
    context = opened;
  });
  return () => context!;
}

export interface SiteOptions {
  /** In front of the paths of control plane and dashboard. @default '' */
  prefix?: string;
  /** Runs before both. */
  before?: RequestHandler[];
  /** How visitors prove who they are. @default 'token' */
  login?: 'token' | 'session';
  dashboard?: Partial<DashboardHandlerOptions>;
}

export interface Site {
  app: Express;
  sender: TestSender;
  receiver: Receiver;
  port: number;
  /** The URL of a path. @param host the name in it; all of them are this site. @default LOOPBACK */
  url(path: string, host?: string): string;
}

/** An application with a sender that delivers, its control plane at /admin and the dashboard at /webhooks. */
export async function startSite({
  prefix = '',
  before = [],
  login,
  dashboard,
}: SiteOptions = {}): Promise<Site> {
  const sender = await startSender();
  const receiver = await startReceiver();
  const app = express();
  for (const step of before) app.use(step);
  if (login === 'session') withSession(app, expressSession());
  const authorize =
    login === 'session'
      ? fromSession(({ user }: { user?: TestUser }) =>
          user
            ? { allow: true, actor: { id: user.name }, ...(user.orgId && { tenantId: user.orgId }) }
            : { allow: false, status: 401 },
        )
      : bearerToken([{ token: TOKEN, name: 'Ada' }]);
  app.use(`${prefix}/admin`, adminMiddleware(sender, { authorize, logger: recordingLogger() }));
  app.use(`${prefix}/webhooks`, dashboardMiddleware({ adminUrl: `${prefix}/admin`, ...dashboard }));
  app.get(
    '/',
    (_req, res) => void res.type('html').send('<!doctype html><title>A page</title><body></body>'),
  );
  const port = await serveOn(app);
  return { app, sender, receiver, port, url: (path, host = LOOPBACK) => `http://${host}:${port}${path}` };
}

/** Closed at the end of the test. */
export async function serveOn(listener: RequestListener): Promise<number> {
  const server = createServer(listener);
  onCleanUp('test', 'receiver', () => close(server));
  return listen(server);
}

/** Two endpoints, one of which fails, and messages that were attempted for both. */
export async function fill({ sender, receiver }: Site): Promise<{ endpointId: string; messageId: string }> {
  receiver.answer('/fails', 500);
  const good = await sender.endpoints.create({ url: receiver.url('/works'), tenantId: 'acme' });
  await sender.endpoints.create({
    url: receiver.url('/fails'),
    tenantId: 'acme',
    retry: { delaysSeconds: [60], jitter: 0 },
  });
  const sent = await sender.sendMany(
    ['order.created', 'order.paid', 'invoice.paid'].map((type) => ({
      type,
      tenantId: 'acme',
      data: { note: '<img src=x onerror="document.title=1">' },
    })),
  );
  await receiver.waitFor(6);
  return { endpointId: good.id, messageId: sent[0]!.id };
}

export interface WatchedPage {
  page: Page;
  /** What the page said, and what was refused to it: errors in its console or code, and violations of its policy. */
  problems(): string[];
  /** The origins that it, or the browser on its behalf, has asked for something. */
  origins(): string[];
}

/** A tab whose doings are written down. */
export async function watchPage(context: BrowserContext): Promise<WatchedPage> {
  const page = await context.newPage();
  const problems: string[] = [];
  const origins = new Set<string>();
  page.on('pageerror', (error) => problems.push(`error: ${error.stack}`));
  page.on('console', (message) => {
    // Before a visitor has signed in, the control plane answers 401, which the browser tells as well.
    const isRefusal = /the server responded with a status of 401/.test(message.text());
    if (['error', 'warning'].includes(message.type()) && !isRefusal)
      problems.push(`console: ${message.text()}`);
  });
  page.on('request', (request) => origins.add(new URL(request.url()).origin));
  await page.exposeFunction('reportViolation', (text: string) => void problems.push(`policy: ${text}`));
  await page.addInitScript(`
    addEventListener('securitypolicyviolation', ({ violatedDirective, blockedURI, sample }) =>
      reportViolation([violatedDirective, blockedURI, sample].join(' ')));
  `);
  return { page, problems: () => problems, origins: () => [...origins] };
}

/** Enters the token at the gate. */
export async function signIn(page: Page, token = TOKEN): Promise<void> {
  await page.getByLabel('Token').fill(token);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('navigation').first().waitFor();
}
