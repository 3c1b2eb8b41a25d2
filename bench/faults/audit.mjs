import { groupBy, most, sum, tally } from './groups.mjs';
import { MOST_UNSETTLED, pathsOf } from './settings.mjs';

/** What must not be found, by name. */
export const CHECKS = {
  lost: 'acknowledged, and not received with a 200',
  unexpected: 'received, and never sent, or under another id than it has',
  'not stored': 'acknowledged, and not in the store',
  'half stored': 'a message without all its deliveries or its payload, or part of a sendMany',
  'stored twice': 'one event, or one idempotency key, with more than one message',
  'never sent': 'delivered by the word of the store, and not received',
  repeated: 'received more often than failures, replays and what was in flight at kills explain',
  overtaken: 'taken from a worker that lived',
  unfinished: 'not delivered at the end',
  damaged: 'what the database finds wrong with itself, and rows that belong to nothing',
  crashed: 'processes that ended by themselves',
  late: 'not done when it should have been',
};

/**
 * Turns do not wait for the log to be written: a server that is killed forgets those of the last moments, in which the
 * request was made. Thrice what its log writer waits, and the length of a turn.
 */
const FORGOTTEN_MS = 1500;

/** The attempt of a delivery that was taken from one worker after another: it explains no request, for it made none. */
const NOT_SENT = 'The process that was delivering it ended before its outcome was known.';

/** Holds the ledger against the database and against what the receiver has received. */
export async function audit(ledger, { query, damage }) {
  const book = await readBook(ledger, query);
  const findings = Object.fromEntries(Object.keys(CHECKS).map((check) => [check, []]));
  const find = (check, what) => findings[check].push(what);
  checkAcknowledged(ledger, book, find);
  checkReceived(ledger, book, find);
  checkWhole(ledger, book, find);
  checkFinished(book, find);
  for (const line of damage) find('damaged', line);
  for (const crash of ledger.crashes) find('crashed', crash);
  for (const [id, times] of ledger.overtaken) find('overtaken', `${id}, ${times} times`);
  const copies = countCopies(ledger, book);
  for (const { what, duplicates, explained } of copies) {
    if (duplicates > explained)
      find('repeated', `${what}, ${duplicates} times, of which ${explained} explained`);
  }
  for (const kill of ledger.kills) {
    const requested = requestedBy(kill, book);
    if (requested > MOST_UNSETTLED) find('repeated', `${requested} that ${kill.name} had not settled`);
  }
  return {
    figures: figuresOf(ledger, book, copies),
    kills: Object.fromEntries(tally(ledger.kills.map(({ role, how }) => `${role}: ${how}`))),
    findings: Object.fromEntries(
      Object.entries(findings).map(([check, found]) => [
        check,
        { count: found.length, examples: found.slice(0, 3) },
      ]),
    ),
    refused: [...new Set(ledger.refused.map(({ error }) => error))],
    troubles: [...new Set(ledger.troubles)],
  };
}

async function readBook({ received }, query) {
  const messages = await query('select id, type, status, created_at from hookplane_messages');
  const payloads = await query('select message_id, payload from hookplane_payloads');
  const deliveries = await query('select message_id, endpoint_id, status from hookplane_deliveries');
  const endpoints = await query('select id, url from hookplane_endpoints');
  const keys = await query('select key, message_id from hookplane_idempotency_keys');
  const unanswered = await query(
    `select message_id, endpoint_id from hookplane_attempts
     where response_status is null and error <> '${NOT_SENT}'`,
  );
  const pathOf = new Map(endpoints.map(({ id, url }) => [id, new URL(url).pathname]));
  const eventOf = new Map(payloads.map((row) => [row.message_id, JSON.parse(row.payload).data.n]));
  const requests = groupBy(received, ({ n, path }) => `${n} ${path}`);
  const requestsOf = (n, path) => requests.get(`${n} ${path}`) ?? [];
  const placed = deliveries.map((row) => ({
    ...row,
    n: eventOf.get(row.message_id),
    path: pathOf.get(row.endpoint_id),
  }));
  return {
    messages: new Map(messages.map((message) => [message.id, message])),
    payloads,
    deliveries: placed,
    placeOf: new Map(placed.map((row) => [keyOf(row), row])),
    keys,
    eventOf,
    /** The messages of each event. */
    stored: groupBy(
      messages.map(({ id }) => id).filter((id) => eventOf.has(id)),
      (id) => eventOf.get(id),
    ),
    /** Attempts that ended without an answer: the receiver may have had them all the same. */
    unanswered: tally(unanswered.map(keyOf)),
    requestsOf,
    arrived: (n, path) => requestsOf(n, path).some(({ status, cut }) => status === 200 && !cut),
  };
}

function checkAcknowledged({ tried, acked }, { eventOf, arrived }, find) {
  for (const [n, ids] of acked) {
    for (const path of pathsOf(tried.get(n).type)) if (!arrived(n, path)) find('lost', `${n} at ${path}`);
    for (const id of ids) if (eventOf.get(id) !== n) find('not stored', `${n} as ${id}`);
  }
}

function checkReceived({ tried, received }, { stored }, find) {
  for (const { n, path, id } of received) {
    if (!tried.has(n) || !pathsOf(tried.get(n).type).includes(path)) find('unexpected', `${n} at ${path}`);
    else if (!stored.get(n)?.includes(id)) find('unexpected', `${n} as ${id}`);
  }
}

function checkWhole({ tried }, { messages, payloads, deliveries, keys, eventOf, stored }, find) {
  const deliveriesOf = groupBy(deliveries, (row) => row.message_id);
  for (const { id, type } of messages.values()) {
    const owed = (deliveriesOf.get(id) ?? []).map(({ path }) => path).sort();
    const whole = eventOf.has(id) && String(owed) === String(pathsOf(type).sort());
    if (!whole) find('half stored', `${id}, owed to ${owed.join(' and ') || 'nobody'}`);
  }
  const together = [...tried].filter(([, { batch }]) => batch !== null);
  for (const [batch, events] of groupBy(together, ([, event]) => event.batch)) {
    const there = events.filter(([n]) => stored.has(n)).length;
    if (there > 0 && there < events.length)
      find('half stored', `${there} of the ${events.length} of ${batch}`);
  }
  for (const [n, ids] of stored) if (ids.length > 1) find('stored twice', `${n} as ${ids.join(', ')}`);
  for (const [key, rows] of groupBy(keys, (row) => row.key)) if (rows.length > 1) find('stored twice', key);
  for (const row of [...payloads, ...deliveries, ...keys]) {
    if (!messages.has(row.message_id)) find('damaged', `a row of ${row.message_id}, which is not there`);
  }
}

function checkFinished({ messages, deliveries, arrived }, find) {
  for (const { n, path, status } of deliveries) {
    if (status !== 'delivered') find('unfinished', `${n} at ${path}: ${status}`);
    else if (!arrived(n, path)) find('never sent', `${n} at ${path}`);
  }
  for (const { id, status } of messages.values()) {
    if (status !== 'delivered') find('unfinished', `the message ${id}: ${status}`);
  }
}

/**
 * For each delivery how often it was received beyond what its record gives a reason for, and how often that may be: once
 * for each worker that held it and was killed or cut off, or from which it was taken, and for each death of the server
 * that may have forgotten it.
 */
function countCopies(
  { kills, outages, replays, overtaken, cutOff },
  { messages, deliveries, unanswered, requestsOf },
) {
  const ended = tally([...kills.flatMap((kill) => kill.inFlight), ...cutOff]);
  return deliveries.map((row) => {
    const requests = requestsOf(row.n, row.path);
    const { created_at: createdAt } = messages.get(row.message_id) ?? {};
    const replayed = replays.filter(
      ({ path, since, until }) => path === row.path && createdAt >= since && createdAt < until,
    ).length;
    const failed = requests.filter(({ status }) => status !== 200).length + (unanswered.get(keyOf(row)) ?? 0);
    const forgotten = outages.filter(
      ({ how, at }) =>
        ['kill', 'crash'].includes(how) && requests.some((each) => Math.abs(at - each.at) < FORGOTTEN_MS),
    ).length;
    return {
      what: `${row.n} at ${row.path}`,
      copies: requests.length,
      duplicates: Math.max(0, requests.length - 1 - failed - replayed),
      explained: (ended.get(keyOf(row)) ?? 0) + (overtaken.get(row.message_id) ?? 0) + forgotten,
    };
  });
}

function figuresOf(ledger, book, copies) {
  const { deliveries, stored } = book;
  const workers = ledger.kills.filter(({ role }) => role === 'worker');
  const caught = workers.map(({ inFlight }) => inFlight.length);
  const duplicates = sum(copies.map((each) => each.duplicates));
  return {
    seconds: Math.round((Date.now() - ledger.began) / 1000),
    kills: ledger.kills.length,
    'of workers': workers.length,
    'events tried': ledger.tried.size,
    acknowledged: ledger.acked.size,
    'stored without an acknowledgement': [...stored.keys()].filter((n) => !ledger.acked.has(n)).length,
    deliveries: deliveries.length,
    'requests received': ledger.received.length,
    'leased at the kills': sum(caught),
    'most leased at one': most(caught),
    'most requested of those': most(workers.map((kill) => requestedBy(kill, book))),
    duplicates,
    'cut off by stops': ledger.cutOff.length,
    'duplicates for each worker killed':
      workers.length === 0 ? 0 : Number((duplicates / workers.length).toFixed(2)),
    'most copies of one': most(copies.map((each) => each.copies)),
    'sends refused': ledger.refused.length,
    'of those stored': ledger.refused.filter(({ n }) => stored.has(n) && !ledger.acked.has(n)).length,
    'turns that failed': ledger.troubles.length,
    outages: ledger.outages.length,
    'of those deaths of the server': ledger.outages.filter(({ how }) => how !== 'cut' && how !== 'silence')
      .length,
    'most ms until it went on': most(ledger.backMs),
    'ms to drain': ledger.drainMs,
  };
}

/** How many of those that it held when it was killed a worker had made the request for. */
function requestedBy({ name, inFlight }, { requestsOf, placeOf }) {
  return inFlight.filter((key) => {
    const { n, path } = placeOf.get(key) ?? {};
    return requestsOf(n, path).some(({ worker }) => worker === name);
  }).length;
}

const keyOf = (row) => `${row.message_id} ${row.endpoint_id}`;
