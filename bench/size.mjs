// What a page of each list, a lease, a settlement and a send cost among a million messages, beside what they cost among
// ten thousand: in one run, the sizes in turn.
//   npm run bench:size -- --store sqlite|postgres [--sizes 10000,1000000] [--folder DIR | --url URL] [--all] [--only TEXT]
// A store that is there already in the folder, or in the database, is taken as it is.
import { createHash } from 'node:crypto';
import { parseArgs } from 'node:util';
import { createAdminHandler, createSender } from 'hookplane';
import { cases, describe, urlOf } from './size-cases.mjs';
import { BIG } from './size-fill.mjs';
import { postgresStores, sqliteStores } from './size-stores.mjs';
import { idAt, machine, median, temporaryFolder } from './support.mjs';

const MOST = 1.5;
const ROUNDS = 15;
/** Statements are prepared, and PostgreSQL has settled on a plan, after so many. */
const WARM_UP = 7;
/** What takes so long is not asked as often. */
const SLOW_MS = 100;
const BATCH = 20;

const { values: options } = parseArgs({
  options: {
    store: { type: 'string', default: 'sqlite' },
    sizes: { type: 'string', default: '10000,1000000' },
    folder: { type: 'string' },
    url: { type: 'string' },
    only: { type: 'string' },
    all: { type: 'boolean', default: false },
  },
});

/** Times of one thing for each store, taken in turn. */
async function measure(stores, act) {
  const times = stores.map(() => []);
  let rounds = ROUNDS;
  let warmUp = WARM_UP;
  for (let round = 0; round < rounds + warmUp; round++) {
    for (const [index, store] of stores.entries()) {
      const ms = await act(store);
      if (ms > SLOW_MS && round === 0) [rounds, warmUp] = [3, 1];
      if (round >= warmUp) times[index].push(ms);
    }
  }
  return times.map(median);
}

async function timed(work) {
  const began = performance.now();
  const result = await work();
  return [performance.now() - began, result];
}

async function ask(each, store, cursor) {
  const headers = each.scope.tenant ? { tenant: each.scope.tenant } : {};
  const request = new Request(urlOf(each, store, cursor), { headers });
  const [ms, text] = await timed(async () => {
    const response = await store.handle(request);
    return `${response.status} ${await response.text()}`;
  });
  if (!/^(200|503) /.test(text)) throw new Error(`${request.url} answered ${text}`);
  return { ms, body: JSON.parse(text.slice(4)) };
}

/** The cursor of a page in the middle of the store's time: that of a first page, moved. null where there is only one. */
async function middleCursor(each, store) {
  const { nextCursor } = (await ask(each, store)).body;
  if (nextCursor === null) return null;
  const [version, name, filters, ms, id, until] = JSON.parse(Buffer.from(nextCursor, 'base64url').toString());
  const isByTime = ms > store.first + 1000 && !/^(endpoints|tenants|attempts)$/.test(name);
  const place = [
    version,
    name,
    filters,
    isByTime ? Math.floor((store.first + store.last) / 2) : ms,
    id,
    until,
  ];
  const check = createHash('sha256').update(JSON.stringify(place)).digest('base64url').slice(0, 8);
  return Buffer.from(JSON.stringify([...place, check])).toString('base64url');
}

async function measureCase(each, stores) {
  const cursors = new Map();
  const rows = new Map();
  for (const store of stores) {
    if (each.page === 'middle') cursors.set(store, await middleCursor(each, store));
    if (cursors.get(store) === null) return null;
    const { body } = await ask(each, store, cursors.get(store));
    rows.set(store, Object.values(body).find(Array.isArray)?.length ?? '');
  }
  const times = await measure(stores, async (store) => (await ask(each, store, cursors.get(store))).ms);
  return { route: each.route, what: describe(each), times, rows: [...rows.values()] };
}

/** A lease, its settlement, and a send, by themselves. */
async function measureEngine(stores) {
  const owner = 'bench';
  const share = (lanes) => ({
    quotas: new Map(lanes.slice(0, BATCH).map(({ endpointId }) => [endpointId, 1])),
    nextAt: null,
  });
  const turn = (store, given) =>
    store.store.outbox.turn({
      owner,
      now: Date.now(),
      settlements: [],
      news: [],
      release: [],
      lease: null,
      ...given,
    });
  const lease = (store) => turn(store, { lease: { leaseMs: 60_000, share } });
  const delivered = ({ messageId, endpointId, fence, attemptCount, target }) => {
    const now = Date.now();
    return {
      ...{
        messageId,
        endpointId,
        fence,
        status: 'delivered',
        dueAt: now,
        attemptCount: attemptCount + 1,
      },
      ...{ scheduleStep: 0, lost: false, lastError: null },
      attempt: {
        ...{
          id: idAt('att', now, messageId.slice(-16)),
          number: attemptCount + 1,
          status: 'succeeded',
          trigger: 'retry',
        },
        ...{
          startedAt: now,
          durationMs: 20,
          requestUrl: target.endpoint.url,
          remoteAddress: '192.0.2.1',
        },
        ...{
          responseStatus: 200,
          responseHeaders: {},
          responseBody: '',
          errorKind: null,
          error: null,
          nextAttemptAt: null,
        },
      },
    };
  };
  const acts = {
    [`lease of ${BATCH}`]: async (store) => {
      const [ms, { leased }] = await timed(() => lease(store));
      await turn(store, { release: leased });
      return ms;
    },
    'send to 3 endpoints': async (store) =>
      (
        await timed(() =>
          store.sender.send({ type: 'type.3', tenantId: BIG, data: { text: 'x'.repeat(300) } }),
        )
      )[0],
    [`send of ${BATCH} at once`]: async (store) =>
      (
        await timed(() =>
          Promise.all(
            Array.from({ length: BATCH }, (_, index) =>
              store.sender.send({
                type: 'type.3',
                tenantId: `tenant_${index + 5}`,
                data: { text: 'x'.repeat(300) },
              }),
            ),
          ),
        )
      )[0],
    [`settlement of ${BATCH}`]: async (store) => {
      const { leased } = await lease(store);
      return (await timed(() => turn(store, { settlements: leased.map(delivered) })))[0];
    },
  };
  const results = [];
  for (const [what, act] of Object.entries(acts)) {
    results.push({ route: 'engine', what, times: await measure(stores, act), rows: [] });
  }
  return results;
}

function tell(results, sizes) {
  const ratio = ({ times }) => times.at(-1) / times[0];
  const line = (each) =>
    `  ${each.route.padEnd(26)} ${each.what.padEnd(82)} ${each.times.map((ms) => ms.toFixed(2).padStart(9)).join('')}  × ${ratio(each).toFixed(2)}${ratio(each) > MOST ? '  !' : ''}  ${each.rows.join('/')}`;
  console.log(
    `\n${options.store}, median ms of ${ROUNDS} for ${sizes.join(' and ')} messages. ${machine()}\n`,
  );
  for (const each of results) {
    if (options.all || each.route === 'engine' || each.rows.length === 0 || ratio(each) > MOST)
      console.log(line(each));
  }
  console.log(`\n  ${'route'.padEnd(26)} cases  median ×  worst ×  above ${MOST}`);
  for (const [route, group] of Map.groupBy?.(results, (each) => each.route) ?? grouped(results)) {
    const ratios = group.map(ratio);
    console.log(
      `  ${route.padEnd(26)} ${String(ratios.length).padStart(5)} ${median(ratios).toFixed(2).padStart(9)} ${Math.max(
        ...ratios,
      )
        .toFixed(2)
        .padStart(8)} ${String(ratios.filter((each) => each > MOST).length).padStart(10)}`,
    );
  }
}

function grouped(results) {
  const groups = new Map();
  for (const each of results) groups.set(each.route, [...(groups.get(each.route) ?? []), each]);
  return groups;
}

const sizes = options.sizes.split(',').map(Number);
const temporary = options.folder ? undefined : await temporaryFolder();
const kind =
  options.store === 'postgres'
    ? await postgresStores(options.url)
    : sqliteStores(options.folder ?? temporary.folder);
const stores = [];
try {
  for (const size of sizes) {
    const [ms, opened] = await timed(() => kind.open(size));
    console.log(`  ${size} messages: ${Math.round(ms / 1000)} s`);
    const sender = createSender({ store: opened.store });
    const authorize = (request) => {
      const tenantId = request.headers.get('tenant');
      return tenantId === null ? true : { allow: true, tenantId };
    };
    const messageId = (await sender.messages.list({ tenantId: BIG, statuses: ['delivered'], limit: 1 }))
      .messages[0].id;
    stores.push({ ...opened, sender, messageId, handle: createAdminHandler(sender, { authorize }) });
  }
  const results = [];
  for (const each of cases().filter(({ route }) => route.includes(options.only ?? ''))) {
    const result = await measureCase(each, stores);
    if (result) results.push(result);
  }
  if (!options.only) results.push(...(await measureEngine(stores)));
  tell(results, sizes);
  console.log('\n  bytes a message, of the tables and indexes that have most\n');
  for (const { name, bytes } of (await stores.at(-1).sizes()).slice(0, 24)) {
    console.log(
      `  ${name.padEnd(44)} ${Math.round(bytes / sizes.at(-1))
        .toString()
        .padStart(6)}`,
    );
  }
} finally {
  for (const { close } of stores) await close();
  await kind.close();
  await temporary?.remove();
}
