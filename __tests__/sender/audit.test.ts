import { createClock } from '../support/clock.js';
import { startReceiver } from '../support/receiver.js';
import { startSender } from '../support/sender.js';

const URL = 'https://example.com/hook';
const ADA = { id: 'ada', name: 'Ada' };

const open = () => startSender({ started: false });

describe('a scope for a caller', () => {
  test('records what is done through it, and with whom', async () => {
    const clock = createClock(Date.parse('2026-01-15T12:00:00.000Z'));
    const sender = await startSender({ started: false, now: clock.now });
    const scope = sender.forCaller({ tenantId: 'acme', actor: ADA, requestId: 'r-1' });
    const { id } = await scope.endpoints.create({ url: URL });
    expect(await sender.audit.list()).toEqual({
      entries: [
        {
          id: expect.stringMatching(/^aud_[0-9a-v]{26}$/),
          at: '2026-01-15T12:00:00.000Z',
          requestId: 'r-1',
          actor: ADA,
          tenantId: 'acme',
          operation: 'endpoints.create',
          targetId: id,
          changes: ['url'],
        },
      ],
      nextCursor: null,
    });
    expect(await scope.audit.list()).toEqual(await sender.audit.list());
  });

  test('is bound to the tenant that it names, as one of forTenant is', async () => {
    const sender = await open();
    const { id } = await sender.endpoints.create({ url: URL, tenantId: 'other' });
    const scope = sender.forCaller({ tenantId: 'acme' });
    expect(scope.tenantId).toBe('acme');
    await expect(scope.endpoints.disable(id)).rejects.toMatchObject({ code: 'ENDPOINT_NOT_FOUND' });
    await expect(scope.tenants.delete('other')).rejects.toMatchObject({ code: 'FORBIDDEN' });
    expect(sender.forCaller({ actor: ADA }).tenantId).toBeNull();
    expect((await sender.forCaller({ actor: ADA }).endpoints.disable(id)).status).toBe('paused');
  });

  test('records without an actor and without a request as well', async () => {
    const sender = await open();
    await sender.forCaller({}).tenants.setMetadata('acme', { a: 1 });
    expect((await sender.audit.list()).entries).toMatchObject([
      {
        actor: null,
        requestId: null,
        tenantId: 'acme',
        operation: 'tenants.setMetadata',
        changes: ['metadata'],
      },
    ]);
  });

  test('is not shown what was of a tenant of its id that the application has deleted by itself', async () => {
    const sender = await open();
    const acme = () => sender.forCaller({ tenantId: 'acme', actor: ADA });
    await acme().endpoints.create({ url: URL });
    await sender.tenants.delete('acme');
    await acme().tenants.setMetadata('acme', { a: 1 });
    expect((await acme().audit.list()).entries).toMatchObject([{ operation: 'tenants.setMetadata' }]);
    expect((await sender.audit.list()).entries.slice(1)).toMatchObject([
      { operation: 'tenants.delete', tenantId: 'acme', targetId: 'acme', actor: null, requestId: null },
      { operation: 'endpoints.create' },
    ]);
  });

  test.each([undefined, null, '', 7, ['acme'], {}, 'a\nb'])('refuses a tenantId of %j', async (tenantId) => {
    const sender = await open();
    expect(() => sender.forCaller({ tenantId, actor: ADA } as never)).toThrow(
      expect.objectContaining({ code: 'TENANT_VALIDATION' }),
    );
  });

  test.each([{ actor: null }, { actor: 'ada' }, { actor: { id: '' } }, { actor: {} }, { requestId: '' }])(
    'refuses %j',
    async (caller) => {
      const sender = await open();
      expect(() => sender.forCaller(caller as never)).toThrow(
        expect.objectContaining({ code: 'INVALID_OPTIONS', message: expect.stringContaining('forCaller') }),
      );
    },
  );
});

test('what the application does through the sender and through forTenant is not recorded', async () => {
  const sender = await open();
  for (const scope of [sender, sender.forTenant('acme')]) {
    const { id } = await scope.endpoints.create({ url: URL });
    await scope.endpoints.update(id, { description: 'a' });
    await scope.endpoints.secret(id);
    await scope.endpoints.rotateSecret(id);
    await scope.send({ type: 'a', data: 1 });
    await scope.tenants.setRateLimit('acme', { perSecond: 1 });
    await scope.endpoints.delete(id);
  }
  expect((await sender.audit.list()).entries).toEqual([]);
});

test('sends of callers and of the application share a commit, and each of the callers’ is recorded', async () => {
  const receiver = await startReceiver();
  const sender = await startSender();
  await sender.endpoints.create({ url: receiver.url() });
  const scope = sender.forCaller({ actor: ADA });
  const sent = await Promise.all(
    Array.from({ length: 300 }, (_, n) => (n % 3 ? sender : scope).send({ type: 'a', data: n })),
  );
  const batch = await scope.sendMany([
    { type: 'b', data: 1 },
    { type: 'b', data: 2 },
  ]);
  const { entries } = await sender.audit.list({ operation: 'send', limit: 1000 });
  const theirs = [...sent.filter((_, n) => n % 3 === 0), ...batch].map(({ id }) => id);
  expect(entries.map(({ targetId }) => targetId).sort()).toEqual(theirs.sort());
  await receiver.waitFor(302);
});

test('the list is narrowed, paged, and refuses a range that ends before it begins', async () => {
  const sender = await open();
  for (const id of ['a', 'b', 'c']) await sender.forCaller({ actor: { id } }).tenants.setMetadata(id, {});
  const first = await sender.audit.list({ limit: 2 });
  expect(first.entries.map(({ targetId }) => targetId)).toEqual(['c', 'b']);
  const rest = await sender.audit.list({ limit: 2, cursor: first.nextCursor! });
  expect(rest).toMatchObject({ entries: [{ targetId: 'a' }], nextCursor: null });
  expect((await sender.audit.list({ actor: 'b' })).entries).toMatchObject([{ targetId: 'b' }]);
  const reversed = sender.audit.list({ since: '2026-02-01', until: '2026-01-01' });
  await expect(reversed).rejects.toMatchObject({ code: 'INVALID_QUERY' });
  const foreign = sender.forTenant('a').audit.list({ tenantId: 'b' });
  await expect(foreign).rejects.toMatchObject({ code: 'INVALID_QUERY' });
});
