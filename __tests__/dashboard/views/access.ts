import type { Page } from 'playwright-core';
import { type Dashboard, TOKENS } from '../opened-page.js';

/** Has the control plane refuse the page's token, which it finds when its tab is come back to. */
async function endAccess(page: Page): Promise<void> {
  await page.route('**/admin/**', (route) =>
    route.fulfill({ status: 401, json: { errorCode: 'UNAUTHORIZED', error: 'The session is over' } }),
  );
  await page.evaluate("document.dispatchEvent(new Event('visibilitychange'))");
  await page.getByText('Your access has ended.', { exact: false }).waitFor();
  await page.unroute('**/admin/**');
}

async function signIn(page: Page, as: keyof typeof TOKENS): Promise<void> {
  await page.getByLabel('Token').fill(TOKENS[as]);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.locator('h1[tabindex]').waitFor();
}

/** Tests of the views, on the dashboard that is handed over. */
export function testAccess(dashboard: () => Dashboard): void {
  it('asks for a token, says when it is not taken, keeps it for the tab and forgets it at the end', async () => {
    const { sender, open } = dashboard();
    await sender.send({ type: 'after.sign-in', data: 1 });
    const page = await open('#/messages?type=after.sign-in', { as: null });
    await page.getByLabel('Token').fill('not-a-token-that-is-known');
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByText('does not accept this token', { exact: false }).waitFor();
    await page.getByLabel('Token').fill('no header can carry “this”');
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByText('visible ASCII', { exact: false }).waitFor();
    await page.getByLabel('Token').fill(TOKENS.operator);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('link', { name: 'after.sign-in' }).waitFor();
    expect(await page.evaluate('JSON.stringify(localStorage)')).not.toContain(TOKENS.operator);

    await page.reload();
    await page.getByRole('link', { name: 'after.sign-in' }).waitFor();
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByLabel('Token').waitFor();
    await page.reload();
    await page.getByLabel('Token').waitFor();
    expect(await page.evaluate('sessionStorage.length')).toBe(0);
  });

  it('shows a bound caller its own tenant alone, and nothing about others', async () => {
    const { sender, receiver, open } = dashboard();
    for (const tenantId of ['acme', 'globex']) {
      await sender.endpoints.create({ url: receiver.url(`/${tenantId}`), tenantId, types: ['own.message'] });
      await sender.send({ type: 'own.message', data: tenantId, tenantId });
    }
    const page = await open('#/endpoints', { as: 'acme' });
    await page.getByRole('link', { name: receiver.url('/acme') }).waitFor();
    expect(await page.getByRole('navigation').first().textContent()).not.toContain('Tenants');
    expect(await page.locator('main').textContent()).not.toContain('globex');
    expect(await page.getByLabel('Tenant').count()).toBe(0);
    await page.getByRole('link', { name: 'Messages' }).click();
    await page.getByRole('link', { name: 'own.message' }).waitFor();
    expect(await page.locator('tbody tr').count()).toBe(1);
    const { messages } = await sender.messages.list({ tenantId: 'globex' });
    await page.goto(page.url().replace(/#.*/, `#/messages/${messages[0]!.id}`));
    await page.getByText('Not found').waitFor();
    await page.goto(page.url().replace(/#.*/, '#/tenants'));
    await page.getByText('There is no such view').waitFor();
  });

  it('offers nothing that would be refused to who may only read', async () => {
    const { sender, receiver, open } = dashboard();
    const { id } = await sender.endpoints.create({ url: receiver.url('/read'), types: ['read.only'] });
    const message = await sender.send({ type: 'read.only', data: 1 });
    await receiver.waitFor(1, '/read');
    const page = await open(`#/endpoints/${id}`, { as: 'reader' });
    await page.getByText('Read only').waitFor();
    await page.getByRole('heading', { name: receiver.url('/read') }).waitFor();
    const actions = [
      'Pause',
      'Send test',
      'Delete',
      'Rotate secret',
      'Show',
      'Replay',
      'Expunge payload',
      'Limit',
    ];
    const places: [hash: string, heading: string][] = [
      [`#/endpoints/${id}`, 'Settings'],
      ['#/endpoints', 'Endpoints'],
      [`#/messages/${message.id}`, 'Payload'],
      ['#/tenants', 'Tenants'],
    ];
    for (const [hash, heading] of places) {
      await page.goto(page.url().replace(/#.*/, hash));
      await page.getByRole('heading', { name: heading, exact: true }).waitFor();
      for (const name of actions) {
        expect({ hash, name, count: await page.getByRole('button', { name, exact: true }).count() }).toEqual({
          hash,
          name,
          count: 0,
        });
      }
      for (const name of ['Edit', 'New endpoint', 'Replay', 'Keys']) {
        expect(await page.getByRole('link', { name, exact: true }).count()).toBe(0);
      }
    }
  });

  it('asks to sign in again when the access ends while the page is open', async () => {
    const { open } = dashboard();
    const page = await open('#/endpoints');
    await page.getByRole('heading', { name: 'Endpoints', exact: true }).waitFor();
    await endAccess(page);
    await signIn(page, 'operator');
    await page.getByRole('heading', { name: 'Endpoints', exact: true }).waitFor();
  });

  it('keeps a form that is half filled for the caller whose access has ended, but no secret of it', async () => {
    const page = await dashboard().open('#/endpoints/new');
    await page.getByLabel('URL').fill('https://example.com/half');
    await page.getByRole('button', { name: 'Add a clause' }).click();
    await page.getByRole('textbox', { name: 'Path 1' }).fill('order.currency');
    await page.getByText('Headers, limits and retries').click();
    await page.getByLabel('Your own secret').fill('whsec_bmV2ZXIga2VwdCBhbnl3aGVyZQ==');
    await endAccess(page);
    expect(await page.locator('input').count()).toBe(1);

    await signIn(page, 'operator');
    expect(await page.getByLabel('URL').inputValue()).toBe('https://example.com/half');
    expect(await page.getByRole('textbox', { name: 'Path 1' }).inputValue()).toBe('order.currency');
    await page.getByText('Headers, limits and retries').click();
    expect(await page.getByLabel('Your own secret').inputValue()).toBe('');
    expect(await page.evaluate('JSON.stringify([localStorage, sessionStorage])')).not.toContain('half');
  });

  it('keeps nothing of a form for another caller, nor for the one who has signed out', async () => {
    const page = await dashboard().open('#/endpoints/new');
    const url = page.getByLabel('URL');
    await url.fill('https://example.com/of-the-operator');
    await endAccess(page);
    await signIn(page, 'acme');
    expect(await url.inputValue()).toBe('');
    await url.fill('https://example.com/of-acme');
    await endAccess(page);
    await signIn(page, 'operator');
    expect(await url.inputValue()).toBe('');
    await url.fill('https://example.com/left');
    await page.getByRole('button', { name: 'Sign out' }).click();
    await signIn(page, 'operator');
    expect(await url.inputValue()).toBe('');
  });

  it('saves of a form that was kept what was typed alone, whatever others have changed meanwhile', async () => {
    const { sender, receiver, open } = dashboard();
    const { id } = await sender.endpoints.create({ url: receiver.url('/draft'), types: ['never.sent'] });
    const page = await open(`#/endpoints/${id}/edit`);
    await page.getByLabel('Description').fill('typed before');
    await endAccess(page);
    await sender.endpoints.update(id, { maxInFlight: 7 });
    await signIn(page, 'operator');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('typed before').waitFor();
    expect(await sender.endpoints.get(id)).toMatchObject({ description: 'typed before', maxInFlight: 7 });
  });
}
