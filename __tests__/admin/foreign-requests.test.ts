import { createServerAdapter } from '@whatwg-node/server';
import { createAdminHandler } from '../../lib/admin/handler.js';
import { expectError } from './expectations.js';
import { answerOf, openPlane, type Plane, requestOf } from './plane.js';
import { countedBody, filler, inPieces } from './streams.js';

const ORIGIN = 'http://localhost';
const BODY = JSON.stringify({ url: 'https://example.com/hook', description: 'Zoë 東京 👩🏽‍🚀' });
const JSON_TYPE = { 'content-type': 'application/json' };

let plane: Plane;
let asked: Request[];
let onError: jest.Mock;
beforeAll(async () => {
  plane = await openPlane({ lifetime: 'file' });
});
beforeEach(() => {
  asked = [];
  onError = jest.fn();
});

const ask = (request: Request) => {
  const authorize = (shown: Request) => asked.push(shown) > 0;
  return answerOf(createAdminHandler(plane.sender, { authorize, onError })(request));
};

/** A request of the kind that `createServerAdapter` makes unless it is told otherwise. */
function light(path: string, init: RequestInit = {}): Request {
  const made: Request[] = [];
  const adapter = createServerAdapter((request) => {
    made.push(request);
    return new Response();
  });
  // It writes the length of the body into the headers that it is given.
  void adapter.fetch(`${ORIGIN}${path}`, {
    method: 'GET',
    ...init,
    headers: { ...init.headers } as HeadersInit,
  });
  return made[0]!;
}

/** One that only inherits from the native kind, as @hono/node-server makes it beside untouched globals. */
function derived(path: string, init: RequestInit = {}): Request {
  const inner = new Request(`${ORIGIN}${path}`, init);
  const read = ['method', 'url', 'headers', 'body', 'bodyUsed', 'signal'] as const;
  return Object.create(
    Request.prototype,
    Object.fromEntries(read.map((name) => [name, { get: () => inner[name] }])),
  ) as Request;
}

describe.each([
  ['made by a library', light],
  ['that only looks native', derived],
])('a request %s', (_kind, make) => {
  it('is answered, and authorize may read its body', async () => {
    const answer = await ask(make('/endpoints', { method: 'POST', headers: JSON_TYPE, body: BODY }));
    expect(answer).toMatchObject({ status: 201, body: JSON.parse(BODY) });
    const [shown] = asked;
    expect([shown!.method, shown!.url, shown!.headers.get('content-type')]).toEqual([
      'POST',
      `${ORIGIN}/endpoints`,
      'application/json',
    ]);
  });

  it('is shown to authorize as a native one, which can be cloned and wrapped', async () => {
    const authorize = async (shown: Request) => {
      const wrapped = new Request(shown.clone(), { headers: { 'x-added': '1' } });
      return (await wrapped.text()) === BODY && (await shown.text()) === BODY;
    };
    const handler = createAdminHandler(plane.sender, { authorize, onError });
    const request = make('/endpoints', { method: 'POST', headers: JSON_TYPE, body: BODY });
    expect((await answerOf(handler(request))).status).toBe(201);
    expect(onError).not.toHaveBeenCalled();
  });

  it('is given up when its signal says so', async () => {
    const abort = new AbortController();
    await ask(make('/endpoints', { method: 'POST', headers: JSON_TYPE, body: '{}', signal: abort.signal }));
    expect(asked[0]!.signal.aborted).toBe(false);
    abort.abort();
    expect(asked[0]!.signal.aborted).toBe(true);
  });
});

it('a request without a body that a library made is shown as a native one, too', async () => {
  expect((await ask(light('/endpoints', { headers: { 'x-a': '1' } }))).status).toBe(200);
  expect([asked[0] instanceof Request, asked[0]!.headers.get('x-a')]).toEqual([true, '1']);
});

it.each(['TRACE', 'CONNECT'])('a %s that a library made has no route', async (method) => {
  expectError(await ask(light('/endpoints', { method })), 'METHOD_NOT_ALLOWED');
  expect(asked[0]!.method).toBe(method);
});

it('a stream with nothing in it and no type is no body, as some hosts give every POST a stream', async () => {
  const post = (path: string, headers?: HeadersInit) =>
    ask(
      new Request(`${ORIGIN}${path}`, {
        method: 'POST',
        headers,
        body: countedBody([]).stream,
        duplex: 'half',
      } as RequestInit),
    );
  expect((await post('/keys/symmetric')).status).toBe(201);
  expectError(await post('/endpoints'), 'INVALID_BODY', 'The body is missing');
  expectError(await post('/keys/symmetric', { 'content-type': 'text/plain' }), 'UNSUPPORTED_MEDIA_TYPE');
});

it('a stream without a type is refused for it when there is something in it', async () => {
  const body = countedBody(inPieces(BODY));
  const init = { method: 'POST', body: body.stream, duplex: 'half' } as RequestInit;
  expectError(await ask(new Request(`${ORIGIN}/endpoints`, init)), 'UNSUPPORTED_MEDIA_TYPE');
  expect(body.pulled()).toBe(7);
});

it.each<[string, (request: Request) => unknown]>([
  ['has read', (request) => request.text()],
  ['is reading', (request) => request.body!.getReader()],
])('a body that the host %s is a fault that onError hears of, and no empty one', async (_how, take) => {
  const request = new Request(`${ORIGIN}/endpoints`, { method: 'POST', headers: JSON_TYPE, body: BODY });
  await take(request);
  const { status, body } = await ask(request);
  expect([status, body]).toEqual([
    500,
    { errorCode: 'INTERNAL', error: 'Internal error', requestId: expect.any(String) },
  ]);
  expect(onError.mock.calls).toEqual([
    [
      expect.objectContaining({ message: expect.stringContaining('has been read before') }),
      expect.anything(),
    ],
  ]);
});

it('a body that a parser in front of an adapter has read is missed, and not taken for none', async () => {
  const headers = { 'content-type': 'application/json', 'content-length': '20' };
  const request = requestOf('POST /endpoints/ep_a/rotate-secret', { headers });
  const onError = jest.fn();
  const handler = createAdminHandler(plane.sender, { authorize: () => true, onError });
  expect(await answerOf(handler(request))).toMatchObject({ status: 500, body: { errorCode: 'INTERNAL' } });
  expect(String(onError.mock.calls[0]?.[0])).toMatch(/has been read before/);
  expect((await answerOf(handler(requestOf('GET /tenants', { headers })))).status).toBe(200);
});

describe('the body of a request of the host’s own kind', () => {
  const MAX = 1000;

  /** Notes how its body is asked for, and gives `text` to who asks for all of it at once. */
  function noted(method: string, length: number | undefined, text: string | Error = BODY, isUsed = false) {
    const asked: string[] = [];
    const stream = countedBody(filler(MAX * 100, 100));
    const base = derived('/endpoints', {
      method,
      headers: { ...JSON_TYPE, ...(length !== undefined && { 'content-length': String(length) }) },
    });
    const request = Object.create(base, {
      body: { get: () => asked.push('body') && stream.stream },
      bodyUsed: { value: isUsed },
      arrayBuffer: {
        value: async () => {
          asked.push('arrayBuffer');
          if (text instanceof Error) throw text;
          return new TextEncoder().encode(text).buffer;
        },
      },
    }) as Request;
    return { request, asked, stream };
  }

  const handle = (request: Request, allow = true) => {
    const authorize = (shown: Request) => asked.push(shown) > 0 && allow;
    const handler = createAdminHandler(plane.sender, { authorize, onError, maxBodyBytes: MAX });
    return answerOf(handler(request));
  };

  it.each([
    ['GET', undefined, 200],
    ['HEAD', undefined, 200],
    ['POST', 0, 400],
    ['DELETE', 0, 405],
  ])('is not asked for when the head of a %s of length %s says that there is none', async (...row) => {
    const [method, length, status] = row;
    const { request, asked: ways } = noted(method, length);
    expect([(await handle(request)).status, ways]).toEqual([status, []]);
  });

  it.each([
    ['without a length', undefined],
    ['that is short', 20],
    ['that is too long', MAX + 1],
  ])('%s is not asked for before a denial', async (_which, length) => {
    const { request, asked: ways, stream } = noted('POST', length);
    expectError(await handle(request, false), 'FORBIDDEN');
    expect([ways, stream.pulled()]).toEqual([[], 0]);
  });

  it('that is short is asked for at once, and authorize and the route both have it', async () => {
    const { request, asked: ways } = noted('POST', Buffer.byteLength(BODY));
    const texts: string[] = [];
    const authorize = async (shown: Request) => texts.push(await shown.clone().text()) > 0;
    const handler = createAdminHandler(plane.sender, { authorize, onError, maxBodyBytes: MAX });
    expect((await answerOf(handler(request))).status).toBe(201);
    expect([texts, ways]).toEqual([[BODY], ['arrayBuffer']]);
  });

  it('that is too long is not asked for at all', async () => {
    const { request, asked: ways } = noted('POST', MAX + 1);
    expectError(await handle(request), 'BODY_TOO_LARGE');
    expect(ways).toEqual([]);
  });

  it.each([
    ['without a length', undefined],
    ['that is too long', MAX + 1],
  ])('%s is pulled up to the limit when authorize reads it', async (_which, length) => {
    const { request, asked: ways, stream } = noted('POST', length);
    const authorize = async (shown: Request) => (await shown.text()) !== '';
    const handler = createAdminHandler(plane.sender, { authorize, onError, maxBodyBytes: MAX });
    expectError(await answerOf(handler(request)), 'FORBIDDEN');
    expect(ways).toEqual(['body']);
    expect(stream.pulled()).toBeLessThanOrEqual(MAX + 100);
    expect(stream.canceled()).toBe(true);
  });

  it('that breaks off is no fault of ours', async () => {
    const { request } = noted('POST', 20, new Error('reset'));
    expectError(await handle(request), 'INVALID_BODY', 'The body broke off before its end');
    expect(onError).not.toHaveBeenCalled();
  });

  it.each([
    ['has read', BODY, true],
    ['has read and kept nothing of', '', false],
  ])('that the host %s is a fault that onError hears of', async (_how, text, isUsed) => {
    const { request } = noted('POST', 20, text, isUsed);
    expect(await handle(request)).toMatchObject({ status: 500, body: { errorCode: 'INTERNAL' } });
    expect(String(onError.mock.calls[0]?.[0])).toMatch(/has been read before/);
  });
});

it('a body that the host has read is no matter where the route needs none', async () => {
  const request = new Request(`${ORIGIN}/endpoints/x`, { method: 'DELETE', body: BODY });
  await request.text();
  expectError(await ask(request), 'ENDPOINT_NOT_FOUND');
});
