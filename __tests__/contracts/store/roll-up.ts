import type { Store } from '../../../lib/store/store.js';
import { addEndpoint, addMessage, finish, statusOf, T0 } from './fixtures.js';

type State = 'pending' | 'delivered' | 'failed' | 'canceled';

const COMBINATIONS: [State[], string][] = [
  [[], 'unrouted'],
  [['pending'], 'pending'],
  [['delivered'], 'delivered'],
  [['failed'], 'failed'],
  [['canceled'], 'unrouted'],
  [['pending', 'delivered'], 'pending'],
  [['pending', 'failed'], 'pending'],
  [['pending', 'canceled'], 'pending'],
  [['delivered', 'delivered'], 'delivered'],
  [['delivered', 'failed'], 'failed'],
  [['delivered', 'canceled'], 'delivered'],
  [['failed', 'failed'], 'failed'],
  [['failed', 'canceled'], 'failed'],
  [['canceled', 'canceled'], 'unrouted'],
  [['pending', 'delivered', 'failed'], 'pending'],
  [['pending', 'delivered', 'canceled'], 'pending'],
  [['pending', 'failed', 'canceled'], 'pending'],
  [['delivered', 'failed', 'canceled'], 'failed'],
  [['pending', 'delivered', 'failed', 'canceled'], 'pending'],
];

export function rollUpContract(store: () => Store): void {
  async function reach(messageId: string, endpointId: string, state: State): Promise<void> {
    if (state === 'canceled') await store().endpoints.delete(undefined, endpointId, T0);
    else if (state !== 'pending') await finish(store(), messageId, endpointId, { status: state });
  }

  test.each(COMBINATIONS)(
    'of deliveries %j it is %s, in whatever order they came to it',
    async (states, status) => {
      for (const order of [states, [...states].reverse()]) {
        const owed: { id: string; state: State }[] = [];
        for (const state of order) owed.push({ id: (await addEndpoint(store())).id, state });
        const messageId = await addMessage(
          store(),
          owed.map(({ id }) => id),
        );
        for (const { id, state } of owed) await reach(messageId, id, state);
        expect(await statusOf(store(), messageId)).toBe(status);
      }
    },
  );

  test('a replay makes a finished message pending, and its end finishes it anew', async () => {
    const { id: endpointId } = await addEndpoint(store());
    const messageId = await addMessage(store(), [endpointId]);
    const request = { endpointId, messageIds: [messageId], webhookIds: null, expiresAt: T0 + 9, now: T0 };
    for (const state of ['failed', 'delivered', 'failed'] as const) {
      await finish(store(), messageId, endpointId, { status: state });
      expect(await statusOf(store(), messageId)).toBe(state);
      await store().outbox.requeue(request);
      expect(await statusOf(store(), messageId)).toBe('pending');
    }
  });

  test('expiry finishes it', async () => {
    const { id } = await addEndpoint(store());
    const messageId = await addMessage(store(), [id], { expiresAt: T0 + 5 });
    await store().outbox.expire(T0 + 5, 10);
    expect(await statusOf(store(), messageId)).toBe('failed');
  });

  test('one settle moves many messages, each by its own deliveries', async () => {
    const a = await addEndpoint(store());
    const b = await addEndpoint(store());
    const both = await addMessage(store(), [a.id, b.id]);
    const one = await addMessage(store(), [a.id]);
    await finish(store(), both, a.id);
    await finish(store(), one, a.id, { status: 'failed' });
    expect(await statusOf(store(), both)).toBe('pending');
    expect(await statusOf(store(), one)).toBe('failed');
    await finish(store(), both, b.id);
    expect(await statusOf(store(), both)).toBe('delivered');
  });
}
