import { setTimeout as sleep } from 'node:timers/promises';
import { PATIENCE_MS, startFleet } from './fleet.mjs';
import { POINTS } from './points.mjs';

/** Statements of the first migration, roughly. */
const MIGRATION_STATEMENTS = 34;

/**
 * Kills workers, producers and operators until `kills` have died or `seconds` are over, and settles up: half of them at
 * random moments, half at places that are chosen beforehand.
 */
export async function kills({ seed, store, kills: wanted = 240, seconds = 300 }) {
  const fleet = await startFleet({ seed, store, spare: true });
  const { ledger, random } = fleet;
  const end = Date.now() + seconds * 1000;
  const goesOn = () => ledger.kills.length < wanted && Date.now() < end;
  try {
    await interruptMigrations(fleet, Math.min(12, Math.ceil(wanted / 10)));
    await fleet.register();
    await Promise.all([
      ...['worker 1', 'worker 2'].map((name) => killWorkers(fleet, random.branch(name), goesOn)),
      killProducers(fleet, random.branch('producers'), goesOn),
      killReplays(fleet, random.branch('replays'), goesOn),
    ]);
    return await fleet.settleUp();
  } finally {
    await fleet.close();
  }
}

/** Two at once on an empty database, each killed in the middle of it: the schema is there whole or not at all. */
async function interruptMigrations(fleet, rounds) {
  const random = fleet.random.branch('migrations');
  for (let round = 0; round < rounds; round += 2) {
    const both = [1, 2].map(() =>
      fleet.launch('operator', {
        job: 'open',
        doom: { point: 'within a migration', hit: 1, statement: random.integer(1, MIGRATION_STATEMENTS) },
      }),
    );
    for (const operator of await Promise.all(both)) await operator.ended;
  }
}

async function killWorkers(fleet, random, goesOn) {
  const nextPlace = random.deck([...Object.keys(POINTS.worker), 'arrived', 'answered']);
  while (goesOn()) {
    const place = random.chance(0.6) ? nextPlace() : null;
    const hit = random.integer(1, 4);
    const doom = place in POINTS.worker ? { point: place, hit } : null;
    const afterMs = random.integer(10, 500);
    const worker = await fleet.worker({ doom });
    await Promise.race([worker.started, worker.ended]);
    if (place === 'arrived' || place === 'answered') await fleet.killWhenSeen(worker, place);
    else await killAfter(worker, doom ? PATIENCE_MS : afterMs);
  }
}

async function killAfter(member, ms) {
  await Promise.race([member.ended, sleep(ms)]);
  await member.kill();
}

async function killProducers(fleet, random, goesOn) {
  const nextPlace = random.deck(Object.keys(POINTS.producer));
  while (goesOn()) {
    const place = random.chance(0.6) ? nextPlace() : null;
    const doom = place && { point: place, hit: random.integer(1, 5), statement: random.integer(1, 40) };
    const afterMs = random.integer(50, 800);
    const producer = await fleet.producer({ doom });
    await Promise.race([producer.started, producer.ended]);
    await killAfter(producer, doom ? PATIENCE_MS : afterMs);
  }
}

/** Replays what was sent around a moment of late, page by page, and is killed at it. */
async function killReplays(fleet, random, goesOn) {
  const nextPlace = random.deck(['within a replay', 'between pages of a replay']);
  while (goesOn()) {
    await sleep(random.integer(1000, 3000));
    const moment = fleet.ledger.ackedAt.at(-random.integer(1, 10));
    if (moment === undefined) continue;
    const request = { path: '/all', since: moment - 200, until: moment + 100 };
    fleet.ledger.replays.push(request);
    const doom = { point: nextPlace(), hit: 1, statement: random.integer(1, 5) };
    const operator = await fleet.launch('operator', { job: 'replay', request, doom });
    await operator.ended;
  }
}
