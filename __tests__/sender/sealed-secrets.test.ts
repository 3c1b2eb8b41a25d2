import { randomBytes } from 'node:crypto';
import { createAdminHandler } from '../../lib/admin/handler.js';
import { readSecretKeys } from '../../lib/sender/secrets.js';
import { verifySignature } from '../../lib/sender/verify-signature.js';
import { createClock, HOUR } from '../support/clock.js';
import { type ReceivedRequest, type Receiver, startReceiver } from '../support/receiver.js';
import { startSender, type TestSender, type TestSenderOptions } from '../support/sender.js';
import { queryAt } from '../support/test-store.js';
import { eventually, waitFor } from '../support/wait-for.js';
import { untilAttempts, untilStatus } from './probe.js';

const [A, B] = [randomBytes(32).toString('base64'), randomBytes(32).toString('hex')];
const idOf = (key: string): string => readSecretKeys(key)[0]!.id;

/** What the store holds, by endpoint and by age. */
async function secretsOf({ file }: { file: string }): Promise<string[]> {
  const text = 'select secret from hookplane_endpoint_secrets order by endpoint_id, created_at, id';
  return (await queryAt(file, text)).map(({ secret }) => String(secret));
}

/** A sender on the same file, after the one before it. */
async function restart(before: TestSender, options: TestSenderOptions): Promise<TestSender> {
  await before.stop();
  return startSender({ ...options, file: before.file });
}

async function deliver(sender: TestSender, receiver: Receiver, path: string): Promise<ReceivedRequest> {
  const { id } = await sender.send({ type: 'a.b', data: 1, channels: [path.slice(1)] });
  return waitFor(() => receiver.requests(path).find(({ headers }) => headers['webhook-id'] === id));
}

const createOn = (sender: TestSender, receiver: Receiver, path: string, fields = {}) =>
  sender.endpoints.create({ url: receiver.url(path), channels: [path.slice(1)], ...fields });

const isSignedBy = (secret: string, { headers, rawBody: body }: ReceivedRequest): boolean =>
  verifySignature({ headers, body, secret }).id === headers['webhook-id'];

test('the store is given sealed secrets alone, and what is signed is signed by what they hold', async () => {
  const receiver = await startReceiver();
  const sender = await startSender({ secretKey: A });
  const { id, secret } = await createOn(sender, receiver, '/a');
  const { privateKey, publicKey } = sender.keys.generateAsymmetric();
  await sender.endpoints.rotateSecret(id, { secret: privateKey });
  for (const stored of await secretsOf(sender)) expect(stored).toMatch(`enc:v1:${idOf(A)}:`);
  const request = await deliver(sender, receiver, '/a');
  expect([secret, publicKey].map((key) => isSignedBy(key, request))).toEqual([true, true]);
  expect(await sender.endpoints.secret(id)).toEqual({
    secret: privateKey,
    previousSecrets: [{ secret, expiresAt: expect.any(String) }],
  });
  expect(await sender.endpoints.test(id)).toMatchObject({ status: 'succeeded' });
});

test('from no key to one and on to the next: everything stays deliverable, and the old key can be dropped', async () => {
  const receiver = await startReceiver();
  const bare = await startSender();
  const secrets = [(await createOn(bare, receiver, '/a')).secret];
  expect(await secretsOf(bare)).toEqual(secrets);

  const first = await restart(bare, { secretKey: A });
  secrets.push((await createOn(first, receiver, '/b')).secret);
  expect(isSignedBy(secrets[0]!, await deliver(first, receiver, '/a'))).toBe(true);
  expect(await first.resealSecrets()).toEqual({ resealed: 1, unopened: 0 });
  expect(await first.resealSecrets()).toEqual({ resealed: 0, unopened: 0 });

  const second = await restart(first, { secretKey: [B, A] });
  secrets.push((await createOn(second, receiver, '/c')).secret);
  expect((await secretsOf(bare)).map((text) => text.split(':')[2])).toEqual([idOf(A), idOf(A), idOf(B)]);
  expect(isSignedBy(secrets[1]!, await deliver(second, receiver, '/b'))).toBe(true);
  expect(await second.resealSecrets()).toEqual({ resealed: 2, unopened: 0 });

  const last = await restart(second, { secretKey: B });
  for (const [index, path] of ['/a', '/b', '/c'].entries()) {
    expect(isSignedBy(secrets[index]!, await deliver(last, receiver, path))).toBe(true);
  }
  expect(last.log).toEqual([]);
});

test('a missing key fails attempts, on the record and by its id, until it is there again', async () => {
  const clock = createClock(Date.now());
  const receiver = await startReceiver();
  const before = await startSender({ secretKey: A, now: clock.now });
  const { id, secret } = await createOn(before, receiver, '/a', {
    retry: { delaysSeconds: [60, 60], jitter: 0 },
  });
  const without = await restart(before, { secretKey: B, now: clock.now });
  const { id: messageId } = await without.send({ type: 'a.b', data: 1, channels: ['a'] });
  const [attempt] = await untilAttempts(without, { id: messageId }, 1);
  expect(attempt).toMatchObject({
    status: 'failed',
    errorKind: 'transform',
    responseStatus: null,
    nextAttemptAt: new Date(clock.now() + 60_000).toISOString(),
    error: `The request could not be made: The signing secret is sealed by the key "${idOf(A)}", which is not in secretKey`,
  });
  expect(without.log).toEqual([
    {
      level: 'error',
      message: expect.any(String),
      fields: { endpointId: id, secretId: expect.any(String), error: expect.stringContaining(idOf(A)) },
    },
  ]);
  expect(await without.endpoints.test(id)).toMatchObject({ status: 'failed', errorKind: 'transform' });

  const again = await restart(without, { secretKey: [B, A], now: clock.now });
  clock.advance(60_000);
  await untilStatus(again, messageId, 'delivered');
  const [request] = receiver.requests('/a');
  const at = () => Number(request!.headers['webhook-timestamp']) * 1000;
  const { headers, rawBody: body } = request!;
  expect(verifySignature({ headers, body, secret, now: at }).id).toBe(messageId);
});

test('an endpoint whose key is lost lives on: all but its secret, until a rotation without overlap', async () => {
  const receiver = await startReceiver();
  const before = await startSender({ secretKey: A });
  const { id } = await createOn(before, receiver, '/a');
  const sender = await restart(before, { secretKey: B });
  const refusal = { code: 'SECRET_SEALED', message: expect.stringContaining(idOf(A)) };
  await expect(sender.endpoints.secret(id)).rejects.toMatchObject(refusal);
  await expect(sender.endpoints.rotateSecret(id)).rejects.toMatchObject(refusal);
  expect(await sender.endpoints.get(id)).toMatchObject({ id });
  expect(await sender.endpoints.update(id, { description: 'x' })).toMatchObject({ description: 'x' });
  expect(await sender.endpoints.disable(id)).toMatchObject({ status: 'paused' });
  expect(await sender.endpoints.enable(id)).toMatchObject({ status: 'active' });
  expect(await sender.resealSecrets()).toEqual({ resealed: 0, unopened: 1 });
  expect(sender.log).toContainEqual({
    level: 'warn',
    message: expect.any(String),
    fields: { count: 1, first: [{ endpointId: id, error: refusal.message }] },
  });
  const { secret } = await sender.endpoints.rotateSecret(id, { overlapSeconds: 0 });
  expect(isSignedBy(secret, await deliver(sender, receiver, '/a'))).toBe(true);
  await sender.endpoints.delete(id);
});

test('a secret that is moved to another endpoint, or changed, signs nothing', async () => {
  const receiver = await startReceiver();
  const sender = await startSender({ secretKey: A });
  const [one, other, whole] = [
    await createOn(sender, receiver, '/a', { retry: { delaysSeconds: [] } }),
    await createOn(sender, receiver, '/b', { retry: { delaysSeconds: [] } }),
    await createOn(sender, receiver, '/c'),
  ];
  // Each has been opened in its own row before.
  for (const path of ['/a', '/b', '/c']) await deliver(sender, receiver, path);
  const run = (text: string, ...values: unknown[]) => queryAt(sender.file, text, values);
  const [ofOne, ofOther] = await secretsOf(sender);
  await run('update hookplane_endpoint_secrets set secret = ? where endpoint_id = ?', ofOther, one!.id);
  await run('update hookplane_endpoint_secrets set secret = ? where endpoint_id = ?', ofOne, other!.id);
  // What a process has read before it goes on with.
  await run("update hookplane_endpoints set revision = 'moved'");
  for (const { id, channels } of [one!, other!]) {
    const sent = await sender.send({ type: 'a.b', data: 2, channels: channels! });
    const attempts = await untilAttempts(sender, sent, 1);
    expect(attempts).toMatchObject([
      { errorKind: 'transform', error: expect.stringMatching(/changed or moved/) },
    ]);
    await expect(sender.endpoints.secret(id)).rejects.toMatchObject({ code: 'SECRET_SEALED' });
  }
  // A row that follows its text to the other endpoint is no better.
  await run('update hookplane_endpoint_secrets set endpoint_id = ? where endpoint_id = ?', 'ep_x', one!.id);
  await run(
    'update hookplane_endpoint_secrets set endpoint_id = ?, secret = ? where endpoint_id = ?',
    one!.id,
    ofOther,
    other!.id,
  );
  await expect(sender.endpoints.secret(one!.id)).rejects.toMatchObject({ code: 'SECRET_SEALED' });
  expect(isSignedBy(whole!.secret, await deliver(sender, receiver, '/c'))).toBe(true);
  expect(['/a', '/b'].map((path) => receiver.requests(path).length)).toEqual([1, 1]);
});

test('one of several secrets that is missing its key fails the attempt: none of its signatures is left out', async () => {
  const clock = createClock(Date.now());
  const receiver = await startReceiver();
  const before = await startSender({ secretKey: A, now: clock.now, started: false });
  const { id } = await createOn(before, receiver, '/a');
  const both = await restart(before, { secretKey: [B, A], now: clock.now, started: false });
  await both.endpoints.rotateSecret(id, { overlapSeconds: 3600 });
  const sender = await restart(both, { secretKey: B, now: clock.now, started: false });
  expect(await sender.endpoints.test(id)).toMatchObject({ errorKind: 'transform' });
  clock.advance(HOUR);
  expect(await sender.endpoints.test(id)).toMatchObject({ status: 'succeeded' });
});

test('all are sealed anew in batches while they are delivered to, rotated and deleted, by two processes at once', async () => {
  const receiver = await startReceiver();
  const bare = await startSender({ started: false });
  const channel = { tenantId: 'acme', channels: ['many'] };
  const made = [];
  for (let index = 0; index < 220; index++) {
    made.push(await bare.endpoints.create({ ...channel, url: receiver.url(`/${index}`) }));
  }
  const sender = await restart(bare, { secretKey: [B, A] });
  const other = await startSender({ file: sender.file, secretKey: [B, A] });
  const send = () => sender.send({ ...channel, type: 'a.b', data: 1 });
  await send();
  await receiver.waitFor(1);
  const [ofSender, ofOther, rotated] = await Promise.all([
    sender.resealSecrets(),
    other.resealSecrets(),
    other.endpoints.rotateSecret(made[210]!.id, { overlapSeconds: 600 }),
    sender.endpoints.delete(made[215]!.id),
    send(),
  ]);
  expect(ofSender.unopened + ofOther.unopened).toBe(0);
  expect([219, 220]).toContain(ofSender.resealed + ofOther.resealed);
  expect((await secretsOf(sender)).filter((text) => !text.startsWith(`enc:v1:${idOf(B)}:`))).toEqual([]);
  await eventually(async () => expect(await sender.health()).toMatchObject({ outboxDepth: 0 }));
  for (const [index, { secret }] of made.entries()) {
    if (index === 215) continue;
    const requests = receiver.requests(`/${index}`);
    expect([index, requests.length]).toEqual([index, 2]);
    expect(requests.every((request) => isSignedBy(secret, request))).toBe(true);
  }
  const after = await sender.send({ ...channel, type: 'a.b', data: 1 });
  const last = await waitFor(() =>
    receiver.requests('/210').find(({ headers }) => headers['webhook-id'] === after.id),
  );
  expect([rotated.secret, made[210]!.secret].map((secret) => isSignedBy(secret, last))).toEqual([true, true]);
});

test('sealing anew needs a key', async () => {
  const sender = await startSender({ started: false });
  await expect(sender.resealSecrets()).rejects.toMatchObject({
    code: 'INVALID_OPTIONS',
    message: expect.stringContaining('secretKey'),
  });
});

test('a sender without a key says at its first start what to do, and one with a key says nothing', async () => {
  const [bare, sealed] = [await startSender({ started: false }), await startSender({ secretKey: A })];
  await bare.endpoints.list();
  expect(bare.log).toEqual([]);
  for (let time = 0; time < 2; time++) {
    await bare.start();
    await bare.stop();
  }
  expect(bare.log).toEqual([
    { level: 'warn', message: expect.stringMatching(/secretKey.*resealSecrets/), fields: {} },
  ]);
  expect(sealed.log).toEqual([]);
});

test('over HTTP a secret without its key is 409, and nobody is recorded as having read it', async () => {
  const before = await startSender({ secretKey: A, started: false });
  const { id } = await before.endpoints.create({ url: 'https://example.com/' });
  const sender = await restart(before, { secretKey: B, started: false });
  const plane = createAdminHandler(sender, { authorize: () => true });
  const ask = async (path: string, init?: RequestInit) => {
    const response = await plane(new Request(`http://plane.test/endpoints/${id}${path}`, init));
    return {
      status: response.status,
      body: (await response.json()) as { errorCode?: string; error?: string },
    };
  };
  for (const refused of [await ask('/secret'), await ask('/rotate-secret', { method: 'POST' })]) {
    expect(refused).toMatchObject({ status: 409, body: { errorCode: 'SECRET_SEALED' } });
    expect(refused.body.error).toContain(idOf(A));
  }
  expect((await sender.audit.list()).entries).toEqual([]);
  const mended = await ask('/rotate-secret', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: '{"overlapSeconds":0}',
  });
  expect(mended.status).toBe(200);
  expect(await ask('/secret')).toMatchObject({ status: 200 });
  const { entries } = await sender.audit.list();
  expect(entries.map(({ operation }) => operation)).toEqual(['endpoints.secret', 'endpoints.rotateSecret']);
});
