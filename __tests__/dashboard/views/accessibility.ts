import { readFileSync } from 'node:fs';
import type { AxeResults } from 'axe-core';
import type { Page } from 'playwright-core';
import { waitFor } from '../../support/wait-for.js';
import type { Dashboard } from '../opened-page.js';

const axe = readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8');

const VIEWS = [
  'overview',
  'endpoints',
  'new endpoint',
  'endpoint',
  'attempts of an endpoint',
  'change of an endpoint',
  'messages',
  'empty list',
  'message',
  'unknown message',
  'replay',
  'tenants',
  'keys',
  'audit',
  'unknown view',
] as const;
type Places = Readonly<Record<(typeof VIEWS)[number], string>>;

/** What axe has found, with the elements. */
async function violations(page: Page, rules?: readonly string[]): Promise<string[]> {
  const options = rules ? JSON.stringify({ runOnly: rules }) : '';
  const found = (await page.evaluate(`axe.run(${options})`)) as AxeResults;
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
  await sender.tenants.setRateLimit('acme', { perSecond: 10 });
  const message = await sender.send({
    type: 'order.paid',
    data: { currency: 'EUR', lines: [{ sku: 'A' }] },
  });
  await sender.send({ type: 'nobody.wants', data: 1, tenantId: 'acme' });
  await receiver.waitFor(1, '/billing');
  return {
    overview: '#/',
    endpoints: '#/endpoints',
    'new endpoint': '#/endpoints/new',
    endpoint: `#/endpoints/${id}`,
    'attempts of an endpoint': `#/endpoints/${id}/attempts`,
    'change of an endpoint': `#/endpoints/${id}/edit`,
    messages: '#/messages',
    'empty list': '#/messages?type=none',
    message: `#/messages/${message.id}`,
    'unknown message': '#/messages/msg_unknown',
    replay: '#/replay',
    tenants: '#/tenants',
    keys: '#/keys',
    audit: '#/audit',
    'unknown view': '#/nowhere',
  };
}

/** Tests of the views, on the dashboard that is handed over. */
export function testAccessibility(dashboard: () => Dashboard): void {
  let places: Places;
  beforeAll(async () => {
    places = await sampleData(dashboard());
  });

  it.each(VIEWS)('axe finds nothing in the view %s, light and dark, wide and narrow', async (name) => {
    // The policy keeps axe out as it keeps out everybody.
    const page = await dashboard().open(places[name], { bypassCSP: true });
    await page.locator('h1').waitFor();
    await page.locator('.skeleton').first().waitFor({ state: 'detached' });
    for (const summary of await page.locator('.attempt summary, details.fold > summary').all()) {
      await summary.click();
    }
    await page.addScriptTag({ content: axe });
    expect(await violations(page)).toEqual([]);
    await page.emulateMedia({ colorScheme: 'dark' });
    await page.setViewportSize({ width: 360, height: 800 });
    expect(await violations(page, ['color-contrast', 'scrollable-region-focusable'])).toEqual([]);
    expect(await page.evaluate('document.documentElement.scrollWidth - innerWidth')).toBeLessThanOrEqual(0);
  });

  it('axe finds nothing in the sign-in and in dialogs', async () => {
    const signIn = await dashboard().open('#/', { as: null, bypassCSP: true });
    await signIn.getByLabel('Token').waitFor();
    const endpoint = await dashboard().open(places.endpoint, { bypassCSP: true });
    await signIn.addScriptTag({ content: axe });
    expect(await violations(signIn)).toEqual([]);
    await endpoint.addScriptTag({ content: axe });
    for (const name of ['Send test', 'Rotate secret', 'Show', 'Delete']) {
      const button = endpoint.getByRole('button', { name, exact: true });
      await button.click();
      await endpoint.getByRole('dialog').waitFor();
      expect(await violations(endpoint)).toEqual([]);
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

  it('moves the focus to the heading of a view that is come to', async () => {
    const page = await dashboard().open('#/keys');
    await page.getByRole('link', { name: 'Audit' }).click();
    await page.getByRole('heading', { name: 'Audit', exact: true }).waitFor();
    await waitFor(async () => (await page.evaluate('document.activeElement.innerText')) === 'Audit');
    expect(await page.title()).toBe('Audit · Webhooks');
  });
}
