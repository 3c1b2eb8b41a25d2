import { createClock, HOUR, MINUTE } from '../support/clock.js';
import { type Receiver, startReceiver } from '../support/receiver.js';
import { startSender, type TestSenderOptions } from '../support/sender.js';
import { takeTurns, untilAttempts, untilStatus } from './probe.js';

const SINCE = '2026-05-01T00:00:00Z';

async function start(options: TestSenderOptions = {}) {
  const clock = createClock();
  const receiver = await startReceiver();
  const sender = await startSender({
    now: clock.now,
    retry: { delaysSeconds: [60, 600], jitter: 0 },
    ...options,
  });
  return { clock, receiver, sender };
}

const idsAt = (receiver: Receiver, path: string): string[] =>
  receiver.requests(path).map(({ headers }) => String(headers['webhook-id']));

describe('of one message', () => {
  test('to one endpoint: it is sent again to exactly that one', async () => {
    const { receiver, sender } = await start();
    const a = await sender.endpoints.create({ url: receiver.url('/a') });
    await sender.endpoints.create({ url: receiver.url('/b') });
    const sent = await sender.send({ type: 'a.b', data: 1 });
    await untilStatus(sender, sent.id, 'delivered');
    expect(await sender.replay({ messageId: sent.id, endpointId: a.id })).toEqual({
      replayed: 1,
      nextCursor: null,
    });
    const [first, second] = await receiver.waitFor(2, '/a');
    expect(second?.rawBody).toEqual(first?.rawBody);
    expect(second?.headers['webhook-id']).toBe(sent.id);
    await untilStatus(sender, sent.id, 'delivered');
    await takeTurns(sender);
    expect(receiver.requests('/b')).toHaveLength(1);
    const attempts = await untilAttempts(sender, sent, 3);
    expect(attempts.at(-1)).toMatchObject({ endpointId: a.id, number: 2, trigger: 'replay' });
  });

  test('without an endpoint: to those it was owed to, and no other', async () => {
    const { receiver, sender } = await start();
    await sender.endpoints.create({ url: receiver.url('/a') });
    const gone = await sender.endpoints.create({ url: receiver.url('/gone') });
    const sent = await sender.send({ type: 'a.b', data: 1 });
    await untilStatus(sender, sent.id, 'delivered');
    await sender.endpoints.create({ url: receiver.url('/later') });
    await sender.endpoints.delete(gone.id);
    expect(await sender.replay({ messageId: sent.id })).toEqual({ replayed: 1, nextCursor: null });
    await receiver.waitFor(2, '/a');
    await takeTurns(sender);
    expect([receiver.requests('/gone').length, receiver.requests('/later').length]).toEqual([1, 0]);
  });

  test('to an endpoint that it was never owed to: it is, from then on', async () => {
    const { receiver, sender } = await start();
    const sent = await sender.send({ type: 'a.b', data: 1 });
    const later = await sender.endpoints.create({ url: receiver.url(), types: ['other'] });
    expect((await sender.replay({ messageId: sent.id, endpointId: later.id })).replayed).toBe(1);
    await receiver.waitFor(1);
    await untilStatus(sender, sent.id, 'delivered');
  });

  test('that has failed starts its schedule anew; its numbers go on', async () => {
    const { clock, receiver, sender } = await start();
    receiver.answer('/', 500);
    const { id } = await sender.endpoints.create({ url: receiver.url() });
    const sent = await sender.send({ type: 'a.b', data: 1 });
    for (const [attempt, wait] of [MINUTE, 10 * MINUTE].entries()) {
      await untilAttempts(sender, sent, attempt + 1);
      clock.advance(wait);
    }
    await untilStatus(sender, sent.id, 'failed');
    await sender.replay({ messageId: sent.id, endpointId: id });
    const attempts = await untilAttempts(sender, sent, 4);
    expect(attempts.map(({ number, trigger }) => [number, trigger])).toEqual([
      [1, 'send'],
      [2, 'retry'],
      [3, 'retry'],
      [4, 'replay'],
    ]);
    expect(Date.parse(attempts[3]!.nextAttemptAt!) - clock.now()).toBe(MINUTE);
    receiver.answer('/', 200);
    clock.advance(MINUTE);
    await untilStatus(sender, sent.id, 'delivered');
    expect((await untilAttempts(sender, sent, 5)).at(-1)).toMatchObject({ number: 5, trigger: 'retry' });
  });

  test('that is pending becomes due now', async () => {
    const { receiver, sender } = await start();
    receiver.answer('/', 500, 200);
    await sender.endpoints.create({ url: receiver.url() });
    const sent = await sender.send({ type: 'a.b', data: 1 });
    await untilAttempts(sender, sent, 1);
    expect((await sender.replay({ messageId: sent.id })).replayed).toBe(1);
    await untilStatus(sender, sent.id, 'delivered');
  });

  test('that is in flight is left alone and not counted', async () => {
    const { receiver, sender } = await start();
    const held = receiver.hold('/');
    const { id } = await sender.endpoints.create({ url: receiver.url() });
    const sent = await sender.send({ type: 'a.b', data: 1 });
    await receiver.waitFor(1);
    for (const dryRun of [true, false]) {
      expect((await sender.replay({ messageId: sent.id, endpointId: id, dryRun })).replayed).toBe(0);
      expect((await sender.replay({ endpointId: id, since: SINCE, dryRun })).replayed).toBe(0);
    }
    held.release();
    await untilStatus(sender, sent.id, 'delivered');
    await takeTurns(sender);
    expect(receiver.requests()).toHaveLength(1);
  });

  test('that was delivered and fails now is failed, and once it was delivered it is so again', async () => {
    const { receiver, sender } = await start({ retry: { delaysSeconds: [], jitter: 0 } });
    receiver.answer('/', 200, 500, 200);
    await sender.endpoints.create({ url: receiver.url() });
    const sent = await sender.send({ type: 'a.b', data: 1 });
    await untilStatus(sender, sent.id, 'delivered');
    await sender.replay({ messageId: sent.id });
    await untilStatus(sender, sent.id, 'failed');
    await sender.replay({ messageId: sent.id });
    await untilStatus(sender, sent.id, 'delivered');
  });

  test('that has expired is owed again for the time a new one has', async () => {
    const { clock, receiver, sender } = await start({ messageTtlSeconds: 3600 });
    receiver.answer('/', 500, 200);
    await sender.endpoints.create({ url: receiver.url() });
    const sent = await sender.send({ type: 'a.b', data: 1 });
    await untilAttempts(sender, sent, 1);
    clock.advance(2 * HOUR);
    await untilStatus(sender, sent.id, 'failed');
    await sender.replay({ messageId: sent.id });
    await untilStatus(sender, sent.id, 'delivered');
  });
});

describe('the webhook id', () => {
  test('is a fresh one when it is asked for, and stays so over retries', async () => {
    const { clock, receiver, sender } = await start();
    receiver.answer('/', 200, 500, 200);
    await sender.endpoints.create({ url: receiver.url() });
    const sent = await sender.send({ type: 'a.b', data: 1 });
    await untilStatus(sender, sent.id, 'delivered');
    await sender.replay({ messageId: sent.id, freshId: true });
    await untilAttempts(sender, sent, 2);
    clock.advance(MINUTE);
    await untilStatus(sender, sent.id, 'delivered');
    const [first, second, third] = idsAt(receiver, '/');
    expect(first).toBe(sent.id);
    expect(second).toMatch(/^msg_[A-Za-z0-9]{22,}$/);
    expect(second).not.toBe(first);
    expect(third).toBe(second);
  });

  test('stays the same in a replay that does not ask for a fresh one', async () => {
    const { receiver, sender } = await start();
    await sender.endpoints.create({ url: receiver.url() });
    const sent = await sender.send({ type: 'a.b', data: 1 });
    await untilStatus(sender, sent.id, 'delivered');
    for (const freshId of [false, true, false]) {
      await sender.replay({ messageId: sent.id, freshId });
      await untilStatus(sender, sent.id, 'delivered');
    }
    const [first, second, third, fourth] = idsAt(receiver, '/');
    expect([first, second]).toEqual([sent.id, sent.id]);
    expect(third).not.toBe(sent.id);
    expect(fourth).toBe(third);
  });

  test('is another for each endpoint and message', async () => {
    const { receiver, sender } = await start();
    const { id } = await sender.endpoints.create({ url: receiver.url() });
    const sent = await sender.sendMany(Array.from({ length: 5 }, () => ({ type: 'a.b', data: 1 })));
    for (const each of sent) await untilStatus(sender, each.id, 'delivered');
    await sender.replay({ endpointId: id, since: SINCE, freshId: true });
    await receiver.waitFor(10);
    expect(new Set(idsAt(receiver, '/')).size).toBe(10);
  });
});

describe('refused', () => {
  test('to a paused endpoint', async () => {
    const { receiver, sender } = await start();
    const { id } = await sender.endpoints.create({ url: receiver.url() });
    const sent = await sender.send({ type: 'a.b', data: 1 });
    await untilStatus(sender, sent.id, 'delivered');
    await sender.endpoints.disable(id);
    for (const request of [
      { messageId: sent.id, endpointId: id },
      { messageId: sent.id },
      { endpointId: id, since: SINCE },
      { endpointId: id, since: SINCE, dryRun: true },
    ]) {
      await expect(sender.replay(request)).rejects.toMatchObject({ code: 'ENDPOINT_DISABLED' });
    }
    expect(await sender.messages.get(sent.id)).toMatchObject({ status: 'delivered' });
  });

  test('to an unknown endpoint, of an unknown message, and of those of another tenant', async () => {
    const { receiver, sender } = await start();
    const own = await sender.endpoints.create({ url: receiver.url(), tenantId: 'acme' });
    const sent = await sender.send({ type: 'a.b', data: 1, tenantId: 'acme' });
    await untilStatus(sender, sent.id, 'delivered');
    const foreign = sender.forTenant('other');
    for (const [scope, messageId, endpointId] of [
      [sender, 'msg_none', 'ep_none'],
      [foreign, sent.id, own.id],
    ] as const) {
      await expect(scope.replay({ messageId })).rejects.toMatchObject({ code: 'MESSAGE_NOT_FOUND' });
      await expect(scope.replay({ messageId, endpointId })).rejects.toMatchObject({
        code: 'MESSAGE_NOT_FOUND',
      });
      await expect(scope.replay({ endpointId, since: SINCE })).rejects.toMatchObject({
        code: 'ENDPOINT_NOT_FOUND',
      });
    }
    await expect(sender.replay({ messageId: sent.id, endpointId: 'ep_none' })).rejects.toMatchObject({
      code: 'ENDPOINT_NOT_FOUND',
    });
    const elsewhere = await sender.endpoints.create({ url: receiver.url('/elsewhere'), tenantId: 'other' });
    await expect(sender.replay({ messageId: sent.id, endpointId: elsewhere.id })).rejects.toMatchObject({
      code: 'REPLAY_VALIDATION',
      issues: [{ path: 'endpointId' }],
    });
    await sender.endpoints.delete(elsewhere.id);
    const bound = await foreign.send({ type: 'c', data: 1 });
    await expect(foreign.replay({ messageId: bound.id, endpointId: own.id })).rejects.toMatchObject({
      code: 'ENDPOINT_NOT_FOUND',
    });
    await takeTurns(sender);
    expect(receiver.requests()).toHaveLength(1);
  });

  test.each([
    [{}, ''],
    [null, ''],
    [[], ''],
    ['msg_a', ''],
    [{ messageId: 7 }, 'messageId'],
    [{ messageId: '' }, 'messageId'],
    [{ messageId: 'msg_a', since: SINCE }, 'since'],
    [{ messageId: 'msg_a', status: 'failed' }, 'status'],
    [{ messageId: 'msg_a', dryRun: 'yes' }, 'dryRun'],
    [{ endpointId: 'ep_a' }, 'since'],
    [{ endpointId: 'ep_a', since: 'yesterday' }, 'since'],
    [{ endpointId: 'ep_a', since: '2026-05-01T00:00:00' }, 'since'],
    [{ endpointId: 'ep_a', since: SINCE, until: 'today' }, 'until'],
    [{ endpointId: 'ep_a', since: SINCE, until: '2026-04-30' }, 'since'],
    [{ endpointId: 'ep_a', since: SINCE, types: [] }, 'types'],
    [{ endpointId: 'ep_a', since: SINCE, types: ['a.*.b'] }, 'types.0'],
    [{ endpointId: 'ep_a', since: SINCE, status: 'dead' }, 'status'],
    [{ endpointId: 'ep_a', since: SINCE, freshId: 1 }, 'freshId'],
    [{ endpointId: 'ep_a', since: SINCE, tenantId: 'acme' }, 'tenantId'],
  ])('%j, which names %j', async (request, path) => {
    const sender = await startSender({ started: false });
    await expect(sender.replay(request as never)).rejects.toMatchObject({
      code: 'REPLAY_VALIDATION',
      issues: [{ path, message: expect.any(String) }],
    });
  });

  test('with a limit or a cursor that is none', async () => {
    const sender = await startSender({ started: false });
    const { id } = await sender.endpoints.create({ url: 'http://127.0.0.1:9999/' });
    const sent = await sender.sendMany(Array.from({ length: 3 }, () => ({ type: 'a.b', data: 1 })));
    const range = { endpointId: id, since: SINCE, limit: 1 };
    const { nextCursor } = await sender.replay(range);
    for (const request of [
      { ...range, limit: 0 },
      { ...range, limit: '5' },
      { ...range, cursor: 'x' },
      { ...range, types: ['a.b'], cursor: nextCursor },
      { ...range, since: '2026-05-01T00:00:01Z', cursor: nextCursor },
      { messageId: sent[0]!.id, limit: -1 },
      { messageId: sent[0]!.id, cursor: nextCursor },
    ]) {
      await expect(sender.replay(request as never)).rejects.toMatchObject({ code: 'INVALID_QUERY' });
    }
    expect((await sender.replay({ ...range, cursor: nextCursor! })).replayed).toBe(1);
  });
});
