import { gzipSync } from 'node:zlib';
import { BODY_MS } from '../../lib/admin/body.js';
import { ROUTES } from '../../lib/admin/routes.js';
import { expectError, expectIssues } from './expectations.js';
import { plantTenant, type PlantedTenant } from './planted.js';
import { type Asked, dump, openPlane, type Plane } from './plane.js';
import { REQUESTS } from './route-cases.js';
import { countedBody, filler, inPieces } from './streams.js';

const LIMIT = 256 * 1024;
const URL = 'https://example.com/hook';
const READING = ROUTES.filter(({ method }) => method === 'POST' || method === 'PATCH');
const REQUIRED = READING.filter(({ body }) => body === 'required');
const OPTIONAL = READING.filter(({ body }) => body !== 'required');

let plane: Plane;
let tenant: PlantedTenant;
let before: unknown;
beforeAll(async () => {
  plane = await openPlane({ lifetime: 'file' });
  tenant = await plantTenant(plane, 'acme', 'mark');
});
const routeOf = (operation: string) => REQUESTS[operation]!(tenant).route;

describe('a body that is none', () => {
  beforeAll(async () => {
    before = await dump(plane);
  });
  afterEach(async () => expect(await dump(plane)).toEqual(before));

  const TEXTS: [string, string | Uint8Array][] = [
    ['half an object', '{"url":"https'],
    ['no JSON', 'url=https://example.com'],
    ['a comment', '{} // really'],
    ['two objects', '{}{}'],
    ['a trailing comma', '{"url":"x",}'],
    ['single quotes', "{'url':'x'}"],
    ['NaN', '{"perSecond":NaN}'],
    ['a hexadecimal number', '{"perSecond":0x10}'],
    ['a raw control character', '{"url":"\u0001"}'],
    ['blanks', '   '],
    ['an array', '[]'],
    ['an array of objects', '[{"url":"https://example.com"}]'],
    ['a string', '"text"'],
    ['a number', '1'],
    ['a boolean', 'true'],
    ['null', 'null'],
    ['a NUL', '\u0000'],
    ['UTF-16', Buffer.from('{"a":1}', 'utf16le')],
    ['invalid UTF-8', Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d])],
    ['a UTF-8 sequence that is cut', Buffer.concat([Buffer.from('{"a":"'), Buffer.from([0xe6, 0x9d])])],
    [
      'an overlong UTF-8 sequence',
      Buffer.concat([Buffer.from('{"a":"'), Buffer.from([0xc0, 0xaf]), Buffer.from('"}')]),
    ],
    [
      'a UTF-8 surrogate',
      Buffer.concat([Buffer.from('{"a":"'), Buffer.from([0xed, 0xa0, 0x80]), Buffer.from('"}')]),
    ],
    ['a name twice', '{"perSecond":1,"perSecond":2}'],
    ['a name twice, once escaped', '{"url":"https://a.example","\\u0075rl":"https://b.example"}'],
    ['a name twice, deep down', '{"metadata":{"a":[{"b":1,"c":{},"b":1}]}}'],
    ['__proto__ twice', '{"__proto__":1,"__proto__":2}'],
    ['too deep an object', `${'{"a":'.repeat(33)}1${'}'.repeat(33)}`],
    ['too deep an array', `{"a":${'['.repeat(32)}${']'.repeat(32)}}`],
    ['very deep arrays', `{"a":${'['.repeat(100_000)}${']'.repeat(100_000)}}`],
    ['very deep objects', `${'{"a":'.repeat(40_000)}1${'}'.repeat(40_000)}`],
    ['very deep and open', '['.repeat(200_000)],
    ['very many values', `{"a":[${'0,'.repeat(10_000)}0]}`],
    ['very many names', `{${Array.from({ length: 10_001 }, (_, n) => `"k${n}":0`).join()}}`],
  ];

  it.each(TEXTS)('%s', async (_name, text) => {
    for (const { operation } of READING) {
      expectError(await plane.ask(routeOf(operation), { body: text as BodyInit }), 'INVALID_BODY');
    }
  });

  it('breaks off', async () => {
    for (const { operation } of READING) {
      for (const text of ['', '{"url":"https://exam', '{}']) {
        const body = countedBody([...inPieces(text), new Error('the client is gone')]).stream;
        expectError(await plane.ask(routeOf(operation), { body }), 'INVALID_BODY');
      }
    }
    expect(plane.faults).toEqual([]);
  });

  it('does not come to its end', async () => {
    jest.useFakeTimers({ doNotFake: ['setImmediate', 'nextTick', 'queueMicrotask'] });
    try {
      for (const text of ['', '{"url":"https://exam']) {
        const body = new ReadableStream({
          start: (controller) => controller.enqueue(new TextEncoder().encode(text)),
        });
        const asked = plane.ask(routeOf('endpoints.create'), { body });
        await jest.advanceTimersByTimeAsync(BODY_MS);
        expectError(await asked, 'INVALID_BODY', 'The body did not arrive within 20 seconds');
      }
    } finally {
      jest.useRealTimers();
    }
  });

  it.each(REQUIRED)('$operation needs one', async ({ operation }) => {
    const route = routeOf(operation);
    for (const asked of [
      {},
      { body: '' },
      { body: countedBody([]).stream },
      { body: countedBody([new Uint8Array(0), new Uint8Array(0)]).stream },
      { headers: { 'content-type': 'application/json', 'content-length': '0' } },
    ]) {
      expectError(await plane.ask(route, asked), 'INVALID_BODY', 'The body is missing');
    }
  });
});

describe('a body that is too large', () => {
  it.each(READING)('$operation reads no more than the limit and a chunk', async ({ operation }) => {
    before = await dump(plane);
    const chunk = 16_384;
    const body = countedBody(filler(10 * 1024 * 1024, chunk));
    expectError(await plane.ask(routeOf(operation), { body: body.stream }), 'BODY_TOO_LARGE');
    expect(body.pulled()).toBeLessThanOrEqual(LIMIT + chunk);
    expect(body.canceled()).toBe(true);
    expect(await dump(plane)).toEqual(before);
  });

  it('is not read at all when its length says so', async () => {
    const body = countedBody(filler(LIMIT + 1));
    const headers = { 'content-length': String(LIMIT + 1) };
    expectError(await plane.ask('POST /endpoints', { body: body.stream, headers }), 'BODY_TOO_LARGE');
    expect(body.pulled()).toBe(0);
  });

  it('is too large whatever its length says', async () => {
    for (const length of ['10', '-1', 'x', '1e9x', '']) {
      const body = countedBody(filler(LIMIT * 2));
      const asked = { body: body.stream, headers: { 'content-length': length } };
      expectError(await plane.ask('POST /endpoints', asked), 'BODY_TOO_LARGE');
      expect(body.pulled()).toBeLessThanOrEqual(LIMIT + 16_384);
    }
  });

  it('is none, and not read, when its length says 0', async () => {
    const body = countedBody(filler(LIMIT * 2));
    const asked = { body: body.stream, headers: { 'content-length': '0' } };
    expectError(await plane.ask('POST /endpoints', asked), 'INVALID_BODY', 'The body is missing');
    expect(body.pulled()).toBe(0);
  });

  it('is one byte more than the limit, in one piece or in many', async () => {
    const text = JSON.stringify({ url: URL, description: 'x' });
    for (const size of [LIMIT, 1000, 7]) {
      const largest = text.padEnd(LIMIT, ' ');
      const fits = await plane.ask('POST /endpoints', { body: countedBody(inPieces(largest, size)).stream });
      expect(fits.status).toBe(201);
      const body = countedBody(inPieces(`${largest} `, size)).stream;
      expectError(await plane.ask('POST /endpoints', { body }), 'BODY_TOO_LARGE');
    }
  });

  it('has the limit of the configuration', async () => {
    const small = await openPlane({ admin: { authorize: () => true, maxBodyBytes: 50 } });
    const body = JSON.stringify({ url: URL }).padEnd(50);
    expect((await small.ask('POST /endpoints', { body })).status).toBe(201);
    expectError(await small.ask('POST /endpoints', { body: `${body} ` }), 'BODY_TOO_LARGE');
    for (const maxBodyBytes of [0, -1, 1.5, Number.NaN, '5' as unknown as number]) {
      await expect(openPlane({ admin: { maxBodyBytes } })).rejects.toThrow('maxBodyBytes');
    }
  });
});

it('the body of a request whose query is wrong is not read', async () => {
  for (const { operation } of READING) {
    const body = countedBody(inPieces('{}'));
    expectError(await plane.ask(`${routeOf(operation)}?colour=red`, { body: body.stream }), 'INVALID_QUERY');
    expect(body.pulled()).toBe(0);
  }
});

describe('a body of another type', () => {
  const TYPES = [
    'text/plain',
    'text/json',
    'application/x-www-form-urlencoded',
    'multipart/form-data; boundary=x',
    'application/octet-stream',
    'application/xml',
    'application/jsonp',
    'application/json5',
    'application/x-json',
    'application/json-seq',
    'application/+json',
    'xapplication/json',
    'application/json/x',
    'application/json, text/plain',
    'text/plain, application/json',
    'text/plain; application/json',
    'json',
    '*/*',
    'application/*',
  ];

  it.each(TYPES)('%s', async (type) => {
    before = await dump(plane);
    for (const { operation } of READING) {
      const body = countedBody(inPieces(JSON.stringify({ url: URL })));
      const asked = { body: body.stream, headers: { 'content-type': type } };
      expectError(await plane.ask(routeOf(operation), asked), 'UNSUPPORTED_MEDIA_TYPE');
      expect(body.pulled()).toBe(0);
    }
    expect(await dump(plane)).toEqual(before);
  });

  it('none', async () => {
    const body = countedBody(inPieces(JSON.stringify({ url: URL }))).stream;
    const asked = { body, headers: { 'content-type': '' } };
    expectError(await plane.ask('POST /endpoints', asked), 'UNSUPPORTED_MEDIA_TYPE');
  });

  it.each(['gzip', 'GZIP', 'deflate', 'br', 'zstd', 'x', 'identity, gzip', 'gzip, identity'])(
    'compressed: %s',
    async (encoding) => {
      const packed = gzipSync(JSON.stringify({ url: URL }));
      for (const body of [packed, JSON.stringify({ url: URL })]) {
        const asked = { body: body as BodyInit, headers: { 'content-encoding': encoding } };
        expectError(await plane.ask('POST /endpoints', asked), 'UNSUPPORTED_MEDIA_TYPE');
      }
    },
  );

  it.each([
    'application/json',
    'Application/JSON',
    'application/json;charset=utf-8',
    'application/json ; charset=UTF-8',
    'application/merge-patch+json',
    'application/vnd.example.v1+json; x=y',
  ])('but not %s', async (type) => {
    const asked = { json: { url: URL }, headers: { 'content-type': type, 'content-encoding': 'identity' } };
    expect((await plane.ask('POST /endpoints', asked)).status).toBe(201);
  });
});

describe('a body that may be left out', () => {
  it.each(OPTIONAL)('$operation takes none, an empty one, and {}', async ({ operation }) => {
    const statuses: number[] = [];
    const empty: Asked[] = [
      {},
      { body: '' },
      { body: countedBody([]).stream },
      { headers: { 'content-length': '0' } },
      { headers: { 'content-type': 'text/plain', 'content-length': '0' } },
      { headers: { 'content-type': 'application/json' } },
      { body: '{}' },
      { body: ' {\n} ' },
      { body: countedBody(inPieces('{ }', 1)).stream },
    ];
    for (const asked of empty) {
      const { status } = await plane.ask(routeOf(operation), asked);
      statuses.push(status);
    }
    expect(new Set(statuses)).toEqual(new Set([operation.startsWith('keys') ? 201 : 200]));
  });

  it('is not looked at where it has no meaning', async () => {
    for (const body of ['{', '[]', 'x'.repeat(LIMIT + 1)]) {
      const { id } = await plane.sender.endpoints.create({ url: URL });
      const asked = { body, headers: { 'content-type': 'text/plain' } };
      expect(await plane.ask(`DELETE /endpoints/${id}`, asked)).toMatchObject({ status: 204, text: '' });
    }
  });
});

describe('a body in pieces', () => {
  it.each([1, 2, 3, 5, 1000])('of %i bytes is the same as in one', async (size) => {
    const description = 'Zoë 東京 👩🏽‍🚀 \u2028 \ud83d\ude80';
    const text = JSON.stringify({ url: URL, description });
    const body = countedBody(inPieces(text, size)).stream;
    expect(await plane.ask('POST /endpoints', { body })).toMatchObject({
      status: 201,
      body: { description },
    });
  });

  it('may begin with a byte order mark', async () => {
    const body = `\ufeff${JSON.stringify({ url: URL })}`;
    expect((await plane.ask('POST /endpoints', { body })).status).toBe(201);
  });

  it('may be as deep and as large as the limits say', async () => {
    const deepest = `{"url":"${URL}","metadata":${'{"a":'.repeat(30)}[1]${'}'.repeat(30)}}`;
    expect((await plane.ask('POST /endpoints', { body: deepest })).status).toBe(201);
    const deeper = `{"url":"${URL}","metadata":${'{"a":'.repeat(31)}[1]${'}'.repeat(31)}}`;
    expectError(await plane.ask('POST /endpoints', { body: deeper }), 'INVALID_BODY');
  });

  it('keeps names twice in different objects, and names in texts', async () => {
    const metadata = { a: { x: 1 }, b: { x: 1 }, c: ['"x":1,"x":2', 'x', 'x', '\\"'], '"x': '{', x: ':' };
    const answer = await plane.ask('POST /endpoints', { json: { url: URL, metadata } });
    expect(answer).toMatchObject({ status: 201, body: { metadata } });
  });

  it('keeps numbers that JSON cannot hold out', async () => {
    const body = `{"url":"${URL}","metadata":{"a":1e400}}`;
    expectIssues(await plane.ask('POST /endpoints', { body }), 'ENDPOINT_VALIDATION', ['metadata.a']);
  });
});
