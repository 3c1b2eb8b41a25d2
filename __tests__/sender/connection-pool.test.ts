import type { ServerResponse } from 'node:http';
import {
  createHttpClient,
  type HttpClientOptions,
  type PostRequest,
} from '../../lib/sender/delivery/http-client.js';
import { createTargetGuard } from '../../lib/sender/delivery/target-guard.js';
import { waitFor } from '../support/wait-for.js';
import { endlessly, httpReceiver, rawReceiver } from './loopback-receiver.js';

const guard = createTargetGuard({ allowHttp: true, allowTargets: ['127.0.0.1'] });
const opened: { close(): Promise<void> }[] = [];
const OK = 'HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n';

afterEach(async () => {
  await Promise.all(opened.splice(0).map((one) => one.close()));
});

function track<T extends { close(): Promise<void> }>(one: T): T {
  opened.push(one);
  return one;
}

function clientOf(options: Partial<HttpClientOptions> = {}) {
  const client = track(createHttpClient({ guard, ...options }));
  const post = (url: string, request: Partial<PostRequest> = {}) =>
    client.post({ url, headers: {}, body: Buffer.from('{}'), timeoutMs: 5000, ...request });
  return { post, close: client.close };
}

test('requests one after the other share a connection', async () => {
  const receiver = track(await httpReceiver((_request, response) => response.end()));
  const { post } = clientOf({ connectionsPerOrigin: 1 });
  for (let round = 0; round < 5; round += 1) expect((await post(receiver.url)).status).toBe(200);
  expect(receiver.connections()).toBe(1);
});

test('requests at the same time use at most the connections of their origin, and all arrive once', async () => {
  const receiver = track(await httpReceiver((_request, response) => setImmediate(() => response.end())));
  const { post } = clientOf({ connectionsPerOrigin: 4 });
  const bodies = Array.from({ length: 300 }, (_value, index) => `"${index}"`);
  const results = await Promise.all(bodies.map((body) => post(receiver.url, { body: Buffer.from(body) })));
  expect(results.every(({ status }) => status === 200)).toBe(true);
  expect(receiver.requests.map(({ body }) => body).sort()).toEqual(bodies.sort());
  expect(receiver.connections()).toBeLessThanOrEqual(4);
});

test('a connection that the receiver closed while idle is replaced without a failure', async () => {
  const receiver = track(
    await rawReceiver((socket) => {
      socket.end(OK);
    }),
  );
  const { post } = clientOf();
  for (let round = 0; round < 20; round += 1)
    expect(await post(receiver.url)).toMatchObject({ errorKind: null });
});

test('a kept connection that breaks under a request is a reset, and the request is not sent again', async () => {
  let requests = 0;
  const receiver = track(
    await rawReceiver((socket) => {
      requests += 1;
      socket.write(OK);
      socket.on('data', () => {
        requests += 1;
        socket.resetAndDestroy();
      });
    }),
  );
  const { post } = clientOf({ connectionsPerOrigin: 1 });
  expect(await post(receiver.url)).toMatchObject({ status: 200 });
  expect(await post(receiver.url)).toMatchObject({
    errorKind: 'reset',
    status: null,
    remoteAddress: '127.0.0.1',
  });
  expect([requests, receiver.connections()]).toEqual([2, 1]);
});

test('a request that timed out while it waited for a connection is never sent', async () => {
  const held: ServerResponse[] = [];
  const receiver = track(await httpReceiver((_request, response) => held.push(response)));
  const { post } = clientOf({ connectionsPerOrigin: 1 });
  const first = post(receiver.url, { body: Buffer.from('"first"') });
  await waitFor(() => held.length === 1);
  const waiting = await Promise.all(
    Array.from({ length: 10 }, () => post(receiver.url, { body: Buffer.from('"late"'), timeoutMs: 50 })),
  );
  for (const result of waiting) {
    expect(result).toMatchObject({
      errorKind: 'timeout',
      remoteAddress: null,
      error: expect.stringContaining('50 ms'),
    });
  }
  const last = post(receiver.url, { body: Buffer.from('"last"') });
  held.shift()?.end();
  expect(await first).toMatchObject({ status: 200 });
  while (held.length === 0) await new Promise((resolve) => setImmediate(resolve));
  held.shift()?.end();
  expect(await last).toMatchObject({ status: 200 });
  expect(receiver.requests.map(({ body }) => body)).toEqual(['"first"', '"last"']);
});

test.each<[string, Parameters<typeof rawReceiver>[0]]>([
  ['says nothing', () => {}],
  ['floods', (socket) => endlessly(socket, 'HTTP/1.1 103 Early Hints\r\n\r\n')],
  ['sends a body without end', (socket) => endlessly(socket, 'body', 'HTTP/1.1 200 OK\r\n\r\n')],
])('a receiver that %s gets one connection for each request that is given up', async (_what, answer) => {
  const receiver = track(await rawReceiver(answer));
  const other = track(await httpReceiver((_request, response) => response.end()));
  const { post } = clientOf({ connectionsPerOrigin: 1 });
  const results = await Promise.all([1, 2, 3].map((times) => post(receiver.url, { timeoutMs: 200 * times })));
  expect(results.map(({ remoteAddress }) => remoteAddress)).toEqual(Array(3).fill('127.0.0.1'));
  // Time for one more, were there one.
  for (let round = 0; round < 5; round += 1) await post(other.url);
  expect(receiver.connections()).toBe(3);
});

test('a connection past its age ends with the request it carries, under load too', async () => {
  const receiver = track(await httpReceiver((_request, response) => setImmediate(() => response.end())));
  const { post } = clientOf({ connectionsPerOrigin: 4, maxConnectionAgeMs: 0 });
  const lane = async (): Promise<(number | null)[]> => {
    const statuses: (number | null)[] = [];
    for (let round = 0; round < 40; round += 1) statuses.push((await post(receiver.url)).status);
    return statuses;
  };
  const statuses = (await Promise.all([lane(), lane(), lane(), lane(), lane(), lane()])).flat();
  expect(statuses.every((status) => status === 200)).toBe(true);
  expect(receiver.requests).toHaveLength(240);
  expect(receiver.connections()).toBeGreaterThan(10);
});

test('connections that are all past their age take new requests, more than there are connections', async () => {
  const receiver = track(await httpReceiver((_request, response) => setImmediate(() => response.end())));
  const { post } = clientOf({ connectionsPerOrigin: 4, maxConnectionAgeMs: 0 });
  for (const requests of [4, 6, 1, 9]) {
    const results = await Promise.all(Array.from({ length: requests }, () => post(receiver.url)));
    expect(results.map(({ status }) => status)).toEqual(results.map(() => 200));
  }
});

test('closing waits for what is under way, then refuses', async () => {
  const held: ServerResponse[] = [];
  const receiver = track(await httpReceiver((_request, response) => held.push(response)));
  const { post, close } = clientOf();
  const first = post(receiver.url);
  while (held.length === 0) await new Promise((resolve) => setImmediate(resolve));
  let closed = false;
  const closing = close().then(() => {
    closed = true;
  });
  expect(await post(receiver.url)).toMatchObject({
    errorKind: 'connect',
    error: expect.stringContaining('stopped'),
  });
  expect(closed).toBe(false);
  held[0]?.end('done');
  expect(await first).toMatchObject({ status: 200, body: 'done' });
  await closing;
  await close();
  expect(receiver.requests).toHaveLength(1);
});

test('a receiver that resets every connection at once is a failure for each request, and none hangs', async () => {
  const receiver = track(await rawReceiver((socket) => socket.resetAndDestroy()));
  const { post } = clientOf({ connectionsPerOrigin: 2 });
  const results = await Promise.all(Array.from({ length: 40 }, () => post(receiver.url)));
  expect(new Set(results.map(({ errorKind }) => errorKind))).toEqual(new Set(['reset']));
});
