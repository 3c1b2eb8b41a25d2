import { waitFor } from '../../support/wait-for.js';
import { type Dashboard, passRefresh } from '../opened-page.js';

/** Tests of the views, on the dashboard that is handed over. */
export function testFurther(dashboard: () => Dashboard): void {
  it('tells on the overview how things are and what asks for attention', async () => {
    const { sender, receiver, open } = dashboard();
    receiver.answer('/failing', 500);
    await sender.endpoints.create({
      url: receiver.url('/failing'),
      types: ['attention.needed'],
      retry: { delaysSeconds: [], jitter: 0 },
    });
    const { id } = await sender.endpoints.create({ url: receiver.url('/held'), types: ['never.sent'] });
    await sender.endpoints.disable(id);
    await sender.send({ type: 'attention.needed', data: 1 });
    const page = await open('#/');
    await page.getByText('Healthy', { exact: true }).waitFor();
    await page.getByText('1 worker').waitFor();
    await page.getByText(/^of [\d,]+ attempts$/).waitFor();
    await page.locator('.uplot canvas').nth(2).waitFor();
    await page.getByRole('link', { name: receiver.url('/held') }).waitFor();
    await page.getByRole('link', { name: 'attention.needed' }).click();
    await page.getByRole('heading', { name: 'attention.needed' }).waitFor();
  });

  it('says since when it has counted, and reckons the rate by that time', async () => {
    const page = await dashboard().open('#/keys');
    await page.getByRole('heading', { name: 'Keys', exact: true }).waitFor();
    // The last 24 hours, widened to whole ones.
    await page.route('**/admin/stats?*', (route) => {
      const since = Date.parse('2026-03-01T10:00:00Z');
      const buckets = Array.from({ length: 25 }, (_, hour) => ({
        start: new Date(since + hour * 3_600_000).toISOString(),
        succeeded: 120,
        failed: 0,
        p50DurationMs: 1,
        p95DurationMs: 1,
        outboxDepth: 0,
        oldestPendingAge: 0,
      }));
      const until = new Date(since + 25 * 3_600_000).toISOString();
      return route.fulfill({ json: { interval: 'hour', since: buckets[0]!.start, until, buckets } });
    });
    await page.evaluate("location.hash = '#/?range=day'");
    const tile = page.locator('.tile', { hasText: 'Deliveries/min' });
    const zone = (await page.evaluate('Intl.DateTimeFormat().resolvedOptions().timeZone')) as string;
    const format = {
      month: 'short',
      day: 'numeric',
      hour: '2-digit',
      minute: '2-digit',
      timeZone: zone,
    } as const;
    const since = new Intl.DateTimeFormat('en-GB', format).format(new Date('2026-03-01T10:00:00Z'));
    await tile.getByText(`since ${since}`).waitFor();
    expect(await tile.locator('.figure').textContent()).toBe('2');
  });

  it('plots what was owed, as a table too, and says when no worker has looked', async () => {
    const page = await dashboard().open('#/keys');
    await page.getByRole('heading', { name: 'Keys', exact: true }).waitFor();
    const attempts = { succeeded: 0, failed: 0, p50DurationMs: null, p95DurationMs: null };
    const unseen = { ...attempts, outboxDepth: null, oldestPendingAge: null };
    await page.route('**/admin/stats?*', (route) => {
      const interval = new URL(route.request().url()).searchParams.get('interval');
      const seen = { ...attempts, outboxDepth: 1200, oldestPendingAge: 90_000 };
      const [since, until] = ['2026-03-01T10:00:00.000Z', '2026-03-01T12:00:00.000Z'];
      const buckets = [
        { start: since, ...(interval === 'minute' ? seen : unseen) },
        { start: '2026-03-01T11:00:00.000Z', ...unseen },
      ];
      return route.fulfill({ json: { interval, since, until, buckets } });
    });
    await page.evaluate("location.hash = '#/'");
    for (const [plot, value] of [
      ['Deliveries owed over time', '1,200'],
      ['Time that the oldest delivery had been due, over time', '1m 30s'],
    ] as const) {
      const figure = page.getByRole('figure', { name: plot });
      await figure.locator('canvas').waitFor();
      await figure.getByText('As a table').click();
      expect(await figure.locator('td:last-child').allTextContents()).toEqual([value, '–']);
    }
    await page
      .getByRole('group', { name: 'Range of time' })
      .getByRole('button', { name: '24 hours' })
      .click();
    await page.getByText('No worker has looked in this time.').nth(1).waitFor();
    expect(await page.getByRole('figure').count()).toBe(3);
  });

  it('is brought up to date while it is looked at, unless that is paused', async () => {
    const { sender, open } = dashboard();
    const page = await open('#/messages?type=live.view');
    await page.getByText('Nothing matches').waitFor();
    await sender.send({ type: 'live.view', data: 1 });
    await passRefresh(page);
    await page.getByRole('link', { name: 'live.view' }).waitFor();
    await page.getByRole('button', { name: 'Live' }).click();
    expect(await page.getByRole('button', { name: 'Live' }).getAttribute('aria-pressed')).toBe('false');
    let asked = 0;
    page.on('request', () => asked++);
    await passRefresh(page);
    expect(asked).toBe(0);
    await page.getByRole('button', { name: 'Live' }).click();
    await waitFor(() => asked > 0);
  });

  it('sets the rate limit of a tenant, and deletes the tenant once its name is typed', async () => {
    const { sender, open } = dashboard();
    await sender.tenants.setMetadata('doomed', { plan: 'trial' });
    const page = await open('#/tenants');
    await page.getByRole('button', { name: 'Limit: doomed' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Per second').fill('-1');
    await dialog.getByRole('button', { name: 'Save' }).click();
    await dialog.locator('.issue').waitFor();
    await dialog.getByLabel('Per second').fill('12.5');
    await dialog.getByRole('button', { name: 'Save' }).click();
    await page.getByRole('cell', { name: '12.5/s, burst 13', exact: true }).waitFor();
    expect((await sender.tenants.get('doomed')).rateLimit).toEqual({ perSecond: 12.5, burst: 13 });

    await page.getByRole('button', { name: 'Delete: doomed' }).click();
    const confirm = dialog.getByRole('button', { name: 'Delete tenant' });
    expect(await confirm.isDisabled()).toBe(true);
    await dialog.getByRole('textbox').fill('doomed');
    await confirm.click();
    await dialog.waitFor({ state: 'detached' });
    await expect(sender.tenants.get('doomed')).rejects.toMatchObject({ code: 'TENANT_NOT_FOUND' });
  });

  it('writes times in the zone of the visitor, and dates and numbers as the language has them', async () => {
    const { sender, receiver, open } = dashboard();
    const { id } = await sender.endpoints.create({
      url: receiver.url('/far-away'),
      types: ['never.sent'],
      rateLimit: { perSecond: 1234.5, burst: 56789 },
    });
    const { createdAt } = await sender.endpoints.get(id);
    const page = await open(`#/endpoints/${id}`, { locale: 'de-DE', timezoneId: 'Asia/Kolkata' });
    const time = page.locator('time', { hasText: '·' }).first();
    await time.waitFor();
    const exact = new Intl.DateTimeFormat('de-DE', {
      dateStyle: 'medium',
      timeStyle: 'long',
      timeZone: 'Asia/Kolkata',
    }).format(new Date(createdAt));
    expect(await time.textContent()).toMatch(/^(?:vor|jetzt)/);
    expect(await time.getAttribute('title')).toBe(exact);
    expect(await time.textContent()).toContain(exact);
    await page.getByText('1.234,5/s, burst 56.789').waitFor();

    await page.evaluate("location.hash = '#/messages'");
    await page.getByLabel('From').fill('2026-05-01T12:00');
    await page.waitForURL(/since=2026-05-01T06%3A30%3A00\.000Z/);
  });

  it('generates keys, and forgets them when the view is left', async () => {
    const page = await dashboard().open('#/keys');
    await page.getByRole('region', { name: 'Key pair' }).getByRole('button', { name: 'Generate' }).click();
    await page.locator('code', { hasText: /^whsk_/ }).waitFor();
    await page.locator('code', { hasText: /^whpk_/ }).waitFor();
    await page.getByRole('link', { name: 'Audit' }).click();
    await page.getByRole('link', { name: 'Keys' }).click();
    await page.getByRole('heading', { name: 'Key pair' }).waitFor();
    expect(await page.locator('code').count()).toBe(0);
  });

  it('copies a secret to the clipboard', async () => {
    const { open } = dashboard();
    const page = await open('#/keys', { permissions: ['clipboard-read', 'clipboard-write'] });
    await page
      .getByRole('region', { name: 'Shared secret' })
      .getByRole('button', { name: 'Generate' })
      .click();
    const secret = await page.locator('code', { hasText: /^whsec_/ }).textContent();
    await page.getByRole('button', { name: 'Copy: Signing secret' }).click();
    await page.getByRole('button', { name: 'Copied: Signing secret' }).waitFor();
    expect(await page.evaluate('navigator.clipboard.readText()')).toBe(secret);
  });

  it('shows who changed what, and filters it', async () => {
    const { sender, receiver, open } = dashboard();
    const { id } = await sender.endpoints.create({ url: receiver.url('/audited'), types: ['never.sent'] });
    const caller = sender.forCaller({ actor: { id: 'usr_7', name: 'Grace' }, requestId: 'req_1' });
    await caller.endpoints.update(id, { description: 'new' });
    const page = await open('#/audit?actor=usr_7');
    const row = page.locator('tbody tr');
    await row.waitFor();
    expect(await row.textContent()).toMatch(/Endpoint changed[\s\S]*description[\s\S]*Grace/);
    await page.getByLabel('What').selectOption('endpoints.delete');
    await page.getByText('Nothing matches').waitFor();
    await page.getByLabel('What').selectOption('');
    await page.getByRole('link', { name: id }).click();
    await page.getByRole('heading', { name: receiver.url('/audited') }).waitFor();
  });

  it('says of every view that it is being read, that it could not be, and that it is refused', async () => {
    const { sender, receiver, open } = dashboard();
    const { id } = await sender.endpoints.create({ url: receiver.url('/states'), types: ['never.sent'] });
    const message = await sender.send({ type: 'states.shown', data: 1 });
    const page = await open('#/keys');
    await page.getByRole('heading', { name: 'Keys', exact: true }).waitFor();
    let answer = Promise.resolve({ status: 200, errorCode: '' });
    await page.route('**/admin/**', async (route) => {
      const { status, errorCode } = await answer;
      if (route.request().url().endsWith('/caller')) return route.continue();
      return route.fulfill({ status, json: { errorCode, error: 'As the test says' } });
    });
    for (const hash of [
      '#/?range=week',
      '#/endpoints?status=paused',
      `#/endpoints/${id}`,
      `#/endpoints/${id}/edit`,
      '#/messages?type=states.shown',
      `#/messages/${message.id}`,
      '#/tenants',
      '#/audit',
    ]) {
      let release: (answer: { status: number; errorCode: string }) => void = () => {};
      answer = new Promise((resolve) => {
        release = resolve;
      });
      await page.evaluate(`location.hash = ${JSON.stringify(hash)}`);
      await page.locator('.skeleton').first().waitFor();
      release({ status: 500, errorCode: 'INTERNAL' });
      await page.getByText('This could not be read').first().waitFor();
      answer = Promise.resolve({ status: 403, errorCode: 'FORBIDDEN' });
      await page.locator('.state').getByRole('button', { name: 'Try again' }).first().click();
      await page.getByText('No access').first().waitFor();
    }
  });

  it('says that the control plane cannot be reached, and finds it again', async () => {
    const { open } = dashboard();
    const page = await open('#/messages');
    await page.getByRole('heading', { name: 'Messages' }).waitFor();
    await page.route('**/admin/**', (route) => route.abort());
    await page.getByRole('link', { name: 'Audit' }).click();
    await page.getByText('cannot be reached', { exact: false }).waitFor();
    await page.unroute('**/admin/**');
    await page.getByRole('button', { name: 'Try again' }).click();
    await page.getByText('cannot be reached', { exact: false }).waitFor({ state: 'detached' });
  });
}
