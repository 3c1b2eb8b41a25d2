import type { RangeReplay } from '../../lib/model/replay.js';
import { createClock, MINUTE } from '../support/clock.js';
import { type Receiver, startReceiver } from '../support/receiver.js';
import { startSender, type TestSender, type TestSenderOptions } from '../support/sender.js';
import { takeTurns, untilStatus } from './probe.js';

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

/** Replays page by page to the end. */
async function replayAll(sender: Pick<TestSender, 'replay'>, request: RangeReplay): Promise<number[]> {
  const pages: number[] = [];
  let { cursor } = request;
  do {
    const { replayed, nextCursor } = await sender.replay({ ...request, cursor });
    pages.push(replayed);
    cursor = nextCursor ?? undefined;
  } while (cursor !== undefined);
  return pages;
}

describe('a replay of a range', () => {
  /** Six messages, a minute apart, to an endpoint that has had them all. */
  async function delivered() {
    const { clock, receiver, sender } = await start();
    const endpoint = await sender.endpoints.create({ url: receiver.url('/a') });
    const other = await sender.endpoints.create({ url: receiver.url('/b') });
    const sent: string[] = [];
    for (let index = 0; index < 6; index++) {
      const { id } = await sender.send({ type: index % 2 ? 'a.x' : 'a.y', data: { index } });
      await untilStatus(sender, id, 'delivered');
      sent.push(id);
      clock.advance(MINUTE);
    }
    return { clock, receiver, sender, endpoint, other, sent };
  }

  test('sends again what was sent from its start to before its end, to that endpoint alone', async () => {
    const { receiver, sender, endpoint, sent } = await delivered();
    const range = { since: '2026-05-01T12:01:00Z', until: '2026-05-01T12:04:00Z' };
    expect(await sender.replay({ endpointId: endpoint.id, ...range })).toEqual({
      replayed: 3,
      nextCursor: null,
    });
    await receiver.waitFor(9, '/a');
    await takeTurns(sender);
    expect(idsAt(receiver, '/a').slice(6).sort()).toEqual(sent.slice(1, 4));
    expect(receiver.requests('/b')).toHaveLength(6);
  });

  test('without an end goes up to now', async () => {
    const { receiver, sender, endpoint } = await delivered();
    expect((await sender.replay({ endpointId: endpoint.id, since: '2026-05-01T12:03:00Z' })).replayed).toBe(
      3,
    );
    await receiver.waitFor(9, '/a');
  });

  test('goes page by page, oldest first, each message once', async () => {
    const { receiver, sender, endpoint, sent } = await delivered();
    const range = { endpointId: endpoint.id, since: SINCE, limit: 2 };
    const { nextCursor } = await sender.replay(range);
    await receiver.waitFor(8, '/a');
    expect(idsAt(receiver, '/a').slice(6).sort()).toEqual(sent.slice(0, 2));
    expect(await replayAll(sender, { ...range, cursor: nextCursor! })).toEqual([2, 2]);
    await receiver.waitFor(12, '/a');
    expect(idsAt(receiver, '/a').slice(8).sort()).toEqual(sent.slice(2));
    const dryRun = true;
    for (const id of sent) await untilStatus(sender, id, 'delivered');
    expect(await replayAll(sender, { ...range, limit: 4, dryRun })).toEqual([4, 2]);
    expect(await replayAll(sender, { ...range, limit: 6, dryRun })).toEqual([6]);
  });

  test('keeps to the types that are asked for', async () => {
    const { sender, endpoint } = await delivered();
    const range = { endpointId: endpoint.id, since: SINCE, dryRun: true };
    expect((await sender.replay({ ...range, types: ['a.x'] })).replayed).toBe(3);
    expect((await sender.replay({ ...range, types: ['a.*'] })).replayed).toBe(6);
    expect((await sender.replay({ ...range, types: ['b', 'a.y'] })).replayed).toBe(3);
    expect((await sender.replay({ ...range, types: ['b'] })).replayed).toBe(0);
  });

  test('keeps to what the endpoint wants by now: its types, its channels and its filter', async () => {
    const { sender, endpoint } = await delivered();
    const count = async () =>
      (await sender.replay({ endpointId: endpoint.id, since: SINCE, dryRun: true })).replayed;
    await sender.endpoints.update(endpoint.id, { types: ['a.x'] });
    expect(await count()).toBe(3);
    await sender.endpoints.update(endpoint.id, { types: null, filter: { dataPath: 'index', equals: 4 } });
    expect(await count()).toBe(1);
    await sender.endpoints.update(endpoint.id, { filter: null, channels: ['eu'] });
    expect(await count()).toBe(0);
  });

  test('reaches an endpoint that was made later', async () => {
    const { receiver, sender, sent } = await delivered();
    const later = await sender.endpoints.create({ url: receiver.url('/later'), types: ['a.x'] });
    expect(await sender.replay({ endpointId: later.id, since: SINCE })).toEqual({
      replayed: 3,
      nextCursor: null,
    });
    await receiver.waitFor(3, '/later');
    expect(idsAt(receiver, '/later').sort()).toEqual([sent[1], sent[3], sent[5]]);
  });

  test('may be of failed deliveries alone', async () => {
    const { receiver, sender } = await start({ retry: { delaysSeconds: [], jitter: 0 } });
    receiver.answer('/', 200, 500, 200, 500, 200);
    const { id } = await sender.endpoints.create({ url: receiver.url() });
    const failed: string[] = [];
    for (let index = 0; index < 4; index++) {
      const sent = await sender.send({ type: 'a.b', data: index });
      await untilStatus(sender, sent.id, index % 2 ? 'failed' : 'delivered');
      if (index % 2) failed.push(sent.id);
    }
    expect(await sender.replay({ endpointId: id, since: SINCE, status: 'failed' })).toMatchObject({
      replayed: 2,
    });
    await receiver.waitFor(6);
    expect(idsAt(receiver, '/').slice(4).sort()).toEqual(failed);
    for (const each of failed) await untilStatus(sender, each, 'delivered');
    expect((await sender.replay({ endpointId: id, since: SINCE, status: 'failed' })).replayed).toBe(0);
  });

  test('of a status leaves out what the endpoint was never owed', async () => {
    const { receiver, sender } = await delivered();
    const later = await sender.endpoints.create({ url: receiver.url('/later') });
    for (const status of ['failed', 'delivered', 'pending', 'canceled'] as const) {
      expect((await sender.replay({ endpointId: later.id, since: SINCE, status })).replayed).toBe(0);
    }
  });

  test('counts and changes nothing in a dry run', async () => {
    const { receiver, sender, endpoint, sent } = await delivered();
    const before = await sender.messages.get(sent[0]!);
    expect(
      await replayAll(sender, { endpointId: endpoint.id, since: SINCE, limit: 4, dryRun: true }),
    ).toEqual([4, 2]);
    expect(await sender.replay({ messageId: sent[0]!, dryRun: true })).toEqual({
      replayed: 2,
      nextCursor: null,
    });
    await takeTurns(sender);
    expect(receiver.requests()).toHaveLength(12);
    expect(await sender.messages.get(sent[0]!)).toEqual(before);
  });

  test('a page that finds nothing among many goes on where it ended', async () => {
    const { receiver, sender } = await start({ started: false });
    const messages = Array.from({ length: 1200 }, (_each, n) => ({
      type: n === 1100 ? 'rare' : 'common',
      data: n,
    }));
    await sender.sendMany(messages);
    const { id } = await sender.endpoints.create({ url: receiver.url(), types: ['rare'] });
    const pages = await replayAll(sender, { endpointId: id, since: SINCE, limit: 1 });
    expect(pages.reduce((sum, count) => sum + count, 0)).toBe(1);
    expect(pages.length).toBeGreaterThan(1);
    expect(await replayAll(sender, { endpointId: id, since: SINCE, limit: 1000, dryRun: true })).toEqual([1]);
  });

  test("never leaves the endpoint's tenant", async () => {
    const { receiver, sender } = await start();
    for (const tenantId of ['acme', 'other', null]) await sender.send({ type: 'a.b', data: 1, tenantId });
    for (const tenantId of ['acme', null]) {
      const { id } = await sender.endpoints.create({ url: receiver.url(`/${tenantId}`), tenantId });
      expect((await sender.replay({ endpointId: id, since: SINCE })).replayed).toBe(1);
    }
    await receiver.waitFor(2);
    await takeTurns(sender);
    expect(receiver.requests()).toHaveLength(2);
  });
});
