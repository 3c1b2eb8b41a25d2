import type { Store } from '../../../lib/store/store.js';
import {
  addEndpoint,
  addMessage,
  each,
  ENDPOINT_URL,
  lanesAt,
  lease,
  LEASE_MS,
  newMessage,
  positionAt,
  settle,
  settlementOf,
  T0,
  turn,
} from './fixtures.js';

const HOUR = 3_600_000;

export function clockStepContract(store: () => Store): void {
  /** A sign of life by a clock that is ahead, and one by a clock that is right. */
  async function setBack(by = HOUR): Promise<void> {
    await store().workers.beat('wrk_a', T0 + by);
    await store().workers.beat('wrk_b', T0);
  }

  test('what was due is due, and retries wait as long as they had to', async () => {
    const { id } = await addEndpoint(store());
    const due = await addMessage(store(), [id], { createdAt: T0 + HOUR - 5 });
    const failed = await addMessage(store(), [id], { createdAt: T0 + HOUR - 5 });
    const leased = await lease(store(), { now: T0 + HOUR });
    await turn(store(), {
      now: T0 + HOUR,
      release: leased.filter(({ messageId }) => messageId === due),
      settlements: leased
        .filter(({ messageId }) => messageId === failed)
        .map((each) => settlementOf(each, { status: 'pending', dueAt: T0 + HOUR + 7000 })),
    });
    expect(await lease(store(), { now: T0 })).toEqual([]);
    await setBack();
    expect(await lease(store(), { now: T0 })).toMatchObject([{ messageId: due }]);
    expect(await lease(store(), { now: T0 + 6999 })).toEqual([]);
    expect(await lease(store(), { now: T0 + 7000 })).toMatchObject([{ messageId: failed, dueAt: T0 + 7000 }]);
  });

  test('the leases of the dead end when they would have ended', async () => {
    const { id } = await addEndpoint(store());
    const messageId = await addMessage(store(), [id]);
    await lease(store(), { owner: 'dead', now: T0 + HOUR });
    await setBack();
    expect(await lease(store(), { now: T0 + LEASE_MS - 1 })).toEqual([]);
    expect(await lease(store(), { now: T0 + LEASE_MS })).toMatchObject([{ messageId, fence: 2 }]);
  });

  test('none of the living loses a lease, whichever clock it took it by', async () => {
    const { id } = await addEndpoint(store());
    await addMessage(store(), [id], { createdAt: T0 });
    await addMessage(store(), [id], { createdAt: T0 + 1 });
    const before = await lease(store(), { owner: 'a', now: T0 + HOUR, leaseMs: 1000, share: each(1) });
    // As long as one of the clock before would be.
    const after = await lease(store(), { owner: 'a', now: T0 + 1, leaseMs: HOUR + 1 });
    expect([before.length, after.length]).toEqual([1, 1]);
    await setBack();
    // By then the living have renewed theirs.
    expect(await lease(store(), { owner: 'b', now: T0 + 14_000 })).toEqual([]);
    const settlements = [...before, ...after].map((leased) => settlementOf(leased));
    expect(await settle(store(), settlements, { owner: 'a' })).toMatchObject({ refused: [] });
  });

  test('endpoints are slowed down, and rates used up, for as long as they had to be', async () => {
    const rateLimit = { perSecond: 1, burst: 2 };
    await store().tenants.set('acme', { rateLimit }, T0);
    const limited = await addEndpoint(store(), { tenantId: 'acme', rateLimit });
    const slow = await addEndpoint(store(), { tenantId: 'acme' });
    for (const { id } of [limited, limited, slow, slow])
      await addMessage(store(), [id], { tenantId: 'acme' });
    const leased = await lease(store(), { now: T0 + HOUR, share: each(1) });
    const news = {
      endpointId: slow.id,
      url: ENDPOINT_URL,
      succeeded: false,
      failedAt: null,
      slowStep: 0,
      pause: null,
    };
    const settlements = leased
      .filter(({ endpointId }) => endpointId === slow.id)
      .map((each) => settlementOf(each, { status: 'failed' }));
    await settle(store(), settlements, { news: [{ ...news, slowUntil: T0 + HOUR + 3000 }] });
    await setBack();
    const lanes = await lanesAt(store(), T0);
    expect(lanes.find(({ endpointId }) => endpointId === limited.id)).toMatchObject({
      rateUsed: T0 + 1000,
      tenantRateUsed: T0 + 2000,
      slowUntil: null,
    });
    expect(lanes.find(({ endpointId }) => endpointId === slow.id)).toMatchObject({
      rateUsed: null,
      tenantRateUsed: T0 + 2000,
      slowUntil: T0 + 3000,
    });
  });

  test('a rate that was used up by the clock of now stays so', async () => {
    const { id } = await addEndpoint(store(), { rateLimit: { perSecond: 1, burst: 2 } });
    for (let count = 0; count < 3; count++) await addMessage(store(), [id]);
    await lease(store(), { now: T0, share: each(2) });
    await setBack();
    expect(await lanesAt(store(), T0)).toMatchObject([{ rateUsed: T0 + 2000 }]);
  });

  test('a tenant that was deleted by the clock before may be used again', async () => {
    await store().tenants.set('acme', {}, T0);
    await store().tenants.delete('acme', positionAt(T0 + HOUR));
    const send = (createdAt: number) =>
      store().messages.insert([newMessage([], { tenantId: 'acme', createdAt })], false);
    expect(await send(T0 + 5)).toMatchObject([{ outcome: 'refused' }]);
    await setBack();
    // What was sent before the deletion still comes too late.
    expect(await send(T0 - 1)).toMatchObject([{ outcome: 'refused' }]);
    expect(await send(T0 + 5)).toMatchObject([{ outcome: 'stored' }]);
  });

  test('it is noticed once, and the workers of before do not live the longer for it', async () => {
    const { id } = await addEndpoint(store());
    await setBack();
    expect(await store().workers.countSince(T0)).toBe(2);
    expect(await store().workers.countSince(T0 + 1)).toBe(0);
    await addMessage(store(), [id], { createdAt: T0 + 5000 });
    await store().workers.beat('wrk_c', T0 + 1000);
    expect(await lease(store(), { now: T0 + 4999 })).toEqual([]);
    expect(await lease(store(), { now: T0 + 5000 })).toHaveLength(1);
  });

  test('a step of a few seconds is waited out', async () => {
    const { id } = await addEndpoint(store());
    await addMessage(store(), [id], { createdAt: T0 + 5000 });
    await setBack(9000);
    expect(await lease(store(), { now: T0 + 4999 })).toEqual([]);
    expect(await lease(store(), { now: T0 + 5000 })).toHaveLength(1);
  });
}
