import type { Decision } from '../../lib/admin/authorize.js';
import { ROUTES } from '../../lib/admin/routes.js';
import { AUDITED_OPERATIONS, type AuditEntry } from '../../lib/model/audit.js';
import { anId, expectAnswer, expectError } from './expectations.js';
import { plantTenant, type PlantedTenant } from './planted.js';
import { type Answer, type Asked, openPlane, type Plane, START_ISO } from './plane.js';
import { MORE_REQUESTS, OPERATIONS, REQUESTS } from './route-cases.js';

const ADA = { id: 'user_17', name: 'Ada' };
const URL = 'https://example.com/hook';

let decision: Decision;
let plane: Plane;
let tenant: PlantedTenant;
beforeEach(async () => {
  decision = { allow: true, actor: ADA };
  plane = await openPlane({ admin: { authorize: () => decision } });
  tenant = await plantTenant(plane, 'acme', 'mark');
  // What was planted has a record of its own.
  await plane.query('delete from hookplane_audit_log');
});

/** The audit log as it is answered, newest first. */
async function entries(query = ''): Promise<AuditEntry[]> {
  const answer = await plane.ask(`GET /audit${query}`);
  expect(answer.status).toBe(200);
  return answer.body.entries as unknown as AuditEntry[];
}

function ask(name: string): Promise<Answer> {
  const { route, json } = { ...REQUESTS, ...MORE_REQUESTS }[name]!(tenant);
  return plane.ask(route, { json });
}

type Recorded = (answer: Answer) => { targetId: string; changes: string[] };
const onEndpoint =
  (...changes: string[]): Recorded =>
  () => ({ targetId: tenant.endpointId, changes });
const onMessage =
  (...changes: string[]): Recorded =>
  () => ({ targetId: tenant.messageId, changes });
const onTenant =
  (...changes: string[]): Recorded =>
  () => ({ targetId: tenant.tenantId, changes });

/** What each operation leaves behind: a new one must say so here. */
const RECORDED: Record<string, Recorded | 'nothing'> = {
  'endpoints.list': 'nothing',
  'endpoints.create': ({ body }) => ({ targetId: body.id, changes: ['url', 'tenantId'] }),
  'endpoints.get': 'nothing',
  'endpoints.update': onEndpoint('description'),
  'endpoints.delete': onEndpoint(),
  'endpoints.disable': onEndpoint('status'),
  'endpoints.enable': onEndpoint('status'),
  'endpoints.rotateSecret': onEndpoint('secret'),
  replay: onMessage(),
  reconcile: 'nothing',
  'tenants.setRateLimit': onTenant('rateLimit'),
  'tenants.delete': onTenant(),
  'tenants.list': 'nothing',
  'tenants.get': 'nothing',
  // They are made and answered, and stored nowhere.
  'keys.generateSymmetric': 'nothing',
  'keys.generateAsymmetric': 'nothing',
  'messages.list': 'nothing',
  'messages.get': 'nothing',
  'messages.attempts': 'nothing',
  health: 'nothing',
  'endpoints.attempts': 'nothing',
  'endpoints.stats': 'nothing',
  'endpoints.secret': onEndpoint(),
  'endpoints.test': onEndpoint(),
  send: ({ body }) => ({ targetId: body.id, changes: ['type', 'data', 'tenantId'] }),
  'messages.expungePayload': onMessage('payload'),
  'audit.list': 'nothing',
  stats: 'nothing',
  caller: 'nothing',
  'metrics.get': 'nothing',
  'openapi.get': 'nothing',
};

describe('who did what, and when', () => {
  it('is known for every operation', () => {
    expect(Object.keys(RECORDED).sort()).toEqual([...OPERATIONS].sort());
    const leaving = OPERATIONS.filter((operation) => RECORDED[operation] !== 'nothing');
    // The one that no route has is there for code of the application.
    const audited = AUDITED_OPERATIONS.filter((operation) => operation !== 'tenants.setMetadata');
    expect([...audited].sort()).toEqual(leaving.sort());
  });

  it.each(OPERATIONS)('%s', async (operation) => {
    if (operation === 'endpoints.enable') await plane.sender.endpoints.disable(tenant.endpointId);
    plane.clock.advance(5);
    const answer = await ask(operation);
    expect(answer.status).toBeLessThan(operation === 'health' ? 600 : 300);
    const recorded = RECORDED[operation]!;
    const entry = recorded !== 'nothing' && {
      id: anId('aud'),
      at: '2026-01-15T12:00:00.005Z',
      requestId: anId('req'),
      actor: ADA,
      tenantId: 'acme',
      operation,
      ...recorded(answer),
    };
    expect(await entries()).toEqual(entry ? [entry] : []);
  });

  it.each(ROUTES.filter(({ revealsSecret }) => revealsSecret))('HEAD of $path', async ({ operation }) => {
    await plane.ask(REQUESTS[operation]!(tenant).route.replace('GET', 'HEAD'));
    expect(await entries()).toMatchObject([{ operation, actor: ADA }]);
  });

  it('each field that was set, by its name', async () => {
    const json = {
      url: URL,
      description: null,
      headers: { authorization: 'Bearer x' },
      metadata: { deep: { a: 1 } },
      secret: tenant.secret,
    };
    const { id } = (await plane.ask('POST /endpoints', { json })).body;
    const { secret: _secret, ...changed } = json;
    await plane.ask(`PATCH /endpoints/${id}`, { json: changed });
    const message = { type: 'a', data: 1, channels: ['c'], idempotencyKey: 'k', expiresAt: '2027-01-01' };
    await plane.ask('POST /messages', { json: message });
    expect((await entries()).map(({ tenantId, changes }) => [tenantId, [...changes].sort()])).toEqual([
      [null, Object.keys(message).sort()],
      [null, Object.keys(changed).sort()],
      [null, Object.keys(json).sort()],
    ]);
  });

  it.each<[Decision, AuditEntry['actor']]>([
    [true, null],
    [{ allow: true }, null],
    [
      { allow: true, actor: 'ada' },
      { id: 'ada', name: null },
    ],
    [
      { allow: true, actor: { id: 'ada', name: '' } },
      { id: 'ada', name: '' },
    ],
    [
      { allow: true, actor: 'a\0b' },
      { id: 'a\ufffdb', name: null },
    ],
  ])('as authorize has it: %j', async (given, actor) => {
    decision = given;
    await ask('endpoints.disable');
    expect(await entries()).toMatchObject([{ actor, operation: 'endpoints.disable' }]);
  });

  it('each request by an id of its own', async () => {
    await ask('endpoints.disable');
    await ask('endpoints.enable');
    const ids = (await entries()).map(({ requestId }) => requestId);
    expect(new Set(ids).size).toBe(2);
  });
});

describe('a replay', () => {
  it.each(['replay of a range', 'replay of a message to an endpoint'])('%s is one entry', async (name) => {
    expect((await ask(name)).body.replayed).toBe(1);
    const targetId = name.endsWith('range') ? tenant.endpointId : tenant.messageId;
    expect(await entries()).toMatchObject([{ operation: 'replay', targetId, tenantId: 'acme', changes: [] }]);
  });

  it('of a message to several endpoints is one entry a page', async () => {
    const { sender } = plane;
    for (let n = 0; n < 3; n += 1) await sender.endpoints.create({ url: URL, tenantId: 'b', types: ['x'] });
    const { id: messageId } = await sender.send({ type: 'x', data: 1, tenantId: 'b' });
    const first = await plane.ask('POST /replay', { json: { messageId, limit: 2 } });
    expect(first.body.replayed).toBe(2);
    const json = { messageId, limit: 2, cursor: first.body.nextCursor };
    expect((await plane.ask('POST /replay', { json })).body).toEqual({ replayed: 1, nextCursor: null });
    const page = { operation: 'replay', targetId: messageId, tenantId: 'b' };
    expect(await entries()).toMatchObject([page, page]);
  });

  it.each(['replay of a range, dry', 'replay of a message, dry'])('%s, is none', async (name) => {
    expect((await ask(name)).body.replayed).toBe(1);
    expect(await entries()).toEqual([]);
  });

  it('that finds nothing is none', async () => {
    await plane.query('update hookplane_deliveries set lease_until = ?', plane.clock.now() + 1000);
    for (const name of ['replay', 'replay of a range', 'replay of a message to an endpoint']) {
      expect((await ask(name)).body).toEqual({ replayed: 0, nextCursor: null });
    }
    expect(await entries()).toEqual([]);
  });
});

it('a deletion that takes several transactions is one entry', async () => {
  const { sender } = plane;
  const { id } = await sender.endpoints.create({ url: URL, tenantId: 'b' });
  const messages = Array.from({ length: 2100 }, (_, data) => ({ type: 'x', data, tenantId: 'b' }));
  await sender.sendMany(messages);
  expect((await plane.ask(`DELETE /endpoints/${id}`)).status).toBe(204);
  expect(await entries()).toMatchObject([{ operation: 'endpoints.delete', targetId: id, tenantId: 'b' }]);
  const owed = "select message_id from hookplane_deliveries where endpoint_id = ? and status = 'pending'";
  expect(await plane.query(owed, id)).toEqual([]);
});

describe('nothing is recorded', () => {
  const missing = { tenantId: 'nobody', endpointId: 'ep_none', messageId: 'msg_none' };
  // A limit may be set for a tenant that is yet to come, and an endpoint be made for it.
  const makesIt = ['tenants.setRateLimit', 'endpoints.create', 'send'];
  const naming = Object.entries({ ...REQUESTS, ...MORE_REQUESTS }).filter(
    ([name, request]) => !makesIt.includes(name) && /none|nobody/.test(JSON.stringify(request(missing))),
  );
  afterEach(async () => {
    decision = true;
    expect(await entries()).toEqual([]);
  });

  it.each(naming)('of what is not there: %s', async (name, request) => {
    const { route, json } = request(missing);
    expect((await plane.ask(route, { json })).status).toBe(/(list|stats) by/.test(name) ? 200 : 404);
  });

  it.each<[string, Asked, number]>([
    ['POST /endpoints', { json: { url: 'ftp://x' } }, 422],
    ['PATCH /endpoints/:id', { json: { colour: 'red' } }, 422],
    ['PATCH /endpoints/:id', { body: '{' }, 400],
    ['POST /endpoints/:id/rotate-secret', { json: { secret: 'x' } }, 422],
    ['POST /endpoints/:id/test', { json: { type: ' ' } }, 422],
    ['POST /messages', { json: { type: 'a' } }, 422],
    ['POST /tenants/acme/rate-limit', { json: { perSecond: 0 } }, 422],
    ['GET /endpoints/:id/secret?colour=red', {}, 400],
    ['PUT /endpoints/:id', {}, 405],
  ])('of what is refused: %s', async (route, asked, status) => {
    expect((await plane.ask(route.replace(':id', tenant.endpointId), asked)).status).toBe(status);
  });

  it.each<Decision>([
    false,
    { allow: false, actor: ADA },
    { allow: true, actor: ADA, readOnly: true },
    { allow: true, actor: '' },
  ])('of callers who may not: %j', async (given) => {
    decision = given;
    for (const operation of AUDITED_OPERATIONS.filter((each) => each in REQUESTS)) {
      expectError(await ask(operation), 'FORBIDDEN');
    }
  });

  it('of what a bound caller asks of another tenant', async () => {
    decision = { allow: true, actor: ADA, tenantId: 'other' };
    for (const operation of AUDITED_OPERATIONS.filter((each) => each in REQUESTS)) {
      expect((await ask(operation)).status).toBeGreaterThanOrEqual(400);
    }
  });

  it('of a test, a replay or a secret that is not to be had', async () => {
    await plane.sender.endpoints.disable(tenant.endpointId);
    expectError(await ask('endpoints.test'), 'ENDPOINT_DISABLED');
    expectError(await ask('replay of a range'), 'ENDPOINT_DISABLED');
    await plane.sender.endpoints.delete(tenant.endpointId);
    expectError(await ask('endpoints.secret'), 'ENDPOINT_NOT_FOUND');
  });

  it('of what is so already', async () => {
    await plane.sender.endpoints.disable(tenant.endpointId);
    expect((await ask('endpoints.disable')).status).toBe(200);
    await plane.sender.endpoints.enable(tenant.endpointId);
    expect((await ask('endpoints.enable')).status).toBe(200);
    const endpoint = await plane.sender.endpoints.get(tenant.endpointId);
    const unchanged = await plane.ask(`PATCH /endpoints/${tenant.endpointId}`, { json: {} });
    expect([unchanged.status, unchanged.body]).toEqual([200, endpoint]);
    await plane.sender.messages.expungePayload(tenant.messageId);
    expect((await ask('messages.expungePayload')).status).toBe(204);
  });

  it('of a second send with the same idempotency key', async () => {
    const json = { type: 'mark.created', data: { mark: 'mark' }, tenantId: 'acme', idempotencyKey: 'mark' };
    expect((await plane.ask('POST /messages', { json })).status).toBe(200);
    expectError(await plane.ask('POST /messages', { json: { ...json, data: 2 } }), 'IDEMPOTENCY_CONFLICT');
  });
});

it('no secret and no other value is in the log', async () => {
  const CANARY = 'CANARY-5c1e';
  const secret = `whsec_${Buffer.from(CANARY.padEnd(30, '~')).toString('base64')}`;
  const json = {
    url: `${URL}/${CANARY}`,
    description: CANARY,
    types: [`${CANARY}.*`],
    channels: [CANARY],
    filter: { dataPath: CANARY, equals: CANARY },
    headers: { [CANARY]: CANARY },
    metadata: { [CANARY]: CANARY },
    secret,
  };
  const { id } = (await plane.ask('POST /endpoints', { json })).body;
  const { secret: _secret, ...changed } = json;
  const generated: unknown[] = [];
  for (const [route, body] of [
    [`PATCH /endpoints/${id}`, changed],
    [`POST /endpoints/${id}/rotate-secret`, { secret: `${secret.slice(0, -4)}AAAA` }],
    [`POST /endpoints/${id}/rotate-secret`, {}],
    [`GET /endpoints/${id}/secret`, undefined],
    [`POST /endpoints/${id}/test`, { type: CANARY, data: CANARY }],
    [
      'POST /messages',
      { type: CANARY, data: { [CANARY]: CANARY }, channels: [CANARY], idempotencyKey: CANARY },
    ],
  ] as const) {
    const answer = await plane.ask(route, { json: body });
    expect(answer.status).toBeLessThan(300);
    generated.push(answer.body.secret);
  }
  const log = JSON.stringify(await plane.query('select * from hookplane_audit_log'));
  expect(await entries()).toHaveLength(7);
  const shown = [CANARY, secret.slice(6, 20), ...generated.filter((each) => typeof each === 'string')];
  expect(shown.filter((text) => log.includes(String(text).replace('whsec_', '')))).toEqual([]);
  expect(log).not.toContain('whsec_');
});

describe('GET /audit', () => {
  beforeEach(async () => {
    for (const name of ['endpoints.disable', 'endpoints.enable', 'send']) {
      await ask(name);
      plane.clock.advance(1);
    }
    decision = { allow: true, actor: 'eve' };
    await ask('endpoints.secret');
  });
  const operations = async (query: string) => (await entries(query)).map(({ operation }) => operation);

  it('is newest first, by limit and cursor', async () => {
    expect(await operations('')).toEqual([
      'endpoints.secret',
      'send',
      'endpoints.enable',
      'endpoints.disable',
    ]);
    const first = await plane.ask('GET /audit?limit=3');
    expect(first.body.entries).toHaveLength(3);
    const last = await plane.ask(`GET /audit?limit=3&cursor=${first.body.nextCursor}`);
    expect(last.body).toMatchObject({ entries: [{ operation: 'endpoints.disable' }], nextCursor: null });
  });

  it.each([
    ['actor=eve', ['endpoints.secret']],
    ['actor=Ada', []],
    ['actor=user_17&operation=send', ['send']],
    ['operation=endpoints.secret', ['endpoints.secret']],
    ['operation=tenants.delete', []],
    ['targetId=:id', ['endpoints.secret', 'endpoints.enable', 'endpoints.disable']],
    ['targetId=:id&actor=eve', ['endpoints.secret']],
    ['targetId=none', []],
    ['since=2026-01-15T12:00:00.002Z', ['endpoints.secret', 'send']],
    ['until=2026-01-15T12:00:00.001Z', ['endpoints.disable']],
    ['since=2026-01-15&until=2026-01-16&tenantId=acme&actor=eve', ['endpoints.secret']],
    ['tenantId=other', []],
  ])('?%s', async (query, expected) => {
    expect(await operations(`?${query.replace(':id', tenant.endpointId)}`)).toEqual(expected);
  });

  it('answers records of this form', async () => {
    expectAnswer(await plane.ask('GET /audit?operation=endpoints.disable'), 200, {
      entries: [
        {
          id: anId('aud'),
          at: START_ISO,
          requestId: anId('req'),
          actor: ADA,
          tenantId: 'acme',
          operation: 'endpoints.disable',
          targetId: tenant.endpointId,
          changes: ['status'],
        },
      ],
      nextCursor: null,
    });
  });

  it('may be read by who may only read', async () => {
    decision = { allow: true, readOnly: true };
    expect(await operations('?limit=1')).toEqual(['endpoints.secret']);
  });
});
