import type { AuditEntry } from '../../../lib/model/audit.js';
import { createId } from '../../../lib/model/ids.js';
import type { AuditQuery, NewAuditEntry, Store } from '../../../lib/store/store.js';
import {
  addEndpoint,
  addMessage,
  ENDPOINT_URL,
  lease,
  newMessage,
  positionAt,
  SETTINGS,
  T0,
  walk,
} from './fixtures.js';

const FAR = T0 + 30 * 86_400_000;
const MISSING = `ep_${'0'.repeat(26)}`;

function newEntry(fixture: Partial<NewAuditEntry> = {}): NewAuditEntry {
  const { at = T0 } = fixture;
  return {
    id: createId('aud', at),
    at,
    requestId: null,
    actor: null,
    operation: 'endpoints.update',
    targetId: 'ep_a',
    changes: [],
    ...fixture,
  };
}

export function auditContract(store: () => Store): void {
  const query = (given: Partial<AuditQuery> = {}): AuditQuery => ({
    tenant: undefined,
    sinceDeletion: false,
    since: undefined,
    until: undefined,
    actor: undefined,
    operation: undefined,
    targetId: undefined,
    after: null,
    limit: 1000,
    ...given,
  });
  const list = async (given?: Partial<AuditQuery>): Promise<AuditEntry[]> =>
    (await store().audit.list(query(given))).rows;
  const idsOf = async (given?: Partial<AuditQuery>) => (await list(given)).map(({ id }) => id);
  const requeue = (endpointId: string, messageIds: string[], audit?: NewAuditEntry) =>
    store().outbox.requeue({ endpointId, messageIds, webhookIds: null, expiresAt: FAR, now: T0, audit });
  /** Records something about a tenant. */
  const record = async (tenant: string, fixture?: Partial<NewAuditEntry>): Promise<NewAuditEntry> => {
    const entry = newEntry(fixture);
    await store().tenants.set(tenant, {}, entry.at, entry);
    return entry;
  };

  test('an entry is kept as it is given', async () => {
    const entry = await record('acme', {
      requestId: 'req_1',
      actor: { id: "o'brien 東京", name: 'Zoë "O" 👩🏽‍🚀\n' },
      operation: 'tenants.setRateLimit',
      targetId: 'acme',
      changes: ['rateLimit', 'metadata'],
    });
    expect(await list()).toEqual([
      { ...entry, at: '2026-05-01T12:00:00.000Z', tenantId: 'acme', changes: ['rateLimit', 'metadata'] },
    ]);
  });

  test('an actor without a name, and none at all', async () => {
    await record('acme', { actor: { id: 'ada', name: null } });
    await record('acme');
    expect((await list()).map(({ actor }) => actor)).toEqual([null, { id: 'ada', name: null }]);
  });

  test('what is older than is wanted is removed, batch by batch', async () => {
    const kept = await record('acme', { at: T0 });
    const old = Array.from({ length: 1100 }, () =>
      newMessage([], { tenantId: 'acme', audit: newEntry({ at: T0 - 1 }) }),
    );
    await store().messages.insert(old, true);
    expect(await store().audit.removeBefore(T0 - 1)).toBe(false);
    expect(await list()).toHaveLength(1000);
    expect(await store().audit.removeBefore(T0)).toBe(true);
    expect(await list()).toHaveLength(101);
    expect(await store().audit.removeBefore(T0)).toBe(false);
    expect(await idsOf()).toEqual([kept.id]);
  });

  describe('each change takes its entry along', () => {
    type Change = [
      name: string,
      change: (tenantId: string | null, audit?: NewAuditEntry) => Promise<unknown>,
    ];
    const onEndpoint =
      (change: (id: string, audit?: NewAuditEntry) => Promise<unknown>): Change[1] =>
      async (tenantId, audit) =>
        change((await addEndpoint(store(), { tenantId })).id, audit);
    const CHANGES: Change[] = [
      [
        'inserting an endpoint',
        (tenantId, audit) =>
          store().endpoints.insert(
            { ...SETTINGS, id: createId('ep', T0), tenantId },
            { id: createId('sec', T0), secret: 'whsec_a' },
            T0,
            audit,
          ),
      ],
      [
        'updating one',
        onEndpoint((id, audit) => store().endpoints.update(undefined, id, { url: ENDPOINT_URL }, T0, audit)),
      ],
      ['deleting one', onEndpoint((id, audit) => store().endpoints.delete(undefined, id, T0, audit))],
      ['pausing one', onEndpoint((id, audit) => store().endpoints.pause(undefined, id, 'manual', T0, audit))],
      [
        'resuming one',
        onEndpoint(async (id, audit) => {
          await store().endpoints.pause(undefined, id, 'manual', T0);
          return store().endpoints.resume(undefined, id, T0, audit);
        }),
      ],
      [
        'rotating its secret',
        onEndpoint((id, audit) =>
          store().endpoints.rotateSecret(
            undefined,
            id,
            { id: createId('sec', T0), secret: 'whsec_b' },
            T0,
            T0,
            audit,
          ),
        ),
      ],
      [
        'reading its secrets, which is no change',
        onEndpoint((id, audit) => store().endpoints.secrets(undefined, id, T0, audit)),
      ],
      [
        'inserting a message',
        (tenantId, audit) => store().messages.insert([newMessage([], { tenantId, audit })], false),
      ],
      [
        'expunging one',
        async (tenantId, audit) => {
          const id = await addMessage(store(), [], { tenantId });
          return store().messages.expunge(undefined, id, T0, audit);
        },
      ],
      [
        'requeueing one',
        async (tenantId, audit) => {
          const { id } = await addEndpoint(store(), { tenantId });
          return requeue(id, [await addMessage(store(), [id], { tenantId })], audit);
        },
      ],
    ];

    test.each(CHANGES)('%s', async (_name, change) => {
      for (const tenantId of ['acme', null]) {
        const entry = newEntry();
        await change(tenantId, entry);
        const [first, ...older] = await list();
        expect(first).toMatchObject({ id: entry.id, tenantId });
        expect(older).toHaveLength(tenantId === null ? 1 : 0);
      }
      await change('acme');
      expect(await list()).toHaveLength(2);
    });

    test('setting a tenant and deleting it', async () => {
      const [set, deleted] = [newEntry(), newEntry({ operation: 'tenants.delete' })];
      await store().tenants.set('acme', { metadata: {} }, T0, set);
      await store().tenants.delete('acme', positionAt(T0), deleted);
      await store().tenants.set('acme', {}, T0);
      await store().tenants.delete('acme', positionAt(T0));
      expect(await list()).toMatchObject([
        { id: deleted.id, tenantId: 'acme' },
        { id: set.id, tenantId: 'acme' },
      ]);
    });

    test('each message of a batch its own, and those without one nothing', async () => {
      const { id } = await addEndpoint(store());
      const audits = [newEntry({ targetId: 'msg_a' }), undefined, newEntry({ targetId: 'msg_b' })];
      const messages = audits.map((audit) => newMessage([id], { audit }));
      await store().messages.insert(messages, true);
      expect((await list()).map(({ targetId }) => targetId)).toEqual(['msg_b', 'msg_a']);
      expect(await lease(store())).toHaveLength(3);
    });
  });

  describe('what changes nothing is not recorded', () => {
    afterEach(async () => expect(await list()).toEqual([]));

    test('what is not there, or is out of scope', async () => {
      const { id } = await addEndpoint(store(), { tenantId: 'acme' });
      const messageId = await addMessage(store(), [id], { tenantId: 'acme' });
      for (const [tenant, endpointId, message] of [
        [undefined, MISSING, 'msg_0'],
        ['other', id, messageId],
      ] as const) {
        const { endpoints } = store();
        const secret = { id: createId('sec', T0), secret: 'whsec_b' };
        const done = [
          await endpoints.update(tenant, endpointId, {}, T0, newEntry()),
          await endpoints.delete(tenant, endpointId, T0, newEntry()),
          await endpoints.pause(tenant, endpointId, 'manual', T0, newEntry()),
          await endpoints.resume(tenant, endpointId, T0, newEntry()),
          await endpoints.rotateSecret(tenant, endpointId, secret, T0, T0, newEntry()),
          await endpoints.secrets(tenant, endpointId, T0, newEntry()),
          await store().messages.expunge(tenant, message, T0, newEntry()),
          await store().tenants.delete('nobody', positionAt(T0), newEntry()),
        ];
        expect(done.filter(Boolean)).toEqual([]);
      }
      expect(await requeue(MISSING, [messageId], newEntry())).toEqual([]);
      expect(await requeue(id, ['msg_0'], newEntry())).toEqual([]);
    });

    test('what is so already', async () => {
      const { id } = await addEndpoint(store());
      await store().endpoints.pause(undefined, id, 'failing', T0);
      const paused = await store().endpoints.pause(undefined, id, 'manual', T0, newEntry());
      expect(paused).toMatchObject({ pausedReason: 'failing' });
      const active = await addEndpoint(store());
      expect(await store().endpoints.resume(undefined, active.id, T0 + 9, newEntry())).toEqual(active);
      const messageId = await addMessage(store(), []);
      await store().messages.expunge(undefined, messageId, T0);
      expect(await store().messages.expunge(undefined, messageId, T0, newEntry())).toBe(true);
    });

    test('a delivery that is in flight, and a message of an idempotency key that is taken', async () => {
      const { id } = await addEndpoint(store());
      const key = { idempotencyKey: 'k', fingerprint: 'a' };
      const messageId = await addMessage(store(), [id], key);
      await lease(store());
      expect(await requeue(id, [messageId], newEntry())).toEqual([]);
      const again = ['a', 'b'].map((fingerprint) =>
        newMessage([id], { idempotencyKey: 'k', fingerprint, audit: newEntry() }),
      );
      expect((await store().messages.insert(again, false)).map(({ outcome }) => outcome)).toEqual([
        'duplicate',
        'conflict',
      ]);
    });

    test('a batch that fails, and a rotation beyond what may sign', async () => {
      const { id } = await addEndpoint(store());
      await addMessage(store(), [id], { idempotencyKey: 'k', fingerprint: 'a' });
      const batch = [
        newMessage([id], { audit: newEntry() }),
        newMessage([id], { idempotencyKey: 'k', fingerprint: 'b', audit: newEntry() }),
      ];
      await expect(store().messages.insert(batch, true)).rejects.toMatchObject({
        code: 'IDEMPOTENCY_CONFLICT',
      });
      const rotate = (n: number, audit?: NewAuditEntry) =>
        store().endpoints.rotateSecret(undefined, id, { id: `sec_${n}`, secret: `s${n}` }, FAR, T0, audit);
      for (let n = 1; n < 10; n++) await rotate(n);
      await expect(rotate(10, newEntry())).rejects.toMatchObject({ code: 'ENDPOINT_VALIDATION' });
    });
  });

  test('an entry that cannot be kept takes the change with it', async () => {
    const { id, description } = await addEndpoint(store());
    const entry = await record('acme');
    const refusal = { message: expect.stringMatching(/unique/i) as string };
    const twice = store().endpoints.update(undefined, id, { description: 'changed' }, T0, entry);
    await expect(twice).rejects.toMatchObject(refusal);
    expect(await store().endpoints.get(undefined, id)).toMatchObject({ description });
    const message = newMessage([id], { audit: entry });
    await expect(store().messages.insert([message], false)).rejects.toMatchObject(refusal);
    expect(await store().messages.get(undefined, message.id)).toBeNull();
    await expect(store().endpoints.secrets(undefined, id, T0, entry)).rejects.toMatchObject(refusal);
    expect(await list()).toHaveLength(1);
  });

  describe('the list', () => {
    test('is newest first, page by page, also within a millisecond', async () => {
      const made: string[] = [];
      for (let n = 0; n < 7; n++) made.push((await record('acme', { at: T0 + Math.floor(n / 4) })).id);
      const walked = await walk((after) => store().audit.list(query({ after, limit: 2 })));
      expect(walked.map(({ id }) => id)).toEqual(made.reverse());
      expect((await store().audit.list(query({ limit: 7 }))).next).toBeNull();
      expect(await walk((after) => store().audit.list(query({ tenant: 'acme', after, limit: 3 })))).toEqual(
        walked,
      );
    });

    test('is narrowed by actor, operation, target, time and tenant, alone and together', async () => {
      const entries: [string, Partial<NewAuditEntry>][] = [
        ['acme', { at: T0, actor: { id: 'ada', name: 'Ada' } }],
        ['acme', { at: T0 + 1, actor: { id: 'eve', name: 'ada' }, targetId: 'ep_b' }],
        ['other', { at: T0 + 2, actor: { id: 'ada', name: null }, operation: 'endpoints.secret' }],
        ['other', { at: T0 + 3, operation: 'endpoints.secret', targetId: 'ep_b' }],
      ];
      const ids: string[] = [];
      for (const [tenant, entry] of entries) ids.push((await record(tenant, entry)).id);
      const found = async (given: Partial<AuditQuery>) =>
        (await idsOf(given)).map((id) => ids.indexOf(id)).sort();
      expect(await found({ actor: 'ada' })).toEqual([0, 2]);
      expect(await found({ operation: 'endpoints.secret' })).toEqual([2, 3]);
      expect(await found({ targetId: 'ep_b' })).toEqual([1, 3]);
      expect(await found({ tenant: 'acme' })).toEqual([0, 1]);
      expect(await found({ since: T0 + 1 })).toEqual([1, 2, 3]);
      expect(await found({ until: T0 + 1 })).toEqual([0]);
      expect(await found({ since: T0 + 1, until: T0 + 3 })).toEqual([1, 2]);
      expect(await found({ actor: 'ada', operation: 'endpoints.secret', tenant: 'other' })).toEqual([2]);
      expect(await found({ actor: 'ada', targetId: 'ep_b' })).toEqual([]);
      expect(await found({ tenant: 'nobody' })).toEqual([]);
    });

    test('outlives a tenant, and for the next of that id begins with it', async () => {
      const other = await record('other', { at: T0 + 9, operation: 'tenants.delete' });
      for (let round = 0; round < 2; round++) {
        await record('acme', { at: T0 + 4 + round });
        const deletion = newEntry({ at: T0 + 5 + round, operation: 'tenants.delete' });
        await store().tenants.delete('acme', positionAt(T0), deletion);
        expect(await idsOf({ tenant: 'acme', sinceDeletion: true })).toEqual([]);
      }
      const later = [await record('acme', { at: T0 + 6 }), await record('acme', { at: T0 + 7 })];
      const own = { tenant: 'acme', sinceDeletion: true };
      expect(await idsOf(own)).toEqual(later.map(({ id }) => id).reverse());
      expect(await idsOf({ ...own, operation: 'tenants.delete' })).toEqual([]);
      expect(await idsOf({ ...own, limit: 1 })).toEqual([later[1]!.id]);
      expect(await list({ tenant: 'acme' })).toHaveLength(6);
      expect(await list()).toHaveLength(7);
      expect(await idsOf({ tenant: 'other' })).toEqual([other.id]);
    });
  });
}
