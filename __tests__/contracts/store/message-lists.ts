import type { Message } from '../../../lib/model/message.js';
import type { MessageQuery, Store } from '../../../lib/store/store.js';
import {
  addEndpoint,
  addMessage,
  finish,
  lease,
  LEASE_MS,
  newMessage,
  positionAt,
  T0,
  walk,
} from './fixtures.js';

const ALL: Omit<MessageQuery, 'after' | 'limit'> = {
  tenant: undefined,
  types: undefined,
  statuses: undefined,
  since: undefined,
  until: undefined,
  endpointId: undefined,
};

export function messageListContract(store: () => Store): void {
  const list = (query: Partial<MessageQuery> = {}, limit = 100): Promise<Message[]> =>
    walk((after) => store().messages.list({ ...ALL, ...query, after, limit }));
  const ids = async (query: Partial<MessageQuery> = {}, limit = 100): Promise<string[]> =>
    (await list(query, limit)).map(({ id }) => id);

  test('is newest first and whole over pages of any size, however many share a millisecond', async () => {
    const { id: endpointId } = await addEndpoint(store());
    const { id: elsewhere } = await addEndpoint(store());
    const made: string[] = [];
    for (let index = 0; index < 9; index++) {
      made.unshift(await addMessage(store(), [endpointId], { createdAt: T0 + Math.floor(index / 4) }));
    }
    await addMessage(store(), [elsewhere], { createdAt: T0 - 5 });
    for (const limit of [1, 2, 4, 9, 10, 100]) {
      expect((await ids({}, limit)).slice(0, 9)).toEqual(made);
      expect(await ids({ endpointId }, limit)).toEqual(made);
    }
  });

  test('holds records as a single read gives them', async () => {
    const { id } = await addEndpoint(store());
    const messageId = await addMessage(store(), [id], { channels: ['eu'], idempotencyKey: 'k' });
    const read = await store().messages.get(undefined, messageId);
    expect(await list()).toEqual([read?.message]);
    expect(await list({ endpointId: id })).toEqual([read?.message]);
  });

  test('what comes during a walk neither repeats nor hides the rest', async () => {
    const { id: endpointId } = await addEndpoint(store());
    const made: string[] = [];
    for (let index = 0; index < 7; index++) made.unshift(await addMessage(store(), [endpointId]));
    for (const query of [{}, { endpointId }]) {
      const rows = await walk(async (after) => {
        const page = await store().messages.list({ ...ALL, ...query, after, limit: 2 });
        await addMessage(store(), [endpointId]);
        return page;
      });
      // Those that came during the first walk are new to the second.
      expect(rows.slice(-7).map(({ id }) => id)).toEqual(made);
      expect(new Set(rows.map(({ id }) => id)).size).toBe(rows.length);
    }
  });

  test('is in order and whole over pages of any size where it is of several types and states', async () => {
    const { id: endpointId } = await addEndpoint(store(), { tenantId: 'acme' });
    const messages = Array.from({ length: 24 }, (_, index) =>
      newMessage(index % 2 === 0 ? [endpointId] : [], {
        tenantId: 'acme',
        type: ['a', 'b', 'c'][index % 3]!,
        createdAt: T0 + Math.floor(index / 5),
      }),
    );
    await store().messages.insert(messages, true);
    // Ids begin with the time, so their order is that of (time, id).
    const newest = (...types: string[]) =>
      messages.filter(({ type }) => types.includes(type)).sort((a, b) => (a.id < b.id ? 1 : -1));
    const owed = newest('a', 'c').filter(({ owedTo }) => owedTo.length > 0);
    const idsOf = (rows: readonly { id: string }[]) => rows.map(({ id }) => id);
    for (const tenant of [undefined, 'acme']) {
      for (const limit of [1, 2, 5, 24]) {
        expect(await ids({ tenant, types: ['b', 'none', 'a'] }, limit)).toEqual(idsOf(newest('a', 'b')));
        const statuses: MessageQuery['statuses'] = ['unrouted', 'failed', 'pending'];
        expect(await ids({ tenant, statuses }, limit)).toEqual(idsOf(newest('a', 'b', 'c')));
        const all: Partial<MessageQuery> = { tenant, types: ['a', 'c'], statuses, endpointId };
        expect(await ids(all, limit)).toEqual(idsOf(owed));
      }
    }
  });

  describe('narrowed', () => {
    let endpointId: string;
    let made: Record<'delivered' | 'failed' | 'pending' | 'unrouted', string>;
    beforeEach(async () => {
      endpointId = (await addEndpoint(store(), { tenantId: 'acme' })).id;
      const other = await addEndpoint(store(), { tenantId: 'acme' });
      const tenantId = 'acme';
      made = {
        delivered: await addMessage(store(), [endpointId], { tenantId, type: 'a.x' }),
        failed: await addMessage(store(), [endpointId], { tenantId, type: 'a.y', createdAt: T0 + 1 }),
        pending: await addMessage(store(), [other.id], { tenantId, type: 'a.x', createdAt: T0 + 2 }),
        unrouted: await addMessage(store(), [], { type: 'a.y', createdAt: T0 + 3 }),
      };
      await finish(store(), made.delivered, endpointId);
      await finish(store(), made.failed, endpointId, { status: 'failed' }, T0 + 1);
    });

    test.each(['delivered', 'failed', 'pending', 'unrouted'] as const)('by the status %s', async (status) => {
      expect(await ids({ statuses: [status] })).toEqual([made[status]]);
    });

    test('by several statuses', async () => {
      expect(await ids({ statuses: ['delivered', 'unrouted'] })).toEqual([made.unrouted, made.delivered]);
      expect(await ids({ statuses: ['failed', 'pending'] }, 1)).toEqual([made.pending, made.failed]);
    });

    test('by types', async () => {
      expect(await ids({ types: ['a.x'] })).toEqual([made.pending, made.delivered]);
      expect(await ids({ types: ['a.x', 'a.y'] }, 1)).toHaveLength(4);
      expect(await ids({ types: ['a', 'A.X', 'a.*', '%'] })).toEqual([]);
    });

    test('by time: from its start, up to but without its end', async () => {
      expect(await ids({ since: T0 + 1, until: T0 + 3 })).toEqual([made.pending, made.failed]);
      expect(await ids({ since: T0 + 3 })).toEqual([made.unrouted]);
      expect(await ids({ until: T0 + 1 })).toEqual([made.delivered]);
      expect(await ids({ since: T0 + 1, until: T0 + 1 })).toEqual([]);
    });

    test('by tenant', async () => {
      expect(await ids({ tenant: 'acme' })).toEqual([made.pending, made.failed, made.delivered]);
      expect(await ids({ tenant: 'other' })).toEqual([]);
    });

    test('by endpoint', async () => {
      expect(await ids({ endpointId })).toEqual([made.failed, made.delivered]);
      expect(await ids({ endpointId, tenant: 'other' })).toEqual([]);
      expect(await ids({ endpointId: 'ep_none' })).toEqual([]);
    });

    test('by all of it at once', async () => {
      const query = { tenant: 'acme', endpointId, types: ['a.y'], since: T0 + 1, until: T0 + 2 };
      expect(await ids({ ...query, statuses: ['failed'] }, 1)).toEqual([made.failed]);
      expect(await ids({ ...query, statuses: ['delivered'] })).toEqual([]);
    });
  });

  describe('of which few are wanted among many', () => {
    const MANY = 1010;
    let endpointId: string;
    let wanted: string;
    beforeEach(async () => {
      endpointId = (await addEndpoint(store(), { tenantId: 'acme' })).id;
      wanted = await addMessage(store(), [endpointId], { tenantId: 'acme', type: 'rare' });
      await finish(store(), wanted, endpointId);
      const others = Array.from({ length: MANY }, (_, index) =>
        newMessage([], { tenantId: 'acme', createdAt: T0 + 1 + index }),
      );
      await store().messages.insert(others, true);
    });
    const page = (query: Partial<MessageQuery>) =>
      store().messages.list({ ...ALL, after: null, limit: 5, ...query });

    test('a page ends short, and the next one goes on', async () => {
      for (const tenant of [undefined, 'acme']) {
        const query: Partial<MessageQuery> = { tenant, statuses: ['delivered'] };
        const first = await page(query);
        expect(first).toEqual({ rows: [], next: { ms: T0 + 11, id: expect.any(String) } });
        expect(await page({ ...query, after: first.next })).toMatchObject({
          rows: [{ id: wanted }],
          next: null,
        });
      }
    });

    test('a page goes by the filter that gets farthest back where none leaves little', async () => {
      const newer = Array.from({ length: MANY }, () =>
        newMessage([], { tenantId: 'acme', type: 'other', createdAt: T0 + 2 * MANY }),
      );
      await store().messages.insert(newer, true);
      const found = await page({ types: ['invoice.paid'], statuses: ['unrouted'] });
      expect(found.rows.map(({ type }) => type)).toEqual(Array(5).fill('invoice.paid'));
    });

    test('a page of several types goes over no more rows than one of a single type', async () => {
      const query: Partial<MessageQuery> = {
        types: ['none', 'invoice.paid', 'rare', 'other'],
        statuses: ['delivered'],
      };
      for (const tenant of [undefined, 'acme']) {
        const pages: string[][] = [];
        await walk(async (after) => {
          const found = await page({ ...query, tenant, after });
          pages.push(found.rows.map(({ id }) => id));
          return found;
        });
        // A quarter of 1000 rows each, of the one type that has as many.
        expect(pages).toEqual([[], [], [], [], [wanted]]);
      }
    });

    test('a page may be full, of however many types', async () => {
      const types = ['invoice.paid', ...Array.from({ length: 19 }, (_, index) => `none.${index}`)];
      const found = await page({ types, statuses: ['unrouted', 'delivered'], limit: 100 });
      expect(found.rows).toHaveLength(100);
      expect(await ids({ types, statuses: ['unrouted', 'delivered'] })).toHaveLength(MANY);
    });

    test('a page is whole where one of the filters leaves little', async () => {
      for (const query of [{ types: ['rare'] }, { endpointId }]) {
        const statuses = ['delivered'] as const;
        expect(await page({ ...query, statuses })).toMatchObject({ rows: [{ id: wanted }], next: null });
      }
      const query: Partial<MessageQuery> = { types: ['rare'], statuses: ['unrouted'] };
      expect(await page(query)).toEqual({ rows: [], next: null });
    });

    test("another tenant's endpoint is answered like one that there is not", async () => {
      const elsewhere = await addEndpoint(store(), { tenantId: 'other' });
      const messages = Array.from({ length: MANY }, () => newMessage([elsewhere.id], { tenantId: 'other' }));
      await store().messages.insert(messages, true);
      for (const query of [{}, { types: ['a'] }, { statuses: ['delivered'] as const }]) {
        for (const id of [elsewhere.id, 'ep_none'])
          expect(await page({ ...query, tenant: 'acme', endpointId: id })).toEqual({ rows: [], next: null });
      }
    });
  });

  describe('a range', () => {
    const range = (query: Partial<Parameters<Store['messages']['range']>[0]> = {}) =>
      store().messages.range({
        tenantId: null,
        endpointId: 'ep_none',
        since: T0,
        until: T0 + 1000,
        after: null,
        limit: 100,
        withPayload: false,
        now: T0,
        ...query,
      });

    test("holds the tenant's messages oldest first, from its start to before its end", async () => {
      const made: string[] = [];
      for (const createdAt of [T0 - 1, T0, T0, T0 + 999, T0 + 1000]) {
        made.push(await addMessage(store(), [], { createdAt }));
        await addMessage(store(), [], { createdAt, tenantId: 'acme' });
      }
      expect((await range()).map(({ id }) => id)).toEqual(made.slice(1, 4));
      expect(await range({ tenantId: 'acme' })).toHaveLength(3);
      expect(await range({ tenantId: 'other' })).toEqual([]);
    });

    test('goes on where a page ended', async () => {
      const messages = Array.from({ length: 5 }, () => newMessage([]));
      await store().messages.insert(messages, true);
      const walked: string[] = [];
      for (let after = null, page = await range({ limit: 2 }); page.length > 0; ) {
        walked.push(...page.map(({ id }) => id));
        page = await range({ limit: 2, after: page.at(-1)?.position ?? after });
      }
      expect(walked).toEqual(messages.map(({ id }) => id));
    });

    test('is not widened by a position before it', async () => {
      for (const tenantId of [null, 'acme']) {
        await addMessage(store(), [], { tenantId, createdAt: T0 + 3 });
        const made = await addMessage(store(), [], { tenantId, createdAt: T0 + 5 });
        const found = await range({ tenantId, since: T0 + 5, after: positionAt(T0) });
        expect(found.map(({ id }) => id)).toEqual([made]);
      }
    });

    test('says what each owes to the endpoint', async () => {
      const { id: endpointId } = await addEndpoint(store());
      const { id: other } = await addEndpoint(store());
      const unowed = await addMessage(store(), [other], { channels: ['eu'], type: 'a.b' });
      const delivered = await addMessage(store(), [endpointId, other]);
      const failed = await addMessage(store(), [endpointId]);
      const flying = await addMessage(store(), [endpointId]);
      await finish(store(), delivered, endpointId);
      await finish(store(), failed, endpointId, { status: 'failed' });
      await lease(store(), { share: () => ({ quotas: new Map([[endpointId, 9]]), nextAt: null }) });
      const waiting = await addMessage(store(), [endpointId]);
      const rows = await range({ endpointId });
      expect(rows.map(({ id, delivery }) => [id, delivery])).toEqual([
        [unowed, null],
        [delivered, { status: 'delivered', everDelivered: true, inFlight: false }],
        [failed, { status: 'failed', everDelivered: false, inFlight: false }],
        [flying, { status: 'pending', everDelivered: false, inFlight: true }],
        [waiting, { status: 'pending', everDelivered: false, inFlight: false }],
      ]);
      expect(rows[0]).toMatchObject({ type: 'a.b', channels: ['eu'], payload: null });
      const later = await range({ endpointId, now: T0 + LEASE_MS });
      expect(later.some(({ delivery }) => delivery?.inFlight)).toBe(false);
    });

    test('remembers a success while it is replayed', async () => {
      const { id: endpointId } = await addEndpoint(store());
      const messageId = await addMessage(store(), [endpointId]);
      await finish(store(), messageId, endpointId);
      const request = { endpointId, messageIds: [messageId], webhookIds: null, expiresAt: T0 + 9, now: T0 };
      await store().outbox.requeue(request);
      const delivery = { status: 'pending', everDelivered: true, inFlight: false };
      expect(await range({ endpointId })).toMatchObject([{ delivery }]);
    });

    test('brings payloads only when they are asked for', async () => {
      await addMessage(store(), [], { payload: '{"data":"é"}' });
      expect(await range({ withPayload: true })).toMatchObject([{ payload: '{"data":"é"}' }]);
      expect(await range()).toMatchObject([{ payload: null }]);
    });
  });
}
