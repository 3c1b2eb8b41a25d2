import { type AddressInfo, createServer } from 'node:net';
import { createClock } from '../support/clock.js';
import { type Answer, startReceiver } from '../support/receiver.js';
import { startSender } from '../support/sender.js';
import { storeAt } from '../support/test-store.js';
import { takeTurns, untilAttempts, untilStatus } from './probe.js';

const ONCE = { delaysSeconds: [], jitter: 0 };

/** Delivers one message to a receiver that answers so, in a single attempt, and gives what is recorded of it. */
async function attemptAt(answer: Answer, timeoutMs = 5000) {
  const receiver = await startReceiver();
  receiver.answer('/', answer);
  const sender = await startSender({ retry: ONCE, timeoutMs });
  const endpoint = await sender.endpoints.create({ url: receiver.url() });
  const sent = await sender.send({ type: 'a.b', data: 1 });
  const [attempt] = await untilAttempts(sender, sent, 1);
  const message = await sender.messages.get(sent.id);
  return { receiver, sender, endpoint, sent, message, attempt: attempt! };
}

describe('success is a 2xx status line', () => {
  test.each([200, 201, 202, 204, 299])('%i', async (status) => {
    const { attempt, message } = await attemptAt(status);
    expect(attempt).toMatchObject({
      status: 'succeeded',
      responseStatus: status,
      errorKind: null,
      error: null,
    });
    expect(message).toMatchObject({
      status: 'delivered',
      deliveries: [{ status: 'delivered', attemptCount: 1, nextAttemptAt: null, lastError: null }],
    });
  });

  test('a body that drips is read for the record until the deadline, and is delivered', async () => {
    const { attempt, message } = await attemptAt((_request, response) => {
      response.writeHead(200);
      const timer = setInterval(() => response.write('x'), 5);
      response.on('close', () => clearInterval(timer));
    }, 1000);
    expect(attempt).toMatchObject({ status: 'succeeded', responseBody: expect.stringMatching(/^x+$/) });
    expect(attempt.durationMs).toBeGreaterThanOrEqual(900);
    expect(message.status).toBe('delivered');
  });

  test('a body that breaks off is delivered', async () => {
    const { attempt, message } = await attemptAt((_request, response) => {
      response.writeHead(200, { 'content-length': '100' });
      response.write('part', () => response.destroy());
    });
    expect(attempt).toMatchObject({ status: 'succeeded', responseBody: 'part' });
    expect(message.status).toBe('delivered');
  });

  test('a body that never ends is cut, and is delivered', async () => {
    const { attempt, message } = await attemptAt((_request, response) => {
      response.writeHead(200);
      const more = () => {
        while (response.write('y'.repeat(65_536)));
      };
      response.on('drain', more);
      more();
    });
    expect(attempt).toMatchObject({ status: 'succeeded', responseBody: 'y'.repeat(4096) });
    expect(message.status).toBe('delivered');
  });

  test('and is sent once', async () => {
    const { receiver, sender } = await attemptAt(200);
    await takeTurns(sender);
    expect(receiver.requests()).toHaveLength(1);
  });
});

describe('everything else is a failure', () => {
  test.each([400, 401, 403, 404, 405, 409, 410, 418, 429, 500, 501, 502, 503, 504, 599])(
    '%i',
    async (status) => {
      const { attempt, message } = await attemptAt(status);
      expect(attempt).toMatchObject({
        status: 'failed',
        errorKind: 'http_status',
        responseStatus: status,
        error: expect.stringContaining(String(status)),
      });
      expect(message).toMatchObject({
        status: 'failed',
        deliveries: [{ status: 'failed', attemptCount: 1, nextAttemptAt: null, lastError: attempt.error }],
      });
    },
  );

  test.each([301, 302, 303, 304, 307, 308])('a redirect by %i, which is not followed', async (status) => {
    const elsewhere = await startReceiver();
    const { attempt, receiver } = await attemptAt({
      status,
      headers: { location: elsewhere.url('/stolen') },
    });
    expect(attempt).toMatchObject({ status: 'failed', errorKind: 'redirect', responseStatus: status });
    expect(receiver.requests()).toHaveLength(1);
    expect(elsewhere.requests()).toEqual([]);
  });

  test.each([300, 302, 304])('%i without a Location', async (status) => {
    expect((await attemptAt(status)).attempt).toMatchObject({ status: 'failed', errorKind: 'redirect' });
  });

  test('no answer before the deadline', async () => {
    const { attempt } = await attemptAt(() => {}, 100);
    expect(attempt).toMatchObject({
      status: 'failed',
      errorKind: 'timeout',
      responseStatus: null,
      responseHeaders: null,
      responseBody: null,
      remoteAddress: '127.0.0.1',
    });
    expect(attempt.error).toContain('100 ms');
  });

  test('a connection that is closed without an answer', async () => {
    const { attempt } = await attemptAt((_request, response) => response.destroy());
    expect(attempt).toMatchObject({ status: 'failed', errorKind: 'reset', responseStatus: null });
  });

  test('an answer that is no HTTP', async () => {
    const { attempt } = await attemptAt((_request, response) => response.socket?.end('SSH-2.0-OpenSSH\r\n'));
    expect(attempt).toMatchObject({ status: 'failed', errorKind: 'invalid_response', responseStatus: null });
  });

  test('a connection that is refused', async () => {
    const port = await freePort();
    const sender = await startSender({ retry: ONCE });
    await sender.endpoints.create({ url: `http://127.0.0.1:${port}/` });
    const sent = await sender.send({ type: 'a.b', data: 1 });
    const [attempt] = await untilAttempts(sender, sent, 1);
    expect(attempt).toMatchObject({ status: 'failed', errorKind: 'connect', remoteAddress: null });
  });

  test('a host that there is not', async () => {
    const sender = await startSender({ retry: ONCE, allowTargets: ['*.hookplane.invalid'] });
    await sender.endpoints.create({ url: 'http://nowhere.hookplane.invalid/' });
    const sent = await sender.send({ type: 'a.b', data: 1 });
    const [attempt] = await untilAttempts(sender, sent, 1);
    expect(attempt).toMatchObject({ status: 'failed', errorKind: 'dns', remoteAddress: null });
  });
});

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

describe('the record of an attempt', () => {
  test('says what was asked, of whom, and what came', async () => {
    const clock = createClock();
    const receiver = await startReceiver();
    receiver.answer('/hook?a=1', { status: 202, headers: { 'x-answer': 'yes' }, body: 'thanks, 東京' });
    const sender = await startSender({ now: clock.now });
    const endpoint = await sender.endpoints.create({ url: receiver.url('/hook?a=1') });
    const sent = await sender.send({ type: 'a.b', data: 1 });
    const [attempt] = await untilAttempts(sender, sent, 1);
    expect(attempt).toEqual({
      id: expect.stringMatching(/^att_/),
      messageId: sent.id,
      endpointId: endpoint.id,
      number: 1,
      status: 'succeeded',
      trigger: 'send',
      startedAt: '2026-05-01T12:00:00.000Z',
      durationMs: expect.any(Number),
      requestUrl: receiver.url('/hook?a=1'),
      remoteAddress: '127.0.0.1',
      responseStatus: 202,
      responseHeaders: expect.objectContaining({ 'x-answer': 'yes' }),
      responseBody: 'thanks, 東京',
      errorKind: null,
      error: null,
      nextAttemptAt: null,
    });
  });

  test.each([
    ['the first 4 KiB', 'a'.repeat(5000), 'a'.repeat(4096)],
    ['no half of a character', `${'a'.repeat(4095)}é`, 'a'.repeat(4095)],
    ['a mark for NUL', 'a\0b', 'a\uFFFDb'],
    ['a mark for bytes that are no UTF-8', Buffer.from([0x61, 0xff, 0x62]), 'a\uFFFDb'],
    ['nothing of nothing', '', ''],
  ])('holds %s, and success stays success', async (_what, body, expected) => {
    const { attempt, message } = await attemptAt({ status: 200, body });
    expect(attempt).toMatchObject({ status: 'succeeded', responseBody: expected });
    expect(message.status).toBe('delivered');
  });

  test('holds the body of a failure too', async () => {
    const { attempt } = await attemptAt({ status: 422, body: 'no such customer' });
    expect(attempt).toMatchObject({ status: 'failed', responseBody: 'no such customer' });
  });

  test('holds as many headers as fit', async () => {
    const many = Object.fromEntries(Array.from({ length: 100 }, (_each, n) => [`x-${n}`, 'v'.repeat(100)]));
    const { attempt } = await attemptAt({ status: 200, headers: many });
    expect(attempt.status).toBe('succeeded');
    expect(Object.keys(attempt.responseHeaders ?? {}).length).toBeLessThanOrEqual(64);
    expect(JSON.stringify(attempt.responseHeaders).length).toBeLessThan(10_000);
  });
});

test("an endpoint's own deadline takes the place of the sender's", async () => {
  const receiver = await startReceiver();
  receiver.hold('/');
  const sender = await startSender({ retry: ONCE, timeoutMs: 30_000 });
  await sender.endpoints.create({ url: receiver.url(), timeoutMs: 1000 });
  const sent = await sender.send({ type: 'a.b', data: 1 });
  const [attempt] = await untilAttempts(sender, sent, 1);
  expect(attempt).toMatchObject({ errorKind: 'timeout', error: expect.stringContaining('1000 ms') });
});

describe('410 says that the receiver is gone', () => {
  test('the endpoint is paused, and what it is owed is held', async () => {
    const receiver = await startReceiver();
    receiver.answer('/', 410);
    const sender = await startSender({ retry: { delaysSeconds: [0, 0], jitter: 0 } });
    const { id } = await sender.endpoints.create({ url: receiver.url() });
    const sent = await sender.send({ type: 'a.b', data: 1 });
    await untilAttempts(sender, sent, 1);
    expect(await sender.endpoints.get(id)).toMatchObject({ status: 'paused', pausedReason: 'gone' });
    await takeTurns(sender);
    expect(receiver.requests()).toHaveLength(1);
    expect(await sender.messages.get(sent.id)).toMatchObject({
      status: 'pending',
      deliveries: [{ status: 'pending', attemptCount: 1 }],
    });
    receiver.answer('/', 200);
    await sender.endpoints.enable(id);
    await untilStatus(sender, sent.id, 'delivered');
  });
});

test('a slow receiver delays nobody else', async () => {
  const receiver = await startReceiver();
  const held = receiver.hold('/slow');
  const sender = await startSender({ concurrency: 4 });
  await sender.endpoints.create({ url: receiver.url('/slow'), types: ['slow'] });
  await sender.endpoints.create({ url: receiver.url('/quick'), types: ['quick'] });
  const slow = await sender.sendMany(Array.from({ length: 20 }, () => ({ type: 'slow', data: 1 })));
  await receiver.waitFor(2, '/slow');
  await sender.sendMany(Array.from({ length: 20 }, () => ({ type: 'quick', data: 1 })));
  await receiver.waitFor(20, '/quick');
  // Half of the requests of a process is what one endpoint may hold.
  expect(receiver.requests('/slow')).toHaveLength(2);
  held.release();
  for (const { id } of slow) await untilStatus(sender, id, 'delivered');
});

test('an endpoint with many failing deliveries delays nobody else', async () => {
  const dead = await freePort();
  const receiver = await startReceiver();
  const sender = await startSender({ started: false, concurrency: 8 });
  await sender.endpoints.create({ url: `http://127.0.0.1:${dead}/`, types: ['dead'] });
  await sender.endpoints.create({ url: receiver.url(), types: ['good'] });
  for (let batch = 0; batch < 10; batch++) {
    await sender.sendMany(Array.from({ length: 500 }, () => ({ type: 'dead', data: 1 })));
  }
  await sender.sendMany(Array.from({ length: 20 }, () => ({ type: 'good', data: 1 })));
  await sender.start();
  await receiver.waitFor(20);
  const { messages } = await sender.messages.list({ types: ['dead'], limit: 1000 });
  const { deliveries } = await sender.messages.get(messages[0]!.id);
  expect(deliveries).toMatchObject([{ attemptCount: 0 }]);
});

test('what a worker has leased and never settled is taken up again when the lease is over', async () => {
  const clock = createClock();
  const receiver = await startReceiver();
  const sender = await startSender({ started: false, now: clock.now });
  await sender.endpoints.create({ url: receiver.url() });
  const sent = await sender.send({ type: 'a.b', data: 1 });
  // Of a worker that dies, its lease is all that is left.
  const dead = await storeAt(sender.file);
  await dead.open();
  const { leased } = await dead.outbox.turn({
    owner: 'wrk_dead',
    now: clock.now(),
    settlements: [],
    news: [],
    release: [],
    apart: false,
    lease: {
      leaseMs: 20_000,
      share: (lanes) => ({ quotas: new Map(lanes.map(({ endpointId }) => [endpointId, 1])), nextAt: null }),
    },
  });
  await dead.close();
  expect(leased).toHaveLength(1);
  await sender.start();
  await takeTurns(sender);
  expect(receiver.requests()).toEqual([]);
  clock.advance(20_000);
  await untilStatus(sender, sent.id, 'delivered');
  expect(receiver.requests()).toHaveLength(1);
});
