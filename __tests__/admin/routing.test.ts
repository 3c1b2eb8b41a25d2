import { ROUTES } from '../../lib/admin/routes.js';
import { expectError, expectOwnHeaders } from './expectations.js';
import { plantTenant, type PlantedTenant } from './planted.js';
import { type Answer, dump, openPlane, type Plane } from './plane.js';
import { REQUESTS } from './route-cases.js';

const METHODS = [
  'GET',
  'HEAD',
  'POST',
  'PUT',
  'PATCH',
  'DELETE',
  'OPTIONS',
  'QUERY',
  'PROPFIND',
  'LOCK',
  'get',
  'x',
];

let plane: Plane;
let tenant: PlantedTenant;
beforeAll(async () => {
  plane = await openPlane({ lifetime: 'file' });
  tenant = await plantTenant(plane, 'acme', 'mark');
});

const GETS = ROUTES.filter(({ method }) => method === 'GET');
const PATHS = [...new Set(ROUTES.map(({ path }) => path))];
const methodsOf = (path: string) =>
  ROUTES.filter((route) => route.path === path).flatMap(({ method }) =>
    method === 'GET' ? ['GET', 'HEAD'] : [method],
  );
/** Puts an id that is there into the path of a route. */
const fill = (path: string) => {
  const ids: Record<string, string> = {
    endpoints: tenant.endpointId,
    messages: tenant.messageId,
    tenants: tenant.tenantId,
  };
  return path.replace(':id', ids[path.split('/')[1]!] ?? 'x');
};
const whole = ({ status, headers, text }: Answer) => ({ status, headers: [...headers], text });

describe('a path is matched whole', () => {
  it.each([
    '/',
    '',
    '/nowhere',
    '/x/endpoints',
    '/admin/endpoints',
    '/admin/health',
    '/endpointsx',
    '/xendpoints',
    '/ENDPOINTS',
    '/Health',
    '/endpoints;a=b',
    '/endpoints.json',
    '/endpoints/x/y',
    '/endpoints/x/disable/y',
    '/endpoints/x/DISABLE',
    '/tenants/x/attempts',
    '/endpoints//disable',
    '/endpoints//',
    '/endpoints///',
    '//endpoints',
    '//health',
    '/health//',
    '/keys',
    '/keys/',
    '/keys/rsa',
    '/keys/symmetric/x',
    '/tenants/x/endpoints',
    '/tenants/x/rate-limit/x',
    '/messages/x/attempts/y',
    '/endpoints%2Fx',
    '/endpoints%2F',
    '/%2Fendpoints',
    '/health%2F',
    '/endpoints%20',
    '/endpoints\u00a0',
    '/endpoints%3Flimit=1',
    '/:id',
  ])('%j is none', async (path) => {
    for (const method of ['GET', 'POST', 'DELETE', 'PUT']) {
      expectError(await plane.ask(`${method} ${path}`), 'ROUTE_NOT_FOUND');
      // Hosts that are not Fetch-native tell the path as it was sent.
      const told = await plane.ask(`${method} /elsewhere`, { context: { path } });
      expectError(told, 'ROUTE_NOT_FOUND');
    }
  });

  it.each([
    ['/endpoints/..', '/'],
    ['/x/../health', '/health'],
    ['/x/%2e%2e/health', '/health'],
    ['/endpoints/%2E%2E/health', '/health'],
    ['/./health', '/health'],
    ['/x\\..\\health', '/health'],
  ])(
    '%j is what a Request makes of it, %j, and malformed where it is told as it was sent',
    async (path, meant) => {
      expect(whole(await plane.ask(`GET ${path}`))).toEqual(whole(await plane.ask(`GET ${meant}`)));
      if (path.includes('\\')) return;
      expectError(await plane.ask('GET /x', { context: { path } }), 'INVALID_QUERY');
    },
  );

  it.each(['%zz', '%', '%2', '%E0%A4%A', '%ED%A0%80', '%C0%AF', '%00', '%0a', '%7F', '%C2%85', 'a%00b'])(
    'a segment %s is malformed, on every path',
    async (segment) => {
      for (const path of [`/${segment}`, `/endpoints/${segment}`, `/tenants/${segment}/rate-limit`]) {
        for (const method of ['GET', 'POST', 'PUT']) {
          expectError(await plane.ask(`${method} ${path}`), 'INVALID_QUERY', 'The path is malformed');
        }
      }
    },
  );

  it('the path that the host tells goes before that of the URL', async () => {
    expect((await plane.ask('GET /nowhere', { context: { path: '/tenants/acme' } })).body.id).toBe('acme');
    expectError(await plane.ask('GET /tenants/acme', { context: { path: '/nowhere' } }), 'ROUTE_NOT_FOUND');
  });
});

describe('a segment is decoded once', () => {
  it.each([
    ['a%20b', 'a b'],
    ['a+b', 'a+b'],
    ['%2541', '%41'],
    ['a%252Fb', 'a%2Fb'],
    ['a%2Fb', 'a/b'],
    ['..%2F..', '../..'],
    ['%C3%BC%E6%9D%B1', 'ü東'],
    ['ü', 'ü'],
    ['%3Fx%3D1%23', '?x=1#'],
    ['...', '...'],
    [':id', ':id'],
  ])('%s is the id %j', async (segment, id) => {
    const error = (what: string) => `There is no ${what} ${JSON.stringify(id)}`;
    expectError(await plane.ask(`GET /endpoints/${segment}`), 'ENDPOINT_NOT_FOUND', error('endpoint'));
    expectError(await plane.ask(`GET /messages/${segment}/attempts`), 'MESSAGE_NOT_FOUND', error('message'));
    await plane.sender.tenants.setMetadata(id, { id });
    expect((await plane.ask(`GET /tenants/${segment}`)).body).toMatchObject({ id, metadata: { id } });
    await plane.sender.tenants.delete(id);
  });

  it('an escaped slash makes no other route', async () => {
    const before = await dump(plane);
    const answer = await plane.ask(`POST /endpoints/${tenant.endpointId}%2Fdisable`);
    expectError(answer, 'METHOD_NOT_ALLOWED');
    expectError(await plane.ask(`GET /messages/${tenant.messageId}%2Fattempts`), 'MESSAGE_NOT_FOUND');
    expectError(await plane.ask(`DELETE /tenants/x%2F..%2F${tenant.tenantId}`), 'TENANT_NOT_FOUND');
    expect(await dump(plane)).toEqual(before);
  });

  it('a letter of a route may be escaped', async () => {
    expect((await plane.ask('GET /%65ndpoints')).status).toBe(200);
  });
});

describe('a trailing slash is accepted', () => {
  it.each(GETS)('on GET $path', async ({ path }) => {
    const answer = await plane.ask(`GET ${fill(path)}`);
    expect(whole(await plane.ask(`GET ${fill(path)}/`))).toEqual(whole(answer));
  });

  it.each(ROUTES.filter(({ method }) => method !== 'GET'))('on $method $path', async ({ operation }) => {
    const nobody = { tenantId: 'nobody', endpointId: 'ep_none', messageId: 'msg_none' };
    const { route, json } = REQUESTS[operation]!(nobody);
    const [bare, slashed] = [await plane.ask(route, { json }), await plane.ask(`${route}/`, { json })];
    expect(slashed.status).toBe(bare.status);
    expect(slashed.body?.errorCode).toBe(bare.body?.errorCode);
    await plane.sender.tenants.delete('nobody').catch(() => {});
  });
});

describe('HEAD works wherever GET does', () => {
  it.each(GETS)('HEAD $path', async ({ path }) => {
    for (const query of ['', '?colour=red', '?limit=0']) {
      const get = await plane.ask(`GET ${fill(path)}${query}`);
      for (const head of [
        await plane.ask(`HEAD ${fill(path)}${query}`),
        await plane.ask(`GET ${fill(path)}${query}`, { context: { method: 'HEAD' } }),
      ]) {
        expect(whole(head)).toEqual({ ...whole(get), text: '' });
      }
    }
  });

  it('HEAD of what is not there has no body either', async () => {
    for (const [path, status] of [
      ['/endpoints/none', 404],
      ['/nowhere', 404],
      ['/keys/symmetric', 405],
      ['/endpoints/%zz', 400],
    ] as const) {
      expect(await plane.ask(`HEAD ${path}`)).toMatchObject({ status, text: '' });
    }
  });
});

describe('a method that a path does not have', () => {
  it.each(PATHS)('on %s is answered 405 with those it has', async (path) => {
    const before = await dump(plane);
    const allow = methodsOf(path);
    for (const method of METHODS.filter((each) => !allow.includes(each))) {
      // A Request makes a standard method upper case.
      if (allow.includes(method.toUpperCase()) && method === 'get') continue;
      for (const answer of [
        await plane.ask(`${method} ${fill(path)}`),
        await plane.ask(`POST ${fill(path)}`, { context: { method, path: `${fill(path)}/` } }),
      ]) {
        expect(answer.status).toBe(405);
        expect(answer.headers.get('allow')).toBe(allow.join(', '));
        expectOwnHeaders(answer);
        if (method !== 'HEAD') expectError(answer, 'METHOD_NOT_ALLOWED');
      }
    }
    expect(await dump(plane)).toEqual(before);
  });

  it.each(['TRACE', 'CONNECT', 'TRACK', 'get', ''])('that no Request can have: %j', async (method) => {
    const answer = await plane.ask('GET /endpoints', { context: { method } });
    expectError(answer, 'METHOD_NOT_ALLOWED');
    expect(answer.headers.get('allow')).toBe('GET, HEAD, POST');
  });

  it.each(PATHS)('OPTIONS %s says nothing to other origins', async (path) => {
    const headers = { origin: 'https://evil.example', 'access-control-request-method': 'POST' };
    const answer = await plane.ask(`OPTIONS ${fill(path)}`, { headers });
    expectError(answer, 'METHOD_NOT_ALLOWED');
    expect(answer.headers.get('allow')).toBe(methodsOf(path).join(', '));
    expect([...answer.headers.keys()].filter((name) => name.startsWith('access-control'))).toEqual([]);
  });

  it('is not changed by a header or a parameter', async () => {
    const before = await dump(plane);
    for (const name of ['x-http-method-override', 'x-http-method', 'x-method-override']) {
      const answer = await plane.ask(`GET /tenants/${tenant.tenantId}`, { headers: { [name]: 'DELETE' } });
      expect(answer.status).toBe(200);
    }
    expectError(await plane.ask(`GET /tenants/${tenant.tenantId}?_method=DELETE`), 'INVALID_QUERY');
    expect(await dump(plane)).toEqual(before);
  });
});

describe('a base path', () => {
  const mount = (basePath: string) => openPlane({ admin: { authorize: () => true, basePath } });

  it.each(['/admin', '/admin/', '/admin//', '/a/b-c/d', '/with%20space'])('%s', async (basePath) => {
    const mounted = await mount(basePath);
    const base = basePath.replace(/\/+$/, '');
    expect((await mounted.ask(`GET ${base}/endpoints`)).status).toBe(200);
    expect((await mounted.ask(`GET ${base}/endpoints/`)).status).toBe(200);
    for (const path of [
      '/endpoints',
      base,
      `${base}/`,
      `${base}endpoints`,
      `${base}x/endpoints`,
      `/x${base}/endpoints`,
      `${base}${base}/endpoints`,
      `${base.toUpperCase()}/endpoints`,
      `${base}/../endpoints`,
      `${base}//endpoints`,
      `${base}%2Fendpoints`,
    ]) {
      expectError(await mounted.ask(`GET ${path}`), 'ROUTE_NOT_FOUND');
    }
  });

  it('is of no use to a host that tells the path', async () => {
    const mounted = await mount('/admin');
    expect((await mounted.ask('GET /x', { context: { path: '/endpoints' } })).status).toBe(200);
    const whole = await mounted.ask('GET /x', { context: { path: '/admin/endpoints' } });
    expectError(whole, 'ROUTE_NOT_FOUND');
  });

  it('must begin with a slash and have no query', async () => {
    for (const basePath of ['admin', 'https://example.com/admin', '/admin?a=b', '/admin#a', '?a']) {
      await expect(mount(basePath)).rejects.toThrow('basePath must begin with "/" and have no query');
    }
  });
});

it.each(['/with space', '/ü', '//twice//slashed'])(
  'a basePath of %j is found as a URL spells it',
  async (basePath) => {
    const mounted = await openPlane({ admin: { authorize: () => true, basePath } });
    expect((await mounted.ask(`GET ${encodeURI(basePath)}/endpoints`)).status).toBe(200);
  },
);
