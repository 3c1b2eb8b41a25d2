import { createServer as createTcpServer, connect, type Socket } from 'node:net';
import { Worker } from 'node:worker_threads';
import type { Attempt } from '../../lib/model/message.js';
import { onCleanUp } from '../support/clean-up.js';
import { startReceiver } from '../support/receiver.js';
import { startSender, type TestSender } from '../support/sender.js';
import { onPostgres } from '../support/test-store.js';
import { AFTER_STATUS, answerBy, WITHOUT_RESPONSE } from './hostile-receivers.js';
import { endlessly, listen, type Receiver, rawReceiver } from './loopback-receiver.js';
import { untilAttempts } from './probe.js';

/**
 * A deadline that something begins anew makes an attempt later than it may be: that is always less than another deadline.
 * On PostgreSQL a busy machine holds an attempt up for longer.
 */
const [TIMEOUT_MS, LATE_MS] = onPostgres ? [5000, 4000] : [2500, 1000];
/** What the receivers have in their own buffers counts, since they are in this process. */
const MAX_GROWTH_BYTES = 128 * 1024 * 1024;
const ROUNDS = onPostgres ? 1 : 2;
const NO_RETRY = { delaysSeconds: [], jitter: 0 };

async function tracked(receiver: Promise<Receiver>, lifetime: 'test' | 'file' = 'test'): Promise<Receiver> {
  const opened = await receiver;
  onCleanUp(lifetime, 'receiver', opened.close);
  return opened;
}

/** Adds an endpoint whose one attempt at each message is answered so. */
async function hostile(sender: TestSender, answer: (socket: Socket) => void, path = ''): Promise<string> {
  const { url } = await tracked(rawReceiver(answer), 'file');
  return add(sender, url + path);
}

async function add(sender: TestSender, url: string): Promise<string> {
  const { id } = await sender.endpoints.create({
    url,
    types: ['hostile'],
    tenantId: 'evil',
    retry: NO_RETRY,
  });
  return id;
}

/** Every receiver of the tables at once, each with all messages; what came of it, by endpoint. */
describe('all hostile receivers at once, beside a healthy one', () => {
  const endpoints = new Map<string, string>();
  const attempts = new Map<string, Attempt[]>();
  let growth = 0;
  let healthy: Attempt[] = [];

  const attemptsOf = (name: string): Attempt[] => attempts.get(endpoints.get(name) ?? '') ?? [];

  beforeAll(async () => {
    const sender = await startSender({ lifetime: 'file', timeoutMs: TIMEOUT_MS });
    for (const [name, answer] of WITHOUT_RESPONSE) {
      endpoints.set(name, await hostile(sender, (socket) => answerBy(answer, socket)));
    }
    for (const [name, answer] of AFTER_STATUS) {
      for (const status of [200, 500]) {
        const start = `HTTP/1.1 ${status} Some\r\n`;
        endpoints.set(
          `${status} ${name}`,
          await hostile(sender, (socket) => answerBy(answer, socket, start)),
        );
      }
    }
    const good = await startReceiver('file');
    await sender.endpoints.create({ url: good.url(), types: ['healthy'], tenantId: 'good', retry: NO_RETRY });
    const idle = process.memoryUsage().rss;
    const sampler = setInterval(() => {
      growth = Math.max(growth, process.memoryUsage().rss - idle);
    }, 10);
    for (let round = 0; round < ROUNDS; round += 1) {
      const sent = await sender.send({ type: 'hostile', tenantId: 'evil', data: { round } });
      const beside = await sender.send({ type: 'healthy', tenantId: 'good', data: { round } });
      for (const attempt of await untilAttempts(sender, sent, endpoints.size)) {
        const { endpointId } = attempt;
        attempts.set(endpointId, [...(attempts.get(endpointId) ?? []), attempt]);
      }
      healthy = [...healthy, ...(await untilAttempts(sender, beside, 1))];
    }
    clearInterval(sampler);
  });

  test.each(WITHOUT_RESPONSE)('one that %s', (name, _answer, errorKind) => {
    const made = attemptsOf(name);
    expect(made).toHaveLength(ROUNDS);
    for (const attempt of made) {
      expect(attempt).toMatchObject({
        status: 'failed',
        responseStatus: null,
        responseHeaders: null,
        responseBody: null,
        errorKind,
        error: expect.stringMatching(/^The .*\.$/),
        remoteAddress: '127.0.0.1',
      });
    }
  });

  test.each(AFTER_STATUS)('one whose body %s: 200 is a success, 500 a failure', (name, _answer, start) => {
    for (const [status, outcome, errorKind] of [
      [200, 'succeeded', null],
      [500, 'failed', 'http_status'],
    ] as const) {
      const made = attemptsOf(`${status} ${name}`);
      expect(made).toHaveLength(ROUNDS);
      for (const attempt of made) {
        expect(attempt).toMatchObject({ status: outcome, responseStatus: status, errorKind });
        expect(attempt.responseBody?.slice(0, start.length)).toBe(start);
        expect(attempt.responseBody?.length).toBeLessThanOrEqual(4096);
      }
    }
  });

  test('each attempt ends by its deadline', () => {
    const late = [...attempts.values()]
      .flat()
      .filter(({ durationMs }) => durationMs > TIMEOUT_MS + LATE_MS)
      .map(({ durationMs, errorKind, requestUrl }) => ({ durationMs, errorKind, requestUrl }));
    expect(late).toEqual([]);
  });

  test('memory stays bounded', () => {
    expect(growth).toBeGreaterThanOrEqual(0);
    expect(growth).toBeLessThan(MAX_GROWTH_BYTES);
  });

  test('the healthy one beside them gets what it is owed', () => {
    expect(healthy.map(({ status, responseStatus }) => [status, responseStatus])).toEqual(
      Array(ROUNDS).fill(['succeeded', 200]),
    );
  });
});

test('deliveries to a healthy endpoint wait for no hostile one, however much those are owed', async () => {
  const sender = await startSender({ concurrency: 32, timeoutMs: 20_000 });
  const loud = (socket: Socket): void => endlessly(socket, 'HTTP/1.1 103 Early Hints\r\n\r\n'.repeat(20));
  const silent = await hostile(sender, () => {});
  const half = await hostile(sender, (socket) => socket.write('HTTP/1.1 200 OK\r\nX: '));
  for (const answer of [loud, (socket: Socket) => socket.resetAndDestroy()]) await hostile(sender, answer);
  const good = await startReceiver();
  await sender.endpoints.create({ url: good.url(), types: ['healthy'], tenantId: 'good' });
  await sender.sendMany(
    Array.from({ length: 100 }, (_value, data) => ({ type: 'hostile', tenantId: 'evil', data })),
  );
  await sender.sendMany(
    Array.from({ length: 200 }, (_value, data) => ({ type: 'healthy', tenantId: 'good', data })),
  );
  await good.waitFor(200);
  for (const id of [silent, half]) {
    expect((await sender.endpoints.attempts(id)).attempts).toEqual([]);
  }
  await sender.stop({ drainMs: 0 });
});

describe('a receiver that', () => {
  async function outcomes(sender: TestSender, messages: unknown[] = [1]): Promise<Attempt[]> {
    const made: Attempt[] = [];
    for (const data of messages) {
      const sent = await sender.send({ type: 'hostile', tenantId: 'evil', data });
      made.push(...(await untilAttempts(sender, sent, 1)));
    }
    return made;
  }

  test('resets each connection before it was asked anything', async () => {
    const sender = await startSender({ timeoutMs: TIMEOUT_MS });
    const server = createTcpServer((socket) => socket.on('error', () => {}).resetAndDestroy());
    await add(sender, (await tracked(listen(server))).url);
    for (const attempt of await outcomes(sender, [1, 2, 3])) {
      expect(attempt).toMatchObject({ status: 'failed', responseStatus: null });
      // Whether it is reset before or after we have seen it open is up to the kernel.
      expect(['connect', 'reset']).toContain(attempt.errorKind);
    }
  });

  test('accepts no connections: the deadline ends the attempt', async () => {
    // The event loop that would accept them stands still, and the kernel's queue for it is full.
    const worker = new Worker(
      `const { parentPort, workerData } = require('node:worker_threads');
       const server = require('node:net').createServer();
       server.listen({ port: 0, host: '127.0.0.1', backlog: 1 }, () => {
         parentPort.postMessage(server.address().port);
         Atomics.wait(new Int32Array(workerData), 0, 0);
       });`,
      { eval: true, workerData: new SharedArrayBuffer(4) },
    );
    onCleanUp('test', 'receiver', () => worker.terminate());
    const port = await new Promise<number>((resolve) => worker.once('message', resolve));
    const fillers = [1, 2, 3, 4].map(() => connect(port, '127.0.0.1').on('error', () => {}));
    onCleanUp('test', 'receiver', async () => {
      for (const socket of fillers) socket.destroy();
    });
    await new Promise((resolve) => fillers[1]?.once('connect', resolve));
    const sender = await startSender({ timeoutMs: 500 });
    await add(sender, `http://127.0.0.1:${port}/`);
    const [attempt] = await outcomes(sender);
    expect(attempt).toMatchObject({ status: 'failed', errorKind: 'timeout', remoteAddress: null });
    expect(attempt?.durationMs).toBeLessThanOrEqual(500 + LATE_MS);
  });

  test.each([
    ['HTTP/1.0 without a length', 'HTTP/1.0 200 OK\r\n\r\nold', 'old'],
    ['HTTP/1.0 with one', 'HTTP/1.0 200 OK\r\nContent-Length: 3\r\n\r\nold', 'old'],
    ['204 with a body', 'HTTP/1.1 204 No Content\r\nContent-Length: 3\r\n\r\nold', ''],
  ])('answers by %s, and then the next request', async (_what, text, body) => {
    const sender = await startSender({ timeoutMs: TIMEOUT_MS });
    await hostile(sender, (socket) => socket.end(text));
    for (const attempt of await outcomes(sender, [1, 2, 3])) {
      expect(attempt).toMatchObject({ status: 'succeeded', errorKind: null, responseBody: body });
    }
  });

  test('puts a second response behind its first: it is not taken for that of the next request', async () => {
    const sender = await startSender({ timeoutMs: TIMEOUT_MS });
    let requests = 0;
    await hostile(sender, (socket) => {
      const answer = (): void => {
        requests += 1;
        const own = `HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n${requests}`;
        socket.write(`${own}HTTP/1.1 500 Split\r\nContent-Length: 5\r\n\r\nsplit`);
      };
      answer();
      socket.on('data', answer);
    });
    const made = await outcomes(sender, [1, 2, 3]);
    expect(made.map(({ responseStatus, responseBody }) => [responseStatus, responseBody])).toEqual([
      [200, '1'],
      [200, '2'],
      [200, '3'],
    ]);
    expect(requests).toBe(3);
  });

  test.each([[200], [413]])('answers %i before it has read the request', async (status) => {
    const sender = await startSender({ timeoutMs: TIMEOUT_MS });
    const server = createTcpServer((socket) => {
      socket.on('error', () => {}).pause();
      socket.write(`HTTP/1.1 ${status} Early\r\nContent-Length: 5\r\n\r\nearly`);
    });
    await add(sender, (await tracked(listen(server))).url);
    const [attempt] = await outcomes(sender, ['x'.repeat(900_000)]);
    expect(attempt).toMatchObject({ responseStatus: status, responseBody: 'early' });
    expect(attempt?.durationMs).toBeLessThanOrEqual(TIMEOUT_MS + LATE_MS);
  });

  test('redirects to itself, and to a private address, is asked once, and nobody else', async () => {
    const sender = await startSender({ timeoutMs: TIMEOUT_MS });
    const other = await startReceiver();
    const receiver = await startReceiver();
    receiver.answer(
      '/hook',
      { status: 307, headers: { location: receiver.url('/hook') } },
      { status: 302, headers: { location: other.url('/private') } },
    );
    await add(sender, receiver.url('/hook'));
    const made = await outcomes(sender, [1, 2]);
    expect(made).toMatchObject([{ errorKind: 'redirect' }, { errorKind: 'redirect' }]);
    expect([receiver.requests().length, other.requests().length]).toEqual([2, 0]);
  });

  test.each<[string, (socket: Socket) => void]>([
    ['speaks no TLS', (socket) => socket.end('HTTP/1.1 400 Bad\r\n\r\n')],
    ['hangs up at the handshake', (socket) => socket.destroy()],
    ['resets at the handshake', (socket) => socket.resetAndDestroy()],
    ['answers the handshake with noise', (socket) => endlessly(socket, '\u0016\u0003\u0001zzzz'.repeat(500))],
  ])('%s where https is asked', async (_what, answer) => {
    const sender = await startSender({ timeoutMs: TIMEOUT_MS });
    const { port } = await tracked(rawReceiver(answer));
    await add(sender, `https://127.0.0.1:${port}/`);
    const [attempt] = await outcomes(sender);
    expect(attempt).toMatchObject({ status: 'failed', errorKind: 'tls', responseStatus: null });
  });
});
