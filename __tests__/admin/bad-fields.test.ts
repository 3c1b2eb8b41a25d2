import { STATUS_BY_CODE } from '../../lib/admin/response.js';
import { ROUTES } from '../../lib/admin/routes.js';
import type { AdminErrorCode } from '../../lib/model/errors.js';
import { expectError, expectIssues } from './expectations.js';
import { plantTenant, type PlantedTenant } from './planted.js';
import { dump, openPlane, paths, type Plane } from './plane.js';

const URL = 'https://example.com/hook';
const SINCE = '2026-01-01';

let plane: Plane;
let tenant: PlantedTenant;
let before: unknown;
beforeAll(async () => {
  plane = await openPlane({ lifetime: 'file' });
  tenant = await plantTenant(plane, 'acme', 'mark');
  before = await dump(plane);
});
afterEach(async () => expect(await dump(plane)).toEqual(before));

const VALUES = {
  string: 'text',
  number: 7,
  boolean: true,
  array: ['text'],
  object: { some: 'text' },
  null: null,
};
type Kind = keyof typeof VALUES;
const ANY = Object.keys(VALUES) as Kind[];

interface BodyRoute {
  name: string;
  route(): string;
  /** A body that is right, but for the field that is tried. */
  base(): Record<string, unknown>;
  code: AdminErrorCode;
  /** The types that a field may have, by its path. */
  fields: Record<string, Kind[]>;
}

const SETTINGS: BodyRoute['fields'] = {
  url: ['string'],
  description: ['string', 'null'],
  types: ['array', 'null'],
  'types.0': ['string'],
  channels: ['array', 'null'],
  'channels.0': ['string'],
  filter: ['array', 'object', 'null'],
  'filter.dataPath': ['string'],
  'filter.0': ['object'],
  'filter.0.dataPath': ['string'],
  headers: ['object', 'null'],
  'headers.x-token': ['string'],
  metadata: ['object', 'null'],
  retry: ['object', 'null'],
  'retry.delaysSeconds': ['array'],
  'retry.delaysSeconds.0': ['number'],
  'retry.jitter': ['number'],
  rateLimit: ['object', 'null'],
  'rateLimit.perSecond': ['number'],
  'rateLimit.burst': ['number'],
  maxInFlight: ['number', 'null'],
  timeoutMs: ['number', 'null'],
};
const PAGE: BodyRoute['fields'] = { limit: ['number'], cursor: ['string'] };

const BODIES: BodyRoute[] = [
  {
    name: 'endpoints.create',
    route: () => 'POST /endpoints',
    base: () => ({ url: URL }),
    code: 'ENDPOINT_VALIDATION',
    fields: { ...SETTINGS, tenantId: ['string', 'null'], secret: ['string'] },
  },
  {
    name: 'endpoints.update',
    route: () => `PATCH /endpoints/${tenant.endpointId}`,
    base: () => ({}),
    code: 'ENDPOINT_VALIDATION',
    fields: SETTINGS,
  },
  {
    name: 'endpoints.rotateSecret',
    route: () => `POST /endpoints/${tenant.endpointId}/rotate-secret`,
    base: () => ({}),
    code: 'ENDPOINT_VALIDATION',
    fields: { secret: ['string'], overlapSeconds: ['number'] },
  },
  {
    name: 'replay',
    route: () => 'POST /replay',
    base: () => ({ messageId: tenant.messageId, endpointId: tenant.endpointId }),
    code: 'REPLAY_VALIDATION',
    fields: {
      messageId: ['string'],
      endpointId: ['string'],
      dryRun: ['boolean'],
      freshId: ['boolean'],
      ...PAGE,
    },
  },
  {
    name: 'replay of a range',
    route: () => 'POST /replay',
    base: () => ({ endpointId: tenant.endpointId, since: SINCE }),
    code: 'REPLAY_VALIDATION',
    fields: {
      endpointId: ['string'],
      since: ['string'],
      until: ['string'],
      types: ['array'],
      'types.0': ['string'],
      status: ['string'],
      dryRun: ['boolean'],
      freshId: ['boolean'],
      ...PAGE,
    },
  },
  {
    name: 'reconcile',
    route: () => 'POST /reconcile',
    base: () => ({ endpointId: tenant.endpointId, since: SINCE }),
    code: 'REPLAY_VALIDATION',
    fields: { endpointId: ['string'], since: ['string'], until: ['string'], ...PAGE },
  },
  {
    name: 'tenants.setRateLimit',
    route: () => 'POST /tenants/acme/rate-limit',
    base: () => ({ perSecond: 1 }),
    code: 'TENANT_VALIDATION',
    fields: { perSecond: ['number', 'null'], burst: ['number'] },
  },
  {
    name: 'endpoints.test',
    route: () => `POST /endpoints/${tenant.endpointId}/test`,
    base: () => ({}),
    code: 'MESSAGE_VALIDATION',
    fields: { type: ['string'], data: ANY },
  },
  {
    name: 'send',
    route: () => 'POST /messages',
    base: () => ({ type: 'some.thing', data: 1 }),
    code: 'MESSAGE_VALIDATION',
    fields: {
      type: ['string'],
      data: ANY,
      tenantId: ['string', 'null'],
      channels: ['array', 'null'],
      'channels.0': ['string'],
      idempotencyKey: ['string', 'null'],
      expiresAt: ['string', 'null'],
    },
  },
];

it('knows every route that takes a body', () => {
  const taking = ROUTES.filter(({ body }) => body === 'required' || body === 'optional');
  const known = new Set(BODIES.map(({ name }) => name.replace(' of a range', '')));
  expect([...known].sort()).toEqual(taking.map(({ operation }) => operation).sort());
});

/** The fields beside it that a nested field needs, to be wrong in itself alone. */
const PARENTS: Record<string, unknown> = {
  filter: { dataPath: 'a', equals: 1 },
  'filter.0': [{ dataPath: 'a', equals: 1 }],
  retry: { delaysSeconds: [1], jitter: 0 },
  rateLimit: { perSecond: 1, burst: 1 },
  headers: {},
};

/** The object with the value at the dotted path; digits make arrays. */
function withField(base: Record<string, unknown>, path: string, value: unknown): Record<string, unknown> {
  const [first, ...rest] = path.split('.') as [string, ...string[]];
  if (rest.length === 0) return { ...base, [first]: value };
  const parent = structuredClone(PARENTS[rest[0] === '0' ? `${first}.0` : first] ?? []) as Record<
    string,
    unknown
  >;
  let place = parent;
  for (const name of rest.slice(0, -1)) place = place[name] as Record<string, unknown>;
  place[rest.at(-1)!] = value;
  return { ...base, [first]: parent };
}

const WRONG = BODIES.flatMap((body) =>
  Object.entries(body.fields).flatMap(([path, kinds]) =>
    (Object.keys(VALUES) as Kind[])
      .filter((kind) => !kinds.includes(kind))
      .map((kind) => [body.name, path, kind, body] as const),
  ),
);

describe('a field of another type', () => {
  it.each(WRONG)('%s: %s is a %s', async (_name, path, kind, body) => {
    const answer = await plane.ask(body.route(), { json: withField(body.base(), path, VALUES[kind]) });
    if (path === 'limit' || path === 'cursor') {
      expectError(answer, 'INVALID_QUERY');
      return;
    }
    expectError(answer, body.code);
    // The field itself, or what is wrong inside of it.
    const named = paths(answer);
    expect(named.length).toBeGreaterThan(0);
    for (const each of named) expect(`${each}.`.startsWith(`${path}.`)).toBe(true);
  });
});

describe('a field that there is not', () => {
  it.each(BODIES)('$name', async ({ route, base, code, fields }) => {
    for (const name of [
      'colour',
      'ID',
      ' url',
      '',
      '0',
      'toString',
      'hasOwnProperty',
      'valueOf',
      'then',
      'toJSON',
    ]) {
      expectIssues(await plane.ask(route(), { json: { ...base(), [name]: 1 } }), code, [name]);
    }
    const nested = Object.keys(fields).filter((name) => ['filter', 'retry', 'rateLimit'].includes(name));
    for (const name of nested) {
      const json = { ...base(), [name]: { ...(PARENTS[name] as object), colour: 1 } };
      expectIssues(await plane.ask(route(), { json }), code, [`${name}.colour`]);
    }
  });

  const none = ROUTES.filter(({ method, body }) => method === 'POST' && (body ?? 'none') === 'none');
  it.each(none)('$operation, which takes none', async ({ method, path }) => {
    for (const name of ['colour', 'limit', '__proto__', 'constructor', 'toString', '']) {
      const body = `{${JSON.stringify(name)}:1}`;
      const route = `${method} ${path.replace(':id', tenant.endpointId)}`;
      expectError(await plane.ask(route, { body }), 'INVALID_BODY');
    }
  });
});

describe('a name that reaches a prototype', () => {
  const NAMES = ['__proto__', 'constructor', 'prototype'];
  /** Every object that a body may hold, with a place for one more name. */
  const places = (name: string): [string, string][] => {
    const extra = `${JSON.stringify(name)}:{"polluted":"yes"}`;
    return [
      [`{"url":"${URL}",${extra}}`, name],
      [`{"url":"${URL}","filter":{"dataPath":"a","equals":1,${extra}}}`, `filter.${name}`],
      [`{"url":"${URL}","filter":[{"dataPath":"a","equals":1,${extra}}]}`, `filter.0.${name}`],
      [`{"url":"${URL}","filter":{"dataPath":"a","equals":{${extra}}}}`, `filter.equals.${name}`],
      [`{"url":"${URL}","filter":{"dataPath":"a","equals":[{"b":{${extra}}}]}}`, `filter.equals.0.b.${name}`],
      [`{"url":"${URL}","headers":{${extra}}}`, `headers.${name}`],
      [`{"url":"${URL}","headers":{"a":"b",${JSON.stringify(name)}:"text"}}`, `headers.${name}`],
      [`{"url":"${URL}","metadata":{${extra}}}`, `metadata.${name}`],
      [`{"url":"${URL}","metadata":{"a":[{${extra}}]}}`, `metadata.a.0.${name}`],
      [`{"url":"${URL}","retry":{"delaysSeconds":[1],${extra}}}`, `retry.${name}`],
      [`{"url":"${URL}","rateLimit":{"perSecond":1,${extra}}}`, `rateLimit.${name}`],
    ];
  };

  it.each(NAMES)('%s, anywhere in an endpoint', async (name) => {
    for (const [body, path] of places(name)) {
      for (const route of ['POST /endpoints', `PATCH /endpoints/${tenant.endpointId}`]) {
        const answer = await plane.ask(route, { body });
        expect({ body, status: answer.status, paths: paths(answer) }).toEqual({
          body,
          status: 422,
          paths: [path],
        });
      }
    }
    expect(({} as { polluted?: string }).polluted).toBeUndefined();
  });

  it.each(BODIES)('at the top of a body of $name', async ({ route, base, code }) => {
    for (const name of NAMES) {
      const fields = JSON.stringify(base()).slice(1, -1);
      const body = `{${fields}${fields && ','}${JSON.stringify(name)}:{"polluted":"yes","url":"${URL}"}}`;
      expectIssues(await plane.ask(route(), { body }), code, [name]);
    }
    expect(({} as { polluted?: string }).polluted).toBeUndefined();
  });

  it.each(['__proto__', 'a.__proto__.b', 'constructor', 'constructor.name', 'a.prototype'])(
    'in the dataPath of a filter: %s',
    async (dataPath) => {
      const json = { url: URL, filter: { dataPath, equals: 'Object' } };
      expectIssues(await plane.ask('POST /endpoints', { json }), 'ENDPOINT_VALIDATION', ['filter.dataPath']);
    },
  );
});

it('each code of a wrong field is a 422', () => {
  expect(new Set(BODIES.map(({ code }) => STATUS_BY_CODE[code]))).toEqual(new Set([422]));
});
