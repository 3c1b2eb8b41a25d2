import type { EndpointNews, Lane, LeasedDelivery, Store } from '../../../lib/store/store.js';
import {
  ENDPOINT_URL,
  addEndpoint,
  addMessage,
  addMessages,
  deliveryOf,
  each,
  lanesAt,
  lease,
  LEASE_MS,
  release,
  settle,
  settlementOf,
  statusOf,
  T0,
  turn,
} from './fixtures.js';

export function settleContract(store: () => Store): void {
  const attemptsOf = async (messageId: string) => {
    const query = { tenant: undefined, messageId, status: undefined, after: null, limit: 99 };
    return (await store().messages.attempts(query))?.rows;
  };

  describe('what stands apart from what is leased', () => {
    const leaseAll = { leaseMs: LEASE_MS, share: each() };

    test('is settled as anything, and other deliveries are leased', async () => {
      const { id } = await addEndpoint(store());
      const [first, second] = await addMessages(store(), id, 2);
      const leased = await lease(store(), { share: each(1) });
      const settlements = leased.map((one) => settlementOf(one));
      const result = await turn(store(), { now: T0 + 1, settlements, lease: leaseAll, apart: true });
      expect(result).toMatchObject({ refused: [], leased: [{ messageId: second }] });
      expect(await statusOf(store(), first!)).toBe('delivered');
      expect(await attemptsOf(first!)).toHaveLength(1);
    });

    test('is not leased again though its lease has run out meanwhile', async () => {
      const { id } = await addEndpoint(store());
      const messageId = await addMessage(store(), [id]);
      const settlements = (await lease(store())).map((one) => settlementOf(one));
      const late = { now: T0 + LEASE_MS, settlements, lease: leaseAll, apart: true };
      expect(await turn(store(), late)).toMatchObject({ refused: [], leased: [] });
      expect(await statusOf(store(), messageId)).toBe('delivered');
    });

    test('keeps nothing else that its owner has lost sight of from being leased again', async () => {
      const { id } = await addEndpoint(store());
      await addMessages(store(), id, 2);
      const [known, lost] = await lease(store(), { now: T0 + 1 });
      const settlements = [settlementOf(known!)];
      const late = { now: T0 + 1 + LEASE_MS, settlements, lease: leaseAll, apart: true };
      const { messageId } = lost!;
      expect(await turn(store(), late)).toMatchObject({ refused: [], leased: [{ messageId, fence: 2 }] });
    });
  });

  test('a delivery that is delivered is finished, with its attempt', async () => {
    const { id } = await addEndpoint(store());
    const messageId = await addMessage(store(), [id]);
    const [leased] = await lease(store());
    const settlement = settlementOf(leased!, { dueAt: T0 + 50 });
    expect(await settle(store(), [settlement], { now: T0 + 50 })).toEqual({
      refused: [],
      paused: [],
      recovered: [],
    });
    expect(await deliveryOf(store(), messageId, id)).toEqual({
      endpointId: id,
      status: 'delivered',
      attemptCount: 1,
      nextAttemptAt: null,
      lastError: null,
    });
    expect(await attemptsOf(messageId)).toMatchObject([
      {
        id: settlement.attempt?.id,
        messageId,
        endpointId: id,
        number: 1,
        status: 'succeeded',
        trigger: 'send',
      },
    ]);
    expect(await lease(store(), { now: T0 + 10 * LEASE_MS })).toEqual([]);
  });

  test('one that failed waits for its next attempt, which is a retry', async () => {
    const { id } = await addEndpoint(store());
    const messageId = await addMessage(store(), [id]);
    const [leased] = await lease(store());
    await settle(store(), [settlementOf(leased!, { status: 'pending', dueAt: T0 + 500 })]);
    expect(await deliveryOf(store(), messageId, id)).toEqual({
      endpointId: id,
      status: 'pending',
      attemptCount: 1,
      nextAttemptAt: '2026-05-01T12:00:00.500Z',
      lastError: 'The receiver answered 500.',
    });
    expect(await lease(store(), { now: T0 + 499 })).toEqual([]);
    const [again] = await lease(store(), { now: T0 + 500 });
    expect(again).toMatchObject({ attemptCount: 1, scheduleStep: 1, trigger: 'retry', dueAt: T0 + 500 });
    expect(again!.fence).toBeGreaterThan(leased!.fence);
  });

  test('settled again, because the answer was lost, is refused and recorded once', async () => {
    const { id } = await addEndpoint(store());
    const messageId = await addMessage(store(), [id]);
    const [leased] = await lease(store());
    const settlement = settlementOf(leased!);
    await settle(store(), [settlement]);
    expect(await settle(store(), [settlement], { now: T0 + 1 })).toMatchObject({ refused: [0] });
    expect(await attemptsOf(messageId)).toHaveLength(1);
    expect(await statusOf(store(), messageId)).toBe('delivered');
  });

  test('one that ends without a request counts no attempt', async () => {
    const { id } = await addEndpoint(store());
    const messageId = await addMessage(store(), [id]);
    const [leased] = await lease(store());
    const settlement = settlementOf(leased!, { status: 'failed', lastError: 'It expired', attempt: null });
    await settle(store(), [settlement]);
    expect(await deliveryOf(store(), messageId, id)).toMatchObject({
      status: 'failed',
      attemptCount: 0,
      lastError: 'It expired',
    });
    expect(await attemptsOf(messageId)).toEqual([]);
  });

  test('many settle together, each by itself', async () => {
    const { id } = await addEndpoint(store());
    const messageIds = await addMessages(store(), id, 300);
    const leased = await lease(store(), { now: T0 + 300 });
    expect(leased).toHaveLength(300);
    const states = ['delivered', 'failed', 'pending'] as const;
    const stateOf = (messageId: string) => states[messageIds.indexOf(messageId) % 3]!;
    const settlements = leased.map((one) => settlementOf(one, { status: stateOf(one.messageId) }));
    expect((await settle(store(), settlements)).refused).toEqual([]);
    for (const messageId of messageIds) {
      expect(await statusOf(store(), messageId)).toBe(stateOf(messageId));
    }
  });

  test('nothing may be settled', async () => {
    expect(await settle(store(), [])).toEqual({ refused: [], paused: [], recovered: [] });
  });

  describe('a lease that is no more', () => {
    test('taken over: it is refused, whoever the owner is, and its attempt is recorded all the same', async () => {
      const { id } = await addEndpoint(store());
      const messageId = await addMessage(store(), [id]);
      const [first] = await lease(store(), { owner: 'a' });
      const [second] = await lease(store(), { owner: 'b', now: T0 + LEASE_MS });
      for (const owner of ['a', 'b', 'c']) {
        const settled = await settle(store(), [settlementOf(first!)], { owner, now: T0 + LEASE_MS });
        expect(settled.refused).toEqual([0]);
      }
      expect(await deliveryOf(store(), messageId, id)).toMatchObject({ status: 'pending' });
      expect(await store().outbox.inFlight(messageId, id, T0 + LEASE_MS)).toBe(true);
      expect(await attemptsOf(messageId)).toHaveLength(3);
      const own = await settle(store(), [settlementOf(second!)], { owner: 'b', now: T0 + LEASE_MS });
      expect(own.refused).toEqual([]);
      expect(await statusOf(store(), messageId)).toBe('delivered');
    });

    test('of another owner under the same fence: it is refused', async () => {
      const { id } = await addEndpoint(store());
      const messageId = await addMessage(store(), [id]);
      const [leased] = await lease(store(), { owner: 'a' });
      expect((await settle(store(), [settlementOf(leased!)], { owner: 'b' })).refused).toEqual([0]);
      expect(await statusOf(store(), messageId)).toBe('pending');
    });

    test('released, or settled before: it is refused', async () => {
      const { id } = await addEndpoint(store());
      const [released, settled] = await addMessages(store(), id, 2);
      const leased = await lease(store(), { now: T0 + 1 });
      const of = (messageId: string) => leased.find((one) => one.messageId === messageId)!;
      await release(store(), [of(released!)]);
      await settle(store(), [settlementOf(of(settled!))]);
      const late = leased.map((one) => settlementOf(one, { status: 'failed' }));
      expect((await settle(store(), late)).refused).toEqual([0, 1]);
      expect(await statusOf(store(), released!)).toBe('pending');
      expect(await statusOf(store(), settled!)).toBe('delivered');
    });

    test('over, but taken over by nobody: it still holds', async () => {
      const { id } = await addEndpoint(store());
      const messageId = await addMessage(store(), [id]);
      const [leased] = await lease(store());
      const late = await settle(store(), [settlementOf(leased!)], { now: T0 + 2 * LEASE_MS });
      expect(late.refused).toEqual([]);
      expect(await statusOf(store(), messageId)).toBe('delivered');
    });

    test('does not stop those that are settled with it', async () => {
      const { id } = await addEndpoint(store());
      await addMessages(store(), id, 3);
      const leased = await lease(store(), { now: T0 + 2 });
      await release(store(), [leased[1]!]);
      const settled = await settle(
        store(),
        leased.map((one) => settlementOf(one)),
      );
      expect(settled.refused).toEqual([1]);
      expect(await statusOf(store(), leased[0]!.messageId)).toBe('delivered');
      expect(await statusOf(store(), leased[1]!.messageId)).toBe('pending');
      expect(await statusOf(store(), leased[2]!.messageId)).toBe('delivered');
    });

    test('of a message that is not there: it is refused and nothing is recorded', async () => {
      const { id } = await addEndpoint(store());
      const messageId = await addMessage(store(), [id]);
      const [leased] = await lease(store());
      const foreign = settlementOf({ ...leased!, messageId: 'msg_none' });
      expect((await settle(store(), [foreign])).refused).toEqual([0]);
      expect(await attemptsOf(messageId)).toEqual([]);
    });
  });

  describe('news of an endpoint', () => {
    let id: string;
    let waiting: LeasedDelivery[];
    beforeEach(async () => {
      id = (await addEndpoint(store())).id;
      await addMessages(store(), id, 10);
      waiting = await lease(store(), { now: T0 + 9 });
      await addMessage(store(), [id]);
    });

    /** Settles one delivery, as failed, and tells the news with it. */
    const tell = (news: Partial<EndpointNews>, now = T0) =>
      settle(store(), [settlementOf(waiting.pop()!, { status: 'failed' })], {
        now,
        news: [
          {
            endpointId: id,
            url: ENDPOINT_URL,
            succeeded: false,
            failedAt: null,
            slowUntil: null,
            slowStep: 0,
            pause: null,
            ...news,
          },
        ],
      });

    test('its first failure is remembered until it succeeds', async () => {
      const failingSince = async (): Promise<number | null | undefined> => {
        const [leased] = await lease(store());
        await release(store(), [leased!]);
        return leased?.target.failingSince;
      };
      await tell({ failedAt: T0 });
      await tell({ failedAt: T0 + 500 });
      expect(await failingSince()).toBe(T0);
      await tell({ succeeded: true });
      expect(await failingSince()).toBeNull();
    });

    test('one that had failed has recovered when it succeeds: it is answered once, with its first failure', async () => {
      await tell({ failedAt: T0 + 100 });
      await tell({ failedAt: T0 + 500 });
      expect((await tell({ failedAt: T0 + 600 })).recovered).toEqual([]);
      const { recovered } = await tell({ succeeded: true }, T0 + 700);
      expect(recovered).toEqual([
        { endpoint: await store().endpoints.get(undefined, id), failingSince: T0 + 100 },
      ]);
      expect((await tell({ succeeded: true })).recovered).toEqual([]);
    });

    test('one that was only slow, or was enabled, or has moved, has not recovered', async () => {
      await tell({ slowUntil: T0 + 5000 });
      expect((await tell({ succeeded: true, slowStep: 1 })).recovered).toEqual([]);
      await tell({ failedAt: T0 });
      await store().endpoints.resume(undefined, id, T0);
      expect((await tell({ succeeded: true })).recovered).toEqual([]);
      await tell({ failedAt: T0 });
      expect((await tell({ succeeded: true, url: 'https://example.com/before' })).recovered).toEqual([]);
      expect((await tell({ succeeded: true })).recovered).toHaveLength(1);
    });

    test('a slow one is left alone as long as was asked, the furthest counts, until it succeeds', async () => {
      await tell({ slowUntil: T0 + 5000 });
      expect(await lanesAt(store(), T0)).toMatchObject([{ slowUntil: T0 + 5000, slowStep: 1 }]);
      await tell({ slowUntil: T0 + 100, slowStep: 1 });
      expect(await lanesAt(store(), T0)).toMatchObject([{ slowUntil: T0 + 5000, slowStep: 2 }]);
      await tell({ slowUntil: T0 + 7000, slowStep: 2 });
      expect(await lanesAt(store(), T0)).toMatchObject([{ slowUntil: T0 + 7000, slowStep: 3 }]);
      await tell({ succeeded: true, slowStep: 3 });
      expect(await lanesAt(store(), T0)).toMatchObject([{ slowUntil: null, slowStep: 0 }]);
    });

    test('what was under way together slows it down once', async () => {
      for (let answers = 0; answers < 3; answers++) await tell({ slowUntil: T0 + 5000 });
      expect(await lanesAt(store(), T0)).toMatchObject([{ slowStep: 1 }]);
      for (let answers = 0; answers < 3; answers++) await tell({ slowUntil: T0 + 5000, slowStep: 1 });
      await tell({ slowUntil: T0 + 5000 });
      expect(await lanesAt(store(), T0)).toMatchObject([{ slowStep: 2 }]);
    });

    test('a success that was under way when it slowed down ends its failing, and lets it rest', async () => {
      await tell({ failedAt: T0, slowUntil: T0 + 5000 });
      expect((await tell({ succeeded: true })).recovered).toHaveLength(1);
      expect(await lanesAt(store(), T0)).toMatchObject([{ slowUntil: T0 + 5000, slowStep: 1 }]);
    });

    test('successes of several are told together, to each its own', async () => {
      const other = await addEndpoint(store());
      const well = await addEndpoint(store());
      const piece = { url: ENDPOINT_URL, failedAt: null, slowUntil: null, slowStep: 0, pause: null };
      await tell({ failedAt: T0 + 1 });
      await tell({ endpointId: other.id, failedAt: T0 + 2 });
      const { recovered } = await settle(store(), [settlementOf(waiting.pop()!)], {
        news: [id, other.id, well.id].map((endpointId) => ({ ...piece, endpointId, succeeded: true })),
      });
      expect(recovered.map(({ endpoint, failingSince }) => [endpoint.id, failingSince])).toEqual([
        [id, T0 + 1],
        [other.id, T0 + 2],
      ]);
    });

    test('gone: it is paused at once, once, and answered', async () => {
      const pause = { reason: 'gone', failingBefore: 0 } as const;
      const first = await tell({ pause }, T0 + 5);
      expect(first.paused).toMatchObject([
        { id, status: 'paused', pausedReason: 'gone', pausedAt: '2026-05-01T12:00:00.005Z' },
      ]);
      expect(await store().endpoints.get(undefined, id)).toEqual(first.paused[0]);
      expect((await tell({ pause }, T0 + 9)).paused).toEqual([]);
    });

    test('failing: it is paused only if it has failed for so long', async () => {
      const failing = (failingBefore: number, failedAt: number | null = null) =>
        tell({ failedAt, pause: { reason: 'failing', failingBefore } });
      expect((await failing(T0 + 9)).paused).toEqual([]);
      expect((await failing(T0 - 1, T0)).paused).toEqual([]);
      expect((await failing(T0)).paused).toMatchObject([{ id, pausedReason: 'failing' }]);
    });

    test('a success that is told with it forbids the pause', async () => {
      await tell({ failedAt: T0 - 1000 });
      const pause = { reason: 'failing', failingBefore: T0 } as const;
      expect((await tell({ succeeded: true, pause })).paused).toEqual([]);
      expect(await store().endpoints.get(undefined, id)).toMatchObject({ status: 'active' });
    });

    test('of an endpoint that is gone is nothing', async () => {
      await store().endpoints.delete(undefined, id, T0);
      const pause = { reason: 'gone', failingBefore: 0 } as const;
      const told = await tell({ succeeded: true, failedAt: T0, slowUntil: T0, pause });
      expect(told).toEqual({ refused: [0], paused: [], recovered: [] });
    });
  });

  test('a turn settles and gives back before it takes', async () => {
    const { id } = await addEndpoint(store(), { maxInFlight: 2 });
    const messageIds = await addMessages(store(), id, 4);
    const [first, second] = await lease(store(), { now: T0 + 9, share: each(2) });
    let shown: readonly Lane[] = [];
    const result = await turn(store(), {
      now: T0 + 9,
      settlements: [settlementOf(first!)],
      release: [second!],
      lease: {
        leaseMs: LEASE_MS,
        share(lanes) {
          shown = lanes;
          return each(1)(lanes);
        },
      },
    });
    expect(shown).toMatchObject([{ endpointId: id, inFlight: 0 }]);
    expect(result).toMatchObject({ refused: [], paused: [] });
    expect(result.leased.map(({ messageId }) => messageId)).toEqual([messageIds[1]]);
  });
}
