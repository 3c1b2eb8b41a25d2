import { createClock, MINUTE } from '../support/clock.js';
import { type Receiver, startReceiver } from '../support/receiver.js';
import { startSender, type TestSender } from '../support/sender.js';
import { takeTurns, untilAttempts, untilStatus } from './probe.js';

const ONCE = { delaysSeconds: [], jitter: 0 };

describe('an edit holds from the next attempt on', () => {
  /** A message whose first attempt has failed, and whose next waits for the clock. */
  async function waiting() {
    const clock = createClock();
    const receiver = await startReceiver();
    receiver.answer('/', 500, 200);
    const sender = await startSender({ now: clock.now, retry: { delaysSeconds: [60, 60], jitter: 0 } });
    const endpoint = await sender.endpoints.create({ url: receiver.url() });
    const sent = await sender.send({ type: 'a.b', data: 1 });
    await untilAttempts(sender, sent, 1);
    return { clock, receiver, sender, endpoint, sent };
  }

  test('of the URL', async () => {
    const { clock, receiver, sender, endpoint, sent } = await waiting();
    await sender.endpoints.update(endpoint.id, { url: receiver.url('/new') });
    clock.advance(MINUTE);
    await receiver.waitFor(1, '/new');
    const [first, second] = await untilAttempts(sender, sent, 2);
    expect([first?.requestUrl, second?.requestUrl]).toEqual([receiver.url('/'), receiver.url('/new')]);
    expect(receiver.requests('/')).toHaveLength(1);
  });

  test('of the headers', async () => {
    const { clock, receiver, sender, endpoint } = await waiting();
    await sender.endpoints.update(endpoint.id, { headers: { 'x-new': 'yes' } });
    clock.advance(MINUTE);
    const [first, second] = await receiver.waitFor(2);
    expect([first?.headers['x-new'], second?.headers['x-new']]).toEqual([undefined, 'yes']);
  });

  test('of the retry schedule', async () => {
    const { clock, sender, receiver, endpoint, sent } = await waiting();
    receiver.answer('/', 500);
    await sender.endpoints.update(endpoint.id, { retry: { delaysSeconds: [1], jitter: 0 } });
    clock.advance(MINUTE);
    await untilStatus(sender, sent.id, 'failed');
    expect(receiver.requests()).toHaveLength(2);
  });

  test('that pauses it: no attempt is made', async () => {
    const { clock, receiver, sender, endpoint, sent } = await waiting();
    await sender.endpoints.disable(endpoint.id);
    clock.advance(MINUTE);
    await takeTurns(sender);
    expect(receiver.requests()).toHaveLength(1);
    expect(await sender.messages.get(sent.id)).toMatchObject({ status: 'pending' });
  });

  test('that deletes it: no attempt is made, and the delivery is canceled', async () => {
    const { clock, receiver, sender, endpoint, sent } = await waiting();
    await sender.endpoints.delete(endpoint.id);
    clock.advance(MINUTE);
    await takeTurns(sender);
    expect(receiver.requests()).toHaveLength(1);
    expect(await sender.messages.get(sent.id)).toMatchObject({
      status: 'unrouted',
      deliveries: [{ endpointId: endpoint.id, status: 'canceled', attemptCount: 1, nextAttemptAt: null }],
    });
    expect((await sender.messages.attempts(sent.id)).attempts).toHaveLength(1);
  });

  test('made in another process', async () => {
    const { clock, receiver, sender, endpoint } = await waiting();
    const other = await startSender({ file: sender.file, started: false, now: clock.now });
    await other.endpoints.update(endpoint.id, { url: receiver.url('/new') });
    clock.advance(MINUTE);
    await receiver.waitFor(1, '/new');
  });

  test('not for an attempt that is under way', async () => {
    const receiver = await startReceiver();
    const held = receiver.hold('/');
    const sender = await startSender();
    const endpoint = await sender.endpoints.create({ url: receiver.url() });
    const sent = await sender.send({ type: 'a.b', data: 1 });
    await receiver.waitFor(1);
    await sender.endpoints.disable(endpoint.id);
    held.release();
    await untilStatus(sender, sent.id, 'delivered');
  });
});

describe('the URL is judged alike', () => {
  const REFUSED = [
    'http://127.0.0.2/',
    'http://169.254.169.254/latest/meta-data',
    'http://[::1]/',
    'http://0/',
    'http://user:pass@example.com/',
    'ftp://example.com/',
    'https://example.com:22/',
    'https://example.com/#fragment',
    'example.com',
    'https://exa mple.com/',
  ];

  async function problemsOf(sender: TestSender, receiver: Receiver, url: string) {
    const { id } = await sender.endpoints.create({ url: receiver.url() });
    const create = await sender.endpoints.create({ url }).catch((error) => error);
    const update = await sender.endpoints.update(id, { url }).catch((error) => error);
    return [create, update].map(({ code, issues }) => ({ code, issues }));
  }

  test.each(REFUSED)('at create and at update: %s', async (url) => {
    const receiver = await startReceiver();
    const sender = await startSender({ started: false });
    const [create, update] = await problemsOf(sender, receiver, url);
    expect(create).toEqual({
      code: 'ENDPOINT_VALIDATION',
      issues: [{ path: 'url', message: expect.any(String) }],
    });
    expect(update).toEqual(create);
  });

  test('at dispatch: what the sender would not take any more it does not deliver to', async () => {
    const receiver = await startReceiver();
    const lenient = await startSender({ started: false });
    await lenient.endpoints.create({ url: receiver.url() });
    const sent = await lenient.send({ type: 'a.b', data: 1 });
    const strict = await startSender({ file: lenient.file, allowHttp: false, retry: ONCE });
    const [attempt] = await untilAttempts(strict, sent, 1);
    expect(attempt).toMatchObject({ status: 'failed', errorKind: 'blocked_address', remoteAddress: null });
    expect(attempt?.error).toMatch(/https/);
    expect(receiver.requests()).toEqual([]);
  });

  test('at dispatch: a private address is refused when it is not allowed any more', async () => {
    const receiver = await startReceiver();
    const lenient = await startSender({ started: false });
    await lenient.endpoints.create({ url: receiver.url() });
    const sent = await lenient.send({ type: 'a.b', data: 1 });
    const strict = await startSender({ file: lenient.file, allowTargets: [], retry: ONCE });
    const [attempt] = await untilAttempts(strict, sent, 1);
    expect(attempt).toMatchObject({ status: 'failed', errorKind: 'blocked_address' });
    expect(receiver.requests()).toEqual([]);
  });

  test('and kept in its canonical spelling', async () => {
    const sender = await startSender({ started: false });
    const { url } = await sender.endpoints.create({ url: 'HTTP://127.0.0.1:80/a/../b?c=ä' });
    expect(url).toBe('http://127.0.0.1/b?c=%C3%A4');
  });
});
