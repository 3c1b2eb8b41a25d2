import { onCleanUp } from '../support/clean-up.js';
import { startReceiver } from '../support/receiver.js';
import { startSender, type TestSender } from '../support/sender.js';
import { rowsAt } from '../support/test-store.js';
import { eventually } from '../support/wait-for.js';

const CANARY = 'CANARY-3b9d';
const TENANT = `tenant ${CANARY}`;

/** How many rows of each table hold the text; tables without any are left out. */
async function rowsLeft({ file }: TestSender, text = CANARY): Promise<Record<string, number>> {
  const counts = Object.entries(await rowsAt(file)).map(
    ([table, rows]) => [table, rows.filter((row) => JSON.stringify(row).includes(text)).length] as const,
  );
  return Object.fromEntries(counts.filter(([, count]) => count > 0));
}

/** Gives the tenant as many messages of which nothing is delivered. */
async function addMessages(sender: TestSender, count: number): Promise<void> {
  await sender.endpoints.create({ tenantId: TENANT, url: `http://127.0.0.1:9999/${CANARY}` });
  for (let sent = 0; sent < count; sent += 500) {
    await sender.sendMany(
      Array.from({ length: 500 }, (_, n) => ({
        type: 'a',
        data: CANARY,
        tenantId: TENANT,
        idempotencyKey: `${CANARY} ${sent + n}`,
      })),
    );
  }
}

test('under load, nothing is sent of it after the deadline of a request, and nothing of it is left or comes back', async () => {
  const receiver = await startReceiver();
  receiver.answer('/slow', (_request, response) =>
    setTimeout(() => response.writeHead(200).end(CANARY), 300),
  );
  receiver.answer('/broken', { status: 500, body: CANARY });
  receiver.hold('/hanging');
  const options = { timeoutMs: 1000, concurrency: 32 };
  const sender = await startSender(options);
  const second = await startSender({ ...options, file: sender.file });
  let goOn = () => {};
  const held = new Promise<boolean>((resolve) => {
    goOn = () => resolve(true);
  });
  const hesitating = await startSender({
    started: false,
    file: sender.file,
    endpointHooks: () => ({ filterFn: () => held }),
    timeoutMs: 30_000,
  });
  for (const path of ['/fast', '/slow', '/broken', '/hanging']) {
    await sender.endpoints.create({
      tenantId: TENANT,
      url: receiver.url(path),
      description: CANARY,
      headers: { 'x-canary': CANARY },
    });
  }
  await sender.endpoints.create({ tenantId: 'other', url: receiver.url('/other') });

  const sending: Promise<unknown>[] = [];
  const outcomes: PromiseSettledResult<unknown>[] = [];
  const sendSome = (tenantId: string, count: number) => {
    for (let n = 0; n < count; n++) {
      const from = n % 2 === 0 ? sender : second;
      sending.push(
        from.send({ tenantId, type: 'a', data: CANARY, idempotencyKey: `${tenantId} ${sending.length}` }),
      );
    }
  };
  sendSome(TENANT, 600);
  sendSome('other', 200);
  await receiver.waitFor(50, '/fast');
  await receiver.waitFor(1, '/hanging');
  // Of these some may have been made, and not been stored, when the tenant is deleted; of the last it is certain.
  sendSome(TENANT, 400);
  sending.push(hesitating.send({ tenantId: TENANT, type: 'a', data: CANARY }));
  await sender.forCaller({ tenantId: TENANT }).tenants.delete(TENANT);
  const deletedAt = Date.now();
  goOn();
  outcomes.push(...(await Promise.allSettled(sending)));
  const refused = outcomes.filter(({ status }) => status === 'rejected') as PromiseRejectedResult[];
  expect(refused.length).toBeGreaterThan(0);
  for (const { reason } of refused) expect(reason).toMatchObject({ code: 'TENANT_NOT_FOUND' });

  const ofOther = () => receiver.requests('/other').length;
  const ofTenant = () => receiver.requests().length - ofOther();
  await eventually(() => expect(Date.now()).toBeGreaterThan(deletedAt + options.timeoutMs));
  const sent = ofTenant();
  // The canary is also what the other tenant sends; what names the tenant is the tenant's own.
  await eventually(async () =>
    expect(Object.keys(await rowsLeft(sender, TENANT))).toEqual(['hookplane_audit_log']),
  );
  await eventually(() => expect(ofOther()).toBe(200));
  const last = await sender.send({ tenantId: 'other', type: 'a', data: 1 });
  await eventually(async () =>
    expect(await sender.messages.get(last.id)).toMatchObject({ status: 'delivered' }),
  );
  expect(ofTenant()).toBe(sent);
  await sender.tenants.delete('other');
  await eventually(async () => expect(await rowsLeft(sender)).toEqual({ hookplane_audit_log: 1 }));
  expect(Object.keys(await rowsLeft(sender, '')).sort()).toEqual([
    'hookplane_audit_log',
    'hookplane_deleted_tenants',
    // Of all tenants together.
    'hookplane_depth_samples',
    'hookplane_schema_migrations',
    'hookplane_workers',
  ]);
});

test('it is answered before all is removed, and the process goes on with it in between other things', async () => {
  const sender = await startSender({ started: false });
  await addMessages(sender, 2000);
  let turns = 0;
  const ticking = setInterval(() => {
    turns += 1;
  }, 1);
  onCleanUp('test', 'sender', async () => clearInterval(ticking));
  await sender.tenants.delete(TENANT);
  expect((await rowsLeft(sender)).hookplane_payloads).toBeGreaterThan(0);
  expect((await sender.messages.list()).messages).toEqual([]);
  await expect(sender.tenants.delete(TENANT)).rejects.toMatchObject({ code: 'TENANT_NOT_FOUND' });
  await eventually(async () => expect(await rowsLeft(sender)).toEqual({ hookplane_audit_log: 1 }));
  expect(turns).toBeGreaterThan(0);
});

test('what a process that ends has not removed is removed by the next worker', async () => {
  const sender = await startSender({ started: false });
  await addMessages(sender, 2000);
  await sender.tenants.delete(TENANT);
  await sender.stop();
  expect((await rowsLeft(sender)).hookplane_messages).toBeGreaterThan(0);
  const next = await startSender({ file: sender.file });
  expect((await next.messages.list()).messages).toEqual([]);
  await eventually(async () => expect(await rowsLeft(next)).toEqual({ hookplane_audit_log: 1 }));
});

test('whoever has its id next loses nothing, and sends under the same keys', async () => {
  const sender = await startSender({ started: false });
  await addMessages(sender, 2000);
  await sender.tenants.delete(TENANT);
  const anew = { type: 'b', data: 1, tenantId: TENANT, idempotencyKey: `${CANARY} 1999` };
  const { id, duplicate } = await sender.send(anew);
  expect(duplicate).toBe(false);
  expect((await sender.forTenant(TENANT).messages.list()).messages).toMatchObject([{ id }]);
  await eventually(async () => expect((await rowsLeft(sender)).hookplane_messages).toBe(1));
  await eventually(async () => expect((await rowsLeft(sender)).hookplane_deleted_tenants).toBeUndefined());
  expect(await sender.send(anew)).toMatchObject({ id, duplicate: true });
  expect(await sender.tenants.get(TENANT)).toMatchObject({ id: TENANT });
});

test('a send that its hooks keep waiting meanwhile is refused, and makes nothing of it anew', async () => {
  let asked = 0;
  let answer: (keep: boolean) => void = () => {};
  const waiting = new Promise<boolean>((resolve) => {
    answer = resolve;
  });
  const filterFn = () => {
    asked += 1;
    return waiting;
  };
  const sender = await startSender({ started: false, endpointHooks: () => ({ filterFn }) });
  await sender.endpoints.create({ tenantId: TENANT, url: 'http://127.0.0.1:9999/' });
  const message = { type: 'a', data: CANARY, tenantId: TENANT };
  const sends = Promise.allSettled([
    sender.send(message),
    sender.sendMany([message, { type: 'b', data: 1 }]),
  ]);
  await eventually(() => expect(asked).toBe(2));
  await sender.tenants.delete(TENANT);
  answer(true);
  const gone = { status: 'rejected', reason: { code: 'TENANT_NOT_FOUND' } };
  expect(await sends).toMatchObject([gone, gone]);
  expect(await rowsLeft(sender)).toEqual({ hookplane_audit_log: 1 });
  expect((await sender.messages.list()).messages).toEqual([]);
  await sender.send(message);
  expect((await sender.messages.list()).messages).toHaveLength(1);
});
