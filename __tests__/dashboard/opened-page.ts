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
  /** A tab that nobody else has, and that knows nothing of who had it before, at a place such as `#/messages`. */
  open(hash: string, options?: OpenOptions): Promise<Page>;
  /** What pages have complained about since this was last asked: uncaught errors, and all that the policy refused. */
  complaints(): string[];
}

interface Visitor {
  context: BrowserContext;
  /** The tabs that no test has at present, on an empty page. */
  idle: Page[];
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
  let opened: { page: Page; visitor: Visitor }[] = [];
  let complaints: string[] = [];

  /** One for each kind of visitor: the script is compiled once. */
  const visitors = new Map<string, Promise<Visitor>>();

  function visitorFor(as: keyof typeof TOKENS | null, options: BrowserContextOptions): Promise<Visitor> {
    const key = JSON.stringify([as, options]);
    const known = visitors.get(key) ?? makeVisitor(as, options);
    visitors.set(key, known);
    return known;
  }

  async function makeVisitor(
    as: keyof typeof TOKENS | null,
    options: BrowserContextOptions,
  ): Promise<Visitor> {
    const context = await browser().newContext({ locale: 'en-GB', ...options });
    if (as !== null) {
      const token = JSON.stringify(TOKENS[as]);
      await context.addInitScript(
        `sessionStorage.setItem('hookplane.token ' + new URL('/admin', location.href).href, ${token})`,
      );
    }
    return { context, idle: [] };
  }

  async function newPage(context: BrowserContext): Promise<Page> {
    const page = await context.newPage();
    page.setDefaultTimeout(15_000);
    page.on('pageerror', (error) => complaints.push(String(error.stack)));
    page.on('console', (message) => {
      // What the control plane refuses is told by the browser as well, which is none of the page's doing.
      const isRefusal = message.text().startsWith('Failed to load resource');
      if (message.type() === 'error' && !isRefusal) complaints.push(message.text());
    });
    return page;
  }

  /** A tab costs more than most of what is done in it: the next test of this visitor has it too. */
  async function giveBack({ page, visitor }: { page: Page; visitor: Visitor }): Promise<void> {
    await page.unrouteAll({ behavior: 'ignoreErrors' });
    await page.goto(new URL('/', page.url()).href);
    await page.evaluate('sessionStorage.clear()');
    visitor.idle.push(page);
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
    app.get(
      '/',
      (_request, response) => void response.type('html').send('<!doctype html><title>Empty</title>'),
    );
    const server = createServer(app);
    const port = await listen(server);
    onCleanUp('file', 'receiver', () => close(server));

    dashboard = {
      sender,
      receiver,
      complaints: () => complaints.splice(0),
      async open(hash, { as = 'operator', ...options } = {}) {
        const visitor = await visitorFor(as, options);
        const page = visitor.idle.pop() ?? (await newPage(visitor.context));
        opened.push({ page, visitor });
        // A tab behind another draws nothing, and so sees nothing come into view.
        await page.bringToFront();
        // A clock that goes as clocks do, until a test sets it forward.
        await page.clock.install();
        await page.goto(`http://127.0.0.1:${port}/webhooks/${hash}`);
        return page;
      },
    };
  });

  beforeEach(() => {
    complaints = [];
  });
  afterEach(async () => {
    await Promise.all(opened.map(giveBack));
    opened = [];
    expect(complaints).toEqual([]);
  });
  return () => {
    if (!dashboard) throw new Error('The dashboard is there when the first test of the file begins');
    return dashboard;
  };
}
