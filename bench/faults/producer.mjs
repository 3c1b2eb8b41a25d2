import { createClock, onMessage, orders, say } from './child.mjs';
import { openStore } from './open-store.mjs';
import { createSender } from './package.mjs';
import { createRandom } from './random.mjs';
import { SILENT, TYPES } from './settings.mjs';

const given = await orders();
const random = createRandom(given.seed);
const store = await openStore(given);
const sender = createSender({
  store,
  now: createClock(given.clock, store),
  allowHttp: true,
  allowTargets: ['127.0.0.1'],
  logger: SILENT,
});
let count = 0;
let stopping = false;
onMessage('stop', () => {
  stopping = true;
});

function newEvents(size, type) {
  return Array.from({ length: size }, () => {
    count += 1;
    return { n: `${given.name}.${count}`, type: type ?? random.pick(TYPES), key: null };
  });
}

// An event with a key is sent again word for word, as by an application that does not know what became of it.
const toMessage = ({ n, type, key }) =>
  key === null
    ? { type, data: { n, filling: 'x'.repeat(random.integer(0, 400)) } }
    : { type, data: { n }, idempotencyKey: key };

/** Tells what it is about to send, sends it, and tells what became of it. */
async function attempt(events, batch, send) {
  await say({ kind: 'tried', events: events.map((event) => ({ ...event, batch })) });
  const results = await Promise.allSettled(send());
  const acked = [];
  for (const [index, { status, value, reason }] of results.entries()) {
    if (status === 'rejected')
      await say({ kind: 'refused', n: events[index].n, error: `${reason.code}: ${reason.message}` });
    else for (const [at, { id }] of [value].flat().entries()) acked.push({ n: events[index + at].n, id });
  }
  if (acked.length > 0) await say({ kind: 'acked', acked });
}

const one = (event) => attempt([event], null, () => [sender.send(toMessage(event))]);
const many = (events) => attempt(events, events[0].n, () => [sender.sendMany(events.map(toMessage))]);

const WAYS = {
  /** Sends of one moment share a commit. */
  burst: (size = random.integer(1, 8)) => {
    const events = newEvents(size);
    return attempt(events, null, () => events.map((event) => sender.send(toMessage(event))));
  },
  fanOut: () => one(...newEvents(1, 'order.placed')),
  many: (size = random.integer(2, 12)) => many(newEvents(size)),
  /** More than can be under way at once, to a receiver that is quick. */
  flood: () => many(newEvents(100, 'user.made')),
  keyed: () => {
    const [event] = newEvents(1);
    event.key = `key of ${event.n}`;
    given.known.push(event);
    return one(event);
  },
  again: () => (given.known.length > 0 ? one(random.pick(given.known)) : undefined),
};
const USUAL = ['burst', 'burst', 'many', 'keyed', 'again'];

await say({ kind: 'started' });
for (const event of given.again) await one(event);
if (given.plan) for (const [way, ...args] of given.plan) await WAYS[way](...args);
else {
  while (!stopping) {
    await WAYS[random.chance(given.flood) ? 'flood' : random.pick(USUAL)]();
    await new Promise((resolve) => setTimeout(resolve, random.integer(0, given.pauseMs)));
  }
}
await sender.stop();
process.disconnect();
