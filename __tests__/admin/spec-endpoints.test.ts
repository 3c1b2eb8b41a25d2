import { type Answer, dump, openPlane, type Plane, START, START_ISO } from './plane.js';
import { expectAnswer, expectError, expectIssues, expectOwnHeaders } from './expectations.js';
import { anEndpoint } from './records.js';

const URL = 'https://example.com/hook';
const SECRET = `whsec_${Buffer.alloc(32, 7).toString('base64')}`;
const SYMMETRIC = expect.stringMatching(/^whsec_[A-Za-z0-9+/]{43}=$/) as string;
const FIELDS = {
  url: URL,
  description: 'Orders of the shop',
  types: ['order.*', 'invoice.paid'],
  channels: ['shop:1', 'eu'],
  filter: { dataPath: 'order.lines.0.sku', equals: ['a', { b: null }] },
  headers: { 'X-Token': 'abc' },
  metadata: { team: 'billing', nested: { list: [1, 2.5, true, null] } },
  retry: { delaysSeconds: [1, 60], jitter: 0.2 },
  rateLimit: { perSecond: 0.5, burst: 3 },
  maxInFlight: 4,
  timeoutMs: 5000,
};

let plane: Plane;
beforeEach(async () => {
  plane = await openPlane();
});

const create = async (fields: Record<string, unknown> = {}, as?: string): Promise<Answer> =>
  plane.ask('POST /endpoints', { json: { url: URL, ...fields }, ...(as !== undefined && { as }) });
const secrets = () =>
  plane.query('select secret, expires_at from hookplane_endpoint_secrets order by created_at, id');

describe('§4 GET /endpoints', () => {
  it('§4 GET /endpoints answers { endpoints, nextCursor }, newest first', async () => {
    const ids: string[] = [];
    for (let n = 0; n < 3; n += 1) {
      ids.unshift((await create()).body.id);
      plane.clock.advance(1);
    }
    const answer = await plane.ask('GET /endpoints');
    expectAnswer(answer, 200, {
      endpoints: ids.map((id, index) => {
        const at = new Date(START + 2 - index).toISOString();
        return anEndpoint({ id, createdAt: at, updatedAt: at });
      }),
      nextCursor: null,
    });
  });

  it('§4 GET /endpoints takes limit and cursor', async () => {
    const older = await create();
    plane.clock.advance(1);
    const newer = await create();
    const first = await plane.ask('GET /endpoints?limit=1');
    expect(first.body.endpoints).toMatchObject([{ id: newer.body.id }]);
    const second = await plane.ask(`GET /endpoints?limit=1&cursor=${first.body.nextCursor}`);
    expect(second.body).toMatchObject({ endpoints: [{ id: older.body.id }], nextCursor: null });
  });

  it('§4 GET /endpoints takes status and, from a caller who sees every tenant, tenantId', async () => {
    const acme = await create({ tenantId: 'acme' });
    const other = await create({ tenantId: 'other' });
    await plane.ask(`POST /endpoints/${other.body.id}/disable`);
    const ids = async (query: string) =>
      ((await plane.ask(`GET /endpoints?${query}`)).body.endpoints as { id: string }[]).map(({ id }) => id);
    expect(await ids('status=active')).toEqual([acme.body.id]);
    expect(await ids('status=paused')).toEqual([other.body.id]);
    expect(await ids('tenantId=acme')).toEqual([acme.body.id]);
    expect(await ids('tenantId=nobody')).toEqual([]);
    expect(await ids('tenantId=acme&status=paused')).toEqual([]);
  });
});

describe('§4 POST /endpoints', () => {
  it('§4 POST /endpoints answers the created endpoint, its secret and where it is', async () => {
    const answer = await create();
    expectAnswer(answer, 201, { ...anEndpoint(), secret: SYMMETRIC });
    // Relative to the URL of the request: the host may have stripped a prefix.
    expect(answer.headers.get('location')).toBe(`endpoints/${answer.body.id}`);
    const { secret, ...record } = answer.body;
    expectAnswer(await plane.ask(`GET /${answer.headers.get('location')}`), 200, record);
    expect(await secrets()).toEqual([{ secret, expires_at: null }]);
  });

  it('§4 POST /endpoints keeps every field', async () => {
    const answer = await create({ ...FIELDS, tenantId: 'acme', secret: SECRET });
    expectAnswer(answer, 201, anEndpoint({ ...FIELDS, tenantId: 'acme', secret: SECRET }));
    const { secret, ...record } = answer.body;
    expectAnswer(await plane.ask(`GET /endpoints/${answer.body.id}`), 200, record);
  });

  it('§4 POST /endpoints takes null for what it would leave out', async () => {
    const none = Object.fromEntries(Object.keys(FIELDS).map((name) => [name, null]));
    expectAnswer(await create({ ...none, url: URL, tenantId: null }), 201, {
      ...anEndpoint(),
      secret: SYMMETRIC,
    });
  });

  it('§4 POST /endpoints fills in what a limit and a schedule leave open', async () => {
    const answer = await create({ rateLimit: { perSecond: 2.5 }, retry: { delaysSeconds: [] } });
    expect(answer.body.rateLimit).toEqual({ perSecond: 2.5, burst: 3 });
    expect(answer.body.retry).toEqual({ delaysSeconds: [], jitter: 0.1 });
  });

  it('§4 POST /endpoints says under which prefix it is mounted', async () => {
    const mounted = await openPlane({ admin: { authorize: () => true, basePath: '/hooks' } });
    const answer = await mounted.ask('POST /hooks/endpoints/', { json: { url: URL } });
    expect(answer.headers.get('location')).toBe(`/hooks/endpoints/${answer.body.id}`);
  });

  it('§4 POST /endpoints names every field that is wrong, and makes nothing', async () => {
    const before = await dump(plane);
    const answer = await create({ url: 'http://10.0.0.1/', colour: 'red', maxInFlight: 0, secret: 'x' });
    expectIssues(answer, 'ENDPOINT_VALIDATION', ['maxInFlight', 'colour', 'url', 'secret']);
    expect(await dump(plane)).toEqual(before);
  });
});

describe('§4 GET /endpoints/:id', () => {
  it('§4 GET /endpoints/:id answers one endpoint', async () => {
    const { secret, ...record } = (await create(FIELDS)).body;
    expectAnswer(await plane.ask(`GET /endpoints/${record.id}`), 200, record);
  });
});

describe('§4 PATCH /endpoints/:id', () => {
  it.each(Object.entries(FIELDS))('§4 PATCH /endpoints/:id changes %s alone', async (name, value) => {
    const { id } = (await create()).body;
    plane.clock.advance(1000);
    const sent = name === 'url' ? 'https://example.org/' : value;
    const record = anEndpoint({ id, [name]: sent, updatedAt: '2026-01-15T12:00:01.000Z' });
    expectAnswer(await plane.ask(`PATCH /endpoints/${id}`, { json: { [name]: sent } }), 200, record);
    expectAnswer(await plane.ask(`GET /endpoints/${id}`), 200, record);
  });

  it.each(Object.keys(FIELDS).filter((name) => name !== 'url'))(
    '§4 PATCH /endpoints/:id clears %s by null',
    async (name) => {
      const { id } = (await create(FIELDS)).body;
      const none = name === 'headers' || name === 'metadata' ? {} : null;
      const answer = await plane.ask(`PATCH /endpoints/${id}`, { json: { [name]: null } });
      expectAnswer(answer, 200, anEndpoint({ ...FIELDS, id, [name]: none }));
    },
  );

  it('§4 PATCH /endpoints/:id leaves absent fields as they are', async () => {
    const { secret, ...record } = (await create(FIELDS)).body;
    expectAnswer(await plane.ask(`PATCH /endpoints/${record.id}`, { json: {} }), 200, record);
    expect(await secrets()).toEqual([{ secret, expires_at: null }]);
  });

  it.each(['tenantId', 'id', 'status', 'pausedReason', 'pausedAt', 'createdAt', 'updatedAt'])(
    '§4 PATCH /endpoints/:id cannot change %s',
    async (name) => {
      const { id } = (await create({ tenantId: 'acme' })).body;
      const before = await dump(plane);
      const answer = await plane.ask(`PATCH /endpoints/${id}`, { json: { [name]: 'x', description: 'y' } });
      expectIssues(answer, 'ENDPOINT_VALIDATION', [name]);
      expect(answer.body.issues![0]!.message).toBe('cannot be set');
      expect(await dump(plane)).toEqual(before);
    },
  );
});

describe('§4 DELETE /endpoints/:id', () => {
  it('§4 DELETE /endpoints/:id answers 204 without a body, and cancels what is owed', async () => {
    const { id } = (await create()).body;
    const message = await plane.sender.send({ type: 'a', data: 1 });
    const answer = await plane.ask(`DELETE /endpoints/${id}`);
    expect(answer).toMatchObject({ status: 204, text: '' });
    expectOwnHeaders(answer);
    expectError(await plane.ask(`GET /endpoints/${id}`), 'ENDPOINT_NOT_FOUND');
    expect(await secrets()).toEqual([]);
    const { deliveries } = (await plane.ask(`GET /messages/${message.id}`)).body;
    expect(deliveries).toEqual([
      {
        endpointId: id,
        status: 'canceled',
        attemptCount: 0,
        nextAttemptAt: null,
        lastError: 'The endpoint was deleted',
      },
    ]);
  });

  it('§4 DELETE /endpoints/:id does not find it again', async () => {
    const { id } = (await create()).body;
    await plane.ask(`DELETE /endpoints/${id}`);
    expectError(await plane.ask(`DELETE /endpoints/${id}`), 'ENDPOINT_NOT_FOUND');
  });
});

describe('§4 POST /endpoints/:id/disable and /enable', () => {
  it('§4 POST /endpoints/:id/disable answers the paused endpoint', async () => {
    const { id } = (await create()).body;
    const record = anEndpoint({ id, status: 'paused', pausedReason: 'manual', pausedAt: START_ISO });
    expectAnswer(await plane.ask(`POST /endpoints/${id}/disable`), 200, record);
  });

  it('§4 POST /endpoints/:id/enable answers the active endpoint', async () => {
    const { id } = (await create()).body;
    await plane.ask(`POST /endpoints/${id}/disable`);
    expectAnswer(await plane.ask(`POST /endpoints/${id}/enable`, { json: {} }), 200, anEndpoint({ id }));
  });
});

describe('§4 POST /endpoints/:id/rotate-secret', () => {
  const inSeconds = (seconds: number) => new Date(START + seconds * 1000).toISOString();

  it('§4 POST /endpoints/:id/rotate-secret answers the new secret and when the one before ends', async () => {
    const { id, secret: before } = (await create()).body;
    const answer = await plane.ask(`POST /endpoints/${id}/rotate-secret`);
    const previousSecretExpiresAt = inSeconds(86_400);
    expectAnswer(answer, 200, { ...anEndpoint({ id }), secret: SYMMETRIC, previousSecretExpiresAt });
    expect(answer.body.secret).not.toBe(before);
    expect(await secrets()).toEqual(
      expect.arrayContaining([
        { secret: before, expires_at: START + 86_400_000 },
        { secret: answer.body.secret, expires_at: null },
      ]),
    );
  });

  it('§4 POST /endpoints/:id/rotate-secret takes the secret and the overlap', async () => {
    const { id } = (await create()).body;
    const answer = await plane.ask(`POST /endpoints/${id}/rotate-secret`, {
      json: { secret: SECRET, overlapSeconds: 604_800 },
    });
    expect(answer.body).toMatchObject({ secret: SECRET, previousSecretExpiresAt: inSeconds(604_800) });
  });

  it('§4 POST /endpoints/:id/rotate-secret revokes at once with an overlap of 0', async () => {
    const { id } = (await create()).body;
    await plane.ask(`POST /endpoints/${id}/rotate-secret`);
    const answer = await plane.ask(`POST /endpoints/${id}/rotate-secret`, { json: { overlapSeconds: 0 } });
    expect(answer.body.previousSecretExpiresAt).toBe(START_ISO);
    expect(await secrets()).toEqual([{ secret: answer.body.secret, expires_at: null }]);
  });

  it('§4 POST /endpoints/:id/rotate-secret names what is wrong, and rotates nothing', async () => {
    const { id } = (await create()).body;
    const before = await dump(plane);
    for (const [json, fields] of [
      [{ overlapSeconds: -1 }, ['overlapSeconds']],
      [{ overlapSeconds: 604_801 }, ['overlapSeconds']],
      [{ overlapSeconds: 1.5 }, ['overlapSeconds']],
      [{ secret: 'whsec_AAAA' }, ['secret']],
      [{ secret: 'whpk_AAAA' }, ['secret']],
      [{ overlap: 1 }, ['overlap']],
    ] as const) {
      const answer = await plane.ask(`POST /endpoints/${id}/rotate-secret`, { json });
      expectIssues(answer, 'ENDPOINT_VALIDATION', [...fields]);
    }
    expect(await dump(plane)).toEqual(before);
  });
});
