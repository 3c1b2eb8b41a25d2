import Database from 'better-sqlite3';
import { createSender } from '../../lib/create-sender.js';
import { sqliteStore } from '../../lib/store/sqlite.js';
import { watchStore } from '../../lib/testing/watched-store.js';
import { onCleanUp } from '../support/clean-up.js';
import { startReceiver } from '../support/receiver.js';
import { recordingLogger } from '../support/sender.js';

function open() {
  const database = new Database(':memory:');
  const watched = watchStore(sqliteStore({ database }));
  const make = () => {
    const sender = createSender({
      store: watched.store,
      allowHttp: true,
      allowTargets: ['127.0.0.1'],
      logger: recordingLogger(),
    });
    onCleanUp('test', 'sender', () => sender.stop());
    return sender;
  };
  return { database, watched, worker: make(), other: make() };
}

it('is quiet when what was due is settled, and tells when more is', async () => {
  const { watched, worker, other } = open();
  const receiver = await startReceiver();
  receiver.answer('/', 500);
  await other.endpoints.create({ url: receiver.url(), retry: { delaysSeconds: [60], jitter: 0 } });
  const { id } = await other.send({ type: 'a', data: 1 });
  const quiet = watched.untilQuiet();
  await worker.start();
  const nextAt = await quiet;
  const { deliveries } = await other.messages.get(id);
  expect(deliveries).toMatchObject([{ status: 'pending', attemptCount: 1 }]);
  expect(new Date(nextAt!).toISOString()).toBe(deliveries[0]!.nextAttemptAt);
});

it('stays open when a sender stops, and keeps what is in it for the others', async () => {
  const watched = watchStore(sqliteStore({ file: ':memory:' }));
  const [worker, other] = [0, 1].map(() => createSender({ store: watched.store }));
  const { id } = await other!.endpoints.create({ url: 'https://example.com/' });
  await worker!.start();
  await worker!.stop();
  expect((await other!.endpoints.list()).endpoints).toMatchObject([{ id }]);
  await other!.stop();
  await watched.close();
});

it('does not keep those waiting whose store fails', async () => {
  const { database, watched, worker } = open();
  await worker.health();
  const quiet = watched.untilQuiet();
  database.close();
  await worker.start();
  await expect(quiet).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' });
});
