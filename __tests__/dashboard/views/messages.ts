import { eventually, waitFor } from '../../support/wait-for.js';
import { type Dashboard, passRefresh } from '../opened-page.js';

/** Tests of the views, on the dashboard that is handed over. */
export function testMessages(dashboard: () => Dashboard): void {
  async function delivered(type: string, tenantId?: string): Promise<string> {
    const { sender } = dashboard();
    const { id } = await sender.send({ type, data: { total: 42, customer: { name: 'Zoë' } }, tenantId });
    await settled(id);
    return id;
  }

  async function settled(id: string): Promise<void> {
    await waitFor(async () => (await dashboard().sender.messages.get(id)).status !== 'pending');
  }

  it('lists messages by the filters of its address, and keeps those that are chosen in it', async () => {
    const { sender, receiver, open } = dashboard();
    receiver.answer('/filtered', 200);
    await sender.endpoints.create({ url: receiver.url('/filtered'), types: ['filtered.yes'] });
    await delivered('filtered.yes');
    await delivered('filtered.no');
    const page = await open('#/messages?type=filtered.yes,filtered.no');
    await page.getByRole('link', { name: 'filtered.no' }).waitFor();
    expect(await page.locator('tbody tr').count()).toBe(2);

    await page.getByLabel('Status').selectOption('delivered');
    await waitFor(async () => (await page.locator('tbody tr').count()) === 1);
    expect(await page.locator('tbody a').textContent()).toBe('filtered.yes');
    expect(decodeURIComponent(new URL(page.url()).hash)).toBe(
      '#/messages?type=filtered.yes,filtered.no&status=delivered',
    );

    await page.getByLabel('Type').fill('filtered.none');
    await page.getByText('Nothing matches').waitFor();
    await page.getByRole('button', { name: 'Clear filters' }).click();
    await page.getByRole('link', { name: 'filtered.yes' }).waitFor();
    expect(new URL(page.url()).hash).toBe('#/messages');
  });

  it('goes on where a page ends without a row, and keeps what it finds there', async () => {
    const { sender, receiver, open } = dashboard();
    const tenantId = 'crowd';
    receiver.answer('/crowd', 200);
    await sender.endpoints.create({ url: receiver.url('/crowd'), types: ['crowd.wanted'], tenantId });
    await delivered('crowd.wanted', tenantId);
    // More than a page goes over.
    await sender.sendMany(Array.from({ length: 1010 }, () => ({ type: 'crowd.other', data: 1, tenantId })));
    const page = await open(`#/messages?tenantId=${tenantId}&status=delivered`);
    await page.getByRole('link', { name: 'crowd.wanted' }).waitFor();
    await page.getByText('That is the only one').waitFor();
    // The beginning is read again, and is as empty as before. When it is read once more, the page has taken that in.
    for (let look = 0; look < 2; look++) {
      const again = page.waitForResponse((response) => !response.url().includes('cursor='));
      await page.evaluate("document.dispatchEvent(new Event('visibilitychange'))");
      await again;
    }
    expect(await page.getByRole('link', { name: 'crowd.wanted' }).count()).toBe(1);
  });

  it('reads a long list on as far as it is scrolled, and says what has come since', async () => {
    const { sender, open } = dashboard();
    const type = 'long.list';
    for (let sent = 0; sent < 120; sent += 40) {
      await sender.sendMany(Array.from({ length: 40 }, (_, index) => ({ type, data: sent + index })));
    }
    const page = await open(`#/messages?type=${type}`);
    await page.locator('tbody tr').nth(49).waitFor();
    expect(await page.locator('tbody tr').count()).toBeLessThan(120);
    await eventually(async () => {
      await page.evaluate('scrollTo(0, document.body.scrollHeight)');
      expect(await page.locator('tbody tr').count()).toBe(120);
    });
    await page.getByText('All 120 are shown').waitFor();

    const before = await page.evaluate('scrollY');
    await sender.send({ type, data: 'new' });
    await passRefresh(page);
    await page.getByRole('button', { name: '1 new' }).waitFor();
    expect(await page.locator('tbody tr').count()).toBe(120);
    expect(await page.evaluate('scrollY')).toBe(before);
    await page.getByRole('button', { name: '1 new' }).click();
    await waitFor(async () => (await page.locator('tbody tr').count()) === 121);
  });

  it('reads a list on when a busy browser tells at once that its end was out of view and has come into it', async () => {
    const { sender, open } = dashboard();
    const type = 'told.at.once';
    await sender.sendMany(Array.from({ length: 70 }, (_, index) => ({ type, data: index })));
    const page = await open('#/endpoints');
    await page.evaluate(`
      const Native = IntersectionObserver;
      globalThis.IntersectionObserver = function (tell, options) {
        const told = [];
        return new Native((entries, observer) => {
          told.push(...entries);
          globalThis.told = told.length;
          if (told.some((entry) => entry.isIntersecting)) tell(told.splice(0), observer);
        }, options);
      };
    `);
    await page.evaluate(`location.hash = '#/messages?type=${type}'`);
    await waitFor(() => page.evaluate('globalThis.told === 1'));
    await page.evaluate('scrollTo(0, document.body.scrollHeight)');
    await page.getByText('All 70 are shown').waitFor();
  });

  it('leaves out a page that comes when the list has begun anew', async () => {
    const { sender, open } = dashboard();
    const type = 'begun.anew';
    const send = (size: number) =>
      sender.sendMany(Array.from({ length: size }, (_, index) => ({ type, data: index })));
    await send(70);
    const page = await open(`#/messages?type=${type}`);
    await page.locator('tbody tr').nth(49).waitFor();
    let goOn = () => {};
    const held = new Promise<void>((resolve) => {
      goOn = resolve;
    });
    await page.route(/cursor=/, async (route) => {
      await held;
      await route.continue();
    });
    const asked = page.waitForRequest(/cursor=/);
    await page.evaluate('scrollTo(0, document.body.scrollHeight)');
    await asked;
    await page.evaluate('scrollTo(0, 0)');
    const newest = (await send(60)).at(-1)!;
    await passRefresh(page);
    await page.locator(`tbody a[href*="${newest.id}"]`).waitFor();
    const come = page.waitForResponse(/cursor=/);
    goOn();
    await come;
    await waitFor(async () => {
      await page.evaluate('scrollTo(0, document.body.scrollHeight)');
      return (await page.getByText('All 130 are shown').count()) === 1;
    });
    expect(await page.locator('tbody tr').count()).toBe(130);
    await page.unroute(/cursor=/);
  });

  it('shows a list where it was left when its visitor comes back', async () => {
    const { sender, open } = dashboard();
    await sender.sendMany(Array.from({ length: 80 }, (_, index) => ({ type: 'come.back', data: index })));
    const page = await open('#/messages?type=come.back');
    await waitFor(async () => {
      await page.evaluate('scrollTo(0, document.body.scrollHeight)');
      return (await page.locator('tbody tr').count()) === 80;
    });
    await page.locator('tbody tr a').nth(70).click();
    await page.getByRole('heading', { name: 'Payload' }).waitFor();
    await page.goBack();
    await page.locator('tbody tr').nth(79).waitFor();
  });

  it('shows the payload, and each attempt with its request and response', async () => {
    const { sender, receiver, open } = dashboard();
    receiver.answer(
      '/timeline',
      { status: 500, headers: { 'x-reason': 'overloaded' }, body: 'try later' },
      { status: 200, body: 'thanks' },
    );
    const { id: endpointId } = await sender.endpoints.create({
      url: receiver.url('/timeline'),
      types: ['timeline.shown'],
      retry: { delaysSeconds: [0], jitter: 0 },
    });
    const id = await delivered('timeline.shown');
    const page = await open(`#/messages/${id}`);
    const delivery = page.getByRole('article', { name: endpointId });
    await delivery.getByText('2 attempts').waitFor();
    await delivery.getByRole('link', { name: receiver.url('/timeline') }).waitFor();
    const failed = delivery.locator('li', { hasText: '#1' });
    await failed.locator('summary').click();
    for (const text of ['overloaded', 'try later', `POST ${receiver.url('/timeline')}`, '127.0.0.1']) {
      await failed
        .getByText(text, { exact: text === '127.0.0.1' })
        .last()
        .waitFor();
    }
    await page.getByText('"Zoë"').waitFor();
    await page.getByRole('button', { name: 'Raw' }).click();
    expect(JSON.parse((await page.locator('pre', { hasText: 'customer' }).textContent())!)).toMatchObject({
      type: 'timeline.shown',
      data: { total: 42, customer: { name: 'Zoë' } },
    });
  });

  it('keeps an attempt open while the message is read again', async () => {
    const { sender, receiver, open } = dashboard();
    await sender.endpoints.create({ url: receiver.url('/kept'), types: ['kept.open'] });
    const id = await delivered('kept.open');
    const page = await open(`#/messages/${id}`);
    await page.locator('summary', { hasText: '#1' }).click();
    await sender.replay({ messageId: id });
    await settled(id);
    await passRefresh(page);
    await page.locator('summary', { hasText: '#2' }).waitFor();
    expect(await page.locator('details[open] > summary', { hasText: '#1' }).count()).toBe(1);
  });

  it('replays a message to one endpoint, and to all', async () => {
    const { sender, receiver, open } = dashboard();
    const [first] = await Promise.all(
      ['/one', '/two'].map((path) =>
        sender.endpoints.create({ url: receiver.url(path), types: ['replayed.here'] }),
      ),
    );
    const id = await delivered('replayed.here');
    const page = await open(`#/messages/${id}`);
    const delivery = page.getByRole('article', { name: first!.id });
    await delivery.getByRole('button', { name: 'Replay' }).click();
    await page.getByText('1 delivery is due again.').waitFor();
    await receiver.waitFor(2, '/one');
    expect(receiver.requests('/two')).toHaveLength(1);
    await settled(id);
    await passRefresh(page);
    await delivery.getByText('2 attempts').waitFor();

    await page.getByRole('button', { name: 'Replay to all' }).click();
    await page.getByText('2 deliveries are due again.').waitFor();
    await receiver.waitFor(2, '/two');
  });

  it('replays a message to more endpoints than one answer of the control plane has', async () => {
    const { sender, receiver, open } = dashboard();
    const count = 101;
    const endpoint = { url: receiver.url('/many'), tenantId: 'many', types: ['replayed.widely'] };
    await Promise.all(Array.from({ length: count }, () => sender.endpoints.create(endpoint)));
    const { id } = await sender.send({ type: 'replayed.widely', data: 1, tenantId: 'many' });
    await settled(id);
    const page = await open(`#/messages/${id}`);
    let pages = 0;
    page.on('request', (request) => {
      if (request.method() === 'POST') pages++;
    });
    await page.getByRole('button', { name: 'Replay to all' }).click();
    await page.getByText(`${count} deliveries are due again.`).waitFor();
    expect(pages).toBe(2);
    await waitFor(async () => {
      const { deliveries } = await sender.messages.get(id);
      return deliveries.every(({ attemptCount }) => attemptCount === 2);
    });
    // Lists of all endpoints stay short for other tests.
    await sender.tenants.delete('many');
  });

  it('expunges a payload once that is confirmed', async () => {
    const { sender, open } = dashboard();
    const { id } = await sender.send({ type: 'expunged.here', data: { secret: 'of the customer' } });
    const page = await open(`#/messages/${id}`);
    await page.getByText('"of the customer"').waitFor();
    await page.getByRole('button', { name: 'Expunge payload' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Cancel' }).click();
    expect((await sender.messages.get(id)).payload).not.toBeNull();

    await page.getByRole('button', { name: 'Expunge payload' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Expunge payload' }).click();
    await page.getByText('The payload was expunged.', { exact: false }).waitFor();
    expect((await sender.messages.get(id)).payload).toBeNull();
  });

  it('says of an unknown message that it is not found', async () => {
    const page = await dashboard().open('#/messages/msg_unknown');
    await page.getByText('Not found').waitFor();
  });
}
