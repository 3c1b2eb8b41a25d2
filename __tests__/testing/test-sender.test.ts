import express from 'express';
import request from 'supertest';
import { adminMiddleware } from '../../lib/express/index.js';
import type { Attempt } from '../../lib/model/message.js';
import {
  createTestSender,
  type ReceivedWebhook,
  type TestSender,
  type TestSenderOptions,
} from '../../lib/testing/index.js';
import { onCleanUp } from '../support/clean-up.js';
import { DAY, HOUR, MINUTE, SECOND } from '../support/clock.js';
import { recordingLogger } from '../support/sender.js';

const START = '2026-05-01T12:00:00.000Z';

async function open(options: TestSenderOptions = {}): Promise<TestSender> {
  const sender = await createTestSender({ startAt: START, logger: recordingLogger(), ...options });
  onCleanUp('test', 'sender', () => sender.stop());
  return sender;
}

const statuses = (attempts: Attempt[]) => attempts.map(({ responseStatus }) => responseStatus);

/** Lets real time pass in which a loop of its own would have taken many turns. */
const quarterSecond = () => new Promise((resolve) => setTimeout(resolve, 250));

describe('deliverDue', () => {
  it('delivers all that is due and answers the attempts, in the order of the sends', async () => {
    const sender = await open();
    const endpoint = await sender.createEndpoint();
    const sent: string[] = [];
    for (let index = 0; index < 20; index++) sent.push((await sender.send({ type: 'a.b', data: index })).id);
    const attempts = await sender.deliverDue();
    expect(attempts.map(({ messageId }) => messageId)).toEqual(sent);
    expect(attempts[0]).toMatchObject({
      endpointId: endpoint.id,
      number: 1,
      trigger: 'send',
      startedAt: START,
      requestUrl: sender.receiver.url,
      responseStatus: 200,
    });
    expect(sender.receiver.requests.map(({ payload }) => payload.data)).toEqual([...Array(20).keys()]);
    expect((await sender.messages.list({ statuses: ['delivered'] })).messages).toHaveLength(20);
  });

  it('is the only thing that delivers', async () => {
    const sender = await open();
    await sender.start();
    await sender.createEndpoint();
    await sender.send({ type: 'a.b', data: 1 });
    await quarterSecond();
    expect(sender.receiver.requests).toEqual([]);
    await sender.deliverDue();
    await sender.send({ type: 'a.b', data: 2 });
    await quarterSecond();
    expect(sender.receiver.requests).toHaveLength(1);
    expect(await sender.deliverDue()).toHaveLength(1);
  });

  it('answers at once, with nothing, when nothing is due', async () => {
    const sender = await open();
    expect(await sender.deliverDue()).toEqual([]);
    await sender.send({ type: 'a.b', data: 1 });
    expect(await sender.deliverDue()).toEqual([]);
  });

  it('leaves what is due later, to the millisecond', async () => {
    const sender = await open();
    await sender.createEndpoint();
    sender.receiver.respond(500, 200);
    await sender.send({ type: 'a.b', data: 1 });
    const [first] = await sender.deliverDue();
    expect(first!.nextAttemptAt).toBe('2026-05-01T12:00:05.000Z');
    sender.clock.advance(5 * SECOND - 1);
    expect(await sender.deliverDue()).toEqual([]);
    sender.clock.advance(1);
    expect(await sender.deliverDue()).toMatchObject([{ number: 2, trigger: 'retry', status: 'succeeded' }]);
  });

  it('delivers too what becomes due by it', async () => {
    const sender = await open({ retry: { delaysSeconds: [0, 0], jitter: 0 } });
    await sender.createEndpoint();
    sender.receiver.respond(500, 500, 200);
    await sender.send({ type: 'a.b', data: 1 });
    expect(statuses(await sender.deliverDue())).toEqual([500, 500, 200]);
  });

  it('delivers what the receiver itself has sent', async () => {
    const sender = await open();
    await sender.createEndpoint({ types: ['a'] });
    await sender.createEndpoint({ types: ['b'], url: `${sender.receiver.url}/b` });
    sender.receiver.respond(async () => {
      await sender.send({ type: 'b', data: 2 });
      return 200;
    }, 200);
    await sender.send({ type: 'a', data: 1 });
    expect(await sender.deliverDue()).toHaveLength(2);
    expect(sender.receiver.requests.map(({ path }) => path)).toEqual(['/webhooks', '/webhooks/b']);
  });

  it('spends a rate limit as it is spent in production', async () => {
    const sender = await open();
    await sender.createEndpoint({ rateLimit: { perSecond: 1, burst: 2 } });
    for (let index = 0; index < 4; index++) await sender.send({ type: 'a.b', data: index });
    expect(await sender.deliverDue()).toHaveLength(2);
    sender.clock.advance(SECOND);
    expect(await sender.deliverDue()).toHaveLength(1);
    sender.clock.advance(SECOND);
    expect(await sender.deliverDue()).toHaveLength(1);
  });

  it('holds what is owed to a paused endpoint', async () => {
    const sender = await open();
    const { id } = await sender.createEndpoint();
    await sender.endpoints.disable(id);
    await sender.send({ type: 'a.b', data: 1 });
    expect(await sender.deliverDue()).toEqual([]);
    await sender.endpoints.enable(id);
    expect(await sender.deliverDue()).toHaveLength(1);
  });

  it('gives up what has expired', async () => {
    const sender = await open({ messageTtlSeconds: 60 });
    const dead: string[] = [];
    sender.on('dead', ({ messageId }) => dead.push(messageId));
    await sender.createEndpoint();
    const { id } = await sender.send({ type: 'a.b', data: 1 });
    sender.clock.advance(MINUTE);
    expect(await sender.deliverDue()).toEqual([]);
    expect(dead).toEqual([id]);
    expect(await sender.messages.get(id)).toMatchObject({ status: 'failed' });
  });

  it('may be called again while it runs: one run comes after the other', async () => {
    const sender = await open();
    await sender.createEndpoint();
    await sender.send({ type: 'a.b', data: 1 });
    const runs = await Promise.all([sender.deliverDue(), sender.deliverDue(), sender.runRetries()]);
    expect(runs.map((attempts) => attempts.length)).toEqual([1, 0, 0]);
  });

  it('delivers side by side when it is told to', async () => {
    const sender = await open({ concurrency: 8 });
    await sender.createEndpoint();
    let waiting = 0;
    let most = 0;
    sender.receiver.respond(async () => {
      waiting += 1;
      most = Math.max(most, waiting);
      await new Promise((resolve) => setTimeout(resolve, 20));
      waiting -= 1;
      return 200;
    });
    for (let index = 0; index < 8; index++) await sender.send({ type: 'a.b', data: index });
    expect(await sender.deliverDue()).toHaveLength(8);
    expect(most).toBeGreaterThan(1);
  });

  it('ends when the clock is moved past the leases of what is under way', async () => {
    const sender = await open({ concurrency: 4 });
    await sender.createEndpoint({ types: ['slow'] });
    await sender.createEndpoint({ types: ['quick'] });
    sender.receiver.respond(async ({ type }) => {
      if (type === 'slow') {
        sender.clock.advance(10 * MINUTE);
        await new Promise((resolve) => setTimeout(resolve, 50));
      }
      return 200;
    });
    await sender.send({ type: 'slow', data: 1 });
    await sender.send({ type: 'quick', data: 1 });
    expect(await sender.deliverDue()).toHaveLength(2);
    expect((await sender.messages.list({ statuses: ['delivered'] })).messages).toHaveLength(2);
  });

  it('keeps the deadline of an attempt by real time', async () => {
    const sender = await open({ timeoutMs: 50 });
    await sender.createEndpoint();
    sender.receiver.respond(() => new Promise(() => {}));
    await sender.send({ type: 'a.b', data: 1 });
    expect(await sender.deliverDue()).toMatchObject([{ errorKind: 'timeout' }]);
  });
});

describe('runRetries', () => {
  it('takes a delivery through its schedule, up to its success', async () => {
    const sender = await open();
    await sender.createEndpoint();
    sender.receiver.respond(500, 503, 500, 200);
    const { id } = await sender.send({ type: 'a.b', data: 1 });
    expect(statuses(await sender.runRetries())).toEqual([500, 503, 500, 200]);
    expect(await sender.messages.get(id)).toMatchObject({ status: 'delivered' });
    expect(sender.clock.now() - Date.parse(START)).toBe(5 * SECOND + 5 * MINUTE + 30 * MINUTE);
  });

  it('takes a delivery through its schedule, up to its end', async () => {
    const sender = await open();
    await sender.createEndpoint();
    sender.receiver.respond(500);
    const { id } = await sender.send({ type: 'a.b', data: 1 });
    expect(await sender.runRetries()).toHaveLength(10);
    expect(await sender.messages.get(id)).toMatchObject({ status: 'failed' });
  });

  it('does not wait for what is held', async () => {
    const sender = await open();
    const { id } = await sender.createEndpoint();
    sender.receiver.respond(410);
    await sender.send({ type: 'a.b', data: 1 });
    expect(await sender.runRetries()).toHaveLength(1);
    expect(await sender.endpoints.get(id)).toMatchObject({ status: 'paused', pausedReason: 'gone' });
  });

  it('waits for rate limits', async () => {
    const sender = await open();
    await sender.createEndpoint({ rateLimit: { perSecond: 0.001, burst: 1 } });
    for (let index = 0; index < 3; index++) await sender.send({ type: 'a.b', data: index });
    expect(await sender.runRetries()).toHaveLength(3);
    expect(sender.clock.now() - Date.parse(START)).toBe(2000 * SECOND);
  });
});

describe('the receiver', () => {
  it('shows a webhook read and verified, and as it came', async () => {
    const sender = await open();
    const endpoint = await sender.createEndpoint({ headers: { 'X-Shop': 'acme' } });
    const { id } = await sender.send({ type: 'a.b', data: { name: 'Zoë' } });
    await sender.deliverDue();
    const payload = { type: 'a.b', timestamp: START, data: { name: 'Zoë' } };
    expect(sender.receiver.requests).toEqual([
      {
        id,
        type: 'a.b',
        payload,
        verified: true,
        endpointId: endpoint.id,
        path: '/webhooks',
        headers: expect.objectContaining({ 'webhook-id': id, 'x-shop': 'acme' }),
        body: JSON.stringify(payload),
      },
    ]);
  });

  it.each([
    ['a new secret beside the old one', 3600],
    ['a new secret alone', 0],
  ])('verifies by %s', async (_, overlapSeconds) => {
    const sender = await open();
    const { id } = await sender.createEndpoint();
    await sender.endpoints.rotateSecret(id, { overlapSeconds });
    await sender.send({ type: 'a.b', data: 1 });
    await sender.deliverDue();
    expect(sender.receiver.requests).toMatchObject([{ verified: true, endpointId: id }]);
  });

  it('verifies by an asymmetric key', async () => {
    const sender = await open();
    await sender.createEndpoint({ secret: sender.keys.generateAsymmetric().privateKey });
    await sender.send({ type: 'a.b', data: 1 });
    await sender.deliverDue();
    expect(sender.receiver.requests).toMatchObject([{ verified: true }]);
    expect(sender.receiver.requests[0]!.headers['webhook-signature']).toMatch(/^v1a,/);
  });

  it('tells endpoints with one URL apart by who has signed', async () => {
    const sender = await open();
    const made = [await sender.createEndpoint(), await sender.createEndpoint()];
    await sender.send({ type: 'a.b', data: 1 });
    await sender.deliverDue();
    const signers = sender.receiver.requests.map(({ endpointId }) => endpointId);
    expect(signers.sort()).toEqual(made.map(({ id }) => id).sort());
  });

  it('takes a webhook that nobody known has signed, and says that it is not verified', async () => {
    const sender = await open();
    const { id } = await sender.createEndpoint();
    await sender.send({ type: 'a.b', data: 1 });
    await sender.deliverDue();
    const [{ headers, body }] = sender.receiver.requests as [ReceivedWebhook];
    const post = (sent: string, more = {}) =>
      fetch(sender.receiver.url, { method: 'POST', headers: { ...pick(headers), ...more }, body: sent });
    await post(body);
    await post(body.replace('1', '2'));
    await post('{"type":"a.b"}', { 'webhook-signature': '' });
    expect(sender.receiver.requests.map(({ endpointId, verified }) => [endpointId, verified])).toEqual([
      [id, true],
      [id, true],
      [null, false],
      [null, false],
    ]);
  });

  it('refuses what is no webhook, and keeps nothing of it', async () => {
    const sender = await open();
    const { status } = await fetch(sender.receiver.url, { method: 'POST', body: 'hello' });
    expect(status).toBe(400);
    expect(sender.receiver.requests).toEqual([]);
  });

  it('answers as it is told: by statuses, records and functions, and the last one again', async () => {
    const sender = await open({ retry: { delaysSeconds: [0, 0, 0, 0], jitter: 0 } });
    await sender.createEndpoint();
    const seen: string[] = [];
    sender.receiver.respond(
      500,
      { status: 503, headers: { 'x-a': 'b' }, body: 'busy' },
      ({ id }) => {
        seen.push(id);
        return { status: 404 };
      },
      async () => 418,
    );
    const { id } = await sender.send({ type: 'a.b', data: 1 });
    const attempts = await sender.runRetries();
    expect(statuses(attempts)).toEqual([500, 503, 404, 418, 418]);
    expect(attempts[1]).toMatchObject({
      responseBody: 'busy',
      responseHeaders: expect.objectContaining({ 'x-a': 'b' }),
    });
    expect(seen).toEqual([id]);
  });

  it('shows in the attempt what a script of it threw', async () => {
    const sender = await open();
    await sender.createEndpoint();
    sender.receiver.respond(() => {
      throw new Error('not that one');
    });
    await sender.send({ type: 'a.b', data: 1 });
    expect(await sender.deliverDue()).toMatchObject([
      { responseStatus: 500, responseBody: expect.stringContaining('not that one') },
    ]);
  });

  it('can be waited for: a test event comes without deliverDue', async () => {
    const sender = await open();
    const { id } = await sender.createEndpoint();
    const arrived = sender.receiver.waitFor(1);
    await sender.endpoints.test(id);
    expect(await arrived).toMatchObject([{ type: 'hookplane.test', verified: true, endpointId: id }]);
    expect(await sender.receiver.waitFor(1)).toHaveLength(1);
  });

  it('says how many have arrived when those that are waited for do not', async () => {
    const sender = await open();
    await expect(sender.receiver.waitFor(2, { timeoutMs: 20 })).rejects.toThrow(
      '0 of 2 requests arrived within 20 ms',
    );
  });

  it('forgets on reset', async () => {
    const sender = await open();
    await sender.createEndpoint();
    sender.receiver.respond(500);
    await sender.send({ type: 'a.b', data: 1 });
    await sender.deliverDue();
    sender.receiver.reset();
    expect(sender.receiver.requests).toEqual([]);
    expect(statuses(await sender.runRetries())).toEqual([200]);
  });
});

describe('the clock', () => {
  it('is the time of all that the sender does', async () => {
    const sender = await open();
    expect(sender.clock.now()).toBe(Date.parse(START));
    sender.clock.advance(HOUR);
    expect((await sender.send({ type: 'a.b', data: 1 })).createdAt).toBe('2026-05-01T13:00:00.000Z');
    sender.clock.advanceTo('2026-05-02T00:00:00Z');
    sender.clock.advanceTo(new Date('2026-05-02T00:00:00Z'));
    sender.clock.advanceTo(Date.parse('2026-05-03T00:00:00Z'));
    expect((await sender.createEndpoint()).createdAt).toBe('2026-05-03T00:00:00.000Z');
  });

  it('begins now unless it is told otherwise, so that receivers with a clock of their own verify', async () => {
    const sender = await createTestSender();
    onCleanUp('test', 'sender', () => sender.stop());
    expect(Math.abs(sender.clock.now() - Date.now())).toBeLessThan(MINUTE);
  });

  it.each([
    ['back', (sender: TestSender) => sender.clock.advance(-1)],
    ['by no number', (sender: TestSender) => sender.clock.advance(Number.NaN)],
    ['to a time that has passed', (sender: TestSender) => sender.clock.advanceTo('2026-05-01')],
    ['to no time', (sender: TestSender) => sender.clock.advanceTo('soon')],
  ])('is not moved %s', async (_, move) => {
    const sender = await open();
    expect(() => move(sender)).toThrow(RangeError);
    expect(sender.clock.now()).toBe(Date.parse(START));
  });
});

describe('an application that has it for its sender', () => {
  it('is served by the control plane, the health included', async () => {
    const sender = await open();
    const app = express().use('/admin', adminMiddleware(sender, { authorize: () => true }));
    const made = await request(app)
      .post('/admin/endpoints')
      .send({ url: sender.receiver.url, tenantId: 'acme' })
      .expect(201);
    await sender.forTenant('acme').send({ type: 'a.b', data: 1 });
    await sender.deliverDue();
    expect(sender.receiver.requests).toMatchObject([{ endpointId: made.body.id, verified: true }]);
    const health = { ok: true, outboxDepth: 0, oldestPendingAge: null, workerCount: 1 };
    expect((await request(app).get('/admin/health').expect(200)).body).toEqual(health);
    sender.clock.advance(30 * DAY);
    await request(app).get('/admin/health').expect(200, health);
  });

  it('learns by the health what is overdue', async () => {
    const sender = await open();
    await sender.createEndpoint();
    await sender.send({ type: 'a.b', data: 1 });
    sender.clock.advance(HOUR);
    expect(await sender.health()).toMatchObject({ ok: false, reason: 'overdue', oldestPendingAge: HOUR });
  });

  it('hears the events of its deliveries, as long as it listens', async () => {
    const sender = await open({ retry: { delaysSeconds: [], jitter: 0 } });
    const heard: string[] = [];
    const end = sender.on('attempt', ({ attempt }) => heard.push(attempt.messageId));
    sender.on('dead', ({ messageId }) => heard.push(`dead ${messageId}`));
    await sender.createEndpoint();
    sender.receiver.respond(500);
    const { id } = await sender.send({ type: 'a.b', data: 1 });
    await sender.deliverDue();
    end();
    await sender.send({ type: 'a.b', data: 2 });
    await sender.deliverDue();
    expect(heard).toEqual([id, `dead ${id}`, expect.stringMatching(/^dead /)]);
  });

  it('has its endpoint hooks asked', async () => {
    const sender = await open({
      endpointHooks: () => ({
        filterFn: ({ data }) => data !== 'no',
        transform: ({ data }) => ({ text: data }),
      }),
    });
    await sender.createEndpoint();
    await sender.send({ type: 'a.b', data: 'no' });
    await sender.send({ type: 'a.b', data: 'yes' });
    await sender.deliverDue();
    expect(sender.receiver.requests).toMatchObject([{ type: '', payload: { text: 'yes' }, verified: true }]);
  });

  it('refuses private targets other than the receiver', async () => {
    const sender = await open();
    await expect(sender.endpoints.create({ url: 'http://169.254.169.254/' })).rejects.toMatchObject({
      code: 'ENDPOINT_VALIDATION',
    });
    await expect(sender.endpoints.create({ url: 'http://10.0.0.1/' })).rejects.toMatchObject({
      code: 'ENDPOINT_VALIDATION',
    });
  });

  it('refuses http as in production when it is told to; its own receiver is reached all the same', async () => {
    const sender = await open({ allowHttp: false });
    await expect(sender.endpoints.create({ url: 'http://example.com/' })).rejects.toMatchObject({
      issues: [{ path: 'url', message: expect.stringContaining('must use https') }],
    });
    await sender.createEndpoint();
    await sender.send({ type: 'a.b', data: 1 });
    await sender.deliverDue();
    expect(sender.receiver.requests).toMatchObject([{ verified: true }]);
  });

  it('tests the receiver too where it may not register it, in whatever scope', async () => {
    const sender = await open({ allowHttp: false });
    const { id } = await sender.createEndpoint({ tenantId: 'acme' });
    const app = express().use('/admin', adminMiddleware(sender, { authorize: () => true }));
    expect(await sender.endpoints.test(id)).toMatchObject({
      errorKind: null,
      requestUrl: sender.receiver.url,
    });
    expect(await sender.forTenant('acme').endpoints.test(id)).toMatchObject({ status: 'succeeded' });
    const { body } = await request(app).post(`/admin/endpoints/${id}/test`).send({}).expect(200);
    expect(body).toMatchObject({ status: 'succeeded' });
    expect(sender.receiver.requests.map(({ verified }) => verified)).toEqual([true, true, true]);
    expect((await sender.audit.list()).entries).toMatchObject([
      { operation: 'endpoints.test', targetId: id },
    ]);
    await expect(sender.forTenant('other').endpoints.test(id)).rejects.toMatchObject({
      code: 'ENDPOINT_NOT_FOUND',
    });
  });

  it('is told of settings that cannot work', async () => {
    await expect(createTestSender({ concurrency: 0 })).rejects.toMatchObject({ code: 'INVALID_OPTIONS' });
    for (const own of [{ store: {} }, { now: () => 0 }]) {
      await expect(createTestSender(own as TestSenderOptions)).rejects.toMatchObject({
        code: 'INVALID_OPTIONS',
      });
    }
  });
});

describe('stop', () => {
  it('ends everything, and may be called again', async () => {
    const sender = await open();
    const { url } = sender.receiver;
    await sender.stop();
    await sender.stop();
    await expect(sender.send({ type: 'a.b', data: 1 })).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' });
    await expect(sender.deliverDue()).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' });
    await expect(sender.start()).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' });
    await expect(sender.createEndpoint()).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' });
    await expect(fetch(url)).rejects.toThrow('fetch failed');
  });

  it('waits for a run that is under way', async () => {
    const sender = await open();
    await sender.createEndpoint();
    await sender.send({ type: 'a.b', data: 1 });
    const run = sender.deliverDue();
    await sender.stop();
    expect(await run).toMatchObject([{ status: 'succeeded' }]);
  });

  it('leaves other test senders alone', async () => {
    const [one, two] = [await open(), await open()];
    await one.createEndpoint();
    await two.createEndpoint();
    await one.stop();
    await two.send({ type: 'a.b', data: 1 });
    expect(await two.deliverDue()).toHaveLength(1);
    expect(one.receiver.requests).toEqual([]);
  });
});

function pick(headers: Record<string, string>): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => name.startsWith('webhook-')));
}
