import { randomBytes } from 'node:crypto';
import { inspect } from 'node:util';
import { createAdminHandler } from '../../lib/admin/handler.js';
import { createEmitter, type SenderEventName } from '../../lib/sender/events.js';
import { takeSecrets } from '../support/check-secrets.js';
import { createClock } from '../support/clock.js';
import { startReceiver } from '../support/receiver.js';
import { recordingLogger, startSender } from '../support/sender.js';
import { bytesAt } from '../support/test-store.js';
import { eventually } from '../support/wait-for.js';
import { untilAttempts, untilStatus } from './probe.js';

const EVENTS: SenderEventName[] = ['attempt', 'dead', 'paused', 'recovered', 'error'];

/** Texts of which each stands for a secret, however it was written down: as it is, or by its bytes. */
function formsOf(secret: string): string[] {
  const bytes = Buffer.from(secret.replace(/^wh(?:sec|sk)_/, ''), 'base64');
  const text = bytes.toString('base64');
  // Without the end, which depends on what stands behind the bytes.
  return [text.slice(0, 30), bytes.toString('base64url').slice(0, 30), bytes.toString('hex').slice(0, 40)];
}

/** All that somebody could see of a sender that does everything once, and the secrets that were in it. */
async function story(secretKey: string | undefined) {
  const clock = createClock(Date.now());
  const receiver = await startReceiver();
  const options = { now: clock.now, ...(secretKey && { secretKey }) };
  const sender = await startSender(options);
  const secrets = new Set<string>();
  const seen: Record<string, unknown[]> = { events: [], answers: [], errors: [], requests: [] };
  for (const name of EVENTS) sender.on(name, (event) => void seen.events!.push({ name, event }));
  const answer = async <T>(answered: Promise<T>): Promise<T> => {
    const value = await answered;
    seen.answers!.push(value);
    return value;
  };
  const refused = async (operation: Promise<unknown>): Promise<void> => {
    const error = await operation.then(
      () => 'was not refused',
      (reason: unknown) => reason,
    );
    expect(error).toMatchObject({ name: 'HookplaneError' });
    seen.errors!.push(error);
  };

  // Create: a secret that was made, one that was given, and bodies that are refused with a secret in them.
  const scope = sender.forCaller({ actor: { id: 'ada' }, tenantId: 'acme' });
  const url = (path: string) => receiver.url(path);
  const retry = { delaysSeconds: [0.01], jitter: 0 };
  const made = await scope.endpoints.create({ url: url('/ok'), channels: ['ok'], retry });
  const given = sender.keys.generateAsymmetric().privateKey;
  const gone = await scope.endpoints.create({ url: url('/gone'), channels: ['gone'], secret: given });
  secrets.add(made.secret).add(gone.secret);
  const unused = sender.keys.generateSymmetric().secret;
  secrets.add(unused);
  await refused(scope.endpoints.create({ url: 'ftp://example.com/', secret: unused }));
  await refused(scope.endpoints.create({ url: url('/x'), secret: unused.replace('whsec_', 'whsek_') }));
  await refused(scope.endpoints.create({ url: url('/x'), secret: `${unused}${unused}${unused}` }));
  await refused(scope.endpoints.create({ url: url('/x'), secret: [unused] } as never));
  await refused(scope.endpoints.update(made.id, { secret: unused } as never));
  await refused(scope.endpoints.rotateSecret(made.id, { secret: `${unused}=` }));

  // Deliver, fail, recover, die, pause.
  const send = (channel: string) => answer(scope.send({ type: 'a.b', data: { n: 1 }, channels: [channel] }));
  receiver.answer('/ok', 200, 500, 200, 500);
  receiver.answer('/gone', 410);
  await untilStatus(sender, (await send('ok')).id, 'delivered');
  const retried = await send('ok');
  await untilAttempts(sender, retried, 1);
  clock.advance(100);
  await untilStatus(sender, retried.id, 'delivered');
  const dead = await send('ok');
  await untilAttempts(sender, dead, 1);
  clock.advance(100);
  await untilStatus(sender, dead.id, 'failed');
  await send('gone');
  await eventually(async () => expect((await scope.endpoints.get(gone.id)).pausedReason).toBe('gone'));

  // Rotate, read, test.
  secrets.add((await scope.endpoints.rotateSecret(made.id)).secret);
  secrets.add((await scope.endpoints.rotateSecret(made.id, { overlapSeconds: 60 })).secret);
  for (const { secret } of (await scope.endpoints.secret(made.id)).previousSecrets) secrets.add(secret);
  receiver.answer('/ok', 200);
  await answer(scope.endpoints.test(made.id));
  await untilStatus(sender, (await send('ok')).id, 'delivered');
  if (secretKey) seen.answers!.push(await sender.resealSecrets());

  // All that can be read.
  for (const { id } of (await answer(scope.messages.list())).messages) {
    await answer(scope.messages.get(id));
    await answer(scope.messages.attempts(id));
  }
  for (const { id } of (await answer(scope.endpoints.list())).endpoints) {
    await answer(scope.endpoints.get(id));
    await answer(scope.endpoints.attempts(id));
    await answer(scope.endpoints.stats(id));
    await answer(scope.stats());
  }
  await answer(scope.endpoints.update(made.id, { description: 'changed' }));
  await answer(scope.endpoints.disable(made.id));
  await answer(scope.endpoints.enable(made.id));
  for (const each of [sender, scope])
    await answer(Promise.all([each.metrics(), each.health(), each.tenants.list()]));
  const plane = createAdminHandler(sender, { authorize: () => true });
  for (const path of ['/endpoints', `/endpoints/${made.id}`, '/audit', '/openapi.json', '/metrics']) {
    await answer(plane(new Request(`http://plane.test${path}`)).then((response) => response.text()));
  }
  const onDisk = await bytesAt(sender.file);

  // A process that has another key than the one that sealed: what fails, and what is said of it.
  const log = [...sender.log];
  if (secretKey) {
    const other = await startSender({
      ...options,
      file: sender.file,
      secretKey: randomBytes(32),
      started: false,
    });
    for (const name of EVENTS) other.on(name, (event) => void seen.events!.push({ name, event }));
    await refused(other.endpoints.secret(made.id));
    await refused(other.endpoints.rotateSecret(made.id));
    await sender.stop();
    await other.start();
    await untilAttempts(
      other,
      await answer(other.forTenant('acme').send({ type: 'a.b', data: 1, channels: ['ok'] })),
      1,
    );
    await answer(other.endpoints.test(made.id));
    seen.answers!.push(await other.resealSecrets());
    log.push(...other.log);
    await other.endpoints.delete(made.id);
    await other.tenants.delete('acme');
    await answer(other.audit.list());
    await other.stop();
    log.push(...other.log);
  }
  seen.requests!.push(...receiver.requests().map(({ headers, rawBody }) => [headers, String(rawBody)]));
  seen.log = log;
  return { secrets, seen, sender, onDisk, afterwards: await bytesAt(sender.file) };
}

function findings(text: string, secrets: Iterable<string>): string[] {
  return [...secrets].flatMap(formsOf).filter((form) => text.toLowerCase().includes(form.toLowerCase()));
}

const shown = (value: unknown): string =>
  inspect(value, { depth: 12, maxStringLength: null, maxArrayLength: null });

test('no secret and no key is in anything that a sender says, nor on its disk when they are sealed', async () => {
  const key = randomBytes(32).toString('base64');
  const { secrets, seen, sender, onDisk, afterwards } = await story(key);
  expect(secrets.size).toBe(5);
  const told = new Set(seen.events!.map((each) => (each as { name: string }).name));
  expect(told).toEqual(new Set(EVENTS.filter((name) => name !== 'error')));
  for (const [where, said] of Object.entries(seen)) {
    expect([where, said.length > 0]).toEqual([where, true]);
    expect([where, findings(shown(said) + JSON.stringify(said), [...secrets, key])]).toEqual([where, []]);
  }
  expect(findings(shown(sender), [...secrets, key])).toEqual([]);
  for (const bytes of [onDisk, afterwards]) {
    expect(bytes.length).toBeGreaterThan(10_000);
    expect(findings(bytes.toString('latin1'), [...secrets, key])).toEqual([]);
    for (const secret of [...secrets, key]) {
      const raw = Buffer.from(secret.replace(/^wh(?:sec|sk)_/, ''), 'base64');
      expect(bytes.includes(raw.subarray(0, 24))).toBe(false);
    }
  }
  expect(onDisk.includes('enc:v1:')).toBe(true);
});

test('without a key secrets are on the disk, and nowhere else', async () => {
  const { secrets, seen, onDisk } = await story(undefined);
  for (const [where, said] of Object.entries(seen)) {
    expect([where, findings(shown(said) + JSON.stringify(said), secrets)]).toEqual([where, []]);
  }
  // That this is seen says that the search would have found them elsewhere.
  const stored = [...secrets].filter((secret) => findings(onDisk.toString('latin1'), [secret]).length > 0);
  expect(stored.length).toBe(4);
});

test('a secret in an answer, an event or the log of any test would be noticed', async () => {
  const sender = await startSender({ started: false });
  const { id, secret } = await sender.endpoints.create({ url: 'https://example.com/' });
  await sender.endpoints.update(id, { description: secret });
  const plane = createAdminHandler(sender, {
    authorize: () => {
      throw new Error(secret);
    },
    logger: recordingLogger(),
  });
  await plane(new Request('http://plane.test/endpoints'));
  await createAdminHandler(sender, { authorize: () => true })(
    new Request(`http://plane.test/endpoints/${id}`),
  );
  createEmitter(recordingLogger()).emit('error', { error: new Error(secret), during: 'turn' });

  const places = takeSecrets().map((text) => text.split(':')[0]);
  expect(places).toEqual(['log', `GET /endpoints/${id}`, 'event error']);
});
