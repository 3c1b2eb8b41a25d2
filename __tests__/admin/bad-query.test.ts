import { ROUTES } from '../../lib/admin/routes.js';
import { expectError, expectIssues } from './expectations.js';
import { plantTenant, type PlantedTenant } from './planted.js';
import { dump, openPlane, type Plane } from './plane.js';
import { REQUESTS } from './route-cases.js';

let plane: Plane;
let tenant: PlantedTenant;
let before: unknown;
beforeAll(async () => {
  plane = await openPlane({ lifetime: 'file' });
  tenant = await plantTenant(plane, 'acme', 'mark');
  before = await dump(plane);
});
afterEach(async () => expect(await dump(plane)).toEqual(before));

const routeOf = (operation: string) => REQUESTS[operation]!(tenant).route;
const LISTS = ROUTES.filter(({ query }) => query?.limit);
const enc = encodeURIComponent;

async function refused(route: string, message?: RegExp): Promise<void> {
  const answer = await plane.ask(route);
  expectError(answer, 'INVALID_QUERY');
  if (message) expect(answer.body.error).toMatch(message);
}

describe('§8 a limit that is not a positive whole number', () => {
  const LIMITS = [
    '0',
    '-1',
    '-0',
    '00',
    '01',
    '1e3',
    '0x10',
    '0b1',
    '1.5',
    '1.0',
    '+5',
    ' 5',
    '5 ',
    '',
    ' ',
    'ten',
    'NaN',
    'Infinity',
    '1_000',
    '1,000',
    '٥',
    '5\n',
    '5\u0000',
    'null',
    'true',
    '[5]',
    '5;6',
    '-9999999999999999999',
  ];

  it.each(LISTS)('$operation', async ({ operation }) => {
    for (const limit of LIMITS) await refused(`${routeOf(operation)}?limit=${enc(limit)}`, /^limit must be/);
    await refused(`${routeOf(operation)}?limit`, /^limit must be/);
    await refused(`${routeOf(operation)}?limit=+5`, /^limit must be/);
  });

  it.each(LISTS)('but $operation takes one that is only large', async ({ operation }) => {
    for (const limit of ['1', '1000', '99999', '9'.repeat(400)]) {
      expect((await plane.ask(`${routeOf(operation)}?limit=${limit}`)).status).toBe(200);
    }
  });

  it.each([0, -1, 1.5, -0, 1e-9, '5', '', null, true, [5], {}])('in a body: %j', async (limit) => {
    for (const json of [
      { endpointId: tenant.endpointId, since: '2026-01-01', limit },
      { messageId: tenant.messageId, limit },
    ]) {
      expectError(await plane.ask('POST /replay', { json }), 'INVALID_QUERY');
      if ('since' in json) expectError(await plane.ask('POST /reconcile', { json }), 'INVALID_QUERY');
    }
  });

  it('in a body: a number that JSON cannot hold', async () => {
    const body = `{"endpointId":"${tenant.endpointId}","since":"2026-01-01","limit":1e400}`;
    for (const route of ['POST /replay', 'POST /reconcile']) {
      expectError(await plane.ask(route, { body }), 'INVALID_QUERY');
    }
  });
});

describe('a parameter that a route does not have', () => {
  const NAMES = [
    'colour',
    'Limit',
    'limit[]',
    'limit ',
    '',
    '__proto__',
    'constructor',
    'toString',
    'offset',
    'page',
  ];

  it.each(ROUTES)('$operation', async (route) => {
    const others = ['limit', 'cursor', 'type', 'status', 'since', 'until', 'tenantId', 'endpointId'];
    for (const name of [...NAMES, ...others.filter((each) => !Object.hasOwn(route.query ?? {}, each))]) {
      const { route: asked, json } = REQUESTS[route.operation]!(tenant);
      const answer = await plane.ask(`${asked}?${enc(name)}=x`, { json });
      expectError(answer, 'INVALID_QUERY', `${JSON.stringify(name)} is not a query parameter of this route`);
    }
  });

  it.each(ROUTES)('$operation, with nothing behind the ?', async ({ operation, revealsSecret }) => {
    const { route } = REQUESTS[operation]!(tenant);
    if (!route.startsWith('GET')) return;
    const bare = await plane.ask(route);
    for (const search of ['?', '?&', '?&&']) {
      expect((await plane.ask(`${route}${search}`)).text).toBe(bare.text);
    }
    // Who reads a secret leaves a record of it, and nothing else.
    if (revealsSecret) await plane.query('delete from hookplane_audit_log where operation = ?', operation);
  });
});

describe('a parameter that is given twice', () => {
  const SINGLE = LISTS.flatMap(({ operation, query }) =>
    Object.entries(query!)
      .filter(([, parameter]) => !parameter.many)
      .map(([name]) => [operation, name] as const),
  );
  it.each(SINGLE)('%s: %s', async (operation, name) => {
    const value = name === 'limit' ? '5' : name === 'status' ? 'active' : 'x';
    for (const search of [
      `${name}=${value}&${name}=${value}`,
      `${name}=${value}&${name}=`,
      `${name}=${value}&%${name.charCodeAt(0).toString(16)}${name.slice(1)}=${value}`,
    ]) {
      await refused(`${routeOf(operation)}?${search}`, new RegExp(`^${name} is given more than once$`));
    }
    // Ids are texts of the host's own, and may hold commas.
    if (!/Id$|^actor$/.test(name)) await refused(`${routeOf(operation)}?${name}=5,6`);
  });
});

describe('a value that is none', () => {
  it.each([
    'GET /endpoints?status=dead',
    'GET /endpoints?status=',
    'GET /endpoints?status=Active',
    'GET /endpoints?status=active,paused',
    'GET /endpoints?tenantId=',
    `GET /endpoints?tenantId=${'x'.repeat(256)}`,
    'GET /endpoints?tenantId=%00',
    'GET /endpoints?cursor=',
    'GET /messages?status=',
    'GET /messages?status=pending,',
    'GET /messages?status=pending,,failed',
    'GET /messages?status=succeeded',
    'GET /messages?status=__proto__',
    'GET /messages?type=',
    'GET /messages?type=a,,b',
    'GET /messages?endpointId=',
    'GET /messages/x/attempts?status=toString',
    'GET /endpoints/x/attempts?status=pending',
    'GET /endpoints/x/attempts?status=__proto__',
    'GET /audit?operation=endpoints.get',
    'GET /audit?operation=endpoint.create',
    'GET /audit?operation=',
    'GET /audit?operation=toString',
    'GET /audit?operation=send,replay',
    'GET /audit?actor=',
    'GET /audit?actor=a%00',
    'GET /audit?targetId=',
    'GET /audit?targetId=%00',
    'GET /endpoints/x/stats?interval=week',
    'GET /endpoints/x/stats?interval=',
    'GET /endpoints/x/stats?interval=toString',
    'GET /endpoints/x/stats?interval=hour,day',
    'GET /stats?interval=week',
    'GET /stats?tenantId=',
    'GET /stats?limit=10',
    'GET /caller?tenantId=acme',
  ])('%s', async (route) => {
    await refused(route);
  });
});

describe('very many values', () => {
  it.each(['type', 'status'])('of %s', async (name) => {
    const many = (count: number) => Array(count).fill('failed');
    for (const search of [
      `${name}=${many(257)}`,
      `${name}=${many(40_000)}`,
      many(257)
        .map((value) => `${name}=${value}`)
        .join('&'),
    ]) {
      await refused(`GET /messages?${search}`, new RegExp(`^${name} has more than 256 values$`));
    }
    expect((await plane.ask(`GET /messages?${name}=${many(256)}`)).status).toBe(200);
  });
});

describe('an id that is none', () => {
  const IDS: [string, string][] = [
    ['a slash', '%2F'],
    ['a slash inside', 'a%2Fb'],
    ['a space', '%20'],
    ['a name with spaces', 'a%20b%20'],
    ['unicode', '%E6%9D%B1%E4%BA%AC'],
    ['an emoji', enc('👩🏽‍🚀')],
    ['a quote', '%22%27'],
    ['SQL', enc("' or '1'='1")],
    ['SQL that ends the statement', enc("x'; drop table hookplane_endpoints; --")],
    ['a wildcard', '%25'],
    ['dots', '...'],
    ['a dot segment inside of one', '..%2F..%2Fetc'],
    ['an array', '%5B%5D'],
    ['a very long one', 'x'.repeat(400)],
    ['__proto__', '__proto__'],
    ['null', 'null'],
    ['another kind of id', 'msg_01jf0odng0b0069039hels7cpt'],
  ];
  const NAMED = ROUTES.filter(({ path }) => path.includes(':id'));

  it.each(NAMED)('$operation', async ({ operation, method, path }) => {
    const { json } = REQUESTS[operation]!(tenant);
    const expected = path.startsWith('/endpoints')
      ? 'ENDPOINT_NOT_FOUND'
      : path.startsWith('/messages')
        ? 'MESSAGE_NOT_FOUND'
        : 'TENANT_NOT_FOUND';
    for (const [, id] of IDS) {
      const route = `${method} ${path.replace(':id', id)}`;
      // A limit may be set for a tenant that is yet to come, under almost any id.
      if (operation !== 'tenants.setRateLimit') expectError(await plane.ask(route, { json }), expected);
    }
    for (const id of ['%zz', '%00', '%', '%E0%A4', '%0d%0a', '%1b']) {
      const route = `${method} ${path.replace(':id', id)}`;
      expectError(await plane.ask(route, { json }), 'INVALID_QUERY');
    }
    // These are gone before anybody can look at them: what is left is another path.
    for (const id of ['..', '%2e%2e', '.%2E']) {
      const answer = await plane.ask(`${method} ${path.replace(':id', id)}`, { json });
      // `/endpoints/../stats` is a route of its own.
      if (operation === 'endpoints.stats') expect(answer.status).toBe(200);
      else expectError(answer, 'ROUTE_NOT_FOUND');
    }
  });

  it.each(['\ud800', 'a\udfffb', '\u0000', '\u009f', '', 'x'.repeat(256)])(
    'a tenant with such an id gets no endpoint: %j',
    async (tenantId) => {
      const json = { url: 'https://example.com/', tenantId };
      expectIssues(await plane.ask('POST /endpoints', { json }), 'ENDPOINT_VALIDATION', ['tenantId']);
    },
  );

  it('a tenant whose id is too long gets no limit', async () => {
    const answer = await plane.ask(`POST /tenants/${'x'.repeat(256)}/rate-limit`, { json: { perSecond: 1 } });
    expectIssues(answer, 'TENANT_VALIDATION', ['id']);
  });

  it.each(['%2F', "' or '1'='1", '', 'x'.repeat(129), '../x', '\u0000'])('in a body: %j', async (id) => {
    for (const json of [{ messageId: id }, { endpointId: id, since: '2026-01-01' }]) {
      for (const route of ['POST /replay', 'POST /reconcile']) {
        const answer = await plane.ask(route, { json });
        expect([404, 422]).toContain(answer.status);
      }
    }
  });
});
