// What so many messages a day take of one PostgreSQL and its workers, and which of it is at its end first: arithmetic on
// what a message, a delivery and a failed attempt were measured to cost.

const DAY = 86_400;
const MB = 1e6;
/** Payload that the costs were measured with. */
export const PAYLOAD_BYTES = 1024;
/** PostgreSQL keeps these for superusers. */
const RESERVED_CONNECTIONS = 3;

export const DEFAULTS = {
  deliveriesPerMessage: 1,
  /** Failed attempts for each delivery. */
  failedShare: 0,
  payloadBytes: PAYLOAD_BYTES,
  retentionDays: 30,
  /** The busiest hour beside the mean. */
  peakFactor: 3,
  databaseCores: 8,
  /** null: as many as the peak takes. */
  workers: null,
  webProcesses: 2,
  maxConnections: 100,
  diskGB: 2000,
  diskMBps: 250,
  /** Autovacuum reads no more, by its defaults: 200 of cost each 2 ms, a page of 8 KiB costs 2. */
  vacuumMBps: 400,
  /** Of the database's cores: beyond it whatever is due waits for them. */
  databaseShare: 0.7,
  /** Of a worker's core: it waits for its turns, alone with a database that is not busy half of the time. */
  workerShare: 0.5,
};

/**
 * What a message costs, with its deliveries and their failed attempts.
 * @param costs `message`, `delivery` and `failed`: the same names in each
 */
export function costOf(load, { message, delivery, failed }) {
  const { deliveriesPerMessage, failedShare, payloadBytes } = { ...DEFAULTS, ...load };
  const cost = Object.fromEntries(
    Object.keys(message).map((name) => [
      name,
      message[name] + deliveriesPerMessage * (delivery[name] + failedShare * failed[name]),
    ]),
  );
  // It is stored once, logged once, and written once to its table.
  for (const name of ['bytes', 'sendWal', 'sentPages']) cost[name] += payloadBytes - PAYLOAD_BYTES;
  return cost;
}

/**
 * What a load takes at its peak, and with how many messages a day, of the same kind, each resource is at its end.
 * @param load see {@link DEFAULTS}, and `messagesPerDay`
 * @param costs what `fitCosts` answers
 */
export function model(load, costs) {
  const given = { ...DEFAULTS, ...load };
  const cost = costOf(given, costs);
  const mean = given.messagesPerDay / DAY;
  const peak = mean * given.peakFactor;
  const kept = given.messagesPerDay * given.retentionDays;

  const databaseMs = cost.sendDatabaseMs + cost.deliverDatabaseMs + cost.removeDatabaseMs + cost.vacuumMs;
  // What is removed at the peak was sent at a peak. A worker is one thread, which has removal in its turn.
  const workerMs = cost.deliverProcessMs + cost.removeProcessMs;
  const workerCores = (peak * workerMs) / 1000;
  const workers = given.workers ?? Math.max(1, Math.ceil(workerCores / given.workerShare));
  const wal = cost.sendWal + cost.deliverWal + cost.removeWal;
  const pages = cost.sentPages + cost.removedPages;
  const vacuumMBps = (mean * cost.vacuumedBytes) / MB;
  const connections = workers * costs.connections.worker + given.webProcesses * costs.connections.web;

  const needs = {
    databaseCores: (peak * databaseMs) / 1000,
    workerCores,
    workers,
    webCores: (peak * cost.sendProcessMs) / 1000,
    diskGB: (kept * (cost.bytes + cost.slackBytes)) / 1e9,
    walMBps: (peak * wal) / MB,
    walGBPerDay: (given.messagesPerDay * wal) / 1e9,
    // As if nothing were in memory of what is removed, nor of the indexes that vacuum goes over, which takes its time.
    diskMBps: (peak * (wal + pages + cost.bytes)) / MB + vacuumMBps,
    vacuumMBps,
    connections,
    removalHoursPerDay: (given.messagesPerDay * cost.removeMs) / 3_600_000,
  };
  /** How much of each is taken; 1 is its end. */
  const shares = {
    'database CPU': needs.databaseCores / (given.databaseCores * given.databaseShare),
    workers: workerCores / (workers * given.workerShare),
    'disk size': needs.diskGB / given.diskGB,
    'disk bandwidth': needs.diskMBps / given.diskMBps,
    vacuum: needs.vacuumMBps / given.vacuumMBps,
    // Each batch rests as long as it took, which the hours have in them.
    removal: needs.removalHoursPerDay / 24 / workers,
    connections: connections / (given.maxConnections - RESERVED_CONNECTIONS),
  };
  const ends = Object.fromEntries(
    Object.entries(shares).map(([name, share]) => [name, given.messagesPerDay / share]),
  );
  if (given.workers === null) {
    // More of them come as they are needed, until there is no connection for one.
    const room = given.maxConnections - RESERVED_CONNECTIONS - given.webProcesses * costs.connections.web;
    const most = Math.floor(room / costs.connections.worker);
    ends.connections = (most * given.workerShare * 1000 * DAY) / (workerMs * given.peakFactor);
    ends.removal = (most * 24 * 3_600_000) / cost.removeMs;
    delete ends.workers;
  } else if (shares.connections > 1) ends.connections = 0;
  else delete ends.connections;
  const first = Object.entries(ends).reduce((least, each) => (each[1] < least[1] ? each : least));
  return { needs, shares, ends, breaksFirst: { resource: first[0], messagesPerDay: first[1] } };
}

/**
 * The costs of a message, a further delivery and a failed attempt, of what a message took in three cases.
 * @param one with one delivery
 * @param two with two
 * @param failing with one, of which `failing.failedShare` failed once
 */
export function fitCosts(one, two, failing) {
  const costs = { message: {}, delivery: {}, failed: {} };
  for (const name of Object.keys(one.cost)) {
    costs.delivery[name] = two.cost[name] - one.cost[name];
    costs.message[name] = one.cost[name] - costs.delivery[name];
    costs.failed[name] = (failing.cost[name] - one.cost[name]) / failing.failedShare;
  }
  return { ...costs, connections: one.connections };
}
