// A case: messages that real processes send, deliver and remove, one after the other, and what each took.
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { createSender } from 'hookplane';
import { postgresStore } from 'hookplane/postgres';
import { cpuOf } from '../support.mjs';
import { SCALES } from './meters.mjs';

const TENANTS = 20;
/** Of `{"type":"bench.sent","timestamp":"…","data":{"text":"…"}}`, without the text. */
const FRAME_BYTES = 84;
/** How often an index is gone over to measure what that takes. */
const PASSES = 20;

/**
 * Runs it in a schema of its own.
 * @param given `messages` are measured, behind as many waves of as many that are sent, delivered and vacuumed before: each
 * finds the room that the dead rows of the one before it have left
 */
export async function runCase(server, receiver, given) {
  const { messages, waves, deliveries = 1, failing = 0, payloadBytes = 1024, workers = 1 } = given;
  const all = (waves + 1) * messages;
  const schema = await prepare(server, receiver, { deliveries, failing });
  const [web, ...nodes] = startProcesses(server, schema, 1 + workers);
  const order = { tenants: TENANTS, text: 'x'.repeat(payloadBytes - FRAME_BYTES) };
  const { query, during } = server;
  const isOwed = async () =>
    (
      await query(
        `select exists (select from ${schema}.hookplane_deliveries where status = 'pending') as owed`,
      )
    )[0].owed;

  async function wave() {
    await query('checkpoint');
    const sent = await working([web], {}, () => web.tell({ kind: 'flood', count: messages, ...order }));
    const received = await receiver.answered();
    const delivered = await working(nodes, { retentionSeconds: null }, async () => {
      for (const worker of nodes) void worker.tell({ kind: 'start' });
      while ((await receiver.answered()) < received + messages * deliveries) await sleep(20);
      while (await isOwed()) await sleep(20);
    });
    const { pages } = await during(() => flushed(server));
    const vacuum = await during(() => server.vacuum(schema, '(analyze)'));
    return { sent, delivered, pages, vacuum };
  }

  for (let done = 0; done < waves; done++) await wave();
  const before = await server.tables(schema);
  const { sent, delivered, pages, vacuum } = await wave();
  const after = await server.tables(schema);
  const passMsPerByte = given.measuresPasses ? await indexPass(server, schema, after) : 0;

  await query('checkpoint');
  const [{ id: last }] = await query(
    `select id from ${schema}.hookplane_messages order by finished_at desc limit 1`,
  );
  const isThere = `select from ${schema}.hookplane_messages where id = '${last}'`;
  await sleep(1500);
  const removed = await working(nodes, { retentionSeconds: 1 }, async () => {
    for (const worker of nodes) void worker.tell({ kind: 'start' });
    while ((await query(isThere)).length > 0) await sleep(50);
  });
  const { pages: removedPages } = await during(() => flushed(server));
  const lastVacuum = await during(() => server.vacuum(schema));
  const empty = await server.tables(schema);
  await stopProcesses([web, ...nodes]);
  await query(`drop schema ${schema} cascade`);

  const tables = Object.fromEntries(
    Object.keys(SCALES).map((name) => {
      const [first, then, end] = [before[name], after[name], empty[name]];
      const change = (key) => then[key] - first[key];
      const dead = change('updated') / messages + end.deleted / all;
      const indexes = change('indexes') / change('rows');
      return [
        name,
        {
          bytes: (change('heap') + change('indexes')) / messages,
          indexes: change('indexes') / messages,
          // Dead rows and the bytes of all indexes that are gone over for them, once for each vacuum.
          dead,
          vacuumed: (dead * indexes) / SCALES[name],
        },
      ];
    }),
  );
  const sum = (of) => Object.entries(tables).reduce((total, [name, each]) => total + of(each, name), 0);
  return {
    ...given,
    tables,
    passMsPerByte,
    heapVacuumMs: vacuum.databaseMs / messages + lastVacuum.databaseMs / all,
    rate: (messages * deliveries * 1000) / delivered.at,
    cores: delivered.cores,
    connections: { web: sent.connections, worker: Math.ceil(delivered.connections / workers) },
    transactions: {
      send: sent.transactions / messages,
      deliver: delivered.transactions / messages,
      remove: removed.transactions / all,
    },
    receiverMs: delivered.receiverMs / messages,
    cost: {
      bytes: sum(({ bytes }) => bytes),
      slackBytes: sum(({ bytes }, name) => bytes * SCALES[name]),
      sendWal: sent.wal / messages,
      deliverWal: delivered.wal / messages,
      removeWal: (removed.wal + lastVacuum.wal) / all + vacuum.wal / messages,
      sendDatabaseMs: sent.databaseMs / messages,
      deliverDatabaseMs: delivered.databaseMs / messages,
      removeDatabaseMs: removed.databaseMs / all,
      sendProcessMs: sent.processMs / messages,
      deliverProcessMs: delivered.processMs / messages,
      removeProcessMs: removed.processMs / all,
      sentPages: pages / messages,
      removedPages: removedPages / all,
      vacuumedBytes: sum(({ vacuumed }) => vacuumed),
      // Each batch rests as long as it took.
      removeMs: (2 * removed.sessionMs) / all,
    },
  };

  /** Senders of processes that do `work`, and what it took of the database and of them. */
  async function working(nodes, settings, work) {
    await Promise.all(nodes.map((node) => node.tell({ kind: 'open', ...settings })));
    const pids = nodes.map(({ pid }) => pid);
    const cpu = () => 1000 * cpuOf(pids);
    const taken = await server.during(async () => {
      const [before, received] = [cpu(), 1000 * cpuOf([receiver.pid])];
      let [connections, isDone] = [0, false];
      const watched = (async () => {
        for (; !isDone; await sleep(200)) connections = Math.max(connections, await server.connections());
      })();
      await work();
      isDone = true;
      const answer = { processMs: cpu() - before, receiverMs: 1000 * cpuOf([receiver.pid]) - received };
      await watched;
      return { ...answer, connections };
    });
    const ended = await server.during(() => Promise.all(nodes.map((node) => node.tell({ kind: 'stop' }))));
    const { processMs, receiverMs } = taken.result;
    const ours = taken.databaseMs + processMs + receiverMs;
    return {
      ...taken,
      ...taken.result,
      // A session tells what it has done at its end at the latest.
      transactions: taken.transactions + ended.transactions,
      sessionMs: taken.sessionMs + ended.sessionMs,
      cores: { ours: ours / taken.at, others: Math.max(0, taken.busyMs - ours) / taken.at },
    };
  }
}

let schemas = 0;

/** A schema with tenants, each with so many endpoints. */
async function prepare(server, receiver, { deliveries, failing }) {
  const schema = `growth_${++schemas}`;
  const store = postgresStore({ connectionString: server.url, schema });
  const sender = createSender({ store, allowHttp: true, allowTargets: ['127.0.0.1'] });
  for (let tenant = 0; tenant < TENANTS; tenant++) {
    for (let endpoint = 0; endpoint < deliveries; endpoint++) {
      const url = `${receiver.url}${tenant}/${endpoint}?fail=${100 * failing}`;
      await sender.endpoints.create({ tenantId: `tenant_${tenant}`, url });
    }
  }
  await sender.stop();
  return schema;
}

function startProcesses(server, schema, count) {
  const given = JSON.stringify({ connectionString: server.url, schema });
  return Array.from({ length: count }, () => {
    const child = fork(new URL('./process.mjs', import.meta.url), [given]);
    const gone = once(child, 'exit');
    return {
      pid: child.pid,
      tell(order) {
        child.send(order);
        return once(child, 'message');
      },
      async stop() {
        child.disconnect();
        await gone;
      },
    };
  });
}

const stopProcesses = (nodes) => Promise.all(nodes.map((node) => node.stop()));

/** What is changed in memory is written to the tables' files, and the server has counted it. */
async function flushed(server) {
  await server.query('checkpoint');
  await sleep(200);
}

/** Milliseconds for each byte of an index that vacuum goes over: of a few dead rows all of them are. */
async function indexPass(server, schema, tables) {
  const { databaseMs } = await server.during(async () => {
    for (let pass = 0; pass < PASSES; pass++) {
      await server.query(`
        with m as (delete from ${schema}.hookplane_messages where id = (
            select min(id) from ${schema}.hookplane_messages) returning id),
          p as (delete from ${schema}.hookplane_payloads where message_id in (select id from m)),
          d as (delete from ${schema}.hookplane_deliveries where message_id in (select id from m))
        delete from ${schema}.hookplane_attempts where message_id in (select id from m)`);
      await server.vacuum(schema, '(index_cleanup on)');
    }
  });
  const indexes = Object.values(tables).reduce((total, table) => total + table.indexes, 0);
  return databaseMs / PASSES / indexes;
}
