import { Webhook } from 'standardwebhooks';
import type { Attempt } from '../../lib/model/message.js';
import type { Sender } from '../../lib/sender/sender.js';
import type { Store } from '../../lib/store/store.js';
import { type Receiver, startReceiver } from '../support/receiver.js';
import { startSender, type TestSenderOptions } from '../support/sender.js';
import { storeAt } from '../support/test-store.js';
import { eventually } from '../support/wait-for.js';

/** A sender that delivers nothing by itself, and an endpoint at a receiver. */
async function start(options: TestSenderOptions = {}, fields: object = {}) {
  const receiver = await startReceiver();
  const sender = await startSender({ started: false, ...options });
  const endpoint = await sender.endpoints.create({ url: receiver.url('/hook'), ...fields });
  return { receiver, sender, endpoint };
}

/** A store that tells when it has answered which secrets sign. */
async function storeToRead(file: string): Promise<{ store: Store; read: Promise<void> }> {
  const store = await storeAt(file);
  let answered = () => {};
  const read = new Promise<void>((resolve) => {
    answered = resolve;
  });
  const secrets: Store['endpoints']['secrets'] = async (...asked) => {
    const answer = await store.endpoints.secrets(...asked);
    answered();
    return answer;
  };
  return { store: { ...store, endpoints: { ...store.endpoints, secrets } }, read };
}

const stored = async ({ sender }: Awaited<ReturnType<typeof start>>) => ({
  messages: (await sender.messages.list()).messages,
  endpoints: (await sender.endpoints.list()).endpoints,
});

describe('a test of an endpoint', () => {
  test('is sent at once by a process that does not deliver, signed, and answered with its attempt', async () => {
    const { receiver, sender, endpoint } = await start();
    receiver.answer('/hook', { status: 202, headers: { 'x-a': 'b' }, body: 'thanks' });
    const attempt = await sender.endpoints.test(endpoint.id);
    const [request] = receiver.requests();
    expect(attempt).toEqual({
      id: expect.stringMatching(/^att_/),
      messageId: request!.headers['webhook-id'],
      endpointId: endpoint.id,
      number: 1,
      status: 'succeeded',
      trigger: 'test',
      startedAt: expect.stringMatching(/^\d{4}-.*Z$/),
      durationMs: expect.any(Number),
      requestUrl: endpoint.url,
      remoteAddress: '127.0.0.1',
      responseStatus: 202,
      responseHeaders: expect.objectContaining({ 'x-a': 'b' }),
      responseBody: 'thanks',
      errorKind: null,
      error: null,
      nextAttemptAt: null,
    });
    expect(attempt.messageId).toMatch(/^msg_/);
    const event = new Webhook(endpoint.secret).verify(
      request!.rawBody,
      request!.headers as Record<string, string>,
    );
    expect(event).toEqual({
      type: 'hookplane.test',
      timestamp: expect.any(String),
      data: { message: expect.any(String) },
    });
  });

  test('may be another event', async () => {
    const { receiver, sender, endpoint } = await start();
    for (const data of [{ a: [1, null] }, null, 'text', 0]) {
      await sender.endpoints.test(endpoint.id, { type: 'invoice.paid', data });
      const body: unknown = JSON.parse(receiver.requests().at(-1)!.rawBody.toString());
      expect(body).toMatchObject({ type: 'invoice.paid', data });
    }
  });

  test("asks for no filter: neither the endpoint's types, channels and filter nor filterFn", async () => {
    const filterFn = jest.fn(() => false);
    const { receiver, sender, endpoint } = await start(
      { endpointHooks: () => ({ filterFn }) },
      { types: ['other'], channels: ['eu'], filter: { dataPath: 'a', equals: 1 } },
    );
    expect(await sender.endpoints.test(endpoint.id)).toMatchObject({ status: 'succeeded' });
    expect(receiver.requests()).toHaveLength(1);
    expect(filterFn).not.toHaveBeenCalled();
  });

  test('carries the headers of the endpoint and what its hooks make of it', async () => {
    const { receiver, sender, endpoint } = await start(
      {
        endpointHooks: () => ({
          transform: ({ type }, { tenantId, channels }) => ({ wrapped: type, tenantId, channels }),
          headers: () => ({ 'x-hook': 'h' }),
        }),
      },
      { tenantId: 'acme', headers: { 'x-own': 'o' } },
    );
    await sender.forTenant('acme').endpoints.test(endpoint.id);
    const [request] = receiver.requests();
    expect(request!.headers).toMatchObject({ 'x-own': 'o', 'x-hook': 'h' });
    expect(JSON.parse(request!.rawBody.toString())).toEqual({
      wrapped: 'hookplane.test',
      tenantId: 'acme',
      channels: null,
    });
  });

  test('is signed by every secret that signs', async () => {
    const { receiver, sender, endpoint } = await start();
    const { secret } = await sender.endpoints.rotateSecret(endpoint.id);
    await sender.endpoints.test(endpoint.id);
    const [request] = receiver.requests();
    for (const each of [secret, endpoint.secret]) {
      new Webhook(each).verify(request!.rawBody, request!.headers as Record<string, string>);
    }
    expect(String(request!.headers['webhook-signature']).split(' ')).toHaveLength(2);
  });

  test.each([
    [500, 'http_status'],
    [302, 'redirect'],
    [410, 'http_status'],
    [429, 'http_status'],
  ])('that is answered %i is an attempt that failed, and touches nothing', async (status, errorKind) => {
    const context = await start();
    const { receiver, sender, endpoint } = context;
    const before = await stored(context);
    receiver.answer('/hook', { status, headers: { 'retry-after': '3600' } });
    expect(await sender.endpoints.test(endpoint.id)).toMatchObject({
      status: 'failed',
      responseStatus: status,
      errorKind,
      error: expect.any(String),
      nextAttemptAt: null,
    });
    expect(await stored(context)).toEqual(before);
    expect((await sender.endpoints.attempts(endpoint.id)).attempts).toEqual([]);
    // Neither paused nor slowed down: what is sent now arrives now.
    receiver.answer('/hook', 200);
    await sender.start();
    await sender.send({ type: 'a.b', data: 1 });
    const requests = await receiver.waitFor(2);
    expect(requests[1]!.headers['webhook-id']).not.toBe(requests[0]!.headers['webhook-id']);
  });

  test('goes nowhere that a delivery would not go to', async () => {
    const { receiver, sender, endpoint } = await start();
    const strict = await startSender({ file: sender.file, allowTargets: [], started: false });
    expect(await strict.endpoints.test(endpoint.id)).toMatchObject({
      status: 'failed',
      errorKind: 'blocked_address',
      responseStatus: null,
    });
    expect(receiver.requests()).toEqual([]);
  });

  test('whose hook throws is an attempt that failed', async () => {
    const { receiver, sender, endpoint } = await start({
      endpointHooks: () => ({
        transform() {
          throw new Error('no such customer');
        },
      }),
    });
    expect(await sender.endpoints.test(endpoint.id)).toMatchObject({
      status: 'failed',
      errorKind: 'transform',
      error: expect.stringContaining('no such customer'),
    });
    expect(receiver.requests()).toEqual([]);
  });

  test("ends by the endpoint's deadline", async () => {
    const { receiver, sender, endpoint } = await start({}, { timeoutMs: 1000 });
    receiver.hold('/hook');
    const began = performance.now();
    expect(await sender.endpoints.test(endpoint.id)).toMatchObject({
      status: 'failed',
      errorKind: 'timeout',
    });
    expect(performance.now() - began).toBeGreaterThanOrEqual(990);
  });

  test('is not told as an attempt event: nothing of it is recorded', async () => {
    const { receiver, sender, endpoint } = await start();
    const told: Attempt[] = [];
    sender.on('attempt', ({ attempt }) => told.push(attempt));
    await sender.endpoints.test(endpoint.id);
    await sender.start();
    const sent = await sender.send({ type: 'a.b', data: 1 });
    await receiver.waitFor(2);
    await eventually(() => expect(told.map(({ messageId }) => messageId)).toEqual([sent.id]));
  });
});

describe('what is refused', () => {
  test('a test of a paused endpoint', async () => {
    const { receiver, sender, endpoint } = await start();
    await sender.endpoints.disable(endpoint.id);
    await expect(sender.endpoints.test(endpoint.id)).rejects.toMatchObject({ code: 'ENDPOINT_DISABLED' });
    await sender.endpoints.enable(endpoint.id);
    await sender.endpoints.test(endpoint.id);
    expect(receiver.requests()).toHaveLength(1);
  });

  test('a test of an endpoint that is not there, whatever is wrong with the rest', async () => {
    const { sender, endpoint } = await start({}, { tenantId: 'acme' });
    const colour = { colour: 'red' } as object;
    await expect(sender.endpoints.test('ep_none', colour)).rejects.toMatchObject({
      code: 'ENDPOINT_NOT_FOUND',
    });
    await expect(sender.forTenant('other').endpoints.test(endpoint.id, colour)).rejects.toMatchObject({
      code: 'ENDPOINT_NOT_FOUND',
    });
  });

  test.each([
    [{ type: 'no spaces' }, 'type'],
    [{ type: '' }, 'type'],
    [{ type: 'x'.repeat(256) }, 'type'],
    [{ data: () => 1 }, 'data'],
    [{ data: 1n }, 'data'],
    [{ tenantId: 'acme' }, 'tenantId'],
  ])('an event that is none: %p', async (input, path) => {
    const { receiver, sender, endpoint } = await start();
    await expect(sender.endpoints.test(endpoint.id, input as object)).rejects.toMatchObject({
      code: 'MESSAGE_VALIDATION',
      issues: [{ path }],
    });
    expect(receiver.requests()).toEqual([]);
  });
});

describe('many tests at once', () => {
  const many = (sender: Sender, receiver: Receiver, count: number, tenantId: string | null) =>
    Promise.all(
      Array.from({ length: count }, () => sender.endpoints.create({ url: receiver.url('/hook'), tenantId })),
    );

  test('are eight in a process, four of them of one tenant; the rest wait in line', async () => {
    const { receiver, sender } = await start();
    const endpoints = [];
    for (const tenantId of ['a', 'b', 'c']) endpoints.push(...(await many(sender, receiver, 5, tenantId)));
    const held = receiver.hold('/hook');
    const tests = endpoints.map(({ id }) => sender.endpoints.test(id));
    await receiver.waitFor(8);
    // Whatever else had been sent by now would have come before this.
    await fetch(receiver.url('/probe'));
    expect(receiver.requests('/hook')).toHaveLength(8);
    held.release();
    const attempts = await Promise.all(tests);
    expect(attempts.map(({ status }) => status)).toEqual(Array(15).fill('succeeded'));
    expect(receiver.requests('/hook')).toHaveLength(15);
  });

  test('of one endpoint are made one after another', async () => {
    const { receiver, sender, endpoint } = await start();
    const held = receiver.hold('/hook');
    const tests = Array.from({ length: 3 }, () => sender.endpoints.test(endpoint.id));
    await receiver.waitFor(1);
    const other = await sender.endpoints.create({ url: receiver.url('/other') });
    expect(await sender.endpoints.test(other.id)).toMatchObject({ status: 'succeeded' });
    expect(receiver.requests('/hook')).toHaveLength(1);
    held.release();
    expect((await Promise.all(tests)).map(({ status }) => status)).toEqual(Array(3).fill('succeeded'));
  });

  test('of one tenant leave room for those of others', async () => {
    const { receiver, sender } = await start();
    const endpoints = await many(sender, receiver, 20, 'a');
    const other = await sender.endpoints.create({ url: receiver.url('/other'), tenantId: 'b' });
    const held = receiver.hold('/hook');
    const slow = endpoints.map(({ id }) => sender.endpoints.test(id));
    await receiver.waitFor(4, '/hook');
    expect(await sender.endpoints.test(other.id)).toMatchObject({ status: 'succeeded' });
    expect(receiver.requests('/hook')).toHaveLength(4);
    held.release();
    await Promise.all(slow);
  });

  test('answer a test whose turn does not come in time as one that timed out, without a request', async () => {
    const { receiver, sender } = await start({ timeoutMs: 30_000 });
    const held = receiver.hold('/hook');
    const slow = (await many(sender, receiver, 4, null)).map(({ id }) => sender.endpoints.test(id));
    await receiver.waitFor(4);
    const hasty = await sender.endpoints.create({ url: receiver.url('/hasty'), timeoutMs: 1000 });
    expect(await sender.endpoints.test(hasty.id)).toMatchObject({
      status: 'failed',
      errorKind: 'timeout',
      error: 'No request was made within 1000 ms: too many tests of endpoints are under way.',
      remoteAddress: null,
    });
    expect(receiver.requests('/hasty')).toEqual([]);
    held.release();
    await Promise.all(slow);
    expect(await sender.endpoints.test(hasty.id)).toMatchObject({ status: 'succeeded' });
  });
});

describe('a stop', () => {
  test('ends tests under way and in line, and a start makes them possible again', async () => {
    const { receiver, sender, endpoint } = await start();
    const held = receiver.hold('/hook');
    const tests = Array.from({ length: 3 }, () => sender.endpoints.test(endpoint.id));
    await receiver.waitFor(1);
    await sender.stop();
    const ended = await Promise.all(tests);
    expect(ended.map(({ status }) => status)).toEqual(Array(3).fill('failed'));
    expect(ended.filter(({ error }) => error?.includes('stopped'))).toHaveLength(2);
    await expect(sender.endpoints.test(endpoint.id)).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' });
    held.release();
    await sender.start();
    expect(await sender.endpoints.test(endpoint.id)).toMatchObject({ status: 'succeeded' });
    expect(receiver.requests()).toHaveLength(2);
  });

  test('that begins in the same turn of the loop lets no test go out after it', async () => {
    const { receiver, sender, endpoint } = await start();
    const outcomes: string[] = [];
    for (let ahead = 0; ahead < 40; ahead++) {
      const { store, read } = await storeToRead(sender.file);
      const other = await startSender({ store, started: false });
      // Opened before, so that the test is in another of its steps each time.
      await other.endpoints.get(endpoint.id);
      const testing = other.endpoints.test(endpoint.id).then(
        ({ status }) => status,
        ({ code }) => code,
      );
      // What a database answers may take any number of turns; half of them begin from there.
      if (ahead >= 20) await read;
      for (let step = 0; step < ahead % 20; step++) await null;
      await other.stop();
      outcomes.push(await testing);
    }
    expect(outcomes.filter((each) => each !== 'STORE_UNAVAILABLE' && each !== 'failed')).toEqual([]);
    expect(outcomes).toContain('failed');
    expect(receiver.requests()).toEqual([]);
  });
});
