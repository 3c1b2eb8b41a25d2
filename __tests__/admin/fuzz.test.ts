import fc from 'fast-check';
import { STATUS_BY_CODE } from '../../lib/admin/response.js';
import { onPostgres } from '../support/test-store.js';
import { expectOwnHeaders, METRICS_TYPE } from './expectations.js';
import { plantTenant, plantWorker, type PlantedTenant } from './planted.js';
import { type Answer, type Asked, openPlane, type Plane } from './plane.js';
import { MORE_REQUESTS, REQUESTS } from './route-cases.js';

/** Most of what is asked never comes to a store: on PostgreSQL, where a run takes twice as long, less of it is enough. */
const RUNS = onPostgres ? 60 : 160;
const REQUESTS_A_RUN = 25;

let plane: Plane;
beforeAll(async () => {
  plane = await openPlane({ lifetime: 'file' });
  await plantWorker(plane);
});

/** Text that breaks things: escapes, separators, names of every object, what JSON and SQL are made of. */
const nasty = fc.oneof(
  fc.string(),
  fc.string({ unit: 'binary' }),
  fc.constantFrom(
    '',
    ' ',
    '.',
    '..',
    '/',
    '//',
    '%',
    '%zz',
    '%00',
    '%2F',
    '%25',
    '\u0000',
    '\ud800',
    '\u202e',
    '?',
    '#',
    '&',
    '=',
    '__proto__',
    'constructor',
    'prototype',
    'toString',
    'null',
    'undefined',
    'NaN',
    '-1',
    '0',
    '1e9',
    '9'.repeat(30),
    "' or 1=1 --",
    '"',
    '\\',
    '{"a":1}',
    '[]',
    '*',
    'order.*',
    'whsec_',
    '2026-02-30',
    '2026-01-01T00:00:00+02:00',
  ),
);

/** One change of a text: cut out, put in, said twice. */
const textChange = fc.tuple(fc.nat(), fc.nat(20), nasty).map(([at, cut, add]) => (text: string) => {
  const start = at % (text.length + 1);
  return text.slice(0, start) + add + text.slice(start + cut);
});

const jsonValue = fc.oneof(
  fc.jsonValue({ maxDepth: 3 }),
  nasty,
  fc.double(),
  fc.constantFrom(null, true, false, 0, -0, 1, 1.5, -1, 1e300, Number.MAX_SAFE_INTEGER, [], {}, [[]], [null]),
  fc.constantFrom<unknown>(
    { dataPath: 'a.b', equals: 1 },
    [{ dataPath: 'a', equals: null }],
    { perSecond: 1 },
    { delaysSeconds: [1, 2] },
    { 'x-a': 'b' },
    ['order.*'],
    'https://example.org/x',
    'http://169.254.169.254/',
    'active',
    'failed',
  ),
);
const fieldName = fc.oneof(
  fc.constantFrom(
    'url',
    'tenantId',
    'secret',
    'description',
    'types',
    'channels',
    'filter',
    'headers',
    'metadata',
    'retry',
    'rateLimit',
    'maxInFlight',
    'timeoutMs',
    'overlapSeconds',
    'messageId',
    'endpointId',
    'since',
    'until',
    'status',
    'dryRun',
    'freshId',
    'limit',
    'cursor',
    'perSecond',
    'burst',
    'filterFn',
    'transform',
    'id',
  ),
  nasty,
);

/** One change of an object: a field set, renamed or taken away. */
const objectChange = fc
  .tuple(fieldName, fc.option(jsonValue, { nil: undefined, freq: 5 }))
  .map(([name, value]) => (object: Record<string, unknown>) => {
    const changed = { ...object };
    // As own properties, also where the name is __proto__.
    Object.defineProperty(changed, name, { value, enumerable: true, configurable: true, writable: true });
    return changed;
  });

const parameter = fc.tuple(
  fc.oneof(
    fc.constantFrom('limit', 'cursor', 'type', 'status', 'since', 'until', 'tenantId', 'endpointId'),
    nasty,
  ),
  fc.oneof(
    fc.constantFrom('1', '5', '100', 'active', 'pending', 'failed', 'acme', '2026-01-01', 'a,b'),
    nasty,
  ),
);

const contentType = fc.constantFrom(
  'application/json',
  'application/json; charset=utf-8',
  'application/merge-patch+json',
  'text/plain',
  '',
  'x',
);

/** Most parts of a request are right, so that what is wrong with another part is reached. */
function mostly<T>(right: T, other: fc.Arbitrary<T>): fc.Arbitrary<T> {
  return fc.oneof({ weight: 3, arbitrary: fc.constant(right) }, { weight: 1, arbitrary: other });
}

const request = fc.record({
  name: fc.constantFrom(...Object.keys({ ...REQUESTS, ...MORE_REQUESTS })),
  known: fc.boolean(),
  as: fc.constantFrom(undefined, 'acme', 'other'),
  method: mostly<string | undefined>(
    undefined,
    fc.constantFrom('GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE', 'CONNECT', 'x', ''),
  ),
  pathChanges: mostly([], fc.array(textChange, { maxLength: 2 })),
  raw: fc.boolean(),
  parameters: mostly([], fc.array(parameter, { maxLength: 2 })),
  search: mostly<string | undefined>(undefined, nasty),
  objectChanges: fc.array(objectChange, { maxLength: 3 }),
  textChanges: mostly([], fc.array(textChange)),
  contentType: mostly('application/json', contentType),
});
type Fuzzed = typeof request extends fc.Arbitrary<infer T> ? T : never;

/** What every answer to whatever keeps to. */
function expectSound(answer: Answer, method: string): void {
  const { status, text, body } = answer;
  expect(status).toBeGreaterThanOrEqual(200);
  expect(status).toBeLessThan(500);
  const isMetrics = status === 200 && answer.headers.get('content-type') === METRICS_TYPE;
  expectOwnHeaders(answer, isMetrics ? METRICS_TYPE : undefined);
  if (method === 'HEAD' || status === 204) {
    expect(text).toBe('');
    return;
  }
  if (isMetrics) {
    expect(text).toMatch(/^# HELP hookplane_/);
    return;
  }
  if (status < 300) {
    expect(typeof body).toBe('object');
    return;
  }
  expect(STATUS_BY_CODE[body.errorCode as keyof typeof STATUS_BY_CODE]).toBe(status);
  expect(typeof body.error).toBe('string');
  expect(Object.keys(body).filter((name) => !['errorCode', 'error', 'issues'].includes(name))).toEqual([]);
  for (const issue of body.issues ?? []) {
    expect(issue).toEqual({ path: expect.any(String), message: expect.any(String) });
  }
}

/** A surrogate without its other half cannot be written as UTF-8. */
const wellFormed = (text: string) => text.replace(/[\ud800-\udfff]/gu, '\ufffd');

function prepare(fuzzed: Fuzzed, targets: PlantedTenant[]): { route: string; method: string; asked: Asked } {
  const missing = { tenantId: 'nobody', endpointId: 'ep_none', messageId: 'msg_none' };
  const target = fuzzed.known ? targets[fuzzed.as === 'other' ? 1 : 0]! : missing;
  const { route, json } = { ...REQUESTS, ...MORE_REQUESTS }[fuzzed.name]!(target);
  const [wanted, url] = route.split(' ') as [string, string];
  const method = fuzzed.method ?? wanted;
  const [path, query] = url.split('?') as [string, string | undefined];

  const changed = fuzzed.pathChanges.reduce((text, change) => change(text), path);
  const pairs = fuzzed.parameters.map((pair) =>
    pair.map((text) => encodeURIComponent(wellFormed(text))).join('='),
  );
  const search = [query, ...pairs, fuzzed.search].filter((each) => each !== undefined).join('&');

  const object = fuzzed.objectChanges.reduce(
    (value, change) => change(value),
    (json ?? {}) as Record<string, unknown>,
  );
  const body = fuzzed.textChanges.reduce((text, change) => change(text), JSON.stringify(object));
  // A Request has no body with these methods, and cannot be made at all with others.
  const shown = ['POST', 'PATCH', 'PUT', 'DELETE', 'GET', 'HEAD', 'OPTIONS'].includes(method)
    ? method
    : 'POST';
  const bodiless =
    shown === 'GET' || shown === 'HEAD' || (json === undefined && fuzzed.objectChanges.length === 0);
  return {
    route: `${shown} /${encodeURI(wellFormed(changed)).replace(/^\/+/, '')}${search && `?${search}`}`,
    method,
    asked: {
      ...(fuzzed.as !== undefined && { as: fuzzed.as }),
      ...(!bodiless && { body: wellFormed(body), headers: { 'content-type': fuzzed.contentType } }),
      context: { method, ...(fuzzed.raw && { path: changed }) },
    },
  };
}

it('answers whatever it is asked, and never with a fault of its own', async () => {
  const statuses = new Map<number, number>();
  await fc.assert(
    fc.asyncProperty(
      fc.array(request, { minLength: REQUESTS_A_RUN, maxLength: REQUESTS_A_RUN }),
      async (requests) => {
        // From the beginning: the run before may have deleted them, or left much behind.
        for (const id of ['acme', 'other']) await plane.sender.tenants.delete(id).catch(() => {});
        const targets = [await plantTenant(plane, 'acme', 'mark'), await plantTenant(plane, 'other', 'mark')];
        for (const fuzzed of requests) {
          const { route, method, asked } = prepare(fuzzed, targets);
          const answer = await plane.ask(route, asked);
          expectSound(answer, method);
          statuses.set(answer.status, (statuses.get(answer.status) ?? 0) + 1);
        }
      },
    ),
    { numRuns: RUNS },
  );
  expect(plane.faults).toEqual([]);
  expect([...statuses.values()].reduce((sum, count) => sum + count, 0)).toBeGreaterThanOrEqual(
    0.75 * RUNS * REQUESTS_A_RUN,
  );
  // It got beyond the first check.
  for (const status of [200, 201, 204, 400, 403, 404, 405, 415, 422])
    expect([...statuses.keys()]).toContain(status);
}, 240_000);
