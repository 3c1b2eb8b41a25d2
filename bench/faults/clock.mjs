import { setTimeout as sleep } from 'node:timers/promises';
import { startFleet } from './fleet.mjs';
import { groupBy } from './groups.mjs';
import { MOST_UNSETTLED } from './settings.mjs';

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
/** What the clock is ahead of the real one, step by step: by an hour and by a day, to and fro. */
const STEPS = [HOUR, 0, -HOUR, 0, DAY, 0, -DAY, 0];
/** Longer than a worker goes without a sign of life, at which it notices: if nothing has moved by then, it waits. */
const NOTICED_MS = 12_000;

/**
 * Sets the clock of all processes while two workers deliver and while retries wait. Whatever was sent before a step has
 * to be delivered soon after it, whatever the clock says.
 */
export async function clock({ seed, store, steps = STEPS }) {
  const fleet = await startFleet({ seed, store });
  const late = [];
  try {
    await fleet.register();
    const producer = await fleet.producer({ again: [], pauseMs: 300, flood: 0 });
    const workers = [await fleet.worker(), await fleet.worker()];
    await Promise.all(workers.map(({ started }) => started));
    for (const step of steps) {
      // Retries wait when it happens, and requests are under way.
      fleet.mood('failing');
      await sleep(300);
      fleet.mood('slow');
      await sleep(200);
      const before = new Set(fleet.ledger.acked.keys());
      fleet.setClock(step, [producer, ...workers]);
      fleet.mood('calm');
      // By the new clock, or no step back from here could be told.
      const signs = Promise.all(workers.map((worker) => worker.seen('owner')));
      const left = await untilDelivered(fleet, before);
      await signs;
      late.push(...left.map((n) => `${n}, sent before the step to ${step / HOUR} h`));
    }
    await producer.stop();
    await Promise.all(workers.map((worker) => worker.stop()));
    const result = await fleet.settleUp();
    // Whoever asks first after a step forwards finds that the leases of the other have run out.
    const most = steps.length * workers.length * MOST_UNSETTLED;
    if (result.findings.overtaken.count <= most) result.findings.overtaken = { count: 0, examples: [] };
    result.findings.late = { count: late.length, examples: late.slice(0, 3) };
    return result;
  } finally {
    await fleet.close();
  }
}

/** Waits for events to be delivered; gives up when none of them has been for too long, and answers those. */
async function untilDelivered({ query }, events) {
  let [before, since] = [events.size + 1, Date.now()];
  for (;;) {
    const owed = await query(
      `select p.payload from hookplane_deliveries d join hookplane_payloads p on p.message_id = d.message_id
       where d.status = 'pending'`,
    );
    const left = [...groupBy(owed, ({ payload }) => JSON.parse(payload).data.n).keys()].filter((n) =>
      events.has(n),
    );
    if (left.length < before) [before, since] = [left.length, Date.now()];
    if (left.length === 0 || Date.now() - since > NOTICED_MS) return left;
    await sleep(100);
  }
}
