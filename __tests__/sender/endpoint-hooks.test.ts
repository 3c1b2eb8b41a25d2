import { Webhook } from 'standardwebhooks';
import type { EndpointHooks, HookMessage } from '../../lib/sender/options.js';
import type { Payload } from '../../lib/model/message.js';
import type { Endpoint } from '../../lib/model/endpoint.js';
import { startReceiver } from '../support/receiver.js';
import { startSender } from '../support/sender.js';
import { newPlace, storeAt } from '../support/test-store.js';
import { eventually } from '../support/wait-for.js';

/** Hooks of every endpoint, and how often, for which endpoint, they were looked up. */
function hooks(given: EndpointHooks) {
  const asked: Endpoint[] = [];
  return {
    asked,
    endpointHooks(endpoint: Endpoint) {
      asked.push(endpoint);
      return given;
    },
  };
}

const RETRY = { delaysSeconds: [0, 0], jitter: 0 };

test('a send whose endpoints cannot be read, to ask their hooks, fails', async () => {
  const store = await storeAt(await newPlace());
  const ofTenants = () => Promise.reject(new Error('cannot be read'));
  const sender = await startSender({
    store: { ...store, endpoints: { ...store.endpoints, ofTenants } },
    endpointHooks: () => ({}),
  });
  await expect(sender.send({ type: 'a.b', data: 1 })).rejects.toThrow('cannot be read');
  await expect(sender.sendMany([{ type: 'a.b', data: 1 }])).rejects.toThrow('cannot be read');
});

describe('filterFn', () => {
  test('is asked at send, with the payload and the message, and decides', async () => {
    const told: [Payload, HookMessage][] = [];
    const sender = await startSender({
      started: false,
      endpointHooks: (endpoint) => ({
        filterFn(payload, message) {
          told.push([payload, message]);
          return endpoint.metadata.plan === (payload.data as { plan: string }).plan;
        },
      }),
    });
    const url = 'http://127.0.0.1:9999/';
    const pro = await sender.endpoints.create({ url, tenantId: 'acme', metadata: { plan: 'pro' } });
    await sender.endpoints.create({ url, tenantId: 'acme', metadata: { plan: 'free' } });
    await sender.endpoints.create({ url, tenantId: 'acme', types: ['other'] });
    const sent = await sender.send({
      type: 'a.b',
      data: { plan: 'pro' },
      tenantId: 'acme',
      channels: ['eu'],
    });
    const { deliveries } = await sender.messages.get(sent.id);
    expect(deliveries.map(({ endpointId }) => endpointId)).toEqual([pro.id]);
    // The endpoint's own filters come first: the third was not asked for.
    expect(told).toHaveLength(2);
    const { id, tenantId, type, channels, createdAt } = sent;
    expect(told[0]).toEqual([
      { type: 'a.b', timestamp: createdAt, data: { plan: 'pro' } },
      { id, tenantId, type, channels, createdAt },
    ]);
  });

  test('may take its time', async () => {
    const sender = await startSender({
      started: false,
      endpointHooks: () => ({ filterFn: async (payload) => Promise.resolve(payload.data === 1) }),
    });
    await sender.endpoints.create({ url: 'http://127.0.0.1:9999/' });
    expect((await sender.send({ type: 'a.b', data: 1 })).status).toBe('pending');
    expect((await sender.send({ type: 'a.b', data: 2 })).status).toBe('unrouted');
  });

  test('that throws fails the send it was asked for, and no other of the same moment', async () => {
    const sender = await startSender({
      started: false,
      endpointHooks: () => ({
        filterFn(payload) {
          if (payload.data === 'bad') throw new Error('cannot tell');
          return true;
        },
      }),
    });
    await sender.endpoints.create({ url: 'http://127.0.0.1:9999/' });
    const [good, bad, other] = await Promise.allSettled(
      ['good', 'bad', 'other'].map((data) => sender.send({ type: 'a.b', data })),
    );
    expect([good?.status, other?.status]).toEqual(['fulfilled', 'fulfilled']);
    expect(bad).toMatchObject({ status: 'rejected', reason: { message: 'cannot tell' } });
    expect((await sender.messages.list()).messages).toHaveLength(2);
  });

  test('cannot change what is sent, nor what other endpoints are asked about', async () => {
    const seen: unknown[] = [];
    const sender = await startSender({
      started: false,
      endpointHooks: () => ({
        filterFn(payload) {
          const data = payload.data as Record<string, unknown>;
          seen.push(structuredClone(data));
          data.a = 'changed';
          return true;
        },
      }),
    });
    const url = 'http://127.0.0.1:9999/';
    for (let count = 0; count < 3; count++) {
      await sender.endpoints.create({ url, filter: { dataPath: 'a', equals: 1 } });
    }
    const sent = await sender.send({ type: 'a.b', data: { a: 1 } });
    expect(seen).toEqual([{ a: 1 }, { a: 1 }, { a: 1 }]);
    const { payload, deliveries } = await sender.messages.get(sent.id);
    expect(payload!.data).toEqual({ a: 1 });
    expect(deliveries).toHaveLength(3);
  });
});

describe('transform', () => {
  test('is asked at each attempt for what is sent in place of the payload, and that is what is signed', async () => {
    const receiver = await startReceiver();
    receiver.answer('/', 500, 200);
    let attempt = 0;
    const sender = await startSender({
      retry: RETRY,
      endpointHooks: () => ({
        transform: (payload, message) => ({ n: ++attempt, text: '東京', was: payload, of: message.id }),
      }),
    });
    const { secret } = await sender.endpoints.create({ url: receiver.url() });
    const sent = await sender.send({ type: 'a.b', data: 1 });
    const requests = await receiver.waitFor(2);
    const payload = { type: 'a.b', timestamp: sent.createdAt, data: 1 };
    for (const [index, { rawBody, headers }] of requests.entries()) {
      expect(new Webhook(secret).verify(rawBody, headers as Record<string, string>)).toEqual({
        n: index + 1,
        text: '東京',
        was: payload,
        of: sent.id,
      });
    }
    expect((await sender.messages.get(sent.id)).payload).toEqual(payload);
  });

  test.each([
    ['throws', () => Promise.reject(new Error('no rate for EUR')), /no rate for EUR/],
    ['answers nothing', () => undefined, /nothing that can be written as JSON/],
    ['answers a function', () => () => 1, /nothing that can be written as JSON/],
    ['answers what JSON does not know', () => ({ n: 1n }), /BigInt/],
  ])('that %s fails the attempt, which is made again', async (_what, broken: () => unknown, error) => {
    const receiver = await startReceiver();
    let attempt = 0;
    const sender = await startSender({
      retry: RETRY,
      endpointHooks: () => ({ transform: (payload) => (attempt++ === 0 ? broken() : payload) }),
    });
    await sender.endpoints.create({ url: receiver.url() });
    const sent = await sender.send({ type: 'a.b', data: 1 });
    await eventually(async () =>
      expect(await sender.messages.get(sent.id)).toMatchObject({ status: 'delivered' }),
    );
    const { attempts } = await sender.messages.attempts(sent.id);
    expect(attempts).toMatchObject([
      {
        status: 'failed',
        errorKind: 'transform',
        error: expect.stringMatching(error),
        responseStatus: null,
        remoteAddress: null,
      },
      { status: 'succeeded' },
    ]);
    expect(receiver.requests()).toHaveLength(1);
  });
});

describe('headers', () => {
  test("are sent beside the endpoint's own, and take precedence whatever their case", async () => {
    const receiver = await startReceiver();
    const sender = await startSender({
      endpointHooks: (endpoint) => ({
        headers: async (_payload, message) => ({
          'x-team': 'hook',
          'X-For': `${endpoint.id} ${message.type}`,
        }),
      }),
    });
    const endpoint = await sender.endpoints.create({
      url: receiver.url(),
      headers: { 'X-Team': 'own', 'X-Kept': 'yes' },
    });
    await sender.send({ type: 'a.b', data: 1 });
    const [request] = await receiver.waitFor(1);
    expect(request?.headers).toMatchObject({
      'x-team': 'hook',
      'x-kept': 'yes',
      'x-for': `${endpoint.id} a.b`,
    });
  });

  test('may come with a transform', async () => {
    const receiver = await startReceiver();
    const sender = await startSender({
      endpointHooks: () => ({ headers: () => ({ 'x-a': 'b' }), transform: () => 'body' }),
    });
    await sender.endpoints.create({ url: receiver.url() });
    await sender.send({ type: 'a.b', data: 1 });
    const [request] = await receiver.waitFor(1);
    expect([request?.headers['x-a'], request?.rawBody.toString()]).toEqual(['b', '"body"']);
  });

  test.each([
    ['a reserved one', { 'webhook-id': 'mine' }],
    ['the host', { Host: 'evil.example' }],
    ['a line break', { 'x-a': 'b\r\nx-evil: c' }],
    ['no header name', { 'x a': 'b' }],
    ['no text', { 'x-a': 7 as never }],
    ['what is no plain object: a Headers', new Headers({ 'x-a': 'b' }) as never],
    ['what is no plain object: a Map', new Map([['x-a', 'b']]) as never],
    ['what is no object', 'x-a: b' as never],
  ])('with %s fail the attempt, and nothing is sent', async (_what, headers) => {
    const receiver = await startReceiver();
    const sender = await startSender({
      retry: { delaysSeconds: [], jitter: 0 },
      endpointHooks: () => ({ headers: () => headers as Record<string, string> }),
    });
    await sender.endpoints.create({ url: receiver.url() });
    const sent = await sender.send({ type: 'a.b', data: 1 });
    await eventually(async () =>
      expect(await sender.messages.get(sent.id)).toMatchObject({ status: 'failed' }),
    );
    expect((await sender.messages.attempts(sent.id)).attempts).toMatchObject([{ errorKind: 'transform' }]);
    expect(receiver.requests()).toEqual([]);
  });
});

describe('the hooks', () => {
  test('are code: they are looked up anew each time, by the endpoint as it is, in every process', async () => {
    const receiver = await startReceiver();
    const first = await startSender({ started: false });
    const endpoint = await first.endpoints.create({ url: receiver.url() });
    await first.send({ type: 'a.b', data: 1 });
    await first.stop();
    const given = hooks({ transform: () => 'transformed' });
    const second = await startSender({ file: first.file, endpointHooks: given.endpointHooks });
    const [request] = await receiver.waitFor(1);
    expect(request?.rawBody.toString()).toBe('"transformed"');
    expect(given.asked.map(({ id }) => id)).toEqual([endpoint.id]);
    await second.endpoints.update(endpoint.id, { metadata: { v: 2 } });
    await second.send({ type: 'a.b', data: 2 });
    await receiver.waitFor(2);
    expect(given.asked.at(-1)?.metadata).toEqual({ v: 2 });
  });

  test('of no endpoint are none', async () => {
    const receiver = await startReceiver();
    const sender = await startSender({ endpointHooks: () => undefined });
    await sender.endpoints.create({ url: receiver.url(), headers: { 'x-own': 'yes' } });
    await sender.send({ type: 'a.b', data: 1 });
    const [request] = await receiver.waitFor(1);
    expect(request?.headers['x-own']).toBe('yes');
  });

  test('that cannot be looked up fail the attempt', async () => {
    const receiver = await startReceiver();
    let attempts = 0;
    const sender = await startSender({
      started: false,
      retry: RETRY,
      endpointHooks() {
        attempts += 1;
        if (attempts === 2) throw new Error('not loaded yet');
        return undefined;
      },
    });
    await sender.endpoints.create({ url: receiver.url() });
    const sent = await sender.send({ type: 'a.b', data: 1 });
    await sender.start();
    await receiver.waitFor(1);
    expect((await sender.messages.attempts(sent.id, { status: 'failed' })).attempts).toMatchObject([
      { errorKind: 'transform', error: expect.stringContaining('not loaded yet') },
    ]);
  });

  test('are not kept: nothing of them is stored', async () => {
    const sender = await startSender({ started: false, endpointHooks: () => ({ transform: () => 1 }) });
    const url = 'http://127.0.0.1:9999/';
    for (const name of ['filterFn', 'transform']) {
      await expect(sender.endpoints.create({ url, [name]: () => true } as never)).rejects.toMatchObject({
        code: 'ENDPOINT_VALIDATION',
        issues: [{ path: name, message: expect.stringContaining('configuration') }],
      });
    }
  });
});
