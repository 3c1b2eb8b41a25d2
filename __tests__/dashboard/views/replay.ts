import type { Page } from 'playwright-core';
import { waitFor } from '../../support/wait-for.js';
import { type Dashboard, TOKENS } from '../opened-page.js';

/** Has the first page of a replay be answered when the test says so. */
async function holdFirstPage(page: Page): Promise<{ release(): void; asked(): number }> {
  let release = () => {};
  const held = new Promise<void>((resolve) => {
    release = resolve;
  });
  let asked = 0;
  await page.route('**/admin/replay', async (route) => {
    if (!route.request().postData()?.includes('dryRun') && ++asked === 1) await held;
    await route.continue();
  });
  return { release, asked: () => asked };
}

/** Tests of the views, on the dashboard that is handed over. */
export function testReplay(dashboard: () => Dashboard): void {
  /** An endpoint that was sent a number of messages, all of them delivered. */
  async function endpointWith(path: string, count: number) {
    const { sender, receiver } = dashboard();
    const type = `${path.slice(1)}.sent`;
    const endpoint = await sender.endpoints.create({ url: receiver.url(path), types: [type] });
    for (let sent = 0; sent < count; sent += 100) {
      await sender.sendMany(Array.from({ length: Math.min(100, count - sent) }, () => ({ type, data: 1 })));
    }
    await receiver.waitFor(count, path);
    await waitFor(
      async () =>
        (await sender.messages.list({ types: [type], statuses: ['pending'] })).messages.length === 0,
    );
    return endpoint;
  }

  it('counts what a replay would send before it sends it, and shows how far it is', async () => {
    const { receiver, open } = dashboard();
    const { id } = await endpointWith('/counted', 30);
    const page = await open(`#/replay?endpointId=${id}`);
    await page.getByRole('button', { name: 'Count' }).click();
    await page.getByText('30 deliveries would be made.').waitFor();
    expect(receiver.requests('/counted')).toHaveLength(30);
    await page.getByRole('button', { name: 'Replay 30' }).click();
    await page.getByText('30 of 30 are due again').waitFor();
    await page.getByText('Done').waitFor();
    await receiver.waitFor(60, '/counted');
  });

  it('is done when it was paused during its last page, and goes on with nothing', async () => {
    const { receiver, open } = dashboard();
    const { id } = await endpointWith('/last-page', 20);
    const page = await open(`#/replay?endpointId=${id}`);
    const first = await holdFirstPage(page);
    await page.getByRole('button', { name: 'Count' }).click();
    await page.getByRole('button', { name: 'Replay 20' }).click();
    await waitFor(() => first.asked() === 1);
    await page.getByRole('button', { name: 'Pause' }).click();
    await page.getByRole('button', { name: 'Resume' }).waitFor();
    first.release();
    await page.getByText('20 of 20 are due again').waitFor();
    await page.getByText('Done').waitFor();
    await receiver.waitFor(40, '/last-page');
    expect([first.asked(), await page.getByRole('button', { name: 'Resume' }).count()]).toEqual([1, 0]);
  });

  it('counts anew when something else is asked for', async () => {
    const { open } = dashboard();
    const { id } = await endpointWith('/counted-anew', 3);
    const page = await open(`#/replay?endpointId=${id}`);
    await page.getByRole('button', { name: 'Count' }).click();
    await page.getByRole('button', { name: 'Replay 3' }).waitFor();
    await page.getByRole('checkbox').check();
    await page.getByRole('button', { name: 'Replay 3' }).waitFor({ state: 'detached' });
  });

  it('is forgotten with what was counted when the visitor signs out', async () => {
    const { receiver, open } = dashboard();
    const { id } = await endpointWith('/signed-out', 3);
    const page = await open(`#/replay?endpointId=${id}`);
    await page.getByRole('button', { name: 'Count' }).click();
    await page.getByRole('button', { name: 'Replay 3' }).waitFor();
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByLabel('Token').fill(TOKENS.operator);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByText('Nothing is sent before').waitFor();
    expect(await page.getByRole('button', { name: 'Replay 3' }).count()).toBe(0);
    expect(receiver.requests('/signed-out')).toHaveLength(3);
  });

  it('goes on after a pause where it was, sending nothing twice, while other views are looked at', async () => {
    const { receiver, open } = dashboard();
    const { id } = await endpointWith('/walked', 230);
    const page = await open(`#/replay?endpointId=${id}`);
    const first = await holdFirstPage(page);
    await page.getByRole('button', { name: 'Count' }).click();
    await page.getByRole('button', { name: 'Replay 230' }).click();
    await waitFor(() => first.asked() === 1);
    await page.getByRole('button', { name: 'Pause' }).click();
    await page.getByRole('button', { name: 'Resume' }).waitFor();
    await page.getByRole('link', { name: 'Messages' }).click();
    first.release();
    await page.getByRole('heading', { name: 'Messages' }).waitFor();
    await page.getByRole('link', { name: 'Replay' }).click();
    await page.getByText('200 of 230 are due again').waitFor();
    expect(first.asked()).toBe(1);
    await page.getByRole('button', { name: 'Resume' }).click();
    await page.getByText('230 of 230 are due again').waitFor();
    expect(first.asked()).toBe(2);
    await receiver.waitFor(460, '/walked');
  });

  it('begins no further page once it is canceled', async () => {
    const { open } = dashboard();
    const { id } = await endpointWith('/canceled', 210);
    const page = await open(`#/replay?endpointId=${id}`);
    let asked = 0;
    let release = () => {};
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    await page.route('**/admin/replay', async (route) => {
      if (!route.request().postData()?.includes('dryRun') && ++asked === 1) await held;
      await route.continue();
    });
    await page.getByRole('button', { name: 'Count' }).click();
    await page.getByRole('button', { name: 'Replay 210' }).click();
    await waitFor(() => asked === 1);
    await page.getByRole('button', { name: 'Cancel' }).click();
    release();
    await page.getByText('200 of 210 are due again').waitFor();
    await page.getByText('Canceled', { exact: true }).waitFor();
    expect(asked).toBe(1);
  });

  it('finds what an endpoint never got, and replays that alone', async () => {
    const { sender, receiver, open } = dashboard();
    receiver.answer('/missing', 200, 500, 200);
    const { id } = await sender.endpoints.create({
      url: receiver.url('/missing'),
      types: ['missing.sent'],
      retry: { delaysSeconds: [], jitter: 0 },
    });
    for (let sent = 1; sent <= 2; sent++) {
      await sender.send({ type: 'missing.sent', data: sent });
      await receiver.waitFor(sent, '/missing');
    }
    const failed = await waitFor(async () => {
      const { messages } = await sender.messages.list({ types: ['missing.sent'], statuses: ['failed'] });
      return messages[0];
    });
    const page = await open(`#/replay?mode=reconcile&endpointId=${id}`);
    await page.getByRole('button', { name: 'Find' }).click();
    await page.getByText('1 message was never delivered.').waitFor();
    await page.getByRole('link', { name: failed.id }).waitFor();
    await page.getByRole('button', { name: 'Replay 1' }).click();
    await page.getByText('1 of 1 are due again').waitFor();
    const requests = await receiver.waitFor(3, '/missing');
    expect(requests[2]!.headers['webhook-id']).toBe(failed.id);
  });

  it('says what keeps it from being done', async () => {
    const { sender, receiver, open } = dashboard();
    const { id } = await sender.endpoints.create({ url: receiver.url('/paused'), types: ['never.sent'] });
    await sender.endpoints.disable(id);
    const page = await open(`#/replay?endpointId=${id}`);
    await page.getByRole('button', { name: 'Count' }).click();
    await page.getByRole('alert').waitFor();
    expect(await page.getByRole('button', { name: 'Go on' }).count()).toBe(0);
  });
}
