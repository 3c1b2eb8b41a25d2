// Replay and reconcile of a range among many messages, page by page, while sends go on: what a page costs at the
// beginning, in the middle and at the end of the walk, and whether each message is met exactly once.
import { join } from 'node:path';
import { createSender, sqliteStore } from 'hookplane';
import { fillOutbox, machine, median, quantile, say, storedId, temporaryFolder } from './support.mjs';

const MESSAGES = Number(process.env.BENCH_MESSAGES ?? 100_000);
const PAGE = 1000;
const EVERY_MS = 20;
/** Messages a second, on the clock of what is stored. */
const PACE = 100;

/** Walks to the end. @returns for each page what it answered and how long it took, in milliseconds */
async function walk(ask) {
  const pages = [];
  let cursor;
  do {
    const began = performance.now();
    const { nextCursor, ...answer } = await ask(cursor);
    pages.push({ ...answer, ms: performance.now() - began });
    cursor = nextCursor ?? undefined;
  } while (cursor !== undefined);
  return pages;
}

function told(name, pages) {
  // The last page of a range that it divides is empty.
  const times = pages
    .filter(({ replayed, messageIds }) => (messageIds?.length ?? replayed) > 0)
    .map(({ ms }) => ms);
  const tenth = Math.max(1, Math.round(times.length / 10));
  const middle = Math.floor((times.length - tenth) / 2);
  const part = (from) =>
    median(times.slice(from, from + tenth))
      .toFixed(1)
      .padStart(7);
  return `  ${name.padEnd(10)} ${String(times.length).padStart(4)} pages   first ${part(0)}  middle ${part(middle)}  last ${part(times.length - tenth)}  p99 ${quantile(times, 0.99).toFixed(1).padStart(7)}`;
}

export async function run() {
  const { folder, remove } = await temporaryFolder();
  const store = sqliteStore({ file: join(folder, 'bench.sqlite') });
  const sender = createSender({ store });
  const create = (name) => sender.endpoints.create({ tenantId: 'acme', url: `https://${name}.example.com/` });
  const target = await create('target');
  const other = await create('other');
  // The range lies in the past, and what is sent meanwhile behind it.
  const first = Date.now() - (MESSAGES / PACE) * 1000 - 60_000;
  const timeOf = (index) => first + Math.floor((index * 1000) / PACE);
  const began = performance.now();
  await fillOutbox(store, {
    tenantId: 'acme',
    endpointIds: [target.id, other.id],
    count: MESSAGES,
    createdAt: timeOf,
  });
  const stored = MESSAGES / ((performance.now() - began) / 1000);

  const fifth = Math.floor(MESSAGES / 5);
  const [from, to] = [2 * fifth, 3 * fifth];
  const range = {
    endpointId: target.id,
    since: new Date(timeOf(from)).toISOString(),
    until: new Date(timeOf(to)).toISOString(),
    limit: PAGE,
  };
  let sending = true;
  let sent = 0;
  const sends = (async () => {
    for (; sending; sent++) {
      await sender.send({ type: 'bench.sent', tenantId: 'acme', data: { sent } });
      await new Promise((resolve) => setTimeout(resolve, EVERY_MS));
    }
  })();
  const replayed = (pages) => pages.reduce((sum, page) => sum + page.replayed, 0);
  const state = (index, endpoint) =>
    sender.messages
      .get(storedId(timeOf(index), target.id, index))
      .then(({ deliveries }) =>
        JSON.stringify(deliveries.find(({ endpointId }) => endpointId === endpoint.id)),
      );
  const sample = Array.from({ length: 200 }, (_, step) => from + Math.floor((step * fifth) / 200));
  const statesOf = (endpoint) => Promise.all(sample.map((index) => state(index, endpoint)));

  const before = { target: await statesOf(target), other: await statesOf(other) };
  const dry = await walk((cursor) => sender.replay({ ...range, cursor, dryRun: true }));
  const changedDry = (await statesOf(target)).filter((each, index) => each !== before.target[index]).length;
  const pages = await walk((cursor) => sender.replay({ ...range, cursor }));
  const changed = (await statesOf(target)).filter((each, index) => each !== before.target[index]).length;
  const touched = (await statesOf(other)).filter((each, index) => each !== before.other[index]).length;
  const reconciled = await walk((cursor) => sender.reconcile({ ...range, cursor }));
  sending = false;
  await sends;
  const ids = reconciled.flatMap(({ messageIds }) => messageIds);

  say(
    `\nReplay and reconcile of ${fifth} of ${MESSAGES} messages, pages of ${PAGE}, ms a page (medians of a tenth of them); ${sent} sends meanwhile. ${machine()}\n`,
  );
  say(told('dry run', dry));
  say(told('replay', pages));
  say(told('reconcile', reconciled));
  say(`  stored in bulk at ${Math.round(stored)} messages/s`);
  say(
    `  counted by the dry run ${replayed(dry)}, replayed ${replayed(pages)}, reconciled ${ids.length} (${new Set(ids).size} different), of ${fifth}`,
  );
  say(
    `  of ${sample.length} looked at: changed by the dry run ${changedDry}, by the replay ${changed}, of the other endpoint ${touched}`,
  );
  await sender.stop();
  await remove();
}

if (process.argv[1] === import.meta.filename) await run();
