import type { RateLimit } from '../../../lib/model/rate-limit.js';
import type { Store } from '../../../lib/store/store.js';
import {
  ENDPOINT_URL,
  addEndpoint,
  addMessage,
  finish,
  lanesAt,
  lease,
  newMessage,
  positionAt,
  settle,
  settlementOf,
  T0,
  walk,
} from './fixtures.js';

export function tenantStoreContract(store: () => Store): void {
  test('setting makes the tenant, and later changes only what is given', async () => {
    const { tenants } = store();
    const made = await tenants.set('acme', { rateLimit: { perSecond: 2.5, burst: 3 } }, T0);
    expect(made).toEqual({
      id: 'acme',
      rateLimit: { perSecond: 2.5, burst: 3 },
      metadata: {},
      createdAt: new Date(T0).toISOString(),
      updatedAt: new Date(T0).toISOString(),
    });
    const named = await tenants.set('acme', { metadata: { name: 'Äcme', deep: { a: [1, null] } } }, T0 + 5);
    expect(named).toEqual({
      ...made,
      metadata: { name: 'Äcme', deep: { a: [1, null] } },
      updatedAt: new Date(T0 + 5).toISOString(),
    });
    const cleared = await tenants.set('acme', { rateLimit: null }, T0 + 6);
    expect(cleared).toEqual({ ...named, rateLimit: null, updatedAt: new Date(T0 + 6).toISOString() });
    expect(await tenants.get('acme')).toEqual(cleared);
    expect(await tenants.get('other')).toBeNull();
  });

  test('what is used of the rate stays so, under another limit too; without one nothing is', async () => {
    const { id } = await addEndpoint(store(), { tenantId: 'acme' });
    for (let index = 0; index < 3; index++) await addMessage(store(), [id], { tenantId: 'acme' });
    const usedUnder = async (rateLimit: RateLimit | null) => {
      await store().tenants.set('acme', { rateLimit }, T0);
      return (await lanesAt(store(), T0))[0]?.tenantRateUsed;
    };
    expect(await usedUnder({ perSecond: 2, burst: 4 })).toBeNull();
    await lease(store(), { share: () => ({ quotas: new Map([[id, 2]]), nextAt: null }) });
    expect(await usedUnder({ perSecond: 2, burst: 4 })).toBe(T0 + 1000);
    expect(await usedUnder({ perSecond: 0.5, burst: 1 })).toBe(T0 + 2000);
    await store().tenants.set('acme', { metadata: { a: 1 } }, T0);
    expect((await lanesAt(store(), T0))[0]?.tenantRateUsed).toBe(T0 + 2000);
    expect(await usedUnder(null)).toBeNull();
  });

  test('a tenant exists from the first endpoint or message that it has', async () => {
    await addEndpoint(store(), { tenantId: 'by endpoint' });
    await addMessage(store(), [], { tenantId: 'by message' });
    for (const id of ['by endpoint', 'by message']) {
      expect(await store().tenants.get(id)).toMatchObject({ id, rateLimit: null, metadata: {} });
    }
  });

  test('any text is an id', async () => {
    for (const id of ['a'.repeat(255), "o'brien; drop table", '東京 👩🏽‍🚀', '%', 'null', '0', ' ']) {
      await store().tenants.set(id, {}, T0);
      expect(await store().tenants.get(id)).toMatchObject({ id });
    }
  });

  test('the list is newest first, page by page, and a scope shows its own tenant alone', async () => {
    const ids = ['a', 'b', 'c', 'd', 'e'];
    for (const [index, id] of ids.entries()) await store().tenants.set(id, {}, T0 + Math.floor(index / 3));
    const walked = await walk((after) => store().tenants.list({ tenant: undefined, after, limit: 2 }));
    expect(walked.map(({ id }) => id)).toEqual(['e', 'd', 'c', 'b', 'a']);
    const own = await store().tenants.list({ tenant: 'b', after: null, limit: 2 });
    expect(own).toMatchObject({ rows: [{ id: 'b' }], next: null });
    expect(await store().tenants.list({ tenant: 'nobody', after: null, limit: 2 })).toEqual({
      rows: [],
      next: null,
    });
  });

  test('deleting takes all that is its, and nothing of anybody else', async () => {
    const kept: { endpoint: string; message: string; tenant: string | null }[] = [];
    const gone: { endpoint: string; message: string }[] = [];
    for (const tenant of ['acme', 'other', null]) {
      const endpoint = await addEndpoint(store(), { tenantId: tenant });
      const message = await addMessage(store(), [endpoint.id], {
        tenantId: tenant,
        idempotencyKey: 'key',
        fingerprint: 'same',
      });
      await finish(store(), message, endpoint.id);
      const pending = await addMessage(store(), [endpoint.id], { tenantId: tenant });
      for (const id of [message, pending]) {
        if (tenant === 'acme') gone.push({ endpoint: endpoint.id, message: id });
        else kept.push({ endpoint: endpoint.id, message: id, tenant });
      }
    }
    const before = await Promise.all(kept.map(({ message }) => store().messages.get(undefined, message)));

    expect(await store().tenants.delete('acme', positionAt(T0))).toBe(true);
    expect(await store().tenants.delete('acme', positionAt(T0))).toBe(false);
    expect(await store().tenants.get('acme')).toBeNull();
    for (const { endpoint, message } of gone) {
      expect(await store().endpoints.get(undefined, endpoint)).toBeNull();
      expect(await store().messages.get(undefined, message)).toBeNull();
      const query = { tenant: undefined, messageId: message, status: undefined, after: null, limit: 9 };
      expect(await store().messages.attempts(query)).toBeNull();
    }
    for (const [index, { message }] of kept.entries()) {
      expect(await store().messages.get(undefined, message)).toEqual(before[index]);
    }
    const leased = await lease(store());
    expect(leased.map(({ message }) => message.tenantId).sort()).toEqual([null, 'other']);
    expect(leased.map(({ target }) => target.secrets.map(({ secret }) => secret))).toEqual([
      ['whsec_first'],
      ['whsec_first'],
    ]);

    const again = newMessage([], { tenantId: 'acme', idempotencyKey: 'key', fingerprint: 'another' });
    expect(await store().messages.insert([again], true)).toMatchObject([{ outcome: 'stored' }]);
  });

  test('what is in flight while its tenant is deleted leaves nothing behind', async () => {
    const endpoint = await addEndpoint(store(), { tenantId: 'acme' });
    const message = await addMessage(store(), [endpoint.id], { tenantId: 'acme' });
    const [leased] = await lease(store());
    await store().tenants.delete('acme', positionAt(T0));
    const settled = await settle(store(), [settlementOf(leased!)], {
      news: [
        {
          endpointId: endpoint.id,
          url: ENDPOINT_URL,
          succeeded: false,
          failedAt: T0,
          slowUntil: T0 + 1,
          slowStep: 0,
          pause: null,
        },
      ],
    });
    expect(settled).toEqual({ refused: [0], paused: [], recovered: [] });
    await addMessage(store(), [endpoint.id], { id: message, tenantId: 'acme', createdAt: T0 + 1 });
    const query = { tenant: undefined, messageId: message, status: undefined, after: null, limit: 9 };
    expect(await store().messages.attempts(query)).toEqual({ rows: [], next: null });
  });

  test('one batch may speak of very many tenants', async () => {
    const messages = Array.from({ length: 6000 }, (_each, index) =>
      newMessage([], { tenantId: `t${index}` }),
    );
    expect(await store().messages.insert(messages, true)).toHaveLength(6000);
    expect(await store().tenants.get('t5999')).toMatchObject({ id: 't5999' });
  });
}
