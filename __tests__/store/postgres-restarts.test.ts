import { createAdminHandler } from '../../lib/admin/handler.js';
import { createSender } from '../../lib/create-sender.js';
import { postgresStore } from '../../lib/store/postgres.js';
import { onCleanUp } from '../support/clean-up.js';
import { type OwnServer, startOwnServer } from '../support/postgres/own-server.js';
import { startReceiver } from '../support/receiver.js';
import { recordingLogger } from '../support/sender.js';
import { eventually } from '../support/wait-for.js';

jest.setTimeout(60_000);

let server: OwnServer;
beforeAll(async () => {
  server = await startOwnServer();
});

const LEASE_MS = 2000;

test.each(['kill', 'crash'] as const)(
  'a server that goes down (by a %s) under a worker costs sends and no message, and it goes on when it is up',
  async (command) => {
    const receiver = await startReceiver();
    const sender = createSender({
      store: postgresStore({ connectionString: server.url, schema: command, statementTimeoutMs: 1500 }),
      allowHttp: true,
      allowTargets: ['127.0.0.1'],
      timeoutMs: LEASE_MS - 500,
      leaseMs: LEASE_MS,
      pollIntervalMs: 50,
      logger: recordingLogger(),
    });
    onCleanUp('test', 'sender', () => sender.stop({ drainMs: 1000 }));
    await sender.start();
    await sender.endpoints.create({ url: receiver.url() });
    const admin = createAdminHandler(sender, { authorize: () => true, onError() {} });
    async function ask(path: string) {
      const response = await admin(new Request(`http://localhost${path}`));
      return { status: response.status, body: await response.json() };
    }

    const acknowledged: string[] = [];
    const refused: unknown[] = [];
    let sending = true;
    const sends = (async () => {
      for (let count = 0; sending; count++) {
        const sent = await sender.send({ type: 'a.b', data: count }).catch((error) => error);
        if (sent instanceof Error) refused.push(sent);
        else acknowledged.push(sent.id);
        await new Promise((resolve) => setTimeout(resolve, 5));
      }
    })();
    await receiver.waitFor(20);
    await server.tell(command);
    expect(await ask('/health')).toMatchObject({ status: 503, body: { reason: 'store_unavailable' } });
    expect(await ask('/endpoints')).toMatchObject({ status: 503, body: { errorCode: 'STORE_UNAVAILABLE' } });
    await eventually(() => expect(refused.length).toBeGreaterThan(1));
    await server.tell('start');
    const before = acknowledged.length;
    await eventually(() => expect(acknowledged.length).toBeGreaterThan(before + 5), 20_000);
    sending = false;
    await sends;
    for (const error of refused) expect(error).toMatchObject({ code: 'STORE_UNAVAILABLE' });
    await eventually(
      async () => expect(await ask('/health')).toMatchObject({ status: 200, body: { outboxDepth: 0 } }),
      30_000,
    );
    const arrived = new Set(receiver.requests().map(({ headers }) => headers['webhook-id']));
    expect(acknowledged.filter((id) => !arrived.has(id))).toEqual([]);
  },
);

test('a pool that ends while its server goes down harms nothing', async () => {
  const store = postgresStore({ connectionString: server.url, schema: 'ended' });
  await store.open();
  const deafen = store.outbox.onWake!(() => {});
  // Several connections, some of them at work.
  const asked = Array.from({ length: 8 }, () =>
    store.endpoints.ofTenants([null]).catch((error: unknown) => error),
  );
  await asked[0];
  const [, , ...answers] = await Promise.all([server.tell('kill'), store.close(), ...asked]);
  deafen();
  for (const answer of answers) {
    if (answer instanceof Error) expect(answer).toMatchObject({ code: 'STORE_UNAVAILABLE' });
  }
  await server.tell('start');
  await store.open();
  expect(await store.endpoints.ofTenants([null])).toEqual(new Map([[null, []]]));
  await store.close();
});
