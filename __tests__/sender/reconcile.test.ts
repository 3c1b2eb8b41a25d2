import { createClock, MINUTE } from '../support/clock.js';
import { startReceiver } from '../support/receiver.js';
import { startSender, type TestSender } from '../support/sender.js';
import { untilAttempts, untilStatus } from './probe.js';

const SINCE = '2026-05-01T00:00:00Z';

async function start() {
  const clock = createClock();
  const receiver = await startReceiver();
  const sender = await startSender({ now: clock.now, retry: { delaysSeconds: [], jitter: 0 } });
  return { clock, receiver, sender };
}

async function missing(sender: TestSender, endpointId: string, since = SINCE): Promise<string[]> {
  return (await sender.reconcile({ endpointId, since })).messageIds;
}

test('lists what was not delivered: failed, pending, canceled and never owed, oldest first', async () => {
  const { clock, receiver, sender } = await start();
  const before = await sender.send({ type: 'a.b', data: 0 });
  const endpoint = await sender.endpoints.create({ url: receiver.url() });
  receiver.answer('/', 200, 500, 200);
  const ids: string[] = [];
  for (const status of ['delivered', 'failed', 'delivered'] as const) {
    clock.advance(MINUTE);
    const sent = await sender.send({ type: 'a.b', data: 1 });
    await untilStatus(sender, sent.id, status);
    ids.push(sent.id);
  }
  clock.advance(MINUTE);
  await sender.endpoints.disable(endpoint.id);
  const held = await sender.send({ type: 'a.b', data: 4 });
  expect(await sender.reconcile({ endpointId: endpoint.id, since: SINCE })).toEqual({
    messageIds: [before.id, ids[1], held.id],
    nextCursor: null,
  });
});

test('leaves out what the endpoint does not want by now', async () => {
  const { sender } = await start();
  await sender.send({ type: 'a.x', data: { plan: 'pro' }, channels: ['eu'] });
  const free = await sender.send({ type: 'a.y', data: { plan: 'free' } });
  const endpoint = await sender.endpoints.create({ url: 'http://127.0.0.1:9999/' });
  expect(await missing(sender, endpoint.id)).toHaveLength(2);
  for (const wants of [{ types: ['a.y'] }, { types: null, filter: { dataPath: 'plan', equals: 'free' } }]) {
    await sender.endpoints.update(endpoint.id, wants);
    expect(await missing(sender, endpoint.id)).toEqual([free.id]);
  }
  await sender.endpoints.update(endpoint.id, { filter: null, channels: ['us'] });
  expect(await missing(sender, endpoint.id)).toEqual([]);
});

test('a delivery that was made once counts, whatever a replay came to', async () => {
  const { receiver, sender } = await start();
  receiver.answer('/', 200, 500);
  const endpoint = await sender.endpoints.create({ url: receiver.url() });
  const sent = await sender.send({ type: 'a.b', data: 1 });
  await untilStatus(sender, sent.id, 'delivered');
  await sender.replay({ messageId: sent.id });
  await untilStatus(sender, sent.id, 'failed');
  expect(await missing(sender, endpoint.id)).toEqual([]);
});

test('what another endpoint has had is still missing here', async () => {
  const { receiver, sender } = await start();
  await sender.endpoints.create({ url: receiver.url('/a') });
  receiver.answer('/b', 500);
  const failing = await sender.endpoints.create({ url: receiver.url('/b') });
  const sent = await sender.send({ type: 'a.b', data: 1 });
  await untilStatus(sender, sent.id, 'failed');
  expect(await missing(sender, failing.id)).toEqual([sent.id]);
});

test('the range runs from its start to before its end, page by page', async () => {
  const { clock, sender } = await start();
  const ids: string[] = [];
  for (let index = 0; index < 5; index++) {
    ids.push((await sender.send({ type: 'a.b', data: index })).id);
    clock.advance(MINUTE);
  }
  const { id: endpointId } = await sender.endpoints.create({ url: 'http://127.0.0.1:9999/' });
  const range = { endpointId, since: '2026-05-01T12:01:00Z', until: '2026-05-01T12:04:00Z' };
  expect((await sender.reconcile(range)).messageIds).toEqual(ids.slice(1, 4));
  const walked: string[] = [];
  let cursor: string | undefined;
  do {
    const page = await sender.reconcile({ endpointId, since: SINCE, limit: 2, cursor });
    expect(page.messageIds.length).toBeLessThanOrEqual(2);
    walked.push(...page.messageIds);
    cursor = page.nextCursor ?? undefined;
  } while (cursor !== undefined);
  expect(walked).toEqual(ids);
});

test('changes nothing, and what it lists can be replayed until it lists nothing', async () => {
  const { receiver, sender } = await start();
  receiver.answer('/', 500, 500, 200);
  const endpoint = await sender.endpoints.create({ url: receiver.url() });
  const sent = [await sender.send({ type: 'a.b', data: 1 }), await sender.send({ type: 'a.b', data: 2 })];
  for (const { id } of sent) await untilStatus(sender, id, 'failed');
  const before = await sender.messages.get(sent[0]!.id);
  const ids = await missing(sender, endpoint.id);
  expect(await sender.messages.get(sent[0]!.id)).toEqual(before);
  for (const messageId of ids) await sender.replay({ messageId, endpointId: endpoint.id });
  for (const { id } of sent) await untilStatus(sender, id, 'delivered');
  expect(await missing(sender, endpoint.id)).toEqual([]);
  await untilAttempts(sender, sent[0]!, 2);
});

test("never leaves the endpoint's tenant, and is not found for another", async () => {
  const { sender } = await start();
  const url = 'http://127.0.0.1:9999/';
  const own = await sender.send({ type: 'a.b', data: 1, tenantId: 'acme' });
  await sender.send({ type: 'a.b', data: 1, tenantId: 'other' });
  await sender.send({ type: 'a.b', data: 1 });
  const endpoint = await sender.endpoints.create({ url, tenantId: 'acme' });
  expect(await missing(sender, endpoint.id)).toEqual([own.id]);
  const request = { endpointId: endpoint.id, since: SINCE };
  expect((await sender.forTenant('acme').reconcile(request)).messageIds).toEqual([own.id]);
  for (const [scope, endpointId] of [
    [sender.forTenant('other'), endpoint.id],
    [sender, 'ep_none'],
  ] as const) {
    await expect(scope.reconcile({ endpointId, since: SINCE })).rejects.toMatchObject({
      code: 'ENDPOINT_NOT_FOUND',
    });
  }
});

test.each([
  [{ since: SINCE }, 'endpointId'],
  [{ endpointId: 'ep_a' }, 'since'],
  [{ endpointId: 'ep_a', since: 'x' }, 'since'],
  [{ endpointId: 'ep_a', since: SINCE, until: '2026-04-30' }, 'since'],
  [{ endpointId: 'ep_a', since: SINCE, dryRun: true }, 'dryRun'],
])('refuses %j, which names %j', async (request, path) => {
  const sender = await startSender({ started: false });
  await expect(sender.reconcile(request as never)).rejects.toMatchObject({
    code: 'REPLAY_VALIDATION',
    issues: [{ path, message: expect.any(String) }],
  });
});

test('a cursor of another list is refused', async () => {
  const sender = await startSender({ started: false });
  const { id } = await sender.endpoints.create({ url: 'http://127.0.0.1:9999/' });
  await sender.sendMany([1, 2, 3].map((data) => ({ type: 'a.b', data })));
  const request = { endpointId: id, since: SINCE, limit: 1 };
  const { nextCursor } = await sender.replay({ ...request, dryRun: true });
  await expect(sender.reconcile({ ...request, cursor: nextCursor! })).rejects.toMatchObject({
    code: 'INVALID_QUERY',
  });
});
