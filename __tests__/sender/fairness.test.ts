import { createClock, SECOND } from '../support/clock.js';
import { startReceiver } from '../support/receiver.js';
import { startSender } from '../support/sender.js';
import { eventually } from '../support/wait-for.js';
import { takeTurns, untilStatus } from './probe.js';

const messages = (count: number, fields = {}) =>
  Array.from({ length: count }, (_, data) => ({ type: 'a.b', data, ...fields }));

describe('two endpoints of one receiver that do not answer and are owed much', () => {
  test.each([
    ['another tenant', ['dead', 'slow', 'third'], 140],
    ['another endpoint of their tenant', ['acme', 'acme', 'acme'], 100],
    ['another endpoint without a tenant, as they are', [null, null, null], 140],
  ])('leave requests for %s, which waits for none of theirs to end', async (_, tenants, most) => {
    const receiver = await startReceiver();
    const sender = await startSender({ concurrency: 160 });
    const holds = ['/dead', '/slow'].map((path) => receiver.hold(path));
    for (const [index, path] of ['/dead', '/slow', '/third'].entries()) {
      const types = [path.slice(1)];
      await sender.endpoints.create({ url: receiver.url(path), tenantId: tenants[index], types });
    }
    for (const [index, type] of ['dead', 'slow'].entries()) {
      await sender.sendMany(messages(500, { type, tenantId: tenants[index] }));
    }
    const held = () => receiver.requests('/dead').length + receiver.requests('/slow').length;
    await eventually(() => expect(held()).toBe(most));
    for (let count = 1; count <= 30; count++) {
      const sent = await sender.send({ type: 'third', data: count, tenantId: tenants[2] });
      await untilStatus(sender, sent.id, 'delivered');
    }
    expect(receiver.requests('/third')).toHaveLength(30);
    expect(held()).toBe(most);
    await sender.stop({ drainMs: 0 });
    for (const { release } of holds) release();
  });
});

test.each([
  ['without tenants', null],
  ['of one tenant', 'acme'],
])('endpoints %s leave what they do not need to one that is owed much, at once', async (_, tenantId) => {
  const receiver = await startReceiver();
  const sender = await startSender({ concurrency: 64, pollIntervalMs: 60_000, started: false });
  const holds = Array.from({ length: 8 }, (_each, index) => receiver.hold(`/${index}`));
  for (const index of holds.keys()) {
    await sender.endpoints.create({ url: receiver.url(`/${index}`), types: [`t${index}`], tenantId });
    await sender.sendMany(messages(index === 0 ? 100 : 1, { type: `t${index}`, tenantId }));
  }
  await sender.start();
  await eventually(() => expect(receiver.requests('/0')).toHaveLength(32));
  await sender.stop({ drainMs: 0 });
  for (const { release } of holds) release();
});

test.each(['endpoint', 'tenant'])(
  'the rate of a %s lets two processes send what it says over half a minute, and spends no attempt',
  async (owner) => {
    const clock = createClock();
    const receiver = await startReceiver();
    const sender = await startSender({ now: clock.now });
    const rateLimit = { perSecond: 4 };
    if (owner === 'tenant') await sender.tenants.setRateLimit('acme', rateLimit);
    const limits = owner === 'endpoint' ? { rateLimit } : {};
    await sender.endpoints.create({ url: receiver.url(), tenantId: 'acme', ...limits });
    const other = await startSender({ file: sender.file, now: clock.now });
    const sent = await sender.sendMany(messages(150, { tenantId: 'acme' }));
    for (let second = 0; second <= 30; second++) {
      await receiver.waitFor(4 + 4 * second);
      if (second < 30) clock.advance(SECOND);
    }
    for (const each of [sender, other]) await takeTurns(each);
    expect(receiver.requests()).toHaveLength(4 + 4 * 30);
    const attempts = await Promise.all(
      sent.map(async ({ id }) => (await sender.messages.get(id)).deliveries[0]?.attemptCount),
    );
    expect(attempts.filter((count) => count === 1)).toHaveLength(124);
    expect(attempts.filter((count) => count === 0)).toHaveLength(26);
  },
);

test('maxInFlight is never exceeded by two processes whose requests end and begin', async () => {
  const receiver = await startReceiver();
  let open = 0;
  let most = 0;
  receiver.answer('/', (_request, response) => {
    open += 1;
    most = Math.max(most, open);
    setTimeout(() => {
      open -= 1;
      response.end();
    }, 2);
  });
  // Each looks often, so that both come by when there is room.
  const pollIntervalMs = 20;
  const sender = await startSender({ pollIntervalMs });
  await sender.endpoints.create({ url: receiver.url(), maxInFlight: 3 });
  const other = await startSender({ file: sender.file, pollIntervalMs });
  let byOther = 0;
  other.on('attempt', () => {
    byOther += 1;
  });
  await sender.sendMany(messages(200));
  await eventually(async () => expect(await sender.health()).toMatchObject({ outboxDepth: 0 }));
  expect(receiver.requests()).toHaveLength(200);
  expect(most).toBe(3);
  expect(byOther).toBeGreaterThan(0);
});
