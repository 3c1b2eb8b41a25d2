import type { RequestHandler } from 'express';
import helmet from 'helmet';
import http, { type RequestListener } from 'node:http';
import type { Page } from 'playwright-core';
import { eventually } from '../support/wait-for.js';
import {
  APP,
  EVIL,
  fill,
  LOOPBACK,
  serveOn,
  SIBLING,
  signIn,
  type Site,
  startSite,
  useDashboardBrowser,
  type WatchedPage,
  watchPage,
} from './browser.js';

const context = useDashboardBrowser();

/** An address, and the heading of the view that it leads to. */
type View = readonly [hash: string, heading: string];

const VIEWS: readonly View[] = [
  ['#/endpoints', 'Endpoints'],
  ['#/messages?type=order.created', 'Messages'],
  ['#/replay', 'Replay'],
  ['#/tenants', 'Tenants'],
  ['#/keys', 'Keys'],
  ['#/audit', 'Audit'],
  ['#/', 'Overview'],
];

/** Opens one view after another, and waits each time until it has what it asked for. */
async function walk(page: Page, views: readonly View[]): Promise<void> {
  for (const [hash, heading] of views) {
    await page.evaluate(`location.hash = ${JSON.stringify(hash)}`);
    await page.getByRole('heading', { level: 1, name: heading }).waitFor();
    await page.locator('.skeleton').first().waitFor({ state: 'detached' });
  }
}

async function openDashboard(address: string): Promise<WatchedPage> {
  const watched = await watchPage(context());
  await watched.page.goto(address);
  return watched;
}

/** Signs in and walks through views, the last of which shows the plots of an endpoint. */
async function openAndWalk(site: Site, address: string, views: readonly View[]): Promise<WatchedPage> {
  const { endpointId, messageId } = await fill(site);
  const watched = await openDashboard(address);
  await signIn(watched.page);
  await walk(watched.page, [
    ...views,
    [`#/messages/${messageId}`, 'order.created'],
    [`#/endpoints/${endpointId}`, site.receiver.url('/works')],
  ]);
  return watched;
}

describe('the page in a browser', () => {
  it('keeps to its policy and its origin in every view, and says nothing in the console', async () => {
    const site = await startSite();
    const { page, problems, origins } = await openAndWalk(site, site.url('/webhooks'), VIEWS);
    expect(page.url()).toMatch(new RegExp(`^${site.url('/webhooks/')}#/endpoints/`));
    // Plots lay themselves out by styles that are set by script.
    const plot = page.locator('.uplot .u-over').first();
    await plot.waitFor();
    expect(await plot.getAttribute('style')).toMatch(/\bwidth: \d+px/);
    expect((await plot.boundingBox())!.width).toBeGreaterThan(100);
    expect(problems()).toEqual([]);
    expect(origins()).toEqual([new URL(site.url('/')).origin]);
  });

  it('works below a nested prefix and behind helmet', async () => {
    const site = await startSite({ prefix: '/api/acme/v1', before: [helmet() as RequestHandler] });
    const { problems, origins } = await openAndWalk(site, site.url('/api/acme/v1/webhooks'), []);
    expect(problems()).toEqual([]);
    expect(origins()).toEqual([new URL(site.url('/')).origin]);
  });

  it('works behind a proxy that changes the prefix, with an adminUrl relative to the page', async () => {
    const site = await startSite({ prefix: '/inside', dashboard: { adminUrl: '../admin' } });
    const port = await serveOn(proxyTo(site.port, (path) => path.replace(/^\/tools\/deep\//, '/inside/')));
    const address = `http://${LOOPBACK}:${port}/tools/deep/webhooks?from=mail`;
    const { problems, origins } = await openAndWalk(site, address, []);
    expect(problems()).toEqual([]);
    expect(origins()).toEqual([`http://${LOOPBACK}:${port}`]);
  });

  it('talks to a control plane on another origin that lets it', async () => {
    const admin = await startSite({ before: [allowOrigins] });
    const site = await startSite({ dashboard: { adminUrl: admin.url('/admin') } });
    await fill(admin);
    const { page, problems, origins } = await openDashboard(site.url('/webhooks'));
    await signIn(page);
    await walk(page, [['#/messages', 'Messages']]);
    await page.getByText('invoice.paid').first().waitFor();
    expect(problems()).toEqual([]);
    expect(origins()).toEqual([new URL(site.url('/')).origin, new URL(admin.url('/')).origin]);
  });

  it('takes the colours of a theme, and shows a title as text', async () => {
    const title = '<b>Acme</b> & "Co"';
    const site = await startSite({
      dashboard: { title, theme: { '--hp-accent': 'rgb(1, 2, 3)', '--hp-font': '"Courier New", monospace' } },
    });
    const { page, problems } = await openDashboard(site.url('/webhooks'));
    await page.getByRole('button', { name: 'Sign in' }).waitFor();
    expect(await page.getByRole('heading', { level: 1 }).textContent()).toContain(title);
    expect(await page.title()).toContain(title);
    const read = (property: string) =>
      page.evaluate(`getComputedStyle(document.documentElement).getPropertyValue('${property}')`);
    expect(await read('--hp-accent')).toBe('rgb(1, 2, 3)');
    expect(await page.evaluate('getComputedStyle(document.body).fontFamily')).toContain('Courier New');
    expect(problems()).toEqual([]);
  });
});

describe('the policy in a browser', () => {
  it('refuses scripts and styles that are not the page’s own, and all of other origins', async () => {
    const site = await startSite();
    const { page, problems } = await openDashboard(site.url('/webhooks'));
    await page.getByLabel('Token').waitFor();
    await page.evaluate(`(() => {
      const add = (name, properties) => document.body.append(Object.assign(document.createElement(name), properties));
      add('script', { textContent: 'document.title = "inline"' });
      add('script', { src: ${JSON.stringify(site.url('/evil.js', EVIL))} });
      add('style', { textContent: 'body { display: none }' });
      add('img', { src: ${JSON.stringify(site.url('/pixel.gif', EVIL))} });
      add('div', { innerHTML: '<img src="data:," onerror="document.title = 1">' });
      add('base', { href: ${JSON.stringify(site.url('/', EVIL))} });
      add('iframe', { src: '/' });
      fetch(${JSON.stringify(site.url('/', EVIL))}).catch(() => {});
    })()`);
    const refused = () =>
      new Set(problems().flatMap((text) => (text.startsWith('policy: ') ? [text.split(' ')[1]] : [])));
    await eventually(() =>
      expect(refused()).toEqual(
        new Set([
          'script-src-elem',
          'script-src-attr',
          'style-src-elem',
          'img-src',
          'base-uri',
          'frame-src',
          'connect-src',
        ]),
      ),
    );
    expect(await page.title()).toBe('Webhooks');
  });

  it.each([
    ['nobody', [], SIBLING, false],
    ['whom frameAncestors name, whatever helmet has said', [`http://${SIBLING}:*`], SIBLING, true],
    ['nobody else', [`http://${SIBLING}:*`], EVIL, false],
  ])('lets %s show the page in a frame', async (_, frameAncestors, host, isShown) => {
    const site = await startSite({ before: [helmet() as RequestHandler], dashboard: { frameAncestors } });
    // The page around it is one without a policy.
    const port = await serveOn(
      (_req, res) => void res.setHeader('content-type', 'text/html').end('<body></body>'),
    );
    const page = await context().newPage();
    await page.goto(`http://${host}:${port}/`);
    const loaded = page.waitForEvent('framenavigated', (frame) => frame !== page.mainFrame());
    await page.evaluate(`document.body.append(
      Object.assign(document.createElement('iframe'), { src: ${JSON.stringify(site.url('/webhooks/'))} }))`);
    const frame = await loaded;
    await frame.waitForLoadState();
    expect(await frame.locator('#app').count()).toBe(isShown ? 1 : 0);
  });
});

describe('a visitor who has signed in to the application', () => {
  async function signedIn(host: string): Promise<Site> {
    const site = await startSite({ login: 'session' });
    await fill(site);
    await inAnotherTab(site, '/login/ada', host);
    return site;
  }

  async function inAnotherTab(site: Site, path: string, host = LOOPBACK): Promise<void> {
    const page = await context().newPage();
    await page.goto(site.url('/', host));
    await page.evaluate(`fetch('${path}', { method: 'POST' })`);
    await page.close();
  }

  const comeBack = (page: Page): Promise<unknown> =>
    page.evaluate("document.dispatchEvent(new Event('visibilitychange'))");

  /** The status that a page's own request is answered with, or what became of it. */
  const post = (page: Page, address: string, init = '{}'): Promise<unknown> =>
    page.evaluate(
      `fetch(${JSON.stringify(address)}, { method: 'POST', credentials: 'include', ...${init} })
        .then((response) => response.status, (error) => error.name)`,
    );

  it('sees the data without a token, and may change it from the page', async () => {
    const site = await signedIn(LOOPBACK);
    const { page, problems } = await openDashboard(site.url('/webhooks/#/messages'));
    await page.getByText('invoice.paid').first().waitFor();
    expect(await post(page, '/admin/keys/symmetric')).toBe(201);
    expect(problems()).toEqual([]);
  });

  it('finds the view of who has signed in when the tab is come back to, and nothing of the one before', async () => {
    const site = await signedIn(LOOPBACK);
    await site.sender.send({ type: 'of.globex', tenantId: 'globex', data: 1 });
    const { page } = await openDashboard(site.url('/webhooks/#/messages'));
    await page.getByText('of.globex').waitFor();
    await page.getByRole('link', { name: 'Tenants' }).click();
    await page.getByRole('heading', { name: 'Tenants' }).waitFor();

    await inAnotherTab(site, '/login/carol');
    await comeBack(page);
    await page.getByText('There is no such view').waitFor();
    await page.getByText('carol').waitFor();
    // What the operator has read of messages is not even there until they are read again.
    let release = () => {};
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    await page.route('**/admin/messages*', (route) => held.then(() => route.continue()));
    await page.getByRole('link', { name: 'Messages' }).click();
    await page.getByRole('heading', { name: 'Messages' }).waitFor();
    expect(await page.getByText('of.globex').count()).toBe(0);
    release();
    await page.getByText('invoice.paid').waitFor();
    expect(await page.getByText('of.globex').count()).toBe(0);

    await inAnotherTab(site, '/logout');
    await comeBack(page);
    await page.getByText('Your access has ended.', { exact: false }).waitFor();
    await inAnotherTab(site, '/login/ada');
    await comeBack(page);
    await page.getByText('of.globex').waitFor();
  });

  it('is shown the view of the present caller once something is refused', async () => {
    const site = await signedIn(LOOPBACK);
    await site.sender.tenants.setMetadata('globex', {});
    const { page } = await openDashboard(site.url('/webhooks/#/tenants'));
    await page.getByRole('button', { name: 'Limit: globex' }).click();
    await page.getByLabel('Per second').fill('5');
    await inAnotherTab(site, '/login/carol');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('There is no such view').waitFor();
    await page.getByText('carol').waitFor();
    expect((await site.sender.tenants.get('globex')).rateLimit).toBeNull();
  });

  it('is asked for a token where the cookie is not enough', async () => {
    const site = await startSite({ login: 'session' });
    const { page } = await openDashboard(site.url('/webhooks'));
    await page.getByLabel('Token').waitFor();
  });

  it.each([SIBLING, EVIL])('lends the cookie to no page of %s, to change or to read', async (host) => {
    const site = await signedIn(APP);
    const [endpoint] = (await site.sender.endpoints.list()).endpoints;
    const page = await context().newPage();
    const changes: number[] = [];
    page.on('response', (response) => {
      if (response.request().method() === 'POST') changes.push(response.status());
    });
    await page.goto(site.url('/', host));
    const disable = site.url(`/admin/endpoints/${endpoint!.id}/disable`, APP);
    // Without CORS the page is told nothing, and with no-cors not even that it was refused.
    expect(await post(page, disable)).toBe('TypeError');
    expect(await post(page, disable, "{ mode: 'no-cors' }")).toBe(0);
    expect(await post(page, site.url('/admin/endpoints', APP), "{ method: 'GET' }")).toBe('TypeError');
    await page.evaluate(`document.body.append(Object.assign(document.createElement('form'),
      { method: 'POST', action: ${JSON.stringify(disable)} })); document.forms[0].submit()`);
    await page.waitForURL(disable);
    await eventually(() => expect(changes.length).toBeGreaterThanOrEqual(2));
    // The form has had the cookie with it: it was refused as what it is, not for the lack of one.
    expect(changes.at(-1)).toBe(403);
    expect(changes.filter((status) => status !== 401 && status !== 403)).toEqual([]);
    expect((await site.sender.endpoints.get(endpoint!.id)).status).toBe('active');
  });
});

/** What an application puts in front of a control plane that pages of other origins may ask. */
const allowOrigins: RequestHandler = (req, res, next) => {
  res.setHeader('access-control-allow-origin', req.get('origin') ?? '*');
  res.setHeader('access-control-allow-headers', 'authorization, content-type');
  res.setHeader('access-control-allow-methods', 'GET, POST, PATCH, PUT, DELETE');
  // For what helmet and the like say of resources.
  res.setHeader('cross-origin-resource-policy', 'cross-origin');
  if (req.method === 'OPTIONS') res.status(204).end();
  else next();
};

/** Hands requests on, with another path. */
function proxyTo(port: number, change: (path: string) => string): RequestListener {
  return (req, res) => {
    const { method, headers } = req;
    const onward = http.request(
      { host: '127.0.0.1', port, method, headers, path: change(req.url!) },
      (answer) => {
        res.writeHead(answer.statusCode!, answer.headers);
        answer.pipe(res);
      },
    );
    onward.on('error', () => res.destroy());
    req.pipe(onward);
  };
}
