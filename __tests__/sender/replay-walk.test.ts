import { newMessage } from '../contracts/store/fixtures.js';
import { createClock } from '../support/clock.js';
import { startSender } from '../support/sender.js';
import { queryAt, type Row, storeAt } from '../support/test-store.js';

const MESSAGES = 2000;
const FIRST = Date.parse('2026-04-01T00:00:00.000Z');

/** Two messages each second, owed to two endpoints, and what a walk over the third fifth of them is asked. */
async function many() {
  const clock = createClock();
  const sender = await startSender({ started: false, now: clock.now });
  const create = () => sender.endpoints.create({ url: 'http://127.0.0.1:9999/', tenantId: 'acme' });
  const target = await create();
  const other = await create();
  const store = await storeAt(sender.file);
  await store.open();
  const messages = Array.from({ length: MESSAGES }, (_, index) =>
    newMessage([target.id, other.id], {
      tenantId: 'acme',
      createdAt: FIRST + Math.floor(index / 2) * 1000,
    }),
  );
  await store.messages.insert(messages, true);
  await store.close();
  const timeOf = (index: number) => new Date(FIRST + (index / 2) * 1000).toISOString();
  return {
    sender,
    range: { endpointId: target.id, since: timeOf(800), until: timeOf(1200), limit: 50 },
    ids: messages.slice(800, 1200).map(({ id }) => id),
    deliveriesTo: (endpointId: string) =>
      queryAt(sender.file, 'select * from hookplane_deliveries where endpoint_id = ? order by message_id', [
        endpointId,
      ]),
    target,
    other,
  };
}

/** Page by page to the end, with a send between each two. */
async function walk<Page extends { nextCursor: string | null }>(
  ask: (cursor: string | undefined) => Promise<Page>,
  between: () => Promise<unknown>,
): Promise<Page[]> {
  const pages: Page[] = [];
  let cursor: string | undefined;
  do {
    const page = await ask(cursor);
    pages.push(page);
    cursor = page.nextCursor ?? undefined;
    await between();
  } while (cursor !== undefined);
  return pages;
}

test('a long range is replayed page by page while sends go on, each message once, and nothing beside it', async () => {
  const { sender, range, ids, deliveriesTo, target, other } = await many();
  const before = { target: await deliveriesTo(target.id), other: await deliveriesTo(other.id) };
  const send = () => sender.send({ type: 'a.b', data: 1, tenantId: 'acme' });

  const dry = await walk(
    (cursor) => sender.replay({ ...range, cursor, dryRun: true }),
    async () => {},
  );
  expect(dry.reduce((sum, { replayed }) => sum + replayed, 0)).toBe(400);
  expect(await deliveriesTo(target.id)).toEqual(before.target);

  const pages = await walk((cursor) => sender.replay({ ...range, cursor }), send);
  expect(pages.map(({ replayed }) => replayed).filter((count) => count > 0)).toEqual(Array(8).fill(50));
  const replayed = (await deliveriesTo(target.id)).filter(({ trigger }) => trigger === 'replay');
  expect(replayed.map((row) => row.message_id).sort()).toEqual(ids);
  const untouched = (rows: Row[], of: readonly Row[]) =>
    rows.filter((row) => of.some((known) => known.message_id === row.message_id));
  expect(untouched(await deliveriesTo(other.id), before.other)).toEqual(before.other);
});

test('a long range is reconciled page by page while sends go on, each message once, oldest first', async () => {
  const { sender, range, ids } = await many();
  const send = () => sender.send({ type: 'a.b', data: 1, tenantId: 'acme' });
  const pages = await walk((cursor) => sender.reconcile({ ...range, cursor }), send);
  expect(pages.flatMap(({ messageIds }) => messageIds)).toEqual(ids);
});
