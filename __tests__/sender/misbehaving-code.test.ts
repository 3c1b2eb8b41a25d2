import { startReceiver } from '../support/receiver.js';
import { startSender } from '../support/sender.js';
import { eventually, waitFor } from '../support/wait-for.js';

const NEVER = new Promise<never>(() => {});

describe('code of the application that misbehaves', () => {
  test('a filterFn that never answers holds back no send of another tenant, and fails its own', async () => {
    const sender = await startSender({
      started: false,
      timeoutMs: 200,
      endpointHooks: (endpoint) => (endpoint.tenantId === 'stuck' ? { filterFn: () => NEVER } : undefined),
    });
    const stuck = await sender.endpoints.create({ url: 'http://127.0.0.1:9999/', tenantId: 'stuck' });
    const held = sender.send({ type: 'a', data: 1, tenantId: 'stuck' });
    const failed = expect(held).rejects.toThrow(`The filterFn of the endpoint ${stuck.id} did not answer`);
    await expect(sender.send({ type: 'a', data: 1, tenantId: 'fine' })).resolves.toMatchObject({ type: 'a' });
    await failed;
    expect((await sender.messages.list({ tenantId: 'stuck' })).messages).toEqual([]);
  });

  test.each(['transform', 'headers'] as const)(
    'a %s that never answers ends its attempt at the deadline, and other endpoints are served meanwhile',
    async (name) => {
      const receiver = await startReceiver();
      const sender = await startSender({
        concurrency: 2,
        timeoutMs: 300,
        endpointHooks: (endpoint) => (endpoint.description === 'stuck' ? { [name]: () => NEVER } : undefined),
      });
      await sender.endpoints.create({ url: receiver.url('/stuck'), description: 'stuck' });
      await sender.endpoints.create({ url: receiver.url('/fine') });
      const { id } = await sender.send({ type: 'a', data: 1 });
      await receiver.waitFor(1);
      const { attempts } = await waitFor(async () => {
        const page = await sender.messages.attempts(id, { status: 'failed' });
        return page.attempts.length > 0 && page;
      });
      expect(attempts[0]).toMatchObject({ errorKind: 'transform', responseStatus: null });
      expect(attempts[0]?.error).toContain('did not answer within 300 ms');
    },
  );

  test('a listener that rejects ends nothing, and is told of in the log', async () => {
    const receiver = await startReceiver();
    const sender = await startSender();
    sender.on('attempt', async () => {
      throw new Error('the listener failed');
    });
    await sender.endpoints.create({ url: receiver.url('/') });
    await sender.send({ type: 'a', data: 1 });
    await eventually(() =>
      expect(sender.log).toContainEqual(
        expect.objectContaining({
          level: 'error',
          message: expect.stringContaining('"attempt" event failed'),
        }),
      ),
    );
    const second = await sender.send({ type: 'a', data: 2 });
    await eventually(async () =>
      expect(await sender.messages.get(second.id)).toMatchObject({ status: 'delivered' }),
    );
  });

  test('a logger that throws stops no delivery', async () => {
    const receiver = await startReceiver();
    const throwing = () => {
      throw new Error('no disk for logs');
    };
    const sender = await startSender({
      logger: { error: throwing, warn: throwing, info: throwing, debug: throwing },
    });
    receiver.answer('/gone', { status: 410 });
    const gone = await sender.endpoints.create({ url: receiver.url('/gone'), tenantId: 'a' });
    await sender.endpoints.create({ url: receiver.url('/fine'), tenantId: 'b' });
    await sender.send({ type: 'a', data: 1, tenantId: 'a' });
    await eventually(async () =>
      expect(await sender.endpoints.get(gone.id)).toMatchObject({ pausedReason: 'gone' }),
    );
    const { id } = await sender.send({ type: 'a', data: 1, tenantId: 'b' });
    await eventually(async () =>
      expect(await sender.messages.get(id)).toMatchObject({ status: 'delivered' }),
    );
  });
});

test('callers who send without pause leave the event loop its turns', async () => {
  const sender = await startSender({ started: false });
  let turns = 0;
  const ticking = setInterval(() => {
    turns += 1;
  }, 1);
  const caller = async (): Promise<void> => {
    for (let sent = 0; sent < 5; sent++) await sender.send({ type: 'a', data: sent });
  };
  await Promise.all(Array.from({ length: 600 }, caller));
  clearInterval(ticking);
  expect(turns).toBeGreaterThan(2);
});
