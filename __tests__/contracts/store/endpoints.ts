import type { RateLimit } from '../../../lib/model/rate-limit.js';
import type { EndpointSettings, Store } from '../../../lib/store/store.js';
import {
  ENDPOINT_URL,
  addEndpoint,
  addMessage,
  deliveryOf,
  finish,
  lanesAt,
  lease,
  newMessage,
  release,
  SETTINGS,
  settle,
  settlementOf,
  statusOf,
  T0,
  walk,
} from './fixtures.js';

const FULL: EndpointSettings = {
  url: 'https://example.com/hook?a=1&b=%20',
  description: 'Zoë 東京 👩🏽‍🚀 "quoted" \\ \n',
  types: ['invoice.paid', 'order.*', '*'],
  channels: ['eu', 'us:east'],
  filter: [
    { dataPath: 'order.lines.0.sku', equals: { a: [1, null, 'x'], b: true } },
    { dataPath: 'n', equals: null },
  ],
  headers: { authorization: 'Bearer x', 'X-Team': 'a b' },
  metadata: { deep: { list: [1, 2.5, null, 'é'], empty: {} } },
  retry: { delaysSeconds: [0, 1.5, 86_400], jitter: 0.25 },
  rateLimit: { perSecond: 0.5, burst: 7 },
  maxInFlight: 3,
  timeoutMs: 5000,
};

export function endpointStoreContract(store: () => Store): void {
  const rotate = (id: string, secret: string, previousUntil: number, now: number, tenant?: string) =>
    store().endpoints.rotateSecret(tenant, id, { id: `sec_${secret}`, secret }, previousUntil, now);

  /** The secrets that sign what is delivered to the endpoint at that time. */
  async function secretsAt(endpointId: string, now: number): Promise<string[] | undefined> {
    await addMessage(store(), [endpointId], { createdAt: now });
    const leased = await lease(store(), { now });
    await release(store(), leased);
    return leased.find((each) => each.endpointId === endpointId)?.target.secrets.map(({ secret }) => secret);
  }

  describe('inserting', () => {
    test('every field is kept, and the record shows no secret', async () => {
      const made = await addEndpoint(store(), { ...FULL, tenantId: 'acme', secret: 'whsec_hidden' });
      expect(made).toEqual({
        ...FULL,
        id: made.id,
        tenantId: 'acme',
        status: 'active',
        pausedReason: null,
        pausedAt: null,
        createdAt: '2026-05-01T12:00:00.000Z',
        updatedAt: '2026-05-01T12:00:00.000Z',
      });
      expect(await store().endpoints.get('acme', made.id)).toEqual(made);
      expect(JSON.stringify(made)).not.toContain('hidden');
    });

    test('what is not set is null, or empty', async () => {
      expect(await addEndpoint(store())).toMatchObject({ ...SETTINGS, tenantId: null });
    });
  });

  describe('updating', () => {
    test('changes what is given and leaves the rest', async () => {
      const made = await addEndpoint(store(), FULL);
      for (const [name, value] of Object.entries(SETTINGS)) {
        const before = await store().endpoints.get(undefined, made.id);
        const changed = await store().endpoints.update(undefined, made.id, { [name]: value }, T0 + 5);
        expect(changed).toEqual({ ...before, [name]: value, updatedAt: '2026-05-01T12:00:00.005Z' });
        expect(await store().endpoints.get(undefined, made.id)).toEqual(changed);
      }
      expect(await store().endpoints.update(undefined, made.id, FULL, T0 + 6)).toMatchObject(FULL);
      expect(await store().endpoints.update(undefined, made.id, {}, T0 + 7)).toMatchObject({
        ...FULL,
        createdAt: made.createdAt,
      });
    });

    test('what is used of the rate stays so, under another limit too; without one nothing is', async () => {
      const { id } = await addEndpoint(store(), { rateLimit: { perSecond: 2, burst: 4 }, maxInFlight: 9 });
      for (let index = 0; index < 3; index++) await addMessage(store(), [id]);
      await lease(store(), { share: () => ({ quotas: new Map([[id, 2]]), nextAt: null }) });
      expect((await lanesAt(store(), T0))[0]).toMatchObject({ rateUsed: T0 + 1000, inFlight: 2 });
      await store().endpoints.update(undefined, id, { description: 'new' }, T0);
      expect((await lanesAt(store(), T0))[0]?.rateUsed).toBe(T0 + 1000);
      const usedUnder = async (rateLimit: RateLimit | null, now = T0) => {
        await store().endpoints.update(undefined, id, { rateLimit }, now);
        return (await lanesAt(store(), now))[0]?.rateUsed;
      };
      expect(await usedUnder({ perSecond: 2, burst: 4 })).toBe(T0 + 1000);
      // Two tokens, whatever the time in which they come back.
      expect(await usedUnder({ perSecond: 0.5, burst: 4 })).toBe(T0 + 4000);
      expect(await usedUnder({ perSecond: 20, burst: 9 })).toBe(T0 + 100);
      // No bucket is emptier than empty.
      expect(await usedUnder({ perSecond: 20, burst: 1 })).toBe(T0 + 50);
      expect(await usedUnder({ perSecond: 20, burst: 1 }, T0 + 51)).toBeNull();
      expect(await usedUnder({ perSecond: 0.001, burst: 5 }, T0 + 60)).toBeNull();
      await addMessage(store(), [id]);
      await lease(store(), { share: () => ({ quotas: new Map([[id, 1]]), nextAt: null }) });
      expect((await lanesAt(store(), T0))[0]?.rateUsed).toBe(T0 + 1_000_000);
      expect(await usedUnder(null)).toBeNull();
    });

    test('another URL begins without what the one before was charged with', async () => {
      const { id } = await addEndpoint(store());
      await addMessage(store(), [id]);
      const [leased] = await lease(store());
      const piece = { endpointId: id, url: ENDPOINT_URL, succeeded: false, slowStep: 0, pause: null };
      await settle(store(), [settlementOf(leased!, { status: 'pending' })], {
        news: [{ ...piece, failedAt: T0, slowUntil: T0 + 5000 }],
      });
      const charged = async () => {
        const [lane] = await lanesAt(store(), T0);
        const [held] = await lease(store());
        await release(store(), [held!]);
        return [lane?.slowUntil, lane?.slowStep, held?.target.failingSince];
      };
      await store().endpoints.update(undefined, id, { url: ENDPOINT_URL, description: 'same' }, T0);
      expect(await charged()).toEqual([T0 + 5000, 1, T0]);
      await store().endpoints.update(undefined, id, { url: 'https://example.com/new' }, T0);
      expect(await charged()).toEqual([null, 0, null]);
    });
  });

  describe('the scope of a tenant', () => {
    test.each([
      ['another tenant', 'acme'],
      ['no tenant', null],
    ])('sees and changes nothing of an endpoint of %s', async (_whose, tenantId) => {
      const made = await addEndpoint(store(), { tenantId });
      const messageId = await addMessage(store(), [made.id], { tenantId });
      const { endpoints } = store();
      for (const scope of ['other', '', 'null', 'ACME']) {
        expect(await endpoints.get(scope, made.id)).toBeNull();
        expect(await endpoints.update(scope, made.id, { url: 'https://evil.example/' }, T0 + 1)).toBeNull();
        expect(await endpoints.pause(scope, made.id, 'manual', T0 + 1)).toBeNull();
        expect(await endpoints.resume(scope, made.id, T0 + 1)).toBeNull();
        expect(await rotate(made.id, 'stolen', T0, T0 + 1, scope)).toBeNull();
        expect(await endpoints.delete(scope, made.id, T0 + 1)).toBe(false);
        const query = { tenant: scope, status: undefined, after: null, limit: 9 };
        expect(await endpoints.list(query)).toEqual({ rows: [], next: null });
      }
      expect(await endpoints.get(undefined, made.id)).toEqual(made);
      expect(await deliveryOf(store(), messageId, made.id)).toMatchObject({ status: 'pending' });
      const [leased] = await lease(store());
      expect(leased?.target.secrets).toMatchObject([{ secret: 'whsec_first' }]);
    });

    test('has all of its own', async () => {
      const made = await addEndpoint(store(), { tenantId: 'acme' });
      const { endpoints } = store();
      expect(await endpoints.get('acme', made.id)).toEqual(made);
      expect(await endpoints.update('acme', made.id, { description: 'x' }, T0)).toMatchObject({
        description: 'x',
      });
      expect(await endpoints.pause('acme', made.id, 'manual', T0)).toMatchObject({ status: 'paused' });
      expect(await endpoints.resume('acme', made.id, T0)).toMatchObject({ status: 'active' });
      expect(await rotate(made.id, 'second', T0, T0, 'acme')).toMatchObject({ id: made.id });
      expect(await endpoints.delete('acme', made.id, T0)).toBe(true);
    });

    test('what is not there is not there for the unscoped either', async () => {
      const { endpoints } = store();
      expect(await endpoints.get(undefined, 'ep_none')).toBeNull();
      expect(await endpoints.update(undefined, 'ep_none', {}, T0)).toBeNull();
      expect(await endpoints.pause(undefined, 'ep_none', 'manual', T0)).toBeNull();
      expect(await endpoints.resume(undefined, 'ep_none', T0)).toBeNull();
      expect(await rotate('ep_none', 'second', T0, T0)).toBeNull();
      expect(await endpoints.delete(undefined, 'ep_none', T0)).toBe(false);
    });
  });

  describe('listing', () => {
    test('is newest first, whole over pages of any size, however many share a millisecond', async () => {
      const made: string[] = [];
      for (let index = 0; index < 7; index++) {
        made.push((await addEndpoint(store(), { now: T0 + Math.floor(index / 4) })).id);
      }
      for (const limit of [1, 2, 3, 7, 100]) {
        const rows = await walk((after) =>
          store().endpoints.list({ tenant: undefined, status: undefined, after, limit }),
        );
        expect(rows.map(({ id }) => id)).toEqual([...made].reverse());
      }
      const whole = await store().endpoints.list({
        tenant: undefined,
        status: undefined,
        after: null,
        limit: 7,
      });
      expect(whole.next).toBeNull();
    });

    test('what comes or goes during a walk neither repeats nor hides the rest', async () => {
      const made: string[] = [];
      for (let index = 0; index < 6; index++) made.push((await addEndpoint(store(), { now: T0 + 10 })).id);
      let pages = 0;
      const rows = await walk(async (after) => {
        const page = await store().endpoints.list({ tenant: undefined, status: undefined, after, limit: 2 });
        await addEndpoint(store(), { now: T0 + 10 });
        await addEndpoint(store(), { now: T0 + 20 });
        // The last row of the first page goes, and with it what the position of the second names.
        if (pages++ === 0) await store().endpoints.delete(undefined, page.rows[1]!.id, T0);
        return page;
      });
      const ids = rows.map(({ id }) => id);
      expect(new Set(ids).size).toBe(ids.length);
      expect(ids.filter((id) => made.includes(id))).toEqual([...made].reverse());
    });

    test('is narrowed by tenant and by status', async () => {
      const a = await addEndpoint(store(), { tenantId: 'acme', now: T0 });
      const b = await addEndpoint(store(), { tenantId: 'acme', now: T0 + 1 });
      const c = await addEndpoint(store(), { tenantId: 'other', now: T0 + 2 });
      const d = await addEndpoint(store(), { now: T0 + 3 });
      for (const { id } of [a, d]) await store().endpoints.pause(undefined, id, 'manual', T0);
      const list = async (tenant: string | undefined, status: 'active' | 'paused' | undefined) => {
        const page = await store().endpoints.list({ tenant, status, after: null, limit: 9 });
        return page.rows.map(({ id }) => id);
      };
      expect(await list(undefined, undefined)).toEqual([d.id, c.id, b.id, a.id]);
      expect(await list(undefined, 'paused')).toEqual([d.id, a.id]);
      expect(await list(undefined, 'active')).toEqual([c.id, b.id]);
      expect(await list('acme', undefined)).toEqual([b.id, a.id]);
      expect(await list('acme', 'paused')).toEqual([a.id]);
      expect(await list('other', 'paused')).toEqual([]);
    });

    test('a send is matched against all endpoints of one tenant, paused ones too', async () => {
      const a = await addEndpoint(store(), { tenantId: 'acme' });
      const b = await addEndpoint(store(), { tenantId: 'acme' });
      const c = await addEndpoint(store());
      await addEndpoint(store(), { tenantId: 'other' });
      await store().endpoints.pause(undefined, b.id, 'gone', T0);
      const ids = async (tenant: string | null) =>
        (await store().endpoints.ofTenants([tenant]))
          .get(tenant)!
          .map(({ id }) => id)
          .sort();
      expect(await ids('acme')).toEqual([a.id, b.id].sort());
      expect(await ids(null)).toEqual([c.id]);
      expect(await ids('nobody')).toEqual([]);
    });
  });

  test('what a send is matched against cannot be changed by whoever is shown it', async () => {
    await addEndpoint(store(), { metadata: { plan: { name: 'pro' } } });
    const [endpoint] = (await store().endpoints.ofTenants([null])).get(null)!;
    expect(() => Object.assign(endpoint!, { url: 'https://example.com/other' })).toThrow(TypeError);
    expect(() => Object.assign(endpoint!.metadata.plan as object, { name: 'free' })).toThrow(TypeError);
  });

  describe('pausing', () => {
    test('says since when and why, and does not overwrite an earlier pause', async () => {
      const { id } = await addEndpoint(store());
      const paused = await store().endpoints.pause(undefined, id, 'failing', T0 + 5);
      expect(paused).toMatchObject({
        status: 'paused',
        pausedReason: 'failing',
        pausedAt: '2026-05-01T12:00:00.005Z',
        updatedAt: '2026-05-01T12:00:00.005Z',
      });
      expect(await store().endpoints.pause(undefined, id, 'manual', T0 + 9)).toEqual(paused);
      expect(await store().endpoints.get(undefined, id)).toEqual(paused);
    });

    test('holds what it is owed, which is leased again after it ends', async () => {
      const { id } = await addEndpoint(store());
      const other = await addEndpoint(store());
      const messageId = await addMessage(store(), [id, other.id]);
      await store().endpoints.pause(undefined, id, 'manual', T0);
      const during = await lease(store(), { now: T0 + 86_400_000 });
      expect(during.map(({ endpointId }) => endpointId)).toEqual([other.id]);
      expect(await deliveryOf(store(), messageId, id)).toMatchObject({ status: 'pending', attemptCount: 0 });
      await store().endpoints.resume(undefined, id, T0 + 86_400_000);
      const after = await lease(store(), { now: T0 + 86_400_000 });
      expect(after.map(({ endpointId }) => endpointId)).toEqual([id]);
    });

    test('resuming clears the reason, the failures and the slowing down', async () => {
      const { id } = await addEndpoint(store());
      await addMessage(store(), [id]);
      await addMessage(store(), [id]);
      const [first, second] = await lease(store());
      const pause = { reason: 'gone', failingBefore: T0 } as const;
      await settle(store(), [settlementOf(first!, { status: 'pending' })], {
        news: [
          {
            endpointId: id,
            url: ENDPOINT_URL,
            succeeded: false,
            failedAt: T0,
            slowUntil: T0 + 5000,
            slowStep: 0,
            pause,
          },
        ],
      });
      await release(store(), [second!]);
      const resumed = await store().endpoints.resume(undefined, id, T0 + 9);
      expect(resumed).toMatchObject({
        status: 'active',
        pausedReason: null,
        pausedAt: null,
        updatedAt: '2026-05-01T12:00:00.009Z',
      });
      const [lane] = await lanesAt(store(), T0 + 9);
      expect(lane).toMatchObject({ endpointId: id, slowUntil: null, slowStep: 0 });
      const [again] = await lease(store(), { now: T0 + 9 });
      expect(again?.target).toMatchObject({ failingSince: null, slowStep: 0 });
      expect(await store().endpoints.resume(undefined, id, T0 + 9)).toEqual(resumed);
    });
  });

  describe('rotating the secret', () => {
    test('the new one signs first, and the one before until its time', async () => {
      const { id } = await addEndpoint(store());
      expect(await rotate(id, 'second', T0 + 1000, T0 + 10)).toMatchObject({
        id,
        updatedAt: '2026-05-01T12:00:00.010Z',
      });
      expect(await secretsAt(id, T0 + 10)).toEqual(['second', 'whsec_first']);
      expect(await secretsAt(id, T0 + 999)).toEqual(['second', 'whsec_first']);
      expect(await secretsAt(id, T0 + 1000)).toEqual(['second']);
    });

    test('several in a row keep each its own time', async () => {
      const { id } = await addEndpoint(store());
      await rotate(id, 'second', T0 + 5000, T0);
      await rotate(id, 'third', T0 + 1000, T0 + 1);
      await rotate(id, 'fourth', T0 + 9000, T0 + 2);
      expect(await secretsAt(id, T0 + 3)).toEqual(['fourth', 'third', 'second', 'whsec_first']);
      expect(await secretsAt(id, T0 + 1000)).toEqual(['fourth', 'third', 'whsec_first']);
      expect(await secretsAt(id, T0 + 5000)).toEqual(['fourth', 'third']);
      expect(await secretsAt(id, T0 + 9000)).toEqual(['fourth']);
    });

    test('an overlap that is over at once revokes all that were before', async () => {
      const { id } = await addEndpoint(store());
      await rotate(id, 'second', T0 + 5000, T0);
      await rotate(id, 'third', T0 + 1, T0 + 1);
      expect(await secretsAt(id, T0 + 1)).toEqual(['third']);
    });

    test('those that are made at once follow one another, and none is lost', async () => {
      const { id } = await addEndpoint(store());
      const names = Array.from({ length: 9 }, (_each, index) => `secret ${index}`);
      await Promise.all(names.map((name) => rotate(id, name, T0 + 5000, T0)));
      const secrets = await secretsAt(id, T0 + 4999);
      expect(secrets?.sort()).toEqual([...names, 'whsec_first'].sort());
      expect(await secretsAt(id, T0 + 5000)).toHaveLength(1);
    });

    test("leaves other endpoints' secrets alone", async () => {
      const { id } = await addEndpoint(store());
      const other = await addEndpoint(store());
      await rotate(id, 'second', T0, T0);
      expect(await secretsAt(other.id, T0)).toEqual(['whsec_first']);
    });
  });

  describe('the secrets of an endpoint', () => {
    const secrets = (id: string, now: number, tenant?: string) => store().endpoints.secrets(tenant, id, now);

    test('are those that sign, newest first, with the time at which each ends', async () => {
      const { id } = await addEndpoint(store(), { tenantId: 'acme' });
      const other = await addEndpoint(store(), { tenantId: 'acme' });
      expect(await secrets(id, T0, 'acme')).toEqual([
        { id: expect.stringMatching(/^sec_/), secret: 'whsec_first', expiresAt: null },
      ]);
      await rotate(id, 'second', T0 + 5000, T0);
      await rotate(id, 'third', T0 + 1000, T0 + 1);
      const [third, second, first] = [
        { id: 'sec_third', secret: 'third', expiresAt: null },
        { id: 'sec_second', secret: 'second', expiresAt: T0 + 1000 },
        { id: expect.any(String), secret: 'whsec_first', expiresAt: T0 + 5000 },
      ];
      expect(await secrets(id, T0 + 999)).toEqual([third, second, first]);
      expect(await secrets(id, T0 + 1000)).toEqual([third, first]);
      expect(await secrets(id, T0 + 5000)).toEqual([third]);
      expect(await secrets(other.id, T0)).toMatchObject([{ secret: 'whsec_first', expiresAt: null }]);
    });

    test.each([
      ['another tenant', 'acme'],
      ['no tenant', null],
    ])('are nothing to a tenant that the endpoint of %s does not exist for', async (_whose, tenantId) => {
      const { id } = await addEndpoint(store(), { tenantId });
      for (const scope of ['other', '', 'null', 'ACME']) expect(await secrets(id, T0, scope)).toBeNull();
      await store().endpoints.delete(undefined, id, T0);
      expect(await secrets(id, T0)).toBeNull();
    });

    test('are named by the same ids in a lease and in a read', async () => {
      const { id } = await addEndpoint(store());
      await rotate(id, 'second', T0 + 5000, T0);
      await addMessage(store(), [id]);
      const [leased] = await lease(store());
      const read = await secrets(id, T0);
      expect(leased?.target.secrets).toEqual(read?.map((each) => ({ id: each.id, secret: each.secret })));
    });

    test('are all walked in pieces, those that have expired as well', async () => {
      const made = [await addEndpoint(store()), await addEndpoint(store(), { tenantId: 'acme' })];
      await rotate(made[0]!.id, 'second', T0 + 1, T0);
      const { endpoints } = store();
      const walked = [];
      for (let after: string | null = null; ; after = walked.at(-1)!.id) {
        const piece = await endpoints.allSecrets(after, 2);
        walked.push(...piece);
        if (piece.length < 2) break;
      }
      expect(walked.map(({ id }) => id)).toEqual(walked.map(({ id }) => id).sort());
      const found = walked.map(({ endpointId, secret }) => `${endpointId} ${secret}`).sort();
      expect(found).toEqual(
        [`${made[0]!.id} whsec_first`, `${made[0]!.id} second`, `${made[1]!.id} whsec_first`].sort(),
      );
    });

    test('are replaced where they still hold what they held, and keep their time', async () => {
      const { id } = await addEndpoint(store());
      await rotate(id, 'second', T0 + 5000, T0);
      const [second, first] = (await secrets(id, T0))!;
      const { endpoints } = store();
      const changed = await endpoints.replaceSecrets([
        { id: first!.id, endpointId: id, from: 'whsec_first', to: 'sealed' },
        { id: second!.id, endpointId: id, from: 'other', to: 'lost' },
        { id: 'sec_none', endpointId: id, from: 'second', to: 'lost' },
      ]);
      expect(changed).toBe(1);
      expect(await secrets(id, T0)).toEqual([second, { ...first, secret: 'sealed' }]);
      expect(await endpoints.replaceSecrets([])).toBe(0);
    });
  });

  describe('deleting', () => {
    test('cancels what is owed, keeps what was, and leaves other endpoints theirs', async () => {
      const gone = await addEndpoint(store());
      const other = await addEndpoint(store());
      const delivered = await addMessage(store(), [gone.id]);
      await finish(store(), delivered, gone.id);
      const owed = await addMessage(store(), [gone.id]);
      const shared = await addMessage(store(), [gone.id, other.id]);
      expect(await store().endpoints.delete(undefined, gone.id, T0)).toBe(true);
      expect(await store().endpoints.get(undefined, gone.id)).toBeNull();
      expect(await store().endpoints.delete(undefined, gone.id, T0)).toBe(false);

      expect(await deliveryOf(store(), owed, gone.id)).toEqual({
        endpointId: gone.id,
        status: 'canceled',
        attemptCount: 0,
        nextAttemptAt: null,
        lastError: 'The endpoint was deleted',
      });
      expect(await deliveryOf(store(), delivered, gone.id)).toMatchObject({ status: 'delivered' });
      expect(await statusOf(store(), delivered)).toBe('delivered');
      expect(await statusOf(store(), owed)).toBe('unrouted');
      expect(await statusOf(store(), shared)).toBe('pending');
      const attempts = await store().messages.attempts({
        tenant: undefined,
        messageId: delivered,
        status: undefined,
        after: null,
        limit: 9,
      });
      expect(attempts?.rows).toMatchObject([{ endpointId: gone.id }]);
      const leased = await lease(store());
      expect(leased.map(({ messageId, endpointId }) => [messageId, endpointId])).toEqual([
        [shared, other.id],
      ]);
    });

    test('cancels all of very much that is owed', async () => {
      const { id } = await addEndpoint(store());
      const messages = Array.from({ length: 2500 }, () => newMessage([id]));
      await store().messages.insert(messages, true);
      expect(await store().endpoints.delete(undefined, id, T0)).toBe(true);
      expect(await lease(store())).toEqual([]);
      for (const index of [0, 999, 1000, 1001, 2499]) {
        expect(await statusOf(store(), messages[index]!.id)).toBe('unrouted');
        expect(await deliveryOf(store(), messages[index]!.id, id)).toMatchObject({ status: 'canceled' });
      }
    });

    test('what is in flight is recorded and stays canceled', async () => {
      const { id } = await addEndpoint(store());
      const messageId = await addMessage(store(), [id]);
      const [leased] = await lease(store());
      await store().endpoints.delete(undefined, id, T0);
      const result = await settle(store(), [settlementOf(leased!)]);
      expect(result.refused).toEqual([0]);
      expect(await deliveryOf(store(), messageId, id)).toMatchObject({ status: 'canceled' });
      const query = { tenant: undefined, messageId, status: undefined, after: null, limit: 9 };
      expect((await store().messages.attempts(query))?.rows).toMatchObject([{ status: 'succeeded' }]);
    });
  });
}
