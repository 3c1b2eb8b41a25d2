import { readFileSync } from 'node:fs';
import type { AxeResults } from 'axe-core';
import type { Page } from 'playwright-core';
import { waitFor } from '../../support/wait-for.js';
import type { Dashboard } from '../opened-page.js';

const axe = readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8');

/** By name: the address, and what is seen once the view has what it asked for. */
type Places = Readonly<Record<string, readonly [hash: string, sight: string]>>;

/** What axe has found, with the elements. */
async function violations(page: Page, within = 'html', rules?: readonly string[]): Promise<string[]> {
  const options = JSON.stringify({ resultTypes: ['violations'], ...(rules && { runOnly: rules }) });
  const found = (await page.evaluate(`axe.run(${JSON.stringify(within)}, ${options})`)) as AxeResults;
  return found.violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(' ')}`);
}

async function sampleData({ sender, receiver }: Dashboard): Promise<Places> {
  receiver.answer('/billing', { status: 503, body: 'later' });
  const { id } = await sender.endpoints.create({
    url: receiver.url('/billing'),
    description: 'Billing',
    types: ['invoice.*', 'order.paid'],
    filter: { dataPath: 'currency', equals: 'EUR' },
    headers: { 'x-environment': 'test' },
    metadata: { team: 'finance' },
    retry: { delaysSeconds: [], jitter: 0 },
  });
  const paused = await sender.endpoints.create({ url: receiver.url('/paused'), types: ['never.sent'] });
  await sender.endpoints.disable(paused.id);
  await sender.tenants.setRateLimit('sample', { perSecond: 10 });
  const message = await sender.send({
    type: 'order.paid',
    data: { currency: 'EUR', lines: [{ sku: 'A' }] },
  });
  await sender.send({ type: 'nobody.wants', data: 1, tenantId: 'sample' });
  await receiver.waitFor(1, '/billing');
  return {
    overview: ['#/', '.tile .good'],
    endpoints: ['#/endpoints', 'td a:has-text("/billing")'],
    'new endpoint': ['#/endpoints/new', 'button:has-text("Create endpoint")'],
    endpoint: [`#/endpoints/${id}`, 'h2:has-text("Settings")'],
    'attempts of an endpoint': [`#/endpoints/${id}/attempts`, 'section[aria-label="Attempts"] .attempt'],
    'change of an endpoint': [`#/endpoints/${id}/edit`, 'h1:has-text("Edit endpoint")'],
    messages: ['#/messages', 'td a:has-text("nobody.wants")'],
    'empty list': ['#/messages?type=none', 'h2:has-text("Nothing matches")'],
    message: [`#/messages/${message.id}`, 'h2:has-text("Payload")'],
    'unknown message': ['#/messages/msg_unknown', 'h2:has-text("Not found")'],
    replay: ['#/replay', 'h1:has-text("Replay")'],
    tenants: ['#/tenants', 'td a:has-text("sample")'],
    keys: ['#/keys', 'h2:has-text("Key pair")'],
    audit: ['#/audit', 'h1:has-text("Audit")'],
    'unknown view': ['#/nowhere', 'h1:has-text("no such view")'],
  };
}

/** To come to every view and have axe look at it takes five seconds, and has taken more than thirty on a busy machine. */
const WALK_MS = 90_000;

/** Has all that moves by itself be written down from now on. */
const WATCH_SHIFTS = `
  globalThis.shifts = [];
  globalThis.shiftObserver = new PerformanceObserver((list) => noteShifts(list.getEntries()));
  globalThis.noteShifts = (entries) => shifts.push(...entries.filter((each) => !each.hadRecentInput)
    .map(({ value, sources }) => [value, sources.map(({ node }) => node?.className).join(' ')]));
  shiftObserver.observe({ type: 'layout-shift' });`;

/** What has moved in the view since it was come to, with how much of the screen that was. */
async function shiftsOf(page: Page): Promise<string[]> {
  const found = (await page.evaluate(`new Promise((resolve) =>
    requestAnimationFrame(() => requestAnimationFrame(() => {
      noteShifts(shiftObserver.takeRecords());
      resolve(shifts.splice(0));
    })))`)) as [value: number, moved: string][];
  return found.filter(([value]) => value > 0.001).map(([value, moved]) => `${moved}: ${value}`);
}

/** Tests of the views, on the dashboard that is handed over. */
export function testAccessibility(dashboard: () => Dashboard): void {
  let places: Places;
  beforeAll(async () => {
    places = await sampleData(dashboard());
  });

  /** Comes to every view in one page, and answers what was found wrong in any, by its name. */
  async function walk(
    page: Page,
    look: (page: Page) => Promise<string[]>,
  ): Promise<Record<string, string[]>> {
    const wrong: Record<string, string[]> = {};
    await page.locator('h1').waitFor();
    await page.addScriptTag({ content: axe });
    await page.evaluate(WATCH_SHIFTS);
    for (const [name, [hash, sight]] of Object.entries(places)) {
      await page.evaluate(`location.hash = ${JSON.stringify(hash)}`);
      await page.locator(sight).first().waitFor();
      await page.locator('.skeleton').first().waitFor({ state: 'detached' });
      const found = await shiftsOf(page);
      for (const summary of await page.locator('.attempt summary, details.fold > summary').all()) {
        await summary.click();
      }
      found.push(...(await look(page)));
      if (found.length > 0) wrong[name] = found;
    }
    return wrong;
  }

  it(
    'axe finds nothing in any view, and nothing moves in it by itself',
    async () => {
      // The policy keeps axe out as it keeps out everybody.
      const page = await dashboard().open('#/nowhere', { bypassCSP: true });
      expect(await walk(page, violations)).toEqual({});
    },
    WALK_MS,
  );

  it(
    'nor does any view in the dark on a phone, whose screen all of it fits',
    async () => {
      const page = await dashboard().open('#/nowhere', {
        bypassCSP: true,
        colorScheme: 'dark',
        viewport: { width: 360, height: 800 },
      });
      const look = async () => {
        const found = await violations(page, 'html', ['color-contrast', 'scrollable-region-focusable']);
        const over = await page.evaluate('document.documentElement.scrollWidth - innerWidth');
        return Number(over) > 0 ? [...found, `wider than the screen by ${over}`] : found;
      };
      expect(await walk(page, look)).toEqual({});
    },
    WALK_MS,
  );

  it('cuts no title on a phone, however long it is', async () => {
    const { sender, receiver, open } = dashboard();
    const url = receiver.url(`/${'long/'.repeat(60)}`);
    const { id } = await sender.endpoints.create({ url, types: ['never.sent'] });
    const page = await open(`#/endpoints/${id}`, { viewport: { width: 360, height: 800 } });
    for (const [hash, title] of [
      [`#/endpoints/${id}`, url],
      [`#/endpoints/${id}/edit`, 'Edit endpoint'],
    ] as const) {
      await page.evaluate(`location.hash = ${JSON.stringify(hash)}`);
      await page.getByRole('heading', { name: title, exact: true }).waitFor();
      const cut = await page.evaluate(`(() => {
        const name = document.querySelector('.brand > :last-child');
        name.textContent = 'Webhooks of a company whose name is long';
        const isCut = (element) => element.scrollWidth > element.clientWidth;
        return [name, document.querySelector('h1'), document.documentElement].filter(isCut).map(({ tagName }) => tagName);
      })()`);
      expect(cut).toEqual([]);
    }
  });

  it('axe finds nothing in the sign-in and in dialogs', async () => {
    const signIn = await dashboard().open('#/', { as: null, bypassCSP: true });
    await signIn.getByLabel('Token').waitFor();
    const endpoint = await dashboard().open(places.endpoint![0], { bypassCSP: true });
    await signIn.addScriptTag({ content: axe });
    expect(await violations(signIn)).toEqual([]);
    await endpoint.addScriptTag({ content: axe });
    for (const name of ['Send test', 'Rotate secret', 'Show', 'Delete']) {
      const button = endpoint.getByRole('button', { name, exact: true });
      await button.click();
      await endpoint.getByRole('dialog').waitFor();
      expect(await violations(endpoint, 'dialog')).toEqual([]);
      await endpoint.keyboard.press('Escape');
      await endpoint.getByRole('dialog').waitFor({ state: 'detached' });
      expect(await button.evaluate((element) => element === element.ownerDocument.activeElement)).toBe(true);
    }
  });

  it('goes by the colours of the device until others are chosen, which it remembers', async () => {
    const page = await dashboard().open('#/keys', { colorScheme: 'dark' });
    const background = () => page.evaluate('getComputedStyle(document.documentElement).backgroundColor');
    await page.getByRole('heading', { name: 'Keys', exact: true }).waitFor();
    const dark = await background();
    await page.getByLabel('Colours').selectOption('light');
    await waitFor(async () => (await background()) !== dark);
    const light = await background();
    await page.reload();
    await page.getByRole('heading', { name: 'Keys', exact: true }).waitFor();
    expect(await background()).toBe(light);
  });

  it('shows where the focus is, wherever Tab leads', async () => {
    const page = await dashboard().open('#/messages');
    await page.locator('tbody a').first().waitFor();
    const seen = new Set<string>();
    for (let step = 0; step < 40 && !seen.has('A row-link clip mono'); step++) {
      await page.keyboard.press('Tab');
      const [name, isShown] = (await page.evaluate(`(() => {
        const { activeElement: element } = document;
        const drawn = [element, element.closest('tr')].some((each) => each &&
          getComputedStyle(each).outlineStyle !== 'none' && parseFloat(getComputedStyle(each).outlineWidth) >= 2);
        return [element.tagName + ' ' + element.className, drawn];
      })()`)) as [string, boolean];
      seen.add(name);
      expect({ name, isShown }).toEqual({ name, isShown: true });
    }
    // The navigation, the filters and the rows.
    expect(seen.size).toBeGreaterThanOrEqual(5);
    expect([...seen]).toContain('A row-link clip mono');
  });

  it('moves the focus to the heading of a view that is come to', async () => {
    const page = await dashboard().open('#/keys');
    await page.getByRole('link', { name: 'Audit' }).click();
    await page.getByRole('heading', { name: 'Audit', exact: true }).waitFor();
    await waitFor(async () => (await page.evaluate('document.activeElement.innerText')) === 'Audit');
    expect(await page.title()).toBe('Audit · Webhooks');
  });
}
