import { Webhook } from 'standardwebhooks';
import { verifySignature } from '../../lib/sender/verify-signature.js';
import { createClock, DAY, HOUR } from '../support/clock.js';
import { type ReceivedRequest, startReceiver } from '../support/receiver.js';
import { startSender } from '../support/sender.js';
import { waitFor } from '../support/wait-for.js';

async function start() {
  const clock = createClock(Math.floor(Date.now() / 1000) * 1000);
  const receiver = await startReceiver();
  const sender = await startSender({ now: clock.now });
  const endpoint = await sender.endpoints.create({ url: receiver.url() });
  /** Sends a message, and gives the request that arrives. */
  const deliver = async (): Promise<ReceivedRequest> => {
    const sent = await sender.send({ type: 'a.b', data: 'é' });
    return waitFor(() => receiver.requests().find(({ headers }) => headers['webhook-id'] === sent.id));
  };
  return { clock, receiver, sender, id: endpoint.id, first: endpoint.secret, deliver };
}

/** Whether the reference library accepts the request with this secret, at the time it was signed. */
function accepts(secret: string, { headers, rawBody }: ReceivedRequest): boolean {
  const at = Number(headers['webhook-timestamp']) * 1000;
  const clock = jest.spyOn(Date, 'now').mockReturnValue(at);
  try {
    new Webhook(secret).verify(rawBody, headers as Record<string, string>);
    return true;
  } catch {
    return false;
  } finally {
    clock.mockRestore();
  }
}

const signaturesOf = ({ headers }: ReceivedRequest): string[] =>
  String(headers['webhook-signature']).split(' ');

test('answers the endpoint with a new secret, and until when the one before signs', async () => {
  const { clock, sender, id, first } = await start();
  const rotated = await sender.endpoints.rotateSecret(id);
  expect(rotated).toMatchObject({ id, previousSecretExpiresAt: new Date(clock.now() + DAY).toISOString() });
  expect(rotated.secret).toMatch(/^whsec_/);
  expect(rotated.secret).not.toBe(first);
  expect(await sender.endpoints.get(id)).not.toHaveProperty('secret');
});

test('during the overlap both secrets sign, the new one first; after it the new one alone', async () => {
  const { clock, sender, id, first, deliver } = await start();
  const { secret: second } = await sender.endpoints.rotateSecret(id, { overlapSeconds: 3600 });
  const during = await deliver();
  expect(signaturesOf(during)).toHaveLength(2);
  expect([accepts(first, during), accepts(second, during)]).toEqual([true, true]);
  expect(
    accepts(second, {
      ...during,
      headers: { ...during.headers, 'webhook-signature': signaturesOf(during)[0] },
    }),
  ).toBe(true);
  clock.advance(HOUR - 1);
  expect(signaturesOf(await deliver())).toHaveLength(2);
  clock.advance(1);
  const later = await deliver();
  expect(signaturesOf(later)).toHaveLength(1);
  expect([accepts(first, later), accepts(second, later)]).toEqual([false, true]);
});

test('several rotations in a row: every secret signs until its own overlap ends', async () => {
  const { clock, sender, id, first, deliver } = await start();
  const { secret: second } = await sender.endpoints.rotateSecret(id, { overlapSeconds: 7200 });
  clock.advance(HOUR);
  const { secret: third } = await sender.endpoints.rotateSecret(id, { overlapSeconds: 1800 });
  const { secret: fourth } = await sender.endpoints.rotateSecret(id, { overlapSeconds: 604_800 });
  const all = [first, second, third, fourth];
  const accepted = async () => {
    const request = await deliver();
    return all.map((secret) => accepts(secret, request));
  };
  expect(await accepted()).toEqual([true, true, true, true]);
  clock.advance(HOUR / 2);
  expect(await accepted()).toEqual([true, false, true, true]);
  clock.advance(HOUR / 2);
  expect(await accepted()).toEqual([false, false, true, true]);
  clock.advance(7 * DAY);
  expect(await accepted()).toEqual([false, false, false, true]);
});

test('no overlap revokes every secret before, those of earlier overlaps too', async () => {
  const { sender, id, first, deliver } = await start();
  const { secret: second } = await sender.endpoints.rotateSecret(id);
  const { secret: third } = await sender.endpoints.rotateSecret(id, { overlapSeconds: 0 });
  const request = await deliver();
  expect(signaturesOf(request)).toHaveLength(1);
  expect([first, second, third].map((secret) => accepts(secret, request))).toEqual([false, false, true]);
});

test('rotations of one moment follow one another: every secret that was answered signs', async () => {
  const { sender, id, first, deliver } = await start();
  const rotated = await Promise.all(Array.from({ length: 8 }, () => sender.endpoints.rotateSecret(id)));
  const secrets = [first, ...rotated.map(({ secret }) => secret)];
  expect(new Set(secrets).size).toBe(9);
  const request = await deliver();
  expect(signaturesOf(request)).toHaveLength(9);
  expect(secrets.every((secret) => accepts(secret, request))).toBe(true);
});

test('a secret of the caller is taken, and both versions sign side by side', async () => {
  const { sender, id, first, deliver } = await start();
  const { privateKey, publicKey } = sender.keys.generateAsymmetric();
  expect((await sender.endpoints.rotateSecret(id, { secret: privateKey })).secret).toBe(privateKey);
  const request = await deliver();
  expect(signaturesOf(request).map((token) => token.split(',')[0])).toEqual(['v1a', 'v1']);
  expect(accepts(first, request)).toBe(true);
  const at = () => Number(request.headers['webhook-timestamp']) * 1000;
  const verified = verifySignature({
    headers: request.headers,
    body: request.rawBody,
    secret: publicKey,
    now: at,
  });
  expect(verified.id).toBe(request.headers['webhook-id']);
});

test('it holds from the next attempt on, in every process and for what was sent before', async () => {
  const clock = createClock(Math.floor(Date.now() / 1000) * 1000);
  const receiver = await startReceiver();
  const web = await startSender({ started: false, now: clock.now });
  const endpoint = await web.endpoints.create({ url: receiver.url() });
  await web.send({ type: 'a.b', data: 1 });
  const { secret } = await web.endpoints.rotateSecret(endpoint.id, { overlapSeconds: 0 });
  await startSender({ file: web.file, now: clock.now });
  const [request] = await receiver.waitFor(1);
  expect([accepts(endpoint.secret, request!), accepts(secret, request!)]).toEqual([false, true]);
});

test.each([
  [{ secret: 'whsec_short' }, 'secret'],
  [{ secret: 'nonsense' }, 'secret'],
  [{ secret: '' }, 'secret'],
  [{ secret: 7 }, 'secret'],
  [{ secret: null }, 'secret'],
  [{ overlapSeconds: -1 }, 'overlapSeconds'],
  [{ overlapSeconds: 604_801 }, 'overlapSeconds'],
  [{ overlapSeconds: 1.5 }, 'overlapSeconds'],
  [{ overlapSeconds: '60' }, 'overlapSeconds'],
  [{ overlap: 60 }, 'overlap'],
])('refuses %j, and changes nothing', async (input, path) => {
  const sender = await startSender({ started: false });
  const { id } = await sender.endpoints.create({ url: 'http://127.0.0.1:9999/' });
  const before = await sender.endpoints.get(id);
  await expect(sender.endpoints.rotateSecret(id, input as never)).rejects.toMatchObject({
    code: 'ENDPOINT_VALIDATION',
    issues: [{ path, message: expect.any(String) }],
  });
  expect(await sender.endpoints.get(id)).toEqual(before);
});

test('a secret is never repeated in what is refused', async () => {
  const sender = await startSender({ started: false });
  const { id } = await sender.endpoints.create({ url: 'http://127.0.0.1:9999/' });
  const refused = await sender.endpoints
    .rotateSecret(id, { secret: 'whsec_c2VjcmV0LXRleHQ=' })
    .catch((error) => error);
  expect(refused.code).toBe('ENDPOINT_VALIDATION');
  expect(JSON.stringify([refused.message, refused.issues])).not.toContain('c2VjcmV0');
});

test('of none, or of an endpoint of another tenant, is not found, whatever the body', async () => {
  const sender = await startSender({ started: false });
  const { id } = await sender.endpoints.create({ url: 'http://127.0.0.1:9999/', tenantId: 'acme' });
  for (const [scope, each] of [
    [sender, 'ep_none'],
    [sender.forTenant('other'), id],
  ] as const) {
    for (const input of [{}, { secret: 'nonsense' }]) {
      await expect(scope.endpoints.rotateSecret(each, input)).rejects.toMatchObject({
        code: 'ENDPOINT_NOT_FOUND',
      });
    }
  }
});

test('more than ten secrets never sign at once: the eleventh is refused until one has expired or all are revoked', async () => {
  const { clock, sender, id } = await start();
  for (let live = 1; live < 10; live++) await sender.endpoints.rotateSecret(id, { overlapSeconds: 3600 });
  await expect(sender.endpoints.rotateSecret(id)).rejects.toMatchObject({
    code: 'ENDPOINT_VALIDATION',
    issues: [{ path: 'overlapSeconds' }],
  });
  clock.advance(HOUR);
  await sender.endpoints.rotateSecret(id);
  await sender.endpoints.rotateSecret(id, { overlapSeconds: 0 });
});
