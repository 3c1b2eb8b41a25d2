import { firstIdAt } from '../../../lib/model/ids.js';
import type { InsertedMessage, NewMessage, Store } from '../../../lib/store/store.js';
import {
  addEndpoint,
  addMessage,
  attemptOf,
  deliveryOf,
  finish,
  lease,
  newMessage,
  settle,
  settlementOf,
  T0,
  walk,
} from './fixtures.js';

export function messageStoreContract(store: () => Store): void {
  const insert = async (message: NewMessage, allOrNone = false): Promise<InsertedMessage> =>
    (await store().messages.insert([message], allOrNone))[0]!;
  const count = async (): Promise<number> => {
    const query = { types: undefined, statuses: undefined, since: undefined, until: undefined };
    const page = await store().messages.list({
      ...query,
      tenant: undefined,
      endpointId: undefined,
      after: null,
      limit: 1000,
    });
    return page.rows.length;
  };

  describe('inserting', () => {
    test('has each message choose of the endpoints that its own tenant has, paused ones too', async () => {
      const a = await addEndpoint(store(), { tenantId: 'acme' });
      const b = await addEndpoint(store(), { tenantId: 'acme' });
      const c = await addEndpoint(store(), { tenantId: 'other' });
      const d = await addEndpoint(store());
      const gone = await addEndpoint(store(), { tenantId: 'acme' });
      await store().endpoints.delete(undefined, gone.id, T0);
      await store().endpoints.pause(undefined, b.id, 'gone', T0);
      const shown: string[][] = [];
      const chooses = (tenantId: string | null, keep: (id: string) => boolean) =>
        newMessage([], {
          tenantId,
          owedTo(ofTenant) {
            const ids = ofTenant.map(({ id }) => id).sort();
            shown.push(ids);
            return ids.filter(keep);
          },
        });
      const messages = [
        chooses('acme', () => true),
        chooses(null, () => true),
        chooses('acme', (id) => id === b.id),
        chooses('other', () => false),
        chooses('nobody', () => true),
      ];
      const inserted = await store().messages.insert(messages, false);
      expect(shown).toEqual([[a.id, b.id].sort(), [d.id], [a.id, b.id].sort(), [c.id], []]);
      expect(inserted.map((one) => one.outcome === 'stored' && [one.owed, one.message.status])).toEqual([
        [2, 'pending'],
        [1, 'pending'],
        [1, 'pending'],
        [0, 'unrouted'],
        [0, 'unrouted'],
      ]);
      const owedTo = async ({ id }: NewMessage) =>
        (await store().messages.get(undefined, id))!.deliveries.map(({ endpointId }) => endpointId).sort();
      expect(await Promise.all(messages.map(owedTo))).toEqual([[a.id, b.id].sort(), [d.id], [b.id], [], []]);
    });

    test('stores nothing where one of them cannot choose', async () => {
      await addEndpoint(store());
      const fault = new Error('cannot choose');
      const faulty = newMessage([], {
        owedTo() {
          throw fault;
        },
      });
      await expect(store().messages.insert([newMessage([]), faulty], false)).rejects.toThrow(fault);
      expect(await count()).toBe(0);
    });

    test('keeps the message and owes it to each endpoint at once', async () => {
      const a = await addEndpoint(store(), { tenantId: 'acme' });
      const b = await addEndpoint(store(), { tenantId: 'acme' });
      const message = newMessage([a.id, b.id], {
        tenantId: 'acme',
        channels: ['eu'],
        idempotencyKey: 'k',
        expiresAt: T0 + 1234,
      });
      const inserted = await insert(message);
      const record = {
        id: message.id,
        tenantId: 'acme',
        type: 'invoice.paid',
        channels: ['eu'],
        status: 'pending',
        idempotencyKey: 'k',
        createdAt: '2026-05-01T12:00:00.000Z',
        expiresAt: '2026-05-01T12:00:01.234Z',
      };
      expect(inserted).toEqual({ outcome: 'stored', message: record, owed: 2, leased: [] });
      const kept = await store().messages.get('acme', message.id);
      expect(kept?.message).toEqual(record);
      expect(kept?.payload).toBe(message.payload);
      const owed = {
        status: 'pending',
        attemptCount: 0,
        nextAttemptAt: '2026-05-01T12:00:00.000Z',
        lastError: null,
      };
      expect(kept?.deliveries).toHaveLength(2);
      expect(kept?.deliveries).toEqual(
        expect.arrayContaining([
          { endpointId: a.id, ...owed },
          { endpointId: b.id, ...owed },
        ]),
      );
    });

    test('a message that is owed to nobody is unrouted', async () => {
      const message = newMessage([]);
      expect(await insert(message)).toMatchObject({ outcome: 'stored', message: { status: 'unrouted' } });
      const kept = await store().messages.get(undefined, message.id);
      expect(kept).toMatchObject({ message: { status: 'unrouted' }, deliveries: [] });
    });

    test('endpoints that are gone by now are passed over', async () => {
      const gone = await addEndpoint(store());
      const there = await addEndpoint(store());
      await store().endpoints.delete(undefined, gone.id, T0);
      const some = newMessage([gone.id, there.id]);
      expect(await insert(some)).toMatchObject({ message: { status: 'pending' } });
      const kept = await store().messages.get(undefined, some.id);
      expect(kept?.deliveries.map(({ endpointId }) => endpointId)).toEqual([there.id]);
      const none = newMessage([gone.id, 'ep_never']);
      expect(await insert(none)).toMatchObject({ message: { status: 'unrouted' } });
      expect(await store().messages.get(undefined, none.id)).toMatchObject({
        message: { status: 'unrouted' },
        deliveries: [],
      });
    });

    test('a paused endpoint is owed like any other', async () => {
      const { id } = await addEndpoint(store());
      await store().endpoints.pause(undefined, id, 'manual', T0);
      const messageId = await addMessage(store(), [id]);
      expect(await deliveryOf(store(), messageId, id)).toMatchObject({ status: 'pending' });
    });

    test.each([
      ['text beyond ASCII', '{"data":"Zoë 東京 👩🏽‍🚀 \u2028\u2029\uFEFF"}'],
      ['escapes', '{"data":"\\u0000 \\ud800 \\\\ \\" \\n"}'],
      ['quotes and braces', `{"data":"'; drop table x; -- $[0] ?1"}`],
      ['numbers as they were written', '{"data":1e400,"n":12345678901234567890,"z":-0}'],
      ['a mebibyte', `{"data":"${'é'.repeat(524_288)}"}`],
      ['nothing', ''],
    ])('a payload comes back byte for byte: %s', async (_what, payload) => {
      const { id } = await addEndpoint(store());
      const messageId = await addMessage(store(), [id], { payload });
      expect((await store().messages.get(undefined, messageId))?.payload).toBe(payload);
      const [leased] = await lease(store());
      expect(leased?.message.payload).toBe(payload);
    });

    test('many at once are answered in their order', async () => {
      const { id } = await addEndpoint(store());
      const messages = Array.from({ length: 600 }, (_each, index) => newMessage(index % 2 ? [id] : []));
      const inserted = await store().messages.insert(messages, true);
      expect(inserted.map((each) => each.outcome === 'stored' && each.message.id)).toEqual(
        messages.map((message) => message.id),
      );
      expect(await count()).toBe(600);
      expect(await lease(store())).toHaveLength(300);
    });

    test('nothing of nothing', async () => {
      expect(await store().messages.insert([], true)).toEqual([]);
    });
  });

  describe('an idempotency key', () => {
    const keyed = (fingerprint: string, fixture: Partial<NewMessage> = {}) =>
      newMessage([], { idempotencyKey: 'key', fingerprint, ...fixture });

    test('that is used again for the same answers the first message, as it is by now', async () => {
      const { id } = await addEndpoint(store());
      const first = keyed('a', { owedTo: [id] });
      await insert(first);
      await finish(store(), first.id, id);
      const second = await insert(keyed('a', { owedTo: [id], createdAt: T0 + 5 }));
      expect(second).toMatchObject({
        outcome: 'duplicate',
        message: { id: first.id, status: 'delivered', createdAt: '2026-05-01T12:00:00.000Z' },
      });
      expect(await count()).toBe(1);
      expect(await lease(store(), { now: T0 + 10 })).toEqual([]);
    });

    test('that is used again for something else is a conflict, and nothing is stored', async () => {
      const first = keyed('a');
      await insert(first);
      expect(await insert(keyed('b'))).toEqual({ outcome: 'conflict', messageId: first.id });
      expect(await count()).toBe(1);
    });

    test("is a tenant's own, and that of no tenant is apart", async () => {
      for (const tenantId of ['acme', 'other', null]) {
        expect(await insert(keyed(`of ${tenantId}`, { tenantId }))).toMatchObject({ outcome: 'stored' });
      }
      for (const tenantId of ['acme', 'other', null]) {
        expect(await insert(keyed(`of ${tenantId}`, { tenantId }))).toMatchObject({
          outcome: 'duplicate',
          message: { tenantId },
        });
      }
    });

    test('is any text', async () => {
      for (const idempotencyKey of ['Ä', '東京', "'", '%', 'a'.repeat(255), 'A', 'a', ' ']) {
        expect(await insert(keyed('a', { idempotencyKey }))).toMatchObject({ outcome: 'stored' });
        expect(await insert(keyed('a', { idempotencyKey }))).toMatchObject({
          outcome: 'duplicate',
          message: { idempotencyKey },
        });
      }
    });

    test('decides among fifty that come at once: one is stored, the others answer it', async () => {
      const { id } = await addEndpoint(store());
      const inserted = await Promise.all(
        Array.from({ length: 50 }, () => insert(keyed('a', { owedTo: [id] }))),
      );
      const outcomes = inserted.map(({ outcome }) => outcome);
      expect(outcomes.filter((outcome) => outcome === 'stored')).toHaveLength(1);
      expect(outcomes.filter((outcome) => outcome === 'duplicate')).toHaveLength(49);
      const ids = new Set(inserted.map((each) => 'message' in each && each.message.id));
      expect(ids.size).toBe(1);
      expect(await count()).toBe(1);
      expect(await lease(store())).toHaveLength(1);
    });

    test('decides within one batch too', async () => {
      const { id } = await addEndpoint(store());
      const first = keyed('a', { owedTo: [id] });
      const inserted = await store().messages.insert(
        [first, keyed('a', { owedTo: [id] }), keyed('b'), newMessage([])],
        false,
      );
      expect(inserted).toMatchObject([
        { outcome: 'stored', message: { id: first.id, status: 'pending' } },
        { outcome: 'duplicate', message: { id: first.id, status: 'pending' } },
        { outcome: 'conflict', messageId: first.id },
        { outcome: 'stored' },
      ]);
      expect(await count()).toBe(2);
    });

    test('a duplicate within a batch tells the truth about endpoints that are gone', async () => {
      const { id } = await addEndpoint(store());
      await store().endpoints.delete(undefined, id, T0);
      const batch = [keyed('a', { owedTo: [id] }), keyed('a', { owedTo: [id] })];
      expect(await store().messages.insert(batch, true)).toMatchObject([
        { outcome: 'stored', message: { status: 'unrouted' } },
        { outcome: 'duplicate', message: { status: 'unrouted' } },
      ]);
    });

    test('all or none: a conflict keeps every message from being stored, and their keys free', async () => {
      await insert(keyed('a'));
      const fresh = keyed('c', { idempotencyKey: 'another' });
      await expect(store().messages.insert([fresh, newMessage([]), keyed('b')], true)).rejects.toMatchObject({
        code: 'IDEMPOTENCY_CONFLICT',
        message: expect.stringContaining('"key"'),
      });
      expect(await count()).toBe(1);
      expect(await insert(keyed('d', { idempotencyKey: 'another' }))).toMatchObject({ outcome: 'stored' });
    });

    test('all or none: duplicates are no conflict', async () => {
      const first = keyed('a');
      await insert(first);
      const inserted = await store().messages.insert([keyed('a'), newMessage([])], true);
      expect(inserted).toMatchObject([
        { outcome: 'duplicate', message: { id: first.id } },
        { outcome: 'stored' },
      ]);
    });
  });

  test.each(['acme', null])(
    'the scope of another tenant sees nothing of a message of %s',
    async (tenantId) => {
      const messageId = await addMessage(store(), [], { tenantId });
      for (const scope of ['other', '', 'null']) {
        expect(await store().messages.get(scope, messageId)).toBeNull();
        expect(await store().messages.owner(scope, messageId)).toBeNull();
        const query = { tenant: scope, messageId, status: undefined, after: null, limit: 9 };
        expect(await store().messages.attempts(query)).toBeNull();
      }
      expect(await store().messages.owner(undefined, messageId)).toEqual({ tenantId, expunged: false });
      expect(await store().messages.owner(undefined, 'msg_none')).toBeNull();
      expect(await store().messages.get(undefined, 'msg_none')).toBeNull();
    },
  );

  describe('attempts', () => {
    const attempts = (messageId: string, limit: number, status?: 'succeeded' | 'failed', tenant?: string) =>
      walk(async (after) => {
        const page = await store().messages.attempts({ tenant, messageId, status, after, limit });
        if (!page) throw new Error('there is no such message');
        return page;
      });

    test('keep all that is known of them', async () => {
      const { id } = await addEndpoint(store(), { tenantId: 'acme' });
      const messageId = await addMessage(store(), [id], { tenantId: 'acme' });
      const [leased] = await lease(store());
      const attempt = attemptOf(leased!, {
        status: 'failed',
        responseStatus: 503,
        responseHeaders: { 'retry-after': '7', 'x-ü': 'é' },
        responseBody: 'no \uFFFD "quoted" \n 東京',
        errorKind: 'http_status',
        error: 'The receiver answered 503.',
        nextAttemptAt: T0 + 5000,
      });
      await settle(store(), [settlementOf(leased!, { status: 'pending', attempt })]);
      const iso = { startedAt: '2026-05-01T12:00:00.000Z', nextAttemptAt: '2026-05-01T12:00:05.000Z' };
      expect(await attempts(messageId, 10, undefined, 'acme')).toEqual([
        { ...attempt, messageId, endpointId: id, ...iso },
      ]);
    });

    test('keep null for what never came', async () => {
      const { id } = await addEndpoint(store());
      const messageId = await addMessage(store(), [id]);
      const [leased] = await lease(store());
      const absent = {
        remoteAddress: null,
        responseStatus: null,
        responseHeaders: null,
        responseBody: null,
        nextAttemptAt: null,
      };
      const attempt = attemptOf(leased!, { ...absent, status: 'failed', errorKind: 'dns', error: 'No.' });
      await settle(store(), [settlementOf(leased!, { status: 'failed', attempt })]);
      expect(await attempts(messageId, 10)).toMatchObject([{ ...absent, errorKind: 'dns' }]);
    });

    test('are listed oldest first over pages of any size, and narrowed by status', async () => {
      const { id } = await addEndpoint(store());
      const messageId = await addMessage(store(), [id]);
      const other = await addMessage(store(), [id], { createdAt: T0 - 1 });
      await finish(store(), other, id);
      const made: string[] = [];
      for (let index = 0; index < 5; index++) {
        const [leased] = await lease(store());
        const startedAt = T0 + Math.floor(index / 3);
        const attempt = attemptOf(leased!, {
          id: `${firstIdAt('att', startedAt)}${index}`,
          startedAt,
          status: index % 2 ? 'succeeded' : 'failed',
        });
        made.push(attempt.id);
        await settle(store(), [settlementOf(leased!, { status: 'pending', attempt })]);
      }
      for (const limit of [1, 2, 5, 100]) {
        expect((await attempts(messageId, limit)).map((attempt) => attempt.id)).toEqual(made);
        const failed = await attempts(messageId, limit, 'failed');
        expect(failed.map((attempt) => attempt.number)).toEqual([1, 3, 5]);
      }
    });

    test('of a message that had none are an empty page', async () => {
      const messageId = await addMessage(store(), []);
      expect(await attempts(messageId, 10)).toEqual([]);
    });
  });
}
