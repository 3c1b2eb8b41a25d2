import { createServer } from 'node:http';
import express from 'express';
import type { BrowserContext, BrowserContextOptions, Page } from 'playwright-core';
import { bearerToken } from '../../lib/admin/authorizers/bearer-token.js';
import { adminMiddleware, dashboardMiddleware } from '../../lib/express/index.js';
import { close, listen } from '../express/http.js';
import { useBrowser } from '../support/browser.js';
import { onCleanUp } from '../support/clean-up.js';
import { type Receiver, startReceiver } from '../support/receiver.js';
import { startSender, type TestSender } from '../support/sender.js';
import { useBuiltPage } from './built-page.js';

/** No view waits longer before it reads again what it shows. */
const REFRESH_MS = 5000;

/** What a visitor may do goes by the token. */
export const TOKENS = {
  operator: 'operator-token-of-the-tests',
  acme: 'acme-token-of-the-tests',
  reader: 'reader-token-of-the-tests',
} as const;

export interface OpenOptions extends BrowserContextOptions {
  /** Whose token the tab has already; null opens the sign-in. @default 'operator' */
  as?: keyof typeof TOKENS | null;
}

export interface Dashboard {
  readonly sender: TestSender;
  readonly receiver: Receiver;
  /** A tab of its own, at a place such as `#/messages`. */
  open(hash: string, options?: OpenOptions): Promise<Page>;
  /** What pages have complained about since this was last asked: uncaught errors, and all that the policy refused. */
  complaints(): string[];
}

/** Lets the time pass after which a view is read again. */
export const passRefresh = (page: Page): Promise<void> => page.clock.fastForward(REFRESH_MS);

/**
 * An application with a sender that delivers, its control plane and the built dashboard, and a browser to look at it:
 * for all tests of the file.
 */
export function useDashboard(): () => Dashboard {
  useBuiltPage();
  const browser = useBrowser({ args: ['--disable-gpu', '--disable-background-networking'] });
  let dashboard: Dashboard | undefined;
  let pages: Page[] = [];
  let complaints: string[] = [];

  /** One for each kind of visitor: the script is compiled once. */
  const contexts = new Map<string, Promise<BrowserContext>>();

  function contextFor(
    as: keyof typeof TOKENS | null,
    options: BrowserContextOptions,
  ): Promise<BrowserContext> {
    const key = JSON.stringify([as, options]);
    const known = contexts.get(key) ?? makeContext(as, options);
    contexts.set(key, known);
    return known;
  }

  async function makeContext(as: keyof typeof TOKENS | null, options: BrowserContextOptions) {
    const context = await browser().newContext({ locale: 'en-GB', ...options });
    if (as !== null) {
      const token = JSON.stringify(TOKENS[as]);
      await context.addInitScript(
        `sessionStorage.setItem('hookplane.token ' + new URL('/admin', location.href).href, ${token})`,
      );
    }
    return context;
  }

  beforeAll(async () => {
    const sender = await startSender({ lifetime: 'file' });
    const receiver = await startReceiver('file');
    const authorize = bearerToken([
      { token: TOKENS.operator, name: 'Ada' },
      { token: TOKENS.acme, tenantId: 'acme', name: 'portal' },
      { token: TOKENS.reader, readOnly: true, name: 'Rita' },
    ]);
    const app = express();
    app.use('/admin', adminMiddleware(sender, { authorize }));
    app.use('/webhooks', dashboardMiddleware({ adminUrl: '/admin' }));
    const server = createServer(app);
    const port = await listen(server);
    onCleanUp('file', 'receiver', () => close(server));

    dashboard = {
      sender,
      receiver,
      complaints: () => complaints.splice(0),
      async open(hash, { as = 'operator', ...options } = {}) {
        const context = await contextFor(as, options);
        const page = await context.newPage();
        pages.push(page);
        // A clock that goes as clocks do, until a test sets it forward.
        await page.clock.install();
        page.setDefaultTimeout(15_000);
        page.on('pageerror', (error) => complaints.push(String(error.stack)));
        page.on('console', (message) => {
          // What the control plane refuses is told by the browser as well, which is none of the page's doing.
          const isRefusal = message.text().startsWith('Failed to load resource');
          if (message.type() === 'error' && !isRefusal) complaints.push(message.text());
        });
        await page.goto(`http://127.0.0.1:${port}/webhooks/${hash}`);
        return page;
      },
    };
  });

  beforeEach(() => {
    complaints = [];
  });
  afterEach(async () => {
    await Promise.all(pages.map((page) => page.close()));
    pages = [];
    expect(complaints).toEqual([]);
  });
  return () => {
    if (!dashboard) throw new Error('The dashboard is there when the first test of the file begins');
    return dashboard;
  };
}
