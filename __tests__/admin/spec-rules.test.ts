import { recordingLogger } from '../support/sender.js';
import { createAdminHandler } from '../../lib/admin/handler.js';
import { ROUTES } from '../../lib/admin/routes.js';
import { expectAnswer, expectError, expectIssues } from './expectations.js';
import { plantTenant, type PlantedTenant } from './planted.js';
import { answerOf, openPlane, type Plane, requestOf } from './plane.js';
import { anEndpoint, aTenant } from './records.js';

const URL = 'https://example.com/hook';

describe('callers bound to a tenant', () => {
  let plane: Plane;
  let acme: PlantedTenant;
  let other: PlantedTenant;
  beforeEach(async () => {
    plane = await openPlane();
    acme = await plantTenant(plane, 'acme', 'acme-mark');
    other = await plantTenant(plane, 'other', 'other-mark');
  });

  it('§4.3 creates are constrained to the tenant of the caller', async () => {
    const json = { url: URL };
    for (const same of [json, { ...json, tenantId: 'acme' }]) {
      const answer = await plane.ask('POST /endpoints', { as: 'acme', json: same });
      expectAnswer(answer, 201, anEndpoint({ tenantId: 'acme', secret: expect.any(String) }));
    }
    for (const tenantId of ['other', 'nobody', null]) {
      const answer = await plane.ask('POST /endpoints', { as: 'acme', json: { ...json, tenantId } });
      expectIssues(answer, 'ENDPOINT_VALIDATION', ['tenantId']);
    }
  });

  it('§4.3 lists are constrained to the tenant of the caller', async () => {
    const rows = async (path: string, plural: string) =>
      ((await plane.ask(`GET ${path}`, { as: 'acme' })).body[plural] as { id: string }[]).map(({ id }) => id);
    expect(await rows('/endpoints', 'endpoints')).toEqual([acme.endpointId]);
    expect(await rows('/messages', 'messages')).toEqual([acme.messageId]);
    expect(await rows('/endpoints?tenantId=acme', 'endpoints')).toEqual([acme.endpointId]);
    for (const path of ['/endpoints', '/messages']) {
      expectError(await plane.ask(`GET ${path}?tenantId=other`, { as: 'acme' }), 'INVALID_QUERY');
    }
  });

  it('§4.3 listing tenants answers at most that one', async () => {
    const own = (await plane.ask('GET /tenants', { as: 'acme' })).body.tenants;
    expect(own).toMatchObject([{ id: 'acme' }]);
    expectAnswer(await plane.ask('GET /tenants', { as: 'nobody' }), 200, { tenants: [], nextCursor: null });
  });

  it('§4.3 and §5.5 messages, attempts and the tenant record are visible for the own tenant alone', async () => {
    for (const [path, code] of [
      [(tenant: PlantedTenant) => `/messages/${tenant.messageId}`, 'MESSAGE_NOT_FOUND'],
      [(tenant: PlantedTenant) => `/messages/${tenant.messageId}/attempts`, 'MESSAGE_NOT_FOUND'],
      [(tenant: PlantedTenant) => `/tenants/${tenant.tenantId}`, 'TENANT_NOT_FOUND'],
      [(tenant: PlantedTenant) => `/endpoints/${tenant.endpointId}`, 'ENDPOINT_NOT_FOUND'],
    ] as const) {
      expect((await plane.ask(`GET ${path(acme)}`, { as: 'acme' })).status).toBe(200);
      expectError(await plane.ask(`GET ${path(other)}`, { as: 'acme' }), code);
    }
  });

  it('§5.5 the tenant writes answer 403 across tenants', async () => {
    const json = { perSecond: 1 };
    const sentence = 'The caller is bound to another tenant';
    for (const id of ['other', 'nobody']) {
      const set = await plane.ask(`POST /tenants/${id}/rate-limit`, { as: 'acme', json });
      expectError(set, 'FORBIDDEN', sentence);
      expectError(await plane.ask(`DELETE /tenants/${id}`, { as: 'acme' }), 'FORBIDDEN', sentence);
    }
    expect(await plane.ask('POST /tenants/acme/rate-limit', { as: 'acme', json })).toMatchObject({
      status: 200,
    });
    expect(await plane.ask('DELETE /tenants/acme', { as: 'acme' })).toMatchObject({ status: 204 });
    expectError(await plane.ask('DELETE /tenants/acme', { as: 'acme' }), 'TENANT_NOT_FOUND');
  });
});

describe('§5 Authentication', () => {
  it('§5.1 the callback is given the request, with all its headers', async () => {
    const plane = await openPlane();
    const seen: Record<string, string>[] = [];
    const handler = createAdminHandler(plane.sender, {
      authorize(request) {
        seen.push({ url: request.url, method: request.method, ...Object.fromEntries(request.headers) });
        return request.headers.get('authorization') === 'Bearer right';
      },
    });
    const headers = { cookie: 'session=1', 'x-client-cert': 'CN=ops', authorization: 'Bearer right' };
    const request = requestOf('GET /endpoints?limit=1', { headers });
    expectAnswer(await answerOf(handler(request)), 200, { endpoints: [], nextCursor: null });
    expect(seen).toEqual([{ url: request.url, method: 'GET', ...headers }]);
    expectError(await answerOf(handler(requestOf('GET /endpoints'))), 'FORBIDDEN');
  });

  it.each([
    ['true', true, 200],
    ['false', false, 403],
    ['{ allow: true }', { allow: true }, 200],
    ['{ allow: false }', { allow: false }, 403],
    ['{ allow: false, status: 401 }', { allow: false, status: 401 }, 401],
    ['{ allow: false, status: 403 }', { allow: false, status: 403 }, 403],
  ] as const)('§5.2 and §5.3 %s, at once or later', async (_name, decision, status) => {
    for (const authorize of [() => decision, async () => decision]) {
      const plane = await openPlane({ admin: { authorize } });
      const answer = await plane.ask('GET /endpoints');
      if (status === 200) expectAnswer(answer, 200, { endpoints: [], nextCursor: null });
      else expectError(answer, status === 401 ? 'UNAUTHORIZED' : 'FORBIDDEN');
    }
  });

  it('§5.3 tenantId binds the caller to one tenant', async () => {
    const authorize = () => ({ allow: true, tenantId: 'acme' });
    const plane = await openPlane({ admin: { authorize } });
    for (const id of ['acme', 'other']) await plane.sender.tenants.setMetadata(id, {});
    expectAnswer(await plane.ask('GET /tenants'), 200, { tenants: [aTenant('acme')], nextCursor: null });
  });

  it('§5.4 without a callback every request is answered 403, logged once', async () => {
    const logger = recordingLogger();
    const plane = await openPlane({ admin: { authorize: undefined, logger } });
    for (const { method, path } of ROUTES) {
      expectError(await plane.ask(`${method} ${path}`), 'FORBIDDEN');
    }
    expectError(await plane.ask('GET /nowhere'), 'FORBIDDEN');
    expect(logger.entries).toEqual([
      { level: 'warn', message: expect.stringContaining('authorize'), fields: {} },
    ]);
  });

  it('§5.6 the callback may always answer true', async () => {
    const plane = await openPlane({ admin: { authorize: () => true } });
    expect((await plane.ask('POST /keys/symmetric')).status).toBe(201);
  });
});

describe('§7 Errors', () => {
  it('§7 each condition has its status and code', async () => {
    const plane = await openPlane();
    const { endpointId, messageId } = await plantTenant(plane, 'acme', 'mark');
    expectError(await plane.ask('GET /endpoints/none'), 'ENDPOINT_NOT_FOUND');
    expectIssues(await plane.ask('POST /endpoints', { json: {} }), 'ENDPOINT_VALIDATION', ['url']);
    await plane.ask(`POST /endpoints/${endpointId}/disable`);
    expectError(await plane.ask('POST /replay', { json: { messageId, endpointId } }), 'ENDPOINT_DISABLED');
    expectError(await plane.ask('POST /replay', { json: { messageId } }), 'ENDPOINT_DISABLED');
    expectError(await plane.ask('GET /messages/none'), 'MESSAGE_NOT_FOUND');
    expectError(await plane.ask(`GET /messages/${messageId}`, { as: 'other' }), 'MESSAGE_NOT_FOUND');
    expectError(await plane.ask('GET /tenants/none'), 'TENANT_NOT_FOUND');
    expectError(await plane.ask('GET /tenants/acme', { as: 'other' }), 'TENANT_NOT_FOUND');
    expect((await plane.ask('GET /health')).status).toBe(503);
  });
});

describe('§9 Versioning', () => {
  it('§9 no path and no header holds a version', async () => {
    expect(ROUTES.filter(({ path }) => /\/v\d/.test(path))).toEqual([]);
    const plane = await openPlane();
    const answer = await plane.ask('GET /endpoints');
    expect([...answer.headers.keys()].filter((name) => name.includes('version'))).toEqual([]);
  });
});
