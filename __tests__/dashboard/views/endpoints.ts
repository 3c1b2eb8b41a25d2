import { verifySignature } from '../../../lib/sender/verify-signature.js';
import { waitFor } from '../../support/wait-for.js';
import { type Dashboard, passRefresh } from '../opened-page.js';

/** Tests of the views, on the dashboard that is handed over. */
export function testEndpoints(dashboard: () => Dashboard): void {
  it('makes an endpoint by keyboard alone, and shows its secret', async () => {
    const { sender, receiver, open } = dashboard();
    const page = await open('#/endpoints');
    await page.getByRole('heading', { name: 'Endpoints', exact: true }).waitFor();
    const { keyboard } = page;
    const focused = () =>
      page.evaluate('document.activeElement.innerText || document.activeElement.labels?.[0]?.innerText');
    const tabTo = async (name: string) => {
      for (let step = 0; step < 40 && (await focused()) !== name; step++) await keyboard.press('Tab');
      expect(await focused()).toBe(name);
    };
    await tabTo('New endpoint');
    await keyboard.press('Enter');
    await page.getByRole('heading', { name: 'New endpoint' }).waitFor();
    await tabTo('URL');
    await keyboard.type(receiver.url('/by-keyboard'));
    await tabTo('Types');
    await keyboard.type('keyboard.*');
    await keyboard.press('Enter');
    await tabTo('Create endpoint');
    await keyboard.press('Enter');
    await page.getByRole('heading', { name: 'The endpoint is made' }).waitFor();

    const { endpoints } = await sender.endpoints.list({ limit: 1 });
    expect(endpoints[0]).toMatchObject({ url: receiver.url('/by-keyboard'), types: ['keyboard.*'] });
    const { secret } = await sender.endpoints.secret(endpoints[0]!.id);
    expect(await page.locator('.secret code').textContent()).toBe(secret);
    await tabTo('To the endpoint');
    await keyboard.press('Enter');
    await page.getByRole('heading', { name: receiver.url('/by-keyboard') }).waitFor();
  });

  it('says beside each field what the control plane has refused, and goes to the first of them', async () => {
    const page = await dashboard().open('#/endpoints/new');
    await page.getByLabel('URL').fill('ftp://example.com/');
    await page.getByLabel('Types').fill('bad!type');
    await page.getByRole('button', { name: 'Add a clause' }).click();
    await page.getByRole('textbox', { name: 'Path 1' }).fill('__proto__.a');
    await page.getByText('Headers, limits and retries').click();
    await page.getByLabel('Timeout in ms').fill('5');
    await page.getByRole('button', { name: 'Create endpoint' }).click();
    const url = page.getByLabel('URL');
    await page.locator('input[aria-invalid="true"]').first().waitFor();
    expect(await url.getAttribute('aria-invalid')).toBe('true');
    expect(await url.evaluate((element) => element === element.ownerDocument.activeElement)).toBe(true);
    expect(await page.getByRole('textbox', { name: 'Path 1' }).getAttribute('aria-invalid')).toBe('true');
    expect(await page.getByLabel('Timeout in ms').getAttribute('aria-invalid')).toBe('true');
    expect(await page.locator('.issue').count()).toBeGreaterThanOrEqual(3);
  });

  it('does not send what is no number, which JSON would make null of', async () => {
    const { sender, receiver, open } = dashboard();
    const { id } = await sender.endpoints.create({
      url: receiver.url(),
      types: ['never.sent'],
      rateLimit: { perSecond: 5 },
    });
    const page = await open(`#/endpoints/${id}/edit`);
    await page.getByText('Headers, limits and retries').click();
    await page.getByLabel('Per second').fill('fast');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('must be a number').waitFor();
    expect((await sender.endpoints.get(id)).rateLimit).toEqual({ perSecond: 5, burst: 5 });
  });

  it('compares types and filter with recent messages while they are typed', async () => {
    const { sender, open } = dashboard();
    const tenantId = 'live-check';
    for (const currency of ['EUR', 'USD', 'EUR']) {
      await sender.send({ type: 'order.paid', data: { currency }, tenantId });
    }
    await sender.send({ type: 'user.created', data: {}, tenantId });
    const page = await open('#/endpoints/new');
    await page.getByLabel('Tenant', { exact: true }).fill(tenantId);
    const check = page.getByRole('region', { name: 'Against recent messages' });
    await check.getByText('4 of the last 4 messages match').waitFor();
    await page.getByLabel('Types').fill('order.*');
    await page.getByLabel('Types').press('Enter');
    await check.getByText('3 of the last 4 messages match').waitFor();
    await page.getByRole('button', { name: 'Add a clause' }).click();
    await page.getByRole('textbox', { name: 'Path 1' }).fill('currency');
    await page.getByRole('textbox', { name: 'Equals 1' }).fill('EUR');
    await check.getByText('2 of the latest 3 of those pass').waitFor();
  });

  it('takes from the list what is gone, also at its end', async () => {
    const { sender, receiver, open } = dashboard();
    const endpoint = { url: receiver.url('/oldest'), tenantId: 'shrinking' };
    const { id } = await sender.endpoints.create(endpoint);
    await sender.endpoints.create({ ...endpoint, url: receiver.url('/newest') });
    const page = await open('#/endpoints?tenantId=shrinking');
    await page.getByRole('link', { name: '/oldest' }).waitFor();
    await sender.endpoints.delete(id);
    await passRefresh(page);
    await page.getByRole('link', { name: '/oldest' }).waitFor({ state: 'detached' });
    expect(await page.getByRole('link', { name: '/newest' }).count()).toBe(1);
  });

  it('edits an endpoint that is tried once, and leaves it so', async () => {
    const { sender, receiver, open } = dashboard();
    const { id } = await sender.endpoints.create({
      url: receiver.url('/once'),
      retry: { delaysSeconds: [], jitter: 0.1 },
    });
    const page = await open(`#/endpoints/${id}/edit`);
    await page.getByLabel('Description').fill('tried once');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('tried once').waitFor();
    expect(await sender.endpoints.get(id)).toMatchObject({
      description: 'tried once',
      retry: { delaysSeconds: [], jitter: 0.1 },
    });
  });

  it('changes only the fields that were changed', async () => {
    const { sender, receiver, open } = dashboard();
    const before = await sender.endpoints.create({
      url: receiver.url('/before'),
      types: ['never.sent'],
      filter: { dataPath: 'id', equals: '7' },
      headers: { 'x-kept': 'yes' },
      retry: { delaysSeconds: [1, 2], jitter: 0.5 },
    });
    const page = await open(`#/endpoints/${before.id}/edit`);
    await page.getByLabel('Description').fill('Described');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('Described').waitFor();
    const { secret: _secret, ...record } = before;
    const after = await sender.endpoints.get(before.id);
    expect(after).toEqual({ ...record, description: 'Described', updatedAt: after.updatedAt });
    const { entries } = await sender.audit.list({ targetId: before.id, operation: 'endpoints.update' });
    expect(entries.map(({ changes }) => changes)).toEqual([['description']]);
  });

  it('pauses an endpoint and enables it, and deletes it once that is confirmed', async () => {
    const { sender, receiver, open } = dashboard();
    const { id } = await sender.endpoints.create({ url: receiver.url('/switched'), types: ['never.sent'] });
    const page = await open(`#/endpoints/${id}`);
    await page.getByRole('button', { name: 'Pause' }).click();
    await page.getByRole('button', { name: 'Enable' }).waitFor();
    expect((await sender.endpoints.get(id)).status).toBe('paused');
    expect(await page.getByRole('button', { name: 'Send test' }).isDisabled()).toBe(true);
    await page.getByRole('button', { name: 'Enable' }).click();
    await page.getByRole('button', { name: 'Pause' }).waitFor();

    await page.getByRole('button', { name: 'Delete', exact: true }).click();
    await page.getByRole('dialog').waitFor();
    await page.keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    await page.getByRole('button', { name: 'Delete', exact: true }).click();
    await page.getByRole('button', { name: 'Delete endpoint' }).click();
    await page.getByRole('heading', { name: 'Endpoints', exact: true }).waitFor();
    await expect(sender.endpoints.get(id)).rejects.toMatchObject({ code: 'ENDPOINT_NOT_FOUND' });
  });

  it('sends a test and shows its attempt', async () => {
    const { sender, receiver, open } = dashboard();
    receiver.answer('/tested', { status: 418, body: 'a teapot' });
    const { id } = await sender.endpoints.create({ url: receiver.url('/tested'), types: ['never.sent'] });
    const page = await open(`#/endpoints/${id}`);
    await page.getByRole('button', { name: 'Send test' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Data').fill('{ "id": 7 ');
    await dialog.getByRole('button', { name: 'Send' }).click();
    await dialog.getByText('is not JSON').waitFor();
    await dialog.getByLabel('Data').fill('{ "id": 7 }');
    await dialog.getByRole('button', { name: 'Send' }).click();
    await dialog.getByText('a teapot').waitFor();
    const [request] = receiver.requests('/tested');
    expect(JSON.parse(String(request!.rawBody))).toMatchObject({ type: 'hookplane.test', data: { id: 7 } });
  });

  it('rotates the secret and shows the new one, which then signs', async () => {
    const { sender, receiver, open } = dashboard();
    const { id } = await sender.endpoints.create({ url: receiver.url('/rotated'), types: ['rotated.here'] });
    const page = await open(`#/endpoints/${id}`);
    await page.getByRole('button', { name: 'Rotate secret' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('The old secret signs on for').selectOption('0');
    await dialog.getByRole('button', { name: 'Rotate secret' }).click();
    const secret = (await dialog.locator('.secret code').textContent())!;
    await dialog.getByRole('button', { name: 'Done' }).click();
    await sender.send({ type: 'rotated.here', data: 1 });
    const [request] = await receiver.waitFor(1, '/rotated');
    verifySignature({ headers: request!.headers, body: request!.rawBody, secrets: [secret] });

    await page.getByRole('button', { name: 'Show' }).click();
    await page.getByRole('dialog').getByText(secret).waitFor();
    const { entries } = await sender.audit.list({ targetId: id, operation: 'endpoints.secret' });
    expect(entries).toHaveLength(1);
  });

  it('lists endpoints with how they have answered, and the attempts of each', async () => {
    const { sender, receiver, open } = dashboard();
    receiver.answer('/answers', 200, 200, 200, 500);
    const { id } = await sender.endpoints.create({
      url: receiver.url('/answers'),
      types: ['answered.here'],
      tenantId: 'answers',
      retry: { delaysSeconds: [], jitter: 0 },
    });
    for (let sent = 0; sent < 4; sent++)
      await sender.send({ type: 'answered.here', data: sent, tenantId: 'answers' });
    await waitFor(async () => (await sender.endpoints.attempts(id)).attempts.length === 4);
    const page = await open('#/endpoints?tenantId=answers');
    const day = { month: 'short', day: 'numeric', hour: '2-digit', minute: '2-digit' } as const;
    const { since } = await sender.endpoints.stats(id);
    const said = `75% of 4 attempts succeeded since ${new Intl.DateTimeFormat('en-GB', day).format(new Date(since))}`;
    await page.getByLabel(said).waitFor();
    await page.getByRole('link', { name: receiver.url('/answers') }).click();
    await page.getByText('75% of 4 attempts succeeded').waitFor();
    await page.getByRole('link', { name: 'Attempts' }).click();
    await page.locator('summary', { hasText: '500' }).waitFor();
    expect(await page.locator('.attempt').count()).toBe(4);
    await page.getByLabel('Status').selectOption('failed');
    await waitFor(async () => (await page.locator('.attempt').count()) === 1);
  });
}
