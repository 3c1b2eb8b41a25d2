import { setTimeout as sleep } from 'node:timers/promises';
import { startFleet } from './fleet.mjs';

/** Enough for workers to be back that try again with growing pauses. */
const BACK_MS = 15_000;
/** Longer than a statement may take: what waits for an answer has given it up. */
const SILENT_MS = 6000;

/**
 * Takes the database away from two workers and two producers, again and again, until `seconds` are over: its server is
 * killed, is stopped without a checkpoint, cuts all its connections (those that listen too) or says nothing any more,
 * and all the time the processes' own connections break before, while and after statements. Nobody is restarted.
 */
export async function outages({ seed, store, seconds = 120 }) {
  const fleet = await startFleet({ seed, store });
  const { ledger, random } = fleet;
  const late = [];
  try {
    await fleet.register();
    const launched = (launch) => [1, 2].map((each) => launch({ cuts: random.branch(`cuts ${each}`).next() }));
    const producers = await Promise.all(
      launched((given) => fleet.producer({ again: [], pauseMs: 250, flood: 0.03, ...given })),
    );
    const workers = await Promise.all(launched(fleet.worker));
    await Promise.all(workers.map(({ started }) => started));
    const server = fleet.server();

    /** While the server is away the workers say so, by the control plane. */
    async function away(command) {
      ledger.outages.push({ how: command, at: Date.now() });
      await server.tell(command);
      for (const { health, list } of await Promise.all(workers.map((worker) => worker.ask()))) {
        if (health !== '503 store_unavailable' || list !== '503 STORE_UNAVAILABLE')
          late.push(`while the server was away health was ${health} and a list ${list}`);
      }
      await sleep(random.integer(0, 3000));
      await server.tell('start');
    }

    const backends = `from pg_stat_activity where backend_type = 'client backend' and pid <> pg_backend_pid()`;
    const faults = {
      kill: () => away('kill'),
      crash: () => away('crash'),
      async cut() {
        ledger.outages.push({ how: 'cut', at: Date.now() });
        await fleet.query(`select pg_terminate_backend(pid) ${backends}`);
      },
      async silence() {
        ledger.outages.push({ how: 'silence', at: Date.now() });
        const pids = (await fleet.query(`select pid ${backends}`)).map(({ pid }) => Number(pid));
        for (const pid of pids) signalTo(pid, 'SIGSTOP');
        await sleep(SILENT_MS);
        for (const pid of pids) signalTo(pid, 'SIGCONT');
      },
    };
    const next = random.deck(Object.keys(faults));
    for (const end = Date.now() + seconds * 1000; Date.now() < end; ) {
      await sleep(random.integer(200, 2000));
      const fault = next();
      await faults[fault]();
      const began = Date.now();
      if (!(await goesOn(fleet))) late.push(`sends and deliveries, ${BACK_MS} ms after a ${fault}`);
      ledger.backMs.push(Date.now() - began);
    }
    for (const worker of workers) {
      const health = await healthAtLast(worker);
      if (health !== '200') late.push(`at the end health is ${health}`);
    }
    await Promise.all(producers.map((producer) => producer.stop()));
    await Promise.all(workers.map((worker) => worker.stop()));
    const result = await fleet.settleUp();
    // A turn whose answer was lost is told again, and is refused.
    result.findings.overtaken = { count: 0, examples: [] };
    for (const error of result.refused) if (!/^STORE_UNAVAILABLE: /.test(error)) late.push(error);
    result.findings.late = { count: late.length, examples: late.slice(0, 3) };
    return result;
  } finally {
    await fleet.close();
  }
}

/** Whether something is acknowledged and something delivered that was not yet. */
async function goesOn({ ledger, query }) {
  const delivered = async () => {
    const [row] = await query(
      `select count(*) as count from hookplane_deliveries where status = 'delivered'`,
    );
    return row.count;
  };
  const before = { acked: ledger.acked.size, delivered: await delivered() };
  for (const end = Date.now() + BACK_MS; Date.now() < end; await sleep(50)) {
    if (ledger.acked.size > before.acked && (await delivered()) > before.delivered) return true;
  }
  return false;
}

/** Its own connections may break while it is asked. */
async function healthAtLast(worker) {
  for (const end = Date.now() + BACK_MS; ; await sleep(100)) {
    const { health } = await worker.ask();
    if (health === '200' || Date.now() > end) return health;
  }
}

function signalTo(pid, signal) {
  try {
    process.kill(pid, signal);
  } catch (error) {
    if (error.code !== 'ESRCH') throw error;
  }
}
