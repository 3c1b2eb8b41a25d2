import { createAdminHandler } from '../../lib/admin/handler.js';
import { createSender } from '../../lib/create-sender.js';
import { storeAt } from '../support/test-store.js';
import { recordingLogger } from '../support/sender.js';
import { expectAnswer, expectError, expectIssues, expectOwnHeaders } from './expectations.js';
import { plantAttempt, plantWorker } from './planted.js';
import { openPlane, type Plane, requestOf, START_ISO } from './plane.js';
import { aMessage, anEndpoint, aTenant } from './records.js';

const URL = 'https://example.com/hook';
let plane: Plane;
beforeEach(async () => {
  plane = await openPlane();
});

describe('§1 What the service does', () => {
  it('§1 is a function of a Request to the promise of a Response', async () => {
    const answering = plane.handler(requestOf('GET /endpoints'));
    expect(answering).toBeInstanceOf(Promise);
    expect(await answering).toBeInstanceOf(Response);
  });

  it('§1 is created from a configured sender and an authorize callback', async () => {
    const sender = createSender({ store: await storeAt(plane.sender.file) });
    const handler = createAdminHandler(sender, { authorize: () => true });
    expect((await handler(requestOf('GET /endpoints'))).status).toBe(200);
  });

  it.each(['/admin', '/a/b/c', '/admin/'])('§1 can be mounted under the prefix %s', async (basePath) => {
    const mounted = await openPlane({ admin: { authorize: () => true, basePath } });
    const prefix = basePath.replace(/\/$/, '');
    expectAnswer(await mounted.ask(`GET ${prefix}/endpoints`), 200, { endpoints: [], nextCursor: null });
    expectError(await mounted.ask('GET /endpoints'), 'ROUTE_NOT_FOUND');
    expectError(await mounted.ask(`GET ${prefix}x/endpoints`), 'ROUTE_NOT_FOUND');
  });

  it('§1 can be mounted by a host that tells the path relative to the prefix', async () => {
    const answer = await plane.ask('GET /somewhere/else', { context: { path: '/endpoints' } });
    expectAnswer(answer, 200, { endpoints: [], nextCursor: null });
  });

  it('§1 refuses every request without an authorize callback', async () => {
    const closed = await openPlane({ admin: { authorize: undefined, logger: recordingLogger() } });
    expectError(await closed.ask('GET /health'), 'FORBIDDEN');
  });

  it('§1 shows a caller that is bound to a tenant that tenant alone', async () => {
    for (const tenantId of ['acme', 'other']) await plane.sender.endpoints.create({ url: URL, tenantId });
    const answer = await plane.ask('GET /endpoints', { as: 'acme' });
    expectAnswer(answer, 200, { endpoints: [anEndpoint({ tenantId: 'acme' })], nextCursor: null });
  });

  it('§1 answers the reads of messages and tenants as the sender answers them', async () => {
    await plane.sender.endpoints.create({ url: URL, tenantId: 'acme' });
    const { id } = await plane.sender.send({ type: 'invoice.paid', data: { n: 1 }, tenantId: 'acme' });
    const { messages, tenants } = plane.sender;
    expect((await plane.ask('GET /messages')).body).toEqual(await messages.list());
    expect((await plane.ask(`GET /messages/${id}`)).body).toEqual(await messages.get(id));
    expect((await plane.ask(`GET /messages/${id}/attempts`)).body).toEqual(await messages.attempts(id));
    expect((await plane.ask('GET /tenants')).body).toEqual(await tenants.list());
    expect((await plane.ask('GET /tenants/acme')).body).toEqual(await tenants.get('acme'));
  });
});

describe('§2 Endpoint', () => {
  const clause = { dataPath: 'order.total', equals: 12 };

  it.each([
    ['one clause', clause],
    ['several clauses', [clause, { dataPath: 'kind', equals: { deep: [null, 'x'] } }]],
  ])('§2 filter is %s, settable over HTTP', async (_name, filter) => {
    const created = await plane.ask('POST /endpoints', { json: { url: URL, filter } });
    expect(created.body.filter).toEqual(filter);
    expect((await plane.ask(`GET /endpoints/${created.body.id}`)).body.filter).toEqual(filter);
    const cleared = await plane.ask(`PATCH /endpoints/${created.body.id}`, { json: { filter: null } });
    expect(cleared.body.filter).toBeNull();
    const set = await plane.ask(`PATCH /endpoints/${created.body.id}`, { json: { filter } });
    expect(set.body.filter).toEqual(filter);
  });

  it.each(['filterFn', 'transform'])('§2 %s is code and cannot be set over HTTP', async (field) => {
    const { id } = await plane.sender.endpoints.create({ url: URL });
    for (const [route, base] of [
      ['POST /endpoints', { url: URL }],
      [`PATCH /endpoints/${id}`, {}],
    ] as const) {
      const answer = await plane.ask(route, { json: { ...base, [field]: '() => true' } });
      expectIssues(answer, 'ENDPOINT_VALIDATION', [field]);
      expect(answer.body.issues![0]!.message).toContain("the sender's configuration");
    }
  });

  it('§2 headers that are code cannot be set over HTTP', async () => {
    for (const headers of ['() => ({})', { 'x-token': { call: 'me' } }]) {
      const answer = await plane.ask('POST /endpoints', { json: { url: URL, headers } });
      expectIssues(answer, 'ENDPOINT_VALIDATION', [
        typeof headers === 'string' ? 'headers' : 'headers.x-token',
      ]);
    }
  });

  it('§2 the signing secret exists per endpoint, and no record shows it', async () => {
    const first = await plane.ask('POST /endpoints', { json: { url: URL } });
    const second = await plane.ask('POST /endpoints', { json: { url: URL } });
    expect(first.body.secret).toMatch(/^whsec_/);
    expect(second.body.secret).not.toBe(first.body.secret);
    for (const route of ['GET /endpoints', `GET /endpoints/${first.body.id}`]) {
      expect((await plane.ask(route)).text).not.toContain('whsec_');
    }
  });

  it('§2 status is active at first', async () => {
    expect((await plane.ask('POST /endpoints', { json: { url: URL } })).body.status).toBe('active');
  });
});

describe('§2 Message, attempt and tenant', () => {
  it('§2 a message has an id, a type, a status, times, and in the single read its payload', async () => {
    const endpoint = await plane.sender.endpoints.create({ url: URL });
    const { id } = await plane.sender.send({ type: 'invoice.paid', data: { total: 3 } });
    const record = aMessage({ id, status: 'pending' });
    expectAnswer(await plane.ask('GET /messages'), 200, { messages: [record], nextCursor: null });
    expectAnswer(await plane.ask(`GET /messages/${id}`), 200, {
      ...record,
      payload: { type: 'invoice.paid', timestamp: START_ISO, data: { total: 3 } },
      deliveries: [
        {
          endpointId: endpoint.id,
          status: 'pending',
          attemptCount: 0,
          nextAttemptAt: START_ISO,
          lastError: null,
        },
      ],
    });
  });

  it('§2 a message has an attempt history', async () => {
    const { id: endpointId } = await plane.sender.endpoints.create({ url: URL });
    const { id: messageId } = await plane.sender.send({ type: 'invoice.paid', data: 1 });
    const id = await plantAttempt(plane, { messageId, endpointId, mark: 'x' });
    expectAnswer(await plane.ask(`GET /messages/${messageId}/attempts`), 200, {
      attempts: [
        {
          id,
          messageId,
          endpointId,
          number: 1,
          status: 'failed',
          trigger: 'send',
          startedAt: START_ISO,
          durationMs: 12,
          requestUrl: 'https://example.com/x',
          remoteAddress: 'x',
          responseStatus: 500,
          responseHeaders: { 'x-x': 'x' },
          responseBody: 'x',
          errorKind: 'http_status',
          error: 'The receiver answered 500: x',
          nextAttemptAt: null,
        },
      ],
      nextCursor: null,
    });
  });

  it('§2 a tenant has an id and a decoded rateLimit', async () => {
    await plane.sender.tenants.setRateLimit('acme', { perSecond: 2.5, burst: 4 });
    const record = aTenant('acme', { rateLimit: { perSecond: 2.5, burst: 4 } });
    expectAnswer(await plane.ask('GET /tenants/acme'), 200, record);
  });
});

describe('§2 Health record', () => {
  it('§2 has ok, outboxDepth, oldestPendingAge and workerCount, as the sender answers them', async () => {
    await plantWorker(plane);
    await plane.sender.endpoints.create({ url: URL });
    await plane.sender.send({ type: 'invoice.paid', data: 1 });
    plane.clock.advance(1500);
    const answer = await plane.ask('GET /health');
    expectAnswer(answer, 200, { ok: true, outboxDepth: 1, oldestPendingAge: 1500, workerCount: 1 });
    expect(answer.body).toEqual(await plane.sender.health());
  });
});

describe('§2 Page envelopes', () => {
  it.each([
    ['GET /endpoints', 'endpoints'],
    ['GET /messages', 'messages'],
    ['GET /tenants', 'tenants'],
    ['POST /reconcile', 'messageIds'],
  ])('§2 %s is { %s, nextCursor }', async (route, plural) => {
    const endpoint = await plane.sender.endpoints.create({ url: URL, tenantId: 'acme' });
    await plane.sender.endpoints.create({ url: URL, tenantId: 'other' });
    for (const n of [1, 2]) await plane.sender.send({ type: 'a', data: n, tenantId: 'acme' });
    const page = async (cursor?: string) => {
      const asked = { limit: 1, cursor };
      const search = new URLSearchParams({ limit: '1', ...(cursor && { cursor }) });
      return route.startsWith('GET')
        ? plane.ask(`${route}?${search}`)
        : plane.ask(route, { json: { endpointId: endpoint.id, since: '2026-01-01', ...asked } });
    };
    const first = await page();
    expect(first.status).toBe(200);
    expect(first.body).toEqual({ [plural]: [expect.anything()], nextCursor: expect.any(String) });
    const last = await page(first.body.nextCursor!);
    expect(last.body).toEqual({ [plural]: [expect.anything()], nextCursor: null });
    expect(last.body[plural]).not.toEqual(first.body[plural]);
  });
});

describe('§2 Error body', () => {
  it('§2 is { errorCode, error } as JSON', async () => {
    const answer = await plane.ask('GET /endpoints/ep_1');
    expect(answer.text).toBe('{"errorCode":"ENDPOINT_NOT_FOUND","error":"There is no endpoint \\"ep_1\\""}');
    expectOwnHeaders(answer);
  });
});

describe('§3 States and transitions', () => {
  const paused = { status: 'paused', pausedReason: 'manual' };

  it('§3 disable: active to paused, held and not dropped', async () => {
    const { id } = await plane.sender.endpoints.create({ url: URL });
    plane.clock.advance(1000);
    const at = '2026-01-15T12:00:01.000Z';
    const record = anEndpoint({ id, ...paused, pausedAt: at, updatedAt: at });
    expectAnswer(await plane.ask(`POST /endpoints/${id}/disable`), 200, record);
    expectAnswer(await plane.ask(`GET /endpoints/${id}`), 200, record);
    const message = await plane.sender.send({ type: 'invoice.paid', data: 1 });
    const { deliveries } = (await plane.ask(`GET /messages/${message.id}`)).body;
    expect(deliveries).toMatchObject([{ endpointId: id, status: 'pending' }]);
  });

  it('§3 disable: paused stays paused, for the reason and from the time it had', async () => {
    const { id } = await plane.sender.endpoints.create({ url: URL });
    const first = await plane.ask(`POST /endpoints/${id}/disable`);
    plane.clock.advance(1000);
    expectAnswer(await plane.ask(`POST /endpoints/${id}/disable`), 200, first.body);
  });

  it.each(['manual', 'failing', 'gone'])('§3 enable: paused (%s) to active', async (reason) => {
    const { id } = await plane.sender.endpoints.create({ url: URL });
    await plane.ask(`POST /endpoints/${id}/disable`);
    await plane.query('update hookplane_endpoints set paused_reason = ?, failing_since = 1', reason);
    expect((await plane.ask(`GET /endpoints/${id}`)).body.pausedReason).toBe(reason);
    expectAnswer(await plane.ask(`POST /endpoints/${id}/enable`), 200, anEndpoint({ id }));
    expect(await plane.query('select failing_since from hookplane_endpoints')).toEqual([
      { failing_since: null },
    ]);
  });

  it('§3 enable: active stays active', async () => {
    const { id } = await plane.sender.endpoints.create({ url: URL });
    expectAnswer(await plane.ask(`POST /endpoints/${id}/enable`), 200, anEndpoint({ id }));
  });

  it.each(['disable', 'enable'])('§3 %s: only what exists and is visible to the caller', async (verb) => {
    const { id } = await plane.sender.endpoints.create({ url: URL, tenantId: 'acme' });
    expectError(await plane.ask(`POST /endpoints/ep_none/${verb}`), 'ENDPOINT_NOT_FOUND');
    expectError(await plane.ask(`POST /endpoints/${id}/${verb}`, { as: 'other' }), 'ENDPOINT_NOT_FOUND');
    const own = await plane.ask(`POST /endpoints/${id}/${verb}`, { as: 'acme' });
    expect(own.body).toMatchObject({ id, status: verb === 'enable' ? 'active' : 'paused' });
  });

  it('§3 a paused endpoint takes no replay', async () => {
    const { id: endpointId } = await plane.sender.endpoints.create({ url: URL });
    await plane.ask(`POST /endpoints/${endpointId}/disable`);
    const answer = await plane.ask('POST /replay', { json: { endpointId, since: '2026-01-01' } });
    expectError(answer, 'ENDPOINT_DISABLED');
  });
});
