import { startReceiver } from '../support/receiver.js';
import { startSender } from '../support/sender.js';
import { untilAttempts, untilStatus } from './probe.js';

const SINCE = '2020-01-01';

describe('a message whose payload is expunged', () => {
  test('keeps its history, without what was said in it', async () => {
    const receiver = await startReceiver();
    receiver.answer('/', { status: 200, body: 'you said: secret' });
    const sender = await startSender();
    await sender.endpoints.create({ url: receiver.url() });
    const sent = await sender.send({ type: 'a.b', data: 'secret' });
    await untilStatus(sender, sent.id, 'delivered');
    const before = await sender.messages.get(sent.id);
    await sender.messages.expungePayload(sent.id);
    expect(await sender.messages.get(sent.id)).toEqual({ ...before, payload: null });
    const { attempts } = await sender.messages.attempts(sent.id);
    expect(attempts).toMatchObject([{ status: 'succeeded', responseStatus: 200, responseBody: null }]);
    await sender.messages.expungePayload(sent.id);
    expect(await sender.messages.get(sent.id)).toEqual({ ...before, payload: null });
  });

  test('is not tried again', async () => {
    const receiver = await startReceiver();
    receiver.answer('/', 500);
    const sender = await startSender({ retry: { delaysSeconds: [1, 0.1], jitter: 0 } });
    const { id } = await sender.endpoints.create({ url: receiver.url() });
    const sent = await sender.send({ type: 'a.b', data: 1 });
    await untilAttempts(sender, sent, 1);
    await sender.messages.expungePayload(sent.id);
    expect(await sender.messages.get(sent.id)).toMatchObject({
      deliveries: [{ endpointId: id, status: 'canceled', nextAttemptAt: null }],
    });
    // Another message to the same endpoint has all of its attempts in the time in which this one would have.
    const other = await sender.send({ type: 'a.b', data: 2 });
    await untilStatus(sender, other.id, 'failed');
    const ids = receiver.requests().map(({ headers }) => headers['webhook-id']);
    expect(ids.filter((each) => each === sent.id)).toHaveLength(1);
  });

  test('before anything was delivered or given up is unrouted: all its deliveries are canceled', async () => {
    const sender = await startSender({ started: false });
    await sender.endpoints.create({ url: 'https://example.com/' });
    const { id } = await sender.send({ type: 'a.b', data: 1 });
    expect(await sender.messages.get(id)).toMatchObject({ status: 'pending' });
    await sender.messages.expungePayload(id);
    expect(await sender.messages.get(id)).toMatchObject({
      status: 'unrouted',
      deliveries: [{ status: 'canceled', attemptCount: 0 }],
    });
  });

  test('while it is in flight: the attempt is recorded, without its answer, and nothing comes of it', async () => {
    const receiver = await startReceiver();
    const held = receiver.hold('/');
    const sender = await startSender();
    const { id } = await sender.endpoints.create({ url: receiver.url() });
    const sent = await sender.send({ type: 'a.b', data: 'secret' });
    await receiver.waitFor(1);
    await sender.messages.expungePayload(sent.id);
    held.release({ status: 200, body: 'you said: secret' });
    const [attempt] = await untilAttempts(sender, sent, 1);
    expect(attempt).toMatchObject({ status: 'succeeded', responseStatus: 200, responseBody: null });
    expect((await sender.endpoints.attempts(id)).attempts).toEqual([attempt]);
    expect(await sender.messages.get(sent.id)).toMatchObject({
      payload: null,
      deliveries: [{ status: 'canceled' }],
    });
  });

  test('is not replayed by itself, and is passed over by a range', async () => {
    const receiver = await startReceiver();
    const sender = await startSender();
    const { id: endpointId } = await sender.endpoints.create({ url: receiver.url() });
    const sent = await sender.send({ type: 'a.b', data: 1 });
    const kept = await sender.send({ type: 'a.b', data: 2 });
    for (const each of [sent, kept]) await untilStatus(sender, each.id, 'delivered');
    await sender.messages.expungePayload(sent.id);
    for (const request of [{ messageId: sent.id }, { messageId: sent.id, endpointId, dryRun: true }]) {
      await expect(sender.replay(request)).rejects.toMatchObject({
        code: 'REPLAY_VALIDATION',
        issues: [{ path: 'messageId', message: expect.stringContaining('expunged') }],
      });
    }
    const range = { endpointId, since: SINCE };
    expect(await sender.replay({ ...range, dryRun: true })).toEqual({ replayed: 1, nextCursor: null });
    expect(await sender.replay(range)).toEqual({ replayed: 1, nextCursor: null });
    const requests = await receiver.waitFor(3);
    expect(requests.at(-1)!.headers['webhook-id']).toBe(kept.id);
  });

  test('is not among what reconcile finds missing', async () => {
    const sender = await startSender({ started: false });
    const { id: endpointId } = await sender.endpoints.create({ url: 'https://example.com/' });
    const sent = await sender.send({ type: 'a.b', data: 1 });
    const kept = await sender.send({ type: 'a.b', data: 2 });
    await sender.messages.expungePayload(sent.id);
    const filtered = await sender.endpoints.create({
      url: 'https://example.com/',
      filter: { dataPath: 'a', equals: 1 },
    });
    expect((await sender.reconcile({ endpointId, since: SINCE })).messageIds).toEqual([kept.id]);
    expect((await sender.reconcile({ endpointId: filtered.id, since: SINCE })).messageIds).toEqual([]);
  });

  test('stays the first of its idempotency key', async () => {
    const sender = await startSender({ started: false });
    const message = { type: 'a.b', data: 1, idempotencyKey: 'k' };
    const sent = await sender.send(message);
    await sender.messages.expungePayload(sent.id);
    expect(await sender.send(message)).toMatchObject({ id: sent.id, duplicate: true });
    await expect(sender.send({ ...message, data: 2 })).rejects.toMatchObject({
      code: 'IDEMPOTENCY_CONFLICT',
    });
    expect(await sender.messages.get(sent.id)).toMatchObject({ payload: null });
  });

  test("is no other tenant's to expunge", async () => {
    const sender = await startSender({ started: false });
    const sent = await sender.send({ type: 'a.b', data: 1, tenantId: 'acme' });
    for (const tenantId of ['other', 'ACME']) {
      await expect(sender.forTenant(tenantId).messages.expungePayload(sent.id)).rejects.toMatchObject({
        code: 'MESSAGE_NOT_FOUND',
      });
    }
    await expect(sender.messages.expungePayload('msg_none')).rejects.toMatchObject({
      code: 'MESSAGE_NOT_FOUND',
    });
    expect(await sender.messages.get(sent.id)).toMatchObject({ payload: { data: 1 } });
    await sender.forTenant('acme').messages.expungePayload(sent.id);
    expect(await sender.messages.get(sent.id)).toMatchObject({ payload: null, status: 'unrouted' });
  });
});
