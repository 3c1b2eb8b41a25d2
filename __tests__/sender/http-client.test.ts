import { createHash } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import {
  createHttpClient,
  type PostRequest,
  type PostResult,
} from '../../lib/sender/delivery/http-client.js';
import { createTargetGuard } from '../../lib/sender/delivery/target-guard.js';
import { httpReceiver, type Receiver, rawReceiver } from './loopback-receiver.js';

const guard = createTargetGuard({ allowHttp: true, allowTargets: ['127.0.0.1'] });
const opened: { close(): Promise<void> }[] = [];

afterEach(async () => {
  await Promise.all(opened.splice(0).map((one) => one.close()));
});

function track<T extends { close(): Promise<void> }>(one: T): T {
  opened.push(one);
  return one;
}

async function answering(answer: (request: IncomingMessage, response: ServerResponse) => void) {
  return track(await httpReceiver(answer));
}

async function saying(answer: string | Buffer | ((socket: Socket) => void)) {
  return track(await rawReceiver(typeof answer === 'function' ? answer : (socket) => socket.write(answer)));
}

function post(receiver: Receiver, request: Partial<PostRequest> = {}): Promise<PostResult> {
  const client = track(createHttpClient({ guard }));
  return client.post({
    url: receiver.url,
    headers: {},
    body: Buffer.from('{}'),
    timeoutMs: 5000,
    ...request,
  });
}

const STATUS_200 = 'HTTP/1.1 200 OK\r\n';
const EMPTY = 'Content-Length: 0\r\n\r\n';

describe('what is sent', () => {
  test('one POST with the bytes and the headers it was given', async () => {
    const body = Buffer.from(JSON.stringify({ name: 'Zoë', text: 'x'.repeat(1_048_576) }));
    let digest = '';
    const receiver = await answering((request, response) => {
      digest = createHash('sha256')
        .update(receiver.requests[0]?.body ?? '')
        .digest('hex');
      response.end(`${request.method} ${request.url}`);
    });
    const url = `${receiver.url}/a%20b?c=d`;
    const result = await post(receiver, {
      url,
      body,
      headers: { 'content-type': 'x/y', 'webhook-id': 'msg_1' },
    });
    expect(result.body).toBe('POST /hook/a%20b?c=d');
    expect(digest).toBe(createHash('sha256').update(body).digest('hex'));
    expect(receiver.requests).toHaveLength(1);
    expect(receiver.requests[0]?.headers).toEqual({
      host: `127.0.0.1:${receiver.port}`,
      connection: 'keep-alive',
      'content-length': String(body.length),
      'content-type': 'x/y',
      'webhook-id': 'msg_1',
    });
  });

  test('an empty body is sent as one', async () => {
    const receiver = await answering((_request, response) => response.end());
    await post(receiver, { body: Buffer.alloc(0) });
    expect(receiver.requests[0]?.headers['content-length']).toBe('0');
  });

  const UNSENDABLE: Record<string, string>[] = [
    { 'bad name': 'x' },
    { name: 'line\r\nbreak' },
    { name: 'Ā' },
    { 'transfer-encoding': 'chunked' },
    { 'content-length': '5' },
  ];
  test.each(UNSENDABLE)('a request with the headers %j fails and blocks no connection', async (headers) => {
    const receiver = await answering((_request, response) => response.end());
    const client = track(createHttpClient({ guard, connectionsPerOrigin: 1 }));
    const request = { url: receiver.url, body: Buffer.from('{}'), timeoutMs: 5000 };
    for (let round = 0; round < 3; round += 1) {
      const result = await client.post({ ...request, headers });
      expect(result).toMatchObject({
        errorKind: 'transform',
        status: null,
        error: expect.stringMatching(/\.$/),
      });
    }
    expect(await client.post({ ...request, headers: {} })).toMatchObject({ errorKind: null, status: 200 });
    expect(receiver.requests).toHaveLength(1);
  });
});

describe('what counts as what', () => {
  test.each([200, 201, 202, 204, 299])('a %i is a success', async (status) => {
    const receiver = await answering((_request, response) => response.writeHead(status).end());
    expect(await post(receiver)).toMatchObject({
      status,
      errorKind: null,
      error: null,
      body: '',
      remoteAddress: '127.0.0.1',
      retryAfter: null,
    });
  });

  test.each([300, 301, 302, 303, 304, 307, 308])('a %i is a failure and is not followed', async (status) => {
    const other = await answering((_request, response) => response.end());
    for (const headers of [{ location: other.url }, {}]) {
      const receiver = await answering((_request, response) => response.writeHead(status, headers).end());
      const result = await post(receiver);
      expect(result).toMatchObject({
        status,
        errorKind: 'redirect',
        error: expect.stringContaining(String(status)),
      });
      expect(result.headers).toMatchObject(headers);
    }
    expect(other.connections()).toBe(0);
  });

  test.each([400, 401, 404, 410, 413, 429, 500, 502, 503, 504, 599, 999])(
    'a %i is a failure',
    async (status) => {
      const receiver = await answering((_request, response) =>
        response.writeHead(status, { 'retry-after': '120' }).end('no'),
      );
      expect(await post(receiver)).toMatchObject({
        status,
        errorKind: 'http_status',
        error: `The receiver answered ${status}.`,
        body: 'no',
        retryAfter: '120',
      });
    },
  );

  test('the start is told by the given clock and the duration by a steady one', async () => {
    const receiver = await answering((_request, response) => response.end());
    const client = track(createHttpClient({ guard, now: () => 1234 }));
    const result = await client.post({
      url: receiver.url,
      headers: {},
      body: Buffer.from('{}'),
      timeoutMs: 5000,
    });
    expect(result.startedAt).toBe(1234);
    expect(
      Number.isSafeInteger(result.durationMs) && result.durationMs >= 0 && result.durationMs < 5000,
    ).toBe(true);
  });

  test('a few interim responses before the final one are nothing', async () => {
    const receiver = await saying(`${'HTTP/1.1 103 Early Hints\r\n\r\n'.repeat(8)}${STATUS_200}${EMPTY}`);
    expect(await post(receiver)).toMatchObject({ status: 200, errorKind: null });
  });
});

test('a body that drips is read to the deadline and no longer', async () => {
  const receiver = await saying((socket) => {
    socket.write(`${STATUS_200}Content-Length: 100000\r\n\r\n`);
    const drip = setInterval(() => socket.write('.'), 5);
    socket.once('close', () => clearInterval(drip));
  });
  const result = await post(receiver, { timeoutMs: 400 });
  expect(result).toMatchObject({ status: 200, errorKind: null, body: expect.stringMatching(/^\.+$/) });
  expect(result.durationMs).toBeGreaterThanOrEqual(395);
  expect(result.durationMs).toBeLessThan(4000);
});
