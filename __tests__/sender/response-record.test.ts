import type { IncomingMessage, ServerResponse } from 'node:http';
import { gzipSync } from 'node:zlib';
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

async function saying(answer: string | Buffer) {
  return track(await rawReceiver((socket) => socket.write(answer)));
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

describe('what is kept of a response', () => {
  test.each([
    ['4096 bytes', 'a'.repeat(4096), 'a'.repeat(4096)],
    ['more than 4096 bytes', 'a'.repeat(5000), 'a'.repeat(4096)],
    ['a character across the cut', `${'a'.repeat(4094)}東b`, 'a'.repeat(4094)],
    ['a broken last character', Buffer.from([0x61, 0xe6, 0x9d]), 'a\uFFFD'],
    ['bytes that are no UTF-8', Buffer.from([0x61, 0xff, 0x62]), 'a\uFFFDb'],
    ['NUL', 'a\0b\0', 'a\uFFFDb\uFFFD'],
    ['compressed bytes', gzipSync('hello'), gzipSync('hello').toString().replaceAll('\0', '\uFFFD')],
  ])('of a body with %s', async (_what, body, kept) => {
    const receiver = await answering((_request, response) => response.end(body));
    expect((await post(receiver)).body).toBe(kept);
  });

  test('a compressed body is neither asked for nor unpacked', async () => {
    const bomb = gzipSync(Buffer.alloc(5_000_000));
    const receiver = await answering((_request, response) =>
      response.writeHead(200, { 'content-encoding': 'gzip' }).end(bomb),
    );
    const result = await post(receiver);
    expect(result).toMatchObject({ errorKind: null, headers: { 'content-encoding': 'gzip' } });
    expect(result.body?.length).toBeLessThanOrEqual(4096);
    expect(receiver.requests[0]?.headers['accept-encoding']).toBeUndefined();
  });

  test.each([
    [16_384, 1],
    [16_385, 2],
  ])('a connection whose response held %i bytes serves %i', async (length, connections) => {
    const receiver = await answering((_request, response) => response.end('a'.repeat(length)));
    const client = track(createHttpClient({ guard, connectionsPerOrigin: 1 }));
    for (let round = 0; round < 2; round += 1) {
      const request = { url: receiver.url, headers: {}, body: Buffer.from('{}'), timeoutMs: 5000 };
      expect(await client.post(request)).toMatchObject({ status: 200, body: 'a'.repeat(4096) });
    }
    expect(receiver.connections()).toBe(connections);
  });

  test('repeated headers are joined, names are in lower case, and a prototype is out of reach', async () => {
    const lines = [
      'X-A: 1',
      'x-a: 2',
      'Retry-After: 7',
      'Retry-After: 9',
      '__proto__: x',
      '__proto__: y',
      'X-L: \xe9',
    ];
    const receiver = await saying(Buffer.from(`${STATUS_200}${lines.join('\r\n')}\r\n${EMPTY}`, 'latin1'));
    const result = await post(receiver);
    expect(result).toMatchObject({ status: 200, retryAfter: '7' });
    expect(result.headers).toEqual({
      'x-a': '1, 2',
      'retry-after': '7, 9',
      'x-l': 'é',
      'content-length': '0',
    });
    expect(Object.getPrototypeOf(result.headers)).toBe(Object.prototype);
  });

  test('at most 64 headers and 8 KiB of them', async () => {
    const many = Array.from({ length: 100 }, (_value, index) => `X-${index}: y\r\n`).join('');
    const long = `X-1: y\r\nX-Long: ${'a'.repeat(9000)}\r\nX-2: y\r\n`;
    const first = await post(await saying(`${STATUS_200}${many}${EMPTY}`));
    expect([first.status, Object.keys(first.headers ?? {}).length]).toEqual([200, 64]);
    const second = await post(await saying(`${STATUS_200}${long}${EMPTY}`));
    expect(second).toMatchObject({ status: 200, headers: { 'x-1': 'y', 'x-2': 'y', 'content-length': '0' } });
    expect(second.headers).not.toHaveProperty('x-long');
  });
});
