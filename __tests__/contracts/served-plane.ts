import { EventEmitter, once } from 'node:events';
import http from 'node:http';
import type { Authorize } from '../../lib/admin/authorize.js';
import type { AdminHandlerOptions } from '../../lib/admin/handler.js';
import type { Sender } from '../../lib/sender/sender.js';
import { type Answer, exchange, open, type Sent, send } from '../express/http.js';
import { onCleanUp } from '../support/clean-up.js';
import { startSender, type TestSender } from '../support/sender.js';

/** Where a control plane is served. */
export interface ServingHost {
  /** The public path of its root. */
  prefix: string;
  /** Serves it as an application on this host would, and answers the port. It is closed when the file's tests end. */
  serve(sender: Sender, options: AdminHandlerOptions): Promise<number>;
  /** The status of a path with a broken escape, for a host that answers it itself. @default 400 */
  brokenEscapeStatus?: number;
}

const JSON_TYPE = { 'content-type': 'application/json' };
const ENDPOINT = { url: 'https://receiver.test/hook' };
const BODY = JSON.stringify(ENDPOINT);
/** Comes in several chunks, which cut characters in two. */
const LARGE = { ...ENDPOINT, metadata: { note: 'Zoë 東京 👩🏽‍🚀 '.repeat(5000) } };
const TOO_LARGE = JSON.stringify({ ...ENDPOINT, description: 'x'.repeat(1_000_000) });

/**
 * What a caller of the control plane and its authorize callback may rely on, whatever host serves it: Fetch-native
 * ones and those that are given the middleware. What the middleware promises beside that is in `mount.ts`.
 */
export function servedPlaneContract({ prefix, serve, brokenEscapeStatus = 400 }: ServingHost): void {
  let sender: TestSender;
  let port: number;
  let authorize: Authorize;
  const onError = jest.fn();
  const handling = new EventEmitter();

  beforeAll(async () => {
    sender = await startSender({ started: false, lifetime: 'file' });
    port = await serve(sender, { authorize: (request, info) => authorize(request, info), onError });
  });
  beforeEach(() => {
    authorize = () => true;
    onError.mockClear();
  });

  const ask = (sent: Sent): Promise<Answer> =>
    send(port, { ...sent, path: `${prefix}${sent.path ?? '/health'}` });
  const post = (path: string, body: string | Buffer, sent: Sent = {}): Promise<Answer> =>
    ask({ method: 'POST', path, headers: JSON_TYPE, body, ...sent });
  const codeOf = ({ text }: Answer): string => (JSON.parse(text) as { errorCode: string }).errorCode;
  const verdictOf = (answer: Answer): [number, string] => [answer.status, codeOf(answer)];
  const endpointCount = async (): Promise<number> =>
    (await sender.endpoints.list({ limit: 1000 })).endpoints.length;

  describe('paths', () => {
    it('are those below the mount', async () => {
      const created = await post('/endpoints', BODY);
      expect([created.status, JSON.parse(created.text)]).toMatchObject([201, ENDPOINT]);
      const { id } = JSON.parse(created.text) as { id: string };
      const read = await ask({ path: `/endpoints/${id}` });
      expect([read.status, JSON.parse(read.text)]).toMatchObject([200, { id }]);
      expect((await ask({ path: '/endpoints/' })).status).toBe(200);
    });

    it('are told by Location in a way that leads to what was made', async () => {
      for (const path of ['/endpoints', '/endpoints/']) {
        const { headers, text } = await post(path, BODY);
        const url = new URL(headers.location!, `http://127.0.0.1:${port}${prefix}${path}`);
        const read = await send(port, { path: url.pathname });
        expect([read.status, JSON.parse(read.text).id]).toEqual([200, JSON.parse(text).id]);
      }
    });

    it('keep an escaped slash inside its segment, and are decoded once', async () => {
      const params: unknown[] = [];
      authorize = (_request, info) => params.push(info.params) > 0;
      for (const segment of ['a%2Fb', 'a%252Fb', 'a%20b', '%C3%BC', 'a%3Fb%23c']) {
        expect(verdictOf(await ask({ path: `/tenants/${segment}` }))).toEqual([404, 'TENANT_NOT_FOUND']);
      }
      const ids = ['a/b', 'a%2Fb', 'a b', 'ü', 'a?b#c'];
      expect(params.map((each) => ({ ...(each as object) }))).toEqual(ids.map((id) => ({ id })));
    });

    it('with a broken escape are refused, by the host or by the control plane', async () => {
      expect((await ask({ path: '/endpoints/%E0%A4%A' })).status).toBe(brokenEscapeStatus);
    });

    it('that do not exist are answered 404 in JSON', async () => {
      for (const path of ['/', '/nowhere', '/endpoints/x/y', `${prefix || '/x'}/endpoints`]) {
        expect(verdictOf(await ask({ path }))).toEqual([404, 'ROUTE_NOT_FOUND']);
        expect(verdictOf(await post(path, '{}'))).toEqual([404, 'ROUTE_NOT_FOUND']);
      }
    });

    it('that only begin like the mount, or lie beside it, lead to nothing', async () => {
      for (const path of [
        `${prefix || '/y'}x/endpoints`,
        `/x${prefix}/endpoints`,
        `/endpoints${prefix}/y/z`,
      ]) {
        expect((await send(port, { path })).status).toBe(404);
      }
    });

    it('asked for by a method that they do not have are answered 405 with those they have', async () => {
      for (const method of ['PUT', 'DELETE', 'OPTIONS']) {
        const answer = await ask({ method, path: '/endpoints' });
        expect([...verdictOf(answer), answer.headers.allow]).toEqual([
          405,
          'METHOD_NOT_ALLOWED',
          'GET, HEAD, POST',
        ]);
      }
    });
  });

  describe('a query', () => {
    it('arrives as it was sent, repeated names included', async () => {
      const urls: string[] = [];
      authorize = ({ url }) => urls.push(url) > 0;
      const query = '?type=a&type=b%2Bc&since=2026-01-01T00:00:00%2B02:00';
      expect((await ask({ path: `/messages${query}` })).status).toBe(200);
      expect(urls.map((url) => url.slice(url.indexOf('?')))).toEqual([query]);
    });

    it('with something unknown in it is refused', async () => {
      expect(verdictOf(await ask({ path: '/messages?c[d]=e' }))).toEqual([400, 'INVALID_QUERY']);
    });
  });

  describe('a body', () => {
    it('arrives with a length and without', async () => {
      for (const chunked of [false, true]) {
        const { status, text } = await post('/endpoints', JSON.stringify(LARGE), { chunked });
        expect([status, (JSON.parse(text) as typeof LARGE).metadata.note === LARGE.metadata.note]).toEqual([
          201,
          true,
        ]);
      }
    });

    it.each([
      ['{}', [422, 'ENDPOINT_VALIDATION']],
      ['[]', [400, 'INVALID_BODY']],
      ['null', [400, 'INVALID_BODY']],
      ['"text"', [400, 'INVALID_BODY']],
      ['{', [400, 'INVALID_BODY']],
      ['', [400, 'INVALID_BODY']],
    ])('of %j is answered, not waited for', async (body, verdict) => {
      for (const chunked of [false, true]) {
        expect(verdictOf(await post('/endpoints', body, { chunked }))).toEqual(verdict);
      }
    });

    it('may be absent where a route needs none', async () => {
      expect((await ask({ method: 'POST', path: '/keys/symmetric' })).status).toBe(201);
      expect((await ask({ method: 'POST', path: '/keys/symmetric', chunked: true })).status).toBe(201);
    });

    it('that a DELETE has means nothing, and the connection goes on', async () => {
      const agent = new http.Agent({ keepAlive: true, maxSockets: 1 });
      onCleanUp('test', 'receiver', async () => agent.destroy());
      for (const chunked of [false, true]) {
        const { id } = JSON.parse((await post('/endpoints', BODY)).text) as { id: string };
        const headers = { ...JSON_TYPE, ...(chunked && { 'transfer-encoding': 'chunked' }) };
        const sent = { path: `/endpoints/${id}`, agent };
        const deleted = await ask({ ...sent, method: 'DELETE', headers, body: '{', chunked });
        expect([deleted.status, (await ask(sent)).status]).toEqual([204, 404]);
      }
    });

    it('of a form is refused', async () => {
      const headers = { 'content-type': 'application/x-www-form-urlencoded' };
      const answer = await post('/endpoints', 'url=https://receiver.test', { headers });
      expect(verdictOf(answer)).toEqual([415, 'UNSUPPORTED_MEDIA_TYPE']);
    });

    it.each([false, true])('that is too large is answered 413 (chunked: %p)', async (chunked) => {
      const before = await endpointCount();
      expect(verdictOf(await post('/endpoints', TOO_LARGE, { chunked }))).toEqual([413, 'BODY_TOO_LARGE']);
      expect(await endpointCount()).toBe(before);
    });

    it('that breaks off makes nothing, and is no fault of ours', async () => {
      const before = await endpointCount();
      const entered = once(handling, 'entered');
      authorize = (request) => {
        request.signal.addEventListener('abort', () => handling.emit('aborted'));
        return handling.emit('entered');
      };
      const aborted = once(handling, 'aborted');
      const headers = { ...JSON_TYPE, 'content-length': Buffer.byteLength(BODY) };
      const request = open(port, { method: 'POST', path: `${prefix}/endpoints`, headers });
      request.on('error', () => {});
      request.write(BODY.slice(0, 10));
      await entered;
      request.destroy();
      await aborted;
      authorize = () => true;
      expect((await ask({ path: '/tenants' })).status).toBe(200);
      expect(await endpointCount()).toBe(before);
      expect(onError).not.toHaveBeenCalled();
    });
  });

  describe('an answer', () => {
    it('is JSON that nobody stores or guesses at', async () => {
      for (const path of ['/endpoints', '/nowhere']) {
        expect((await ask({ path })).headers).toMatchObject({
          'content-type': 'application/json; charset=utf-8',
          'cache-control': 'no-store',
          'x-content-type-options': 'nosniff',
        });
      }
    });

    it('to a HEAD has the status and headers of the GET, and no body', async () => {
      for (const [path, status] of [
        ['/endpoints', 200],
        ['/nowhere', 404],
      ] as const) {
        const { headers, ...answer } = await ask({ method: 'HEAD', path });
        expect(answer).toEqual({ status, text: '' });
        expect(headers['content-type']).toBe('application/json; charset=utf-8');
      }
    });

    it('of 204 has no body, and not the length of an earlier one', async () => {
      await ask({ path: '/endpoints' });
      const { id } = JSON.parse((await post('/endpoints', BODY)).text) as { id: string };
      const { status, headers, text } = await ask({ method: 'DELETE', path: `/endpoints/${id}` });
      expect([status, headers['content-length'], text]).toEqual([204, undefined, '']);
    });

    it('says nothing of what went wrong inside', async () => {
      const error = new Error('secret detail');
      jest.spyOn(sender, 'forCaller').mockImplementationOnce(() => {
        throw error;
      });
      const { status, text } = await ask({ method: 'POST', path: '/keys/symmetric' });
      const requestId = expect.stringMatching(/^req_/);
      expect([status, JSON.parse(text)]).toEqual([
        500,
        { errorCode: 'INTERNAL', error: 'Internal error', requestId },
      ]);
      expect(onError.mock.calls).toEqual([[error, { requestId: JSON.parse(text).requestId }]]);
    });
  });

  describe('authorize', () => {
    it('is asked with the native request and the operation', async () => {
      const seen: unknown[] = [];
      authorize = async (request, { operation }) => {
        const copy = new Request(request.clone(), { headers: { 'x-added': '1' } });
        seen.push([request instanceof Request, request.method, operation, copy.headers.get('x-added')]);
        return request.headers.get('authorization') === 'Bearer a';
      };
      const headers = { ...JSON_TYPE, authorization: 'Bearer a' };
      expect((await ask({ path: '/endpoints', headers })).status).toBe(200);
      expect((await post('/endpoints', BODY, { headers })).status).toBe(201);
      expect((await ask({ method: 'DELETE', path: '/endpoints/x', headers })).status).toBe(404);
      expect(seen).toEqual([
        [true, 'GET', 'endpoints.list', '1'],
        [true, 'POST', 'endpoints.create', '1'],
        [true, 'DELETE', 'endpoints.delete', '1'],
      ]);
    });

    it('is asked about paths and methods that do not exist, too', async () => {
      authorize = (_request, { operation }) => ({ allow: operation !== null, status: 401 });
      expect(verdictOf(await ask({ path: '/nowhere' }))).toEqual([401, 'UNAUTHORIZED']);
      expect(verdictOf(await ask({ method: 'PUT', path: '/endpoints' }))).toEqual([401, 'UNAUTHORIZED']);
    });

    it.each<[string, (request: Request) => Promise<string>]>([
      ['whole', (request) => request.text()],
      ['by a clone', (request) => request.clone().text()],
      [
        'by a clone and by itself',
        async (request) => (await request.clone().text()) && (await request.text()),
      ],
    ])('may read the body %s and the route has it still', async (_how, read) => {
      const seen: string[] = [];
      authorize = async (request) => seen.push(await read(request)) > 0;
      for (const chunked of [false, true]) {
        expect((await post('/endpoints', BODY, { chunked })).status).toBe(201);
      }
      expect(seen).toEqual([BODY, BODY]);
    });

    it('may bind the caller to a tenant', async () => {
      authorize = () => ({ allow: true, tenantId: 'acme' });
      const { text } = await post('/endpoints', BODY);
      const { id, tenantId } = JSON.parse(text) as { id: string; tenantId: string };
      authorize = () => ({ allow: true, tenantId: 'globex' });
      expect(tenantId).toBe('acme');
      expect(verdictOf(await ask({ path: `/endpoints/${id}` }))).toEqual([404, 'ENDPOINT_NOT_FOUND']);
    });

    it('that fails lets nobody in, and the caller learns nothing of it', async () => {
      const error = new Error('secret detail');
      authorize = () => Promise.reject(error);
      const answer = await post('/endpoints', BODY);
      expect(verdictOf(answer)).toEqual([403, 'FORBIDDEN']);
      expect(answer.text).not.toContain('secret');
      expect(onError.mock.calls).toEqual([[error, { requestId: expect.stringMatching(/^req_/) }]]);
    });

    it('that refuses does so before a body that never comes', async () => {
      authorize = () => false;
      const head = `POST ${prefix}/endpoints HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\nbegun`;
      expect(await exchange(port, head, 'FORBIDDEN')).toMatch(/^HTTP\/1\.1 403 /);
    });

    it('that refuses is heard by a client that sends a large body', async () => {
      authorize = () => false;
      const answers = await Promise.all(
        Array.from({ length: 5 }, () =>
          fetch(`http://127.0.0.1:${port}${prefix}/endpoints`, {
            method: 'POST',
            headers: JSON_TYPE,
            body: Buffer.alloc(5_000_000),
          }),
        ),
      );
      for (const answer of answers) {
        expect([answer.status, await answer.json()]).toMatchObject([403, { errorCode: 'FORBIDDEN' }]);
      }
    });

    it('learns that the client has left', async () => {
      for (const body of [undefined, BODY]) {
        const entered = once(handling, 'entered');
        authorize = async ({ signal }) => {
          handling.emit('entered', signal);
          await once(signal, 'abort');
          return false;
        };
        const method = body === undefined ? 'GET' : 'POST';
        const request = open(port, { method, path: `${prefix}/endpoints`, headers: JSON_TYPE });
        request.on('error', () => {});
        request.end(body);
        const [signal] = (await entered) as [AbortSignal];
        expect(signal.aborted).toBe(false);
        const aborted = once(signal, 'abort');
        request.destroy();
        await aborted;
      }
    });
  });

  it('the next request of a kept-alive connection is served after a body that nobody looked at', async () => {
    const agent = new http.Agent({ keepAlive: true, maxSockets: 1 });
    authorize = (request) => request.method === 'GET';
    const denied = await post('/endpoints', BODY, { agent });
    const next = await ask({ path: '/endpoints', agent });
    agent.destroy();
    expect([denied.status, next.status]).toEqual([403, 200]);
  });

  it('a method that no Fetch request can have opens nothing and stops nothing', async () => {
    const { status, text } = await ask({ method: 'TRACE', path: '/endpoints' });
    expect(status).toBeGreaterThanOrEqual(400);
    expect(text).not.toMatch(/\bat .*:\d+|node_modules|endpoints"/);
    expect((await ask({ path: '/endpoints' })).status).toBe(200);
  });
}
