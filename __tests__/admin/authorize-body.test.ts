import type { Authorize } from '../../lib/admin/authorize.js';
import { createAdminHandler } from '../../lib/admin/handler.js';
import { ROUTES } from '../../lib/admin/routes.js';
import { anId, expectError } from './expectations.js';
import { answerOf, dump, openPlane, type Plane, requestOf } from './plane.js';
import { countedBody, filler, inPieces } from './streams.js';

const MAX = 1000;
let plane: Plane;
let onError: jest.Mock;
beforeAll(async () => {
  plane = await openPlane({ lifetime: 'file' });
});
beforeEach(() => {
  onError = jest.fn();
});

function ask(authorize: Authorize, route: string, body: BodyInit) {
  const handler = createAdminHandler(plane.sender, { authorize, maxBodyBytes: MAX, onError });
  return answerOf(handler(requestOf(route, { body })));
}

const DESCRIPTION = 'Zoë 東京 👩🏽‍🚀'.repeat(5);
const BODY = JSON.stringify({ url: 'https://example.com/hook', description: DESCRIPTION });
const WITH_BODY = ROUTES.filter(({ method }) => method !== 'GET');

describe('§5 before a denial', () => {
  it.each(WITH_BODY)('nothing of the body of $method $path is read', async ({ method, path }) => {
    for (const authorize of [
      () => false,
      () => ({ allow: false, status: 401 as const }),
      async () => false,
    ]) {
      const body = countedBody(inPieces(BODY));
      const answer = await ask(authorize, `${method} ${path.replace(':id', 'x')}`, body.stream);
      expect([401, 403]).toContain(answer.status);
      expect(body.pulled()).toBe(0);
    }
  });

  it('nothing is read by looking at the body, or by cloning the request', async () => {
    const body = countedBody(inPieces(BODY));
    const authorize: Authorize = async (request) => {
      request.clone();
      await new Promise(setImmediate);
      return request.body === null || request.bodyUsed;
    };
    expectError(await ask(authorize, 'POST /endpoints', body.stream), 'FORBIDDEN');
    expect(body.pulled()).toBe(0);
  });

  it('nothing is read while the callback makes up its mind', async () => {
    const body = countedBody(inPieces(BODY));
    let allow = (_decision: boolean) => {};
    const decision = new Promise<boolean>((resolve) => {
      allow = resolve;
    });
    const answering = ask(() => decision, 'POST /endpoints', body.stream);
    await new Promise(setImmediate);
    expect(body.pulled()).toBe(0);
    allow(true);
    expect((await answering).status).toBe(201);
    expect(body.pulled()).toBe(Buffer.byteLength(BODY));
  });

  it('no more is read than the callback asks for', async () => {
    const body = countedBody(inPieces(BODY));
    const authorize: Authorize = async (request) => {
      await request.body!.getReader().read();
      return false;
    };
    expectError(await ask(authorize, 'POST /endpoints', body.stream), 'FORBIDDEN');
    expect(body.pulled()).toBe(7);
  });

  it.each(['DELETE /endpoints/x', 'POST /nowhere', 'PUT /endpoints', 'POST /tenants/other/rate-limit'])(
    'nothing of the body of %s is read after it either',
    async (route) => {
      const body = countedBody(inPieces(BODY));
      const answer = await ask(() => ({ allow: true, tenantId: 'acme' }), route, body.stream);
      expect([403, 404, 405]).toContain(answer.status);
      expect(body.pulled()).toBe(0);
    },
  );
});

const READERS: [string, Authorize][] = [
  ['not at all', () => true],
  ['whole, as text', async (request) => (await request.text()) === BODY],
  ['whole, as JSON', async (request) => ((await request.json()) as { url: string }).url.endsWith('hook')],
  [
    'whole, as bytes',
    async (request) => (await request.arrayBuffer()).byteLength === Buffer.byteLength(BODY),
  ],
  ['whole, as a blob', async (request) => (await request.blob()).size === Buffer.byteLength(BODY)],
  ['by a clone', async (request) => (await request.clone().text()) === BODY],
  [
    'by a clone and by itself',
    async (request) => (await request.clone().text()) === BODY && (await request.text()) === BODY,
  ],
  [
    'by two clones at once',
    async (request) => {
      const texts = await Promise.all([request.clone().text(), request.clone().text()]);
      return texts.every((text) => text === BODY);
    },
  ],
  [
    'in part',
    async (request) => {
      const reader = request.body!.getReader();
      const { value } = await reader.read();
      reader.releaseLock();
      return value!.byteLength > 0;
    },
  ],
  [
    'in part, and then given up',
    async (request) => {
      for await (const _chunk of request.body!) break;
      return true;
    },
  ],
  [
    'with memory of its own',
    async (request) => {
      const reader = request.body!.getReader({ mode: 'byob' });
      let size = 0;
      for (;;) {
        const { done, value } = await reader.read(new Uint8Array(64));
        size += value?.byteLength ?? 0;
        if (done) return size === Buffer.byteLength(BODY);
      }
    },
  ],
  [
    'given up at once',
    async (request) => {
      await request.body!.cancel();
      return true;
    },
  ],
  [
    'without waiting for it',
    (request) => {
      request.text().catch(() => {});
      return true;
    },
  ],
  [
    'as something that it is not',
    async (request) => {
      await request.formData().catch(() => {});
      return true;
    },
  ],
];

describe('§5.1 a callback that reads the body does not take it from the route', () => {
  it.each(READERS)('%s', async (_name, authorize) => {
    for (const body of [BODY, countedBody(inPieces(BODY)).stream, countedBody(inPieces(BODY, 5000)).stream]) {
      const answer = await ask(authorize, 'POST /endpoints', body);
      expect(answer).toMatchObject({ status: 201, body: { description: DESCRIPTION } });
    }
    expect(onError).not.toHaveBeenCalled();
  });

  it.each(READERS)('%s, of a request without one', async (_name, authorize) => {
    const read: Authorize = async (request, info) => {
      if (request.body !== null) return authorize(request, info);
      return (await request.text()) === '';
    };
    const handler = createAdminHandler(plane.sender, { authorize: read });
    expect((await handler(requestOf('GET /endpoints'))).status).toBe(200);
    expect((await handler(requestOf('POST /keys/symmetric'))).status).toBe(201);
  });
});

describe('§5.1 a callback that reads a body that is too large', () => {
  const tooLarge = () => countedBody(filler(1_000_000, 400));

  it('is told so, and is in error when it does not mind', async () => {
    const before = await dump(plane);
    const body = tooLarge();
    const answer = await ask(
      async (request) => (await request.text()) !== '',
      'POST /endpoints',
      body.stream,
    );
    expectError(answer, 'FORBIDDEN');
    const fault = expect.objectContaining({ code: 'BODY_TOO_LARGE' });
    expect(onError).toHaveBeenCalledWith(fault, { requestId: anId('req') });
    expect(body.pulled()).toBeLessThanOrEqual(MAX + 400);
    expect(await dump(plane)).toEqual(before);
  });

  it('leaves the refusal to the route when it catches that', async () => {
    const body = tooLarge();
    const authorize: Authorize = async (request) => request.text().then(Boolean, () => true);
    expectError(await ask(authorize, 'POST /endpoints', body.stream), 'BODY_TOO_LARGE');
    expect(body.pulled()).toBeLessThanOrEqual(MAX + 400);
    expect(body.canceled()).toBe(true);
    expect(onError).not.toHaveBeenCalled();
  });

  it('leaves the refusal of a body that breaks off to the route, too', async () => {
    const body = countedBody([...inPieces(BODY.slice(0, 20)), new Error('reset')]);
    const authorize: Authorize = async (request) => request.text().then(Boolean, () => true);
    expectError(await ask(authorize, 'POST /endpoints', body.stream), 'INVALID_BODY');
  });
});
