import { fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { audit } from './audit.mjs';
import { createLedger } from './ledger.mjs';
import { createRandom } from './random.mjs';
import { ENDPOINTS, LEASE_MS, SILENT, WORKER } from './settings.mjs';
import { STORES } from './stores.mjs';

/** Beyond the end of the last lease: nothing has moved for so long, nothing will. */
const STUCK_MS = LEASE_MS + 10_000;
/** A place that is not reached in this time is not waited for: the process is killed where it is. */
export const PATIENCE_MS = 1000;

/**
 * The processes of a campaign over one database: a receiver that lives through it, and workers, producers and operators
 * that do not. Whatever they tell goes into the ledger.
 */
export async function startFleet({ seed, store: storeName = 'sqlite', spare = false, within = tmpdir() }) {
  const folder = await mkdtemp(join(within, 'hookplane-faults-'));
  const backend = STORES[storeName];
  const store = { name: storeName, descriptor: await backend.create(folder) };
  const random = createRandom(seed);
  const ledger = createLedger();
  const children = new Set();
  const spares = new Map();
  let goesOn = true;
  let numbers = 0;
  let clock = 0;

  function spawn(role) {
    const child = fork(new URL(`./${role}.mjs`, import.meta.url), {
      stdio: ['ignore', 'inherit', 'pipe', 'ipc'],
    });
    child.stderr.pipe(process.stderr, { end: false });
    children.add(child);
    child.once('exit', () => children.delete(child));
    const loaded = new Promise((resolve, reject) => {
      child.once('message', resolve);
      child.once('exit', (code) => reject(new Error(`A ${role} did not load: it ended with code ${code}`)));
    });
    loaded.catch(() => {});
    return { child, loaded };
  }

  /** A process that has its orders. The next one of its kind loads meanwhile, since most of a start is loading. */
  async function launch(role, given = {}) {
    const { child, loaded } = spares.get(role) ?? spawn(role);
    spares.delete(role);
    await loaded;
    if (spare && goesOn && role !== 'receiver') spares.set(role, spawn(role));
    numbers += 1;
    const name = `${role[0]}${numbers}`;
    const owners = [];
    let complaint = '';
    child.stderr.on('data', (text) => {
      complaint = `${complaint}${text}`.slice(-2000);
    });
    const { doom = null } = given;
    /** Why it ends, once that is settled by somebody else than itself. */
    let fate;
    let expected = false;

    const seen = (kind, wanted = () => true) =>
      new Promise((resolve) => {
        const listener = (message) => {
          if (message.kind !== kind || !wanted(message)) return;
          child.off('message', listener);
          resolve(message);
        };
        child.on('message', listener);
      });
    const started = seen(role === 'receiver' ? 'listening' : 'started');
    child.on('message', (message) => {
      if (message.kind === 'owner') owners.push(message.owner);
      else ledger.hear(message);
    });
    const ended = (async () => {
      // What it said last may be read after it has gone.
      const silent = once(child, 'disconnect');
      const [code, signal] = await once(child, 'exit');
      await silent;
      const done = expected || role === 'producer' || role === 'operator';
      if (signal === 'SIGKILL') {
        const inFlight = owners.length > 0 ? await leasedBy(owners) : [];
        ledger.kills.push({ name, role, how: fate ?? doom?.point ?? 'by somebody else', inFlight });
      } else if (code !== 0 || !done)
        ledger.crashes.push(`a ${role}, with ${signal ?? `code ${code}`}: ${complaint}`);
    })();
    const running = () => child.exitCode === null && child.signalCode === null;
    const member = {
      name,
      started,
      ended,
      seen,
      running,
      tell(message) {
        if (running() && child.connected) child.send(message, () => {});
      },
      kill(how = 'at a random moment') {
        if (running()) fate ??= how;
        child.kill('SIGKILL');
        return ended;
      },
      /** What a worker's control plane answers to the questions how it is and what there is. */
      ask() {
        const answered = seen('answered');
        member.tell({ kind: 'ask' });
        return answered;
      },
      stop(drainMs = 10_000) {
        expected = true;
        member.tell({ kind: 'stop', drainMs });
        return ended;
      },
    };
    member.tell({ kind: 'go', name, role, store, clock, settings: WORKER, ...given });
    return member;
  }

  async function leasedBy(owners) {
    const rows = await query(
      `select message_id, endpoint_id from hookplane_deliveries
       where lease_owner in (${owners.map((owner) => `'${owner}'`).join(', ')})`,
    );
    return rows.map((row) => `${row.message_id} ${row.endpoint_id}`);
  }

  const query = (sql) => backend.query(store.descriptor, sql);

  async function owed() {
    const [row] = await query(`select count(*) as owed from hookplane_deliveries where status = 'pending'`);
    return Number(row.owed);
  }

  /** Waits until nothing is owed any more; gives up when nothing has moved for too long. */
  async function untilNothingIsOwed() {
    let [before, since] = [await owed(), Date.now()];
    while (before > 0 && Date.now() - since < STUCK_MS) {
      await sleep(100);
      const now = await owed();
      if (now !== before) [before, since] = [now, Date.now()];
    }
  }

  const receiver = await launch('receiver', { seed: random.branch('receiver').next() });
  const { port } = await receiver.started;

  const fleet = {
    seed,
    random,
    ledger,
    launch,
    receiver,
    owed,
    untilNothingIsOwed,
    store,
    query,
    /** Where the database has one. */
    server: () => backend.server(store.descriptor),
    /** Registers the endpoints, which also makes the schema. */
    async register() {
      const { createSender } = await import('./package.mjs');
      const sender = createSender({
        store: await backend.open(store.descriptor),
        allowHttp: true,
        allowTargets: ['127.0.0.1'],
        logger: SILENT,
      });
      for (const { path, types } of ENDPOINTS) {
        await sender.endpoints.create({ url: `http://127.0.0.1:${port}${path}`, types });
      }
      await sender.stop();
    },
    worker: (given) => launch('worker', given),
    producer: (given = {}) =>
      launch('producer', {
        seed: random.branch(`producer ${numbers}`).next(),
        pauseMs: 30,
        flood: 0.1,
        again: ledger.unanswered(),
        known: ledger.recentKeyed(),
        ...given,
      }),
    /** Kills a worker when its next request has `arrived`, or has been `answered`; where there is none, after a while. */
    async killWhenSeen(worker, when, patienceMs = PATIENCE_MS) {
      const seen = receiver.seen('seen', (message) => message.worker === worker.name);
      receiver.tell({ kind: 'watch', worker: worker.name, when });
      const reached = await Promise.race([seen, sleep(patienceMs)]);
      await worker.kill(
        reached ? `when a request has ${when === 'arrived' ? 'arrived' : 'been answered'}` : undefined,
      );
    },
    /** Sets the clocks of all processes, and of those that start later. */
    setClock(offset, processes) {
      clock = offset;
      for (const each of processes) each.tell({ kind: 'clock', offset });
    },
    mood: (mood) => receiver.tell({ kind: 'mood', mood }),
    /**
     * Delivers what is owed with a worker that nobody harms, and holds the ledger against what the store and the receiver
     * have.
     */
    async settleUp() {
      const began = Date.now();
      goesOn = false;
      fleet.mood('calm');
      const worker = fleet.worker();
      if (ledger.unanswered().length > 0) await (await fleet.producer({ plan: [] })).ended;
      await (await worker).started;
      await untilNothingIsOwed();
      ledger.drainMs = Date.now() - began;
      await (await worker).stop();
      const reported = receiver.seen('reported');
      receiver.tell({ kind: 'report' });
      await reported;
      return audit(ledger, { query, damage: await backend.damage(store.descriptor) });
    },
    async close() {
      const gone = [...children].map((child) => new Promise((resolve) => child.once('exit', resolve)));
      void receiver.stop();
      for (const child of children) if (child.connected) child.disconnect();
      await Promise.all(gone);
      await backend.close?.(store.descriptor);
      await rm(folder, { recursive: true, force: true });
    },
  };
  return fleet;
}
