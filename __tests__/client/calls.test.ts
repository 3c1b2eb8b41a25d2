import { createAdminClient } from '../../lib/client/index.js';
import { plantTenant, plantWorker } from '../admin/planted.js';
import { BASE_URL, connect, rejection, scripted } from './connected.js';

const json = (body: unknown, status = 200) => Response.json(body, { status });

describe('the records', () => {
  it('are those that the sender itself answers', async () => {
    const { client, plane } = await connect();
    const { sender } = plane;
    const { tenantId, endpointId, messageId } = await plantTenant(plane, 'acme', 'mark');
    const since = '2026-01-01T00:00:00Z';

    expect(await client.endpoints.list()).toEqual(await sender.endpoints.list());
    expect(await client.endpoints.get(endpointId)).toEqual(await sender.endpoints.get(endpointId));
    expect(await client.endpoints.secret(endpointId)).toEqual(await sender.endpoints.secret(endpointId));
    expect(await client.endpoints.stats(endpointId, { interval: 'day' })).toEqual(
      await sender.endpoints.stats(endpointId, { interval: 'day' }),
    );
    expect(await client.stats({ tenantId })).toEqual(await sender.stats({ tenantId }));
    expect(await client.endpoints.attempts(endpointId)).toEqual(await sender.endpoints.attempts(endpointId));
    expect(await client.messages.list()).toEqual(await sender.messages.list());
    expect(await client.messages.get(messageId)).toEqual(await sender.messages.get(messageId));
    expect(await client.messages.attempts(messageId)).toEqual(await sender.messages.attempts(messageId));
    expect(await client.tenants.list()).toEqual(await sender.tenants.list());
    expect(await client.tenants.get(tenantId)).toEqual(await sender.tenants.get(tenantId));
    expect(await client.reconcile({ endpointId, since })).toEqual(
      await sender.reconcile({ endpointId, since }),
    );
  });

  it('come back from what changes them', async () => {
    const { client, plane } = await connect();
    const made = await client.endpoints.create({ url: 'https://example.com/', tenantId: 'acme' });
    expect(made.secret).toMatch(/^whsec_/);
    expect(await client.endpoints.update(made.id, { description: 'new' })).toMatchObject({
      description: 'new',
    });
    expect(await client.endpoints.disable(made.id)).toMatchObject({ status: 'paused' });
    expect(await client.endpoints.enable(made.id)).toMatchObject({ status: 'active' });
    const rotated = await client.endpoints.rotateSecret(made.id, { overlapSeconds: 60 });
    expect(rotated.secret).not.toBe(made.secret);
    expect(rotated.previousSecretExpiresAt).toBe(new Date(plane.clock.now() + 60_000).toISOString());
    const sent = await client.send({ type: 'a.b', data: { ü: 1 }, tenantId: 'acme', idempotencyKey: 'キー' });
    expect(sent).toMatchObject({ status: 'pending', idempotencyKey: 'キー', duplicate: false });
    expect(await client.replay({ messageId: sent.id, endpointId: made.id })).toEqual({
      replayed: 1,
      nextCursor: null,
    });
    expect(await client.tenants.setRateLimit('acme', { perSecond: 2 })).toMatchObject({
      rateLimit: { perSecond: 2, burst: 2 },
    });
    expect(await client.messages.expungePayload(sent.id)).toBeUndefined();
    expect(await client.messages.get(sent.id)).toMatchObject({ payload: null });
    expect(await client.endpoints.delete(made.id)).toBeUndefined();
    expect(await client.tenants.delete('acme')).toBeUndefined();
    expect(await rejection(client.tenants.get('acme'))).toMatchObject({ code: 'TENANT_NOT_FOUND' });
  });

  it('include an unhealthy health record, which is no error', async () => {
    const { client, plane, asked } = await connect();
    expect(await client.health()).toMatchObject({ ok: false, reason: 'no_worker' });
    await plantWorker(plane);
    expect(await client.health()).toMatchObject({ ok: true, workerCount: 1 });
    expect(asked).toEqual(['GET /health', 'GET /health']);
  });
});

describe('the question', () => {
  it('carries every filter of a list', async () => {
    const { client, asked } = await connect();
    await client.messages.list({
      types: ['a.b', 'c'],
      statuses: ['failed', 'pending'],
      since: '2026-01-01T00:00:00+02:00',
      until: '2026-02-01',
      endpointId: 'ep_1',
      tenantId: 'a&b=c',
      limit: 7,
    });
    expect(asked).toEqual([
      'GET /messages?type=a.b&type=c&status=failed&status=pending&since=2026-01-01T00%3A00%3A00%2B02%3A00&until=2026-02-01&endpointId=ep_1&tenantId=a%26b%3Dc&limit=7',
    ]);
  });

  it('does not ask for everything when a filter has no values', async () => {
    const { client } = await connect();
    expect(await rejection(client.messages.list({ types: [] }))).toMatchObject({ code: 'INVALID_QUERY' });
  });

  it('is refused, not widened, when it names a filter that there is none of', async () => {
    const { client } = await connect();
    const lists = [
      client.endpoints.list,
      client.messages.list,
      client.tenants.list,
      client.audit.list,
      (request: object) => client.messages.attempts('msg_1', request),
      (request: object) => client.endpoints.attempts('ep_1', request),
      (request: object) => client.endpoints.stats('ep_1', request),
      (request: object) => client.stats(request),
    ];
    for (const list of lists)
      expect(await rejection(list({ colour: 'red' } as object))).toMatchObject({ code: 'INVALID_QUERY' });
  });

  it('has no query and no body where there is nothing to say', async () => {
    const { client, asked, requests } = await connect();
    await client.endpoints.list({ limit: undefined, cursor: undefined });
    await client.keys.generateSymmetric();
    expect(asked).toEqual(['GET /endpoints', 'POST /keys/symmetric']);
    expect(requests.map(({ body, headers }) => [body, headers.get('content-type')])).toEqual([
      [null, null],
      [null, null],
    ]);
  });

  it('carries the headers it is given, in whatever way', async () => {
    const tokens = ['one', 'two'];
    const { fetch, inits } = scripted(() => json({ tenants: [], nextCursor: null }));
    const given = [
      { Authorization: 'Bearer zero', 'X-Absent': undefined },
      () => ({ authorization: `Bearer ${tokens.shift()}` }),
      async () => ({ authorization: `Bearer ${tokens.shift()}` }),
    ];
    for (const headers of given)
      await createAdminClient({ baseUrl: BASE_URL, fetch, headers }).tenants.list();
    expect(inits.map(({ headers }) => headers)).toEqual(
      ['zero', 'one', 'two'].map((token) => ({
        accept: 'application/json',
        authorization: `Bearer ${token}`,
      })),
    );
  });

  const loop: { self?: unknown } = {};
  loop.self = loop;
  it.each([
    ['a BigInt', 1n],
    ['a cycle', loop],
    [
      'a toJSON that throws',
      {
        toJSON() {
          throw new Error('not now');
        },
      },
    ],
  ])('is not put when its body holds %s', async (_, data) => {
    const { client, asked } = await connect();
    const error = await rejection(client.send({ type: 'a.b', data }));
    expect(error).toMatchObject({ name: 'AdminClientError', code: 'INVALID_ARGUMENT', status: null });
    expect(error).toMatchObject({
      message: expect.stringContaining('The body of POST /messages cannot be written as JSON'),
      cause: expect.any(Error),
    });
    expect(asked).toEqual([]);
  });

  it.each([
    ['null', null],
    ['a Date', new Date(0)],
    ['a record', { gte: '2026-01-01' }],
  ])('is not put when a filter is %s', async (_, since) => {
    const { client, asked } = await connect();
    const error = await rejection(client.messages.list({ since: since as never }));
    expect(error).toMatchObject({
      code: 'INVALID_ARGUMENT',
      status: null,
      message: expect.stringContaining('since'),
    });
    expect(asked).toEqual([]);
  });

  it('is not put when the headers cannot be had, and says why', async () => {
    const { fetch, urls } = scripted(() => json({}));
    const failure = new Error('no token');
    const client = createAdminClient({ baseUrl: BASE_URL, fetch, headers: () => Promise.reject(failure) });
    expect(await rejection(client.health())).toBe(failure);
    expect(urls).toEqual([]);
  });

  it('passes on whether cookies go along, and follows no redirect', async () => {
    const { fetch, inits } = scripted(() => json({ ok: true }));
    await createAdminClient({ baseUrl: BASE_URL, fetch, credentials: 'include' }).health();
    await createAdminClient({ baseUrl: BASE_URL, fetch }).health();
    expect(inits[0]).toMatchObject({ credentials: 'include', redirect: 'manual' });
    expect(inits[1]).not.toHaveProperty('credentials');
  });

  it('goes by the global fetch, as it is at that time, when no other is given', async () => {
    const { fetch, urls } = scripted(() => json({ ok: true }));
    const client = createAdminClient({ baseUrl: BASE_URL });
    const spy = jest
      .spyOn(globalThis, 'fetch')
      .mockImplementation((url, init) => fetch(String(url), init ?? {}));
    try {
      expect(await client.health()).toEqual({ ok: true });
    } finally {
      spy.mockRestore();
    }
    expect(urls).toEqual([`${BASE_URL}/health`]);
  });
});
