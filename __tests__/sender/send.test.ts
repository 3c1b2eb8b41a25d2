import { Webhook } from 'standardwebhooks';
import { verifySignature } from '../../lib/sender/verify-signature.js';
import { type ReceivedRequest, startReceiver } from '../support/receiver.js';
import { createClock, DAY } from '../support/clock.js';
import { startSender } from '../support/sender.js';
import { eventually } from '../support/wait-for.js';

const header = (request: ReceivedRequest | undefined, name: string): string => String(request?.headers[name]);

/** What a receiver on the reference library does. */
function verify(secret: string, request: ReceivedRequest): unknown {
  return new Webhook(secret).verify(request.rawBody, {
    'webhook-id': header(request, 'webhook-id'),
    'webhook-timestamp': header(request, 'webhook-timestamp'),
    'webhook-signature': header(request, 'webhook-signature'),
  });
}

describe('what arrives', () => {
  test('is a POST of type, timestamp and data in JSON', async () => {
    const receiver = await startReceiver();
    const sender = await startSender();
    await sender.endpoints.create({ url: receiver.url('/hook?a=1') });
    const sent = await sender.send({ type: 'invoice.paid', data: { id: 7, lines: [null, true] } });
    const [request] = await receiver.waitFor(1);
    expect(request).toMatchObject({ method: 'POST', path: '/hook?a=1' });
    expect(request?.headers).toMatchObject({
      'content-type': 'application/json',
      'user-agent': 'hookplane',
      'webhook-id': sent.id,
      'content-length': String(request?.rawBody.length),
    });
    expect(request?.rawBody.toString()).toBe(
      `{"type":"invoice.paid","timestamp":"${sent.createdAt}","data":{"id":7,"lines":[null,true]}}`,
    );
  });

  test.each([
    ['an object', { a: { b: [] } }],
    [
      'text beyond ASCII',
      { name: 'Zoë Ångström', city: '東京', emoji: '👩🏽‍🚀', odd: '\u2028\u2029\uFEFF\u0000' },
    ],
    ['half of a surrogate pair', '\ud83d'],
    ['nothing', null],
    ['a number', 0],
    ['a text', ''],
    ['a list', [1, [2, [3]]]],
    ['names that reach a prototype', JSON.parse('{"__proto__":{"a":1},"constructor":2}')],
    ['a mebibyte', 'é'.repeat(524_288)],
  ])('verifies with the reference library: %s', async (_what, data: unknown) => {
    const receiver = await startReceiver();
    const sender = await startSender();
    const { secret } = await sender.endpoints.create({ url: receiver.url() });
    const { createdAt } = await sender.send({ type: 'a.b', data });
    const [request] = await receiver.waitFor(1);
    expect(verify(secret, request!)).toEqual({ type: 'a.b', timestamp: createdAt, data });
    expect(request?.rawBody.toString()).toContain(`"data":${JSON.stringify(data)}}`);
  });

  test('verifies with no other secret, and not after a byte has changed', async () => {
    const receiver = await startReceiver();
    const sender = await startSender();
    const { secret } = await sender.endpoints.create({ url: receiver.url() });
    await sender.send({ type: 'a.b', data: 1 });
    const [request] = await receiver.waitFor(1);
    expect(() => verify(sender.keys.generateSymmetric().secret, request!)).toThrow();
    const changed = { ...request!, rawBody: Buffer.from(request!.rawBody.toString().replace('1', '2')) };
    expect(() => verify(secret, changed)).toThrow();
  });

  test('verifies by the public key when the secret is an ed25519 one', async () => {
    const receiver = await startReceiver();
    const sender = await startSender();
    const { privateKey, publicKey } = sender.keys.generateAsymmetric();
    await sender.endpoints.create({ url: receiver.url(), secret: privateKey });
    const sent = await sender.send({ type: 'a.b', data: '東京' });
    const [request] = await receiver.waitFor(1);
    expect(header(request, 'webhook-signature')).toMatch(/^v1a,[A-Za-z0-9+/]{86}==$/);
    const verified = verifySignature({
      headers: request!.headers,
      body: request!.rawBody,
      secret: publicKey,
    });
    expect(verified.id).toBe(sent.id);
  });

  test('carries the time of its attempt, whole seconds', async () => {
    const clock = createClock();
    const receiver = await startReceiver();
    const sender = await startSender({ now: clock.now, started: false });
    await sender.endpoints.create({ url: receiver.url() });
    const sent = await sender.send({ type: 'a.b', data: 1 });
    clock.advance(3 * DAY + 999);
    await sender.start();
    const [request] = await receiver.waitFor(1);
    expect(header(request, 'webhook-timestamp')).toBe(String((Date.parse(sent.createdAt) + 3 * DAY) / 1000));
    expect(request?.rawBody.toString()).toContain(`"timestamp":"${sent.createdAt}"`);
  });

  test("carries the endpoint's own headers", async () => {
    const receiver = await startReceiver();
    const sender = await startSender();
    await sender.endpoints.create({
      url: receiver.url(),
      headers: { Authorization: 'Bearer x', 'X-Team': 'a' },
    });
    await sender.send({ type: 'a.b', data: 1 });
    const [request] = await receiver.waitFor(1);
    expect(request?.headers).toMatchObject({ authorization: 'Bearer x', 'x-team': 'a' });
  });
});

describe('the bytes', () => {
  test('are the same on every attempt, in the record, and in a replay; the id too', async () => {
    const receiver = await startReceiver();
    receiver.answer('/', 500, 500, 200);
    const sender = await startSender({ retry: { delaysSeconds: [0, 0], jitter: 0 } });
    const endpoint = await sender.endpoints.create({ url: receiver.url() });
    const sent = await sender.send({ type: 'a.b', data: { z: 1, a: 1.0, text: '\u00e9' } });
    await receiver.waitFor(3);
    await eventually(async () =>
      expect(await sender.messages.get(sent.id)).toMatchObject({ status: 'delivered' }),
    );
    await sender.replay({ messageId: sent.id });
    const requests = await receiver.waitFor(4);
    for (const request of requests) {
      expect(request.rawBody).toEqual(requests[0]?.rawBody);
      expect(header(request, 'webhook-id')).toBe(sent.id);
      verify(endpoint.secret, request);
    }
    const { payload } = await sender.messages.get(sent.id);
    expect(payload).toEqual(JSON.parse(requests[0]!.rawBody.toString()));
    expect(Object.keys(payload!.data as object)).toEqual(['z', 'a', 'text']);
  });
});

describe('sending', () => {
  test('answers the record of the message', async () => {
    const clock = createClock();
    const sender = await startSender({ now: clock.now });
    await sender.endpoints.create({ url: 'http://127.0.0.1:9999/', tenantId: 'acme' });
    const sent = await sender.send({
      type: 'invoice.paid',
      data: 1,
      tenantId: 'acme',
      channels: ['eu'],
      idempotencyKey: 'key',
    });
    expect(sent).toEqual({
      id: expect.stringMatching(/^msg_[A-Za-z0-9]{22,}$/),
      tenantId: 'acme',
      type: 'invoice.paid',
      channels: ['eu'],
      status: 'pending',
      idempotencyKey: 'key',
      createdAt: '2026-05-01T12:00:00.000Z',
      expiresAt: '2026-05-31T12:00:00.000Z',
      duplicate: false,
    });
    const { payload, deliveries, ...record } = await sender.messages.get(sent.id);
    expect({ ...record, duplicate: false }).toEqual(sent);
    expect(payload).toEqual({ type: 'invoice.paid', timestamp: '2026-05-01T12:00:00.000Z', data: 1 });
    expect(deliveries).toHaveLength(1);
  });

  test('is durable when it answers: another process reads it at once', async () => {
    const sender = await startSender({ started: false });
    const sent = await sender.send({ type: 'a.b', data: 1 });
    const other = await startSender({ started: false, file: sender.file });
    expect(await other.messages.get(sent.id)).toMatchObject({ id: sent.id, status: 'unrouted' });
  });

  test('does not deliver before the sender has started; what was sent before it is delivered then', async () => {
    const receiver = await startReceiver();
    const sender = await startSender({ started: false });
    await sender.endpoints.create({ url: receiver.url() });
    const sent = await sender.send({ type: 'a.b', data: 1 });
    expect(await sender.messages.get(sent.id)).toMatchObject({ deliveries: [{ attemptCount: 0 }] });
    expect(receiver.requests()).toEqual([]);
    await sender.start();
    await receiver.waitFor(1);
  });

  test('wakes the dispatcher at once: nothing waits for a poll', async () => {
    const receiver = await startReceiver();
    const sender = await startSender({ pollIntervalMs: 3_600_000 });
    await sender.endpoints.create({ url: receiver.url() });
    for (let index = 1; index <= 3; index++) {
      await sender.send({ type: 'a.b', data: index });
      await receiver.waitFor(index);
    }
  });

  test('a process that does not deliver leaves it to one that does', async () => {
    const receiver = await startReceiver();
    const worker = await startSender();
    await worker.endpoints.create({ url: receiver.url() });
    const web = await startSender({ started: false, file: worker.file });
    const sent = await web.send({ type: 'a.b', data: 1 });
    const [request] = await receiver.waitFor(1);
    expect(header(request, 'webhook-id')).toBe(sent.id);
  });

  test('of hundreds at once stores and delivers each once', async () => {
    const receiver = await startReceiver();
    const sender = await startSender();
    await sender.endpoints.create({ url: receiver.url() });
    const sent = await Promise.all(
      Array.from({ length: 600 }, (_each, n) => sender.send({ type: 'a.b', data: n })),
    );
    expect(new Set(sent.map(({ id }) => id)).size).toBe(600);
    const requests = await receiver.waitFor(600);
    expect(requests.map((request) => header(request, 'webhook-id')).sort()).toEqual(
      sent.map(({ id }) => id).sort(),
    );
    await eventually(async () => {
      const { messages } = await sender.messages.list({ statuses: ['delivered'], limit: 1000 });
      expect(messages).toHaveLength(600);
    });
    expect(receiver.requests()).toHaveLength(600);
  });

  test('a message without a type that any endpoint wants is kept, as unrouted', async () => {
    const sender = await startSender();
    const sent = await sender.send({ type: 'a.b', data: 1 });
    expect(sent.status).toBe('unrouted');
    expect(await sender.messages.get(sent.id)).toMatchObject({ status: 'unrouted', deliveries: [] });
  });

  test.each([
    [{ data: 1 }, 'type'],
    [{ type: 'a.b' }, 'data'],
    [{ type: 'a.b', data: undefined }, 'data'],
    [{ type: 'a.b', data: () => 1 }, 'data'],
    [{ type: 'a.b', data: Symbol('x') }, 'data'],
    [{ type: 'a.b', data: 1n }, 'data'],
    [{ type: 'a.b', data: { toJSON: () => undefined } }, 'data'],
    [{ type: '', data: 1 }, 'type'],
    [{ type: 'a b', data: 1 }, 'type'],
    [{ type: 'a..b', data: 1 }, 'type'],
    [{ type: 'order.*', data: 1 }, 'type'],
    [{ type: 'a'.repeat(256), data: 1 }, 'type'],
    [{ type: 7, data: 1 }, 'type'],
    [{ type: 'a.b', data: 1, tenantId: '' }, 'tenantId'],
    [{ type: 'a.b', data: 1, tenantId: 'a'.repeat(256) }, 'tenantId'],
    [{ type: 'a.b', data: 1, tenantId: 'a\u0000b' }, 'tenantId'],
    [{ type: 'a.b', data: 1, channels: [] }, 'channels'],
    [{ type: 'a.b', data: 1, channels: ['a b'] }, 'channels.0'],
    [{ type: 'a.b', data: 1, idempotencyKey: '' }, 'idempotencyKey'],
    [{ type: 'a.b', data: 1, idempotencyKey: 'a'.repeat(256) }, 'idempotencyKey'],
    [{ type: 'a.b', data: 1, expiresAt: 'tomorrow' }, 'expiresAt'],
    [{ type: 'a.b', data: 1, expiresAt: '2026-05-02T00:00:00' }, 'expiresAt'],
    [{ type: 'a.b', data: 1, expiresAt: '2020-01-01T00:00:00Z' }, 'expiresAt'],
    [{ type: 'a.b', data: 1, endpointId: 'ep_a' }, 'endpointId'],
    [{ type: 'a.b', data: 1, id: 'msg_mine' }, 'id'],
    [null, ''],
    ['a.b', ''],
  ])('refuses %p, and names %j', async (message, path) => {
    const sender = await startSender({ started: false });
    await expect(sender.send(message as never)).rejects.toMatchObject({
      code: 'MESSAGE_VALIDATION',
      issues: [{ path, message: expect.any(String) }],
    });
  });

  test('refuses data that holds itself', async () => {
    const sender = await startSender({ started: false });
    const data: Record<string, unknown> = {};
    data.self = data;
    await expect(sender.send({ type: 'a.b', data })).rejects.toMatchObject({
      code: 'MESSAGE_VALIDATION',
      issues: [{ path: 'data' }],
    });
  });

  test('takes data as it was at the call, whatever becomes of it', async () => {
    const sender = await startSender({ started: false });
    const data = { n: 1 };
    const sending = sender.send({ type: 'a.b', data });
    data.n = 2;
    expect((await sender.messages.get((await sending).id)).payload!.data).toEqual({ n: 1 });
  });
});

describe('the end of its time', () => {
  test("is the send's own, or the sender's", async () => {
    const clock = createClock();
    const sender = await startSender({ now: clock.now, messageTtlSeconds: 60, started: false });
    expect((await sender.send({ type: 'a.b', data: 1 })).expiresAt).toBe('2026-05-01T12:01:00.000Z');
    const own = await sender.send({ type: 'a.b', data: 1, expiresAt: '2026-05-02T00:00:00+02:00' });
    expect(own.expiresAt).toBe('2026-05-01T22:00:00.000Z');
  });
});

describe('sending many', () => {
  test('stores them in their order, all of them', async () => {
    const receiver = await startReceiver();
    const sender = await startSender();
    await sender.endpoints.create({ url: receiver.url(), types: ['a.*'] });
    const sent = await sender.sendMany([
      { type: 'a.b', data: 1 },
      { type: 'c', data: 2 },
      { type: 'a.d', data: 3, tenantId: 'acme' },
      { type: 'a.e', data: 4 },
    ]);
    expect(sent.map(({ type, status }) => [type, status])).toEqual([
      ['a.b', 'pending'],
      ['c', 'unrouted'],
      ['a.d', 'unrouted'],
      ['a.e', 'pending'],
    ]);
    await receiver.waitFor(2);
    const { messages } = await sender.messages.list();
    expect(messages.map(({ id }) => id)).toEqual(sent.map(({ id }) => id).reverse());
  });

  test('stores none when one is wrong, or conflicts', async () => {
    const sender = await startSender({ started: false });
    const good = { type: 'a.b', data: 1 };
    await expect(sender.sendMany([good, { type: '', data: 1 }])).rejects.toMatchObject({
      code: 'MESSAGE_VALIDATION',
    });
    await sender.send({ ...good, idempotencyKey: 'key' });
    await expect(
      sender.sendMany([good, { type: 'a.b', data: 2, idempotencyKey: 'key' }]),
    ).rejects.toMatchObject({
      code: 'IDEMPOTENCY_CONFLICT',
    });
    expect((await sender.messages.list()).messages).toHaveLength(1);
  });

  test('of none is none, and of no list is refused', async () => {
    const sender = await startSender({ started: false });
    expect(await sender.sendMany([])).toEqual([]);
    await expect(sender.sendMany({} as never)).rejects.toMatchObject({ code: 'MESSAGE_VALIDATION' });
  });
});

test('a list of messages by no type, or by no status, is refused before the store is asked', async () => {
  const sender = await startSender({ started: false });
  for (const request of [{ types: [] }, { statuses: [] }]) {
    await expect(sender.messages.list(request)).rejects.toMatchObject({
      code: 'INVALID_QUERY',
      message: `${Object.keys(request)[0]} must not be empty: leave it out for all of them`,
    });
  }
});
