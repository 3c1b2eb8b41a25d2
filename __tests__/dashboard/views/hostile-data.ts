import type { Page } from 'playwright-core';
import { waitFor } from '../../support/wait-for.js';
import type { Dashboard } from '../opened-page.js';

/** Tests of the views, on the dashboard that is handed over. */
export function testHostileData(dashboard: () => Dashboard): void {
  /** What becomes markup, script or a link where a page is careless. */
  const CORPUS = [
    '<img src=x onerror="globalThis.pwned = 1">',
    '"><script>globalThis.pwned = 1</script>',
    '<svg/onload=globalThis.pwned=1>',
    "'-globalThis.pwned-'",
    'javascript:globalThis.pwned=1',
    '{{constructor.constructor("globalThis.pwned=1")()}}',
    '</textarea></title><iframe srcdoc="<script>parent.pwned=1</script>">',
    '\u202Egnp.exe\u202C \u0000 日本語 🚀 e\u0301',
  ];
  const ALL = CORPUS.join(' ');
  /** Names that may hold anything but control characters. */
  const NAME = ALL.replaceAll('\u0000', '').slice(0, 240);

  async function expectTextOnly(page: Page): Promise<void> {
    expect(await page.evaluate('globalThis.pwned')).toBeUndefined();
    const found = await page.evaluate(`(() => {
    const wrong = [];
    for (const element of document.querySelectorAll('#app *')) {
      if (['IMG', 'SCRIPT', 'IFRAME'].includes(element.tagName)) wrong.push(element.outerHTML);
      for (const { name, value } of element.attributes) {
        if (name.startsWith('on') || /^(javascript|data):/i.test(value.trim())) {
          if (name === 'href' || name === 'src' || name.startsWith('on')) wrong.push(element.outerHTML);
        }
      }
    }
    return wrong;
  })()`);
    expect(found).toEqual([]);
  }

  it('shows what a message, its tenant and a receiver say as text, whatever it is', async () => {
    const { sender, receiver, open } = dashboard();
    receiver.answer('/hostile', {
      status: 500,
      headers: { 'x-hostile': CORPUS[0]!, 'content-type': 'text/html' },
      body: ALL,
    });
    await sender.tenants.setMetadata(NAME, { [CORPUS[1]!]: ALL });
    const { id } = await sender.endpoints.create({
      url: `${receiver.url('/hostile')}`,
      tenantId: NAME,
      types: ['hostile.data'],
      description: ALL.replaceAll('\u0000', ''),
      headers: { 'x-hostile': CORPUS[0]! },
      metadata: { [CORPUS[0]!]: { nested: [ALL] } },
      filter: { dataPath: 'kind', equals: CORPUS[1]! },
      retry: { delaysSeconds: [], jitter: 0 },
    });
    const message = await sender.send({
      type: 'hostile.data',
      tenantId: NAME,
      data: { kind: CORPUS[1], [CORPUS[2]!]: CORPUS, long: ALL.repeat(100) },
      idempotencyKey: NAME,
    });
    await waitFor(async () => (await sender.messages.get(message.id)).status === 'failed');
    const caller = sender.forCaller({ actor: { id: ALL, name: ALL }, requestId: CORPUS[0]! });
    await caller.endpoints.update(id, { description: `${NAME}.` });

    const page = await open(`#/messages/${message.id}`);
    const attempt = page.locator('.attempt summary').first();
    await attempt.click();
    const places = [
      `#/messages/${message.id}`,
      '#/messages',
      '#/endpoints',
      `#/endpoints/${id}`,
      `#/endpoints/${id}/edit`,
      '#/tenants',
      '#/audit',
      `#/audit?actor=${encodeURIComponent(ALL)}`,
      `#/messages?tenantId=${encodeURIComponent(NAME)}&type=${encodeURIComponent(CORPUS[0]!)}`,
      `#/${encodeURIComponent(CORPUS[0]!)}/%E0%A4%A/${encodeURIComponent(CORPUS[1]!)}`,
      `#/messages/${encodeURIComponent(CORPUS[1]!)}`,
      `#/replay?endpointId=${encodeURIComponent(CORPUS[1]!)}&since=${encodeURIComponent(CORPUS[0]!)}`,
    ];
    for (const hash of places) {
      await page.evaluate(`location.hash = ${JSON.stringify(hash)}`);
      await page.locator('h1').waitFor();
      await page.locator('.skeleton').first().waitFor({ state: 'detached' });
      await expectTextOnly(page);
    }
    await page.evaluate(`location.hash = ${JSON.stringify(places[0])}`);
    await page.locator('.attempt summary').first().click();
    for (const text of [CORPUS[0]!, CORPUS[2]!]) await page.getByText(text).first().waitFor();
    await page.getByRole('button', { name: 'Raw' }).click();
    await expectTextOnly(page);
  });

  it('makes no link of an address that is neither http nor https', async () => {
    const { sender, receiver, open } = dashboard();
    const { id, ...endpoint } = await sender.endpoints.create({
      url: receiver.url('/link'),
      types: ['never.sent'],
    });
    const page = await open('#/keys');
    await page.getByRole('heading', { name: 'Keys' }).waitFor();
    // No control plane answers with such a record; whatever is between may.
    await page.route(`**/admin/endpoints/${id}`, (route) =>
      route.fulfill({ json: { ...endpoint, id, url: 'javascript:globalThis.pwned=1' } }),
    );
    await page.evaluate(`location.hash = '#/endpoints/${id}'`);
    await page.getByRole('heading', { name: 'javascript:' }).waitFor();
    expect(await page.getByRole('link', { name: 'Open' }).count()).toBe(0);
    await expectTextOnly(page);
  });
}
