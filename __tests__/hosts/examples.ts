import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import type { ServingHost } from '../contracts/served-plane.js';
import { type ApplicationSetting, runApplication } from '../support/application.js';
import type { ScriptRun } from '../support/snippets.js';
import { eventually } from '../support/wait-for.js';

const folder = join(__dirname, '../../examples');
export const TOKEN = 'a-token-of-sufficient-length';
const asAdmin = { headers: { authorization: `Bearer ${TOKEN}` } };

/** Runs an example as its readers would. */
export function runExample(file: string, setting: ApplicationSetting = {}): Promise<ScriptRun> {
  process.env.ADMIN_TOKEN = TOKEN;
  return runApplication(readFileSync(join(folder, file), 'utf8'), setting);
}

/** An example as the host of a sender and a control plane of the test's. */
export function servedByExample(file: string): ServingHost {
  return {
    prefix: '/admin',
    async serve(sender, admin) {
      const { servers } = await runExample(file, { sender, admin, lifetime: 'file' });
      return (servers[0]!.address() as AddressInfo).port;
    },
  };
}

/** What every example of a whole application does. */
export function exampleContract(file: string): void {
  it('lets in who has the token, and nobody else', async () => {
    const { urls } = await runExample(file);
    expect((await fetch(`${urls[0]}/admin/endpoints`, asAdmin)).status).toBe(200);
    expect((await fetch(`${urls[0]}/admin/endpoints`)).status).toBe(401);
  });

  it('has routes of its own, one of which sends', async () => {
    const { urls } = await runExample(file);
    const order = { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{"id":1}' };
    const placed = await fetch(`${urls[0]}/orders`, order);
    const { messageId } = (await placed.json()) as { messageId: string };
    expect([placed.status, messageId]).toEqual([202, expect.stringMatching(/^msg_/)]);
    const message = await fetch(`${urls[0]}/admin/messages/${messageId}`, asAdmin);
    expect(await message.json()).toMatchObject({ tenantId: 'acme', payload: { data: { id: 1 } } });
    expect((await fetch(`${urls[0]}/elsewhere`)).status).toBe(404);
  });

  it('delivers, and stops when it is told to', async () => {
    const { values, servers, signal } = await runExample(file);
    const { health } = values.sender as { health(): Promise<object> };
    expect(await health()).toMatchObject({ ok: true, workerCount: 1 });
    const closed = once(servers[0]!, 'close');
    signal('SIGTERM');
    await closed;
    await eventually(async () => expect(await health()).toMatchObject({ reason: 'store_unavailable' }));
  });
}
