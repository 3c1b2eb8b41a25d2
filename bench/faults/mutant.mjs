import { startFleet } from './fleet.mjs';
import { MUTANTS } from './mutant-stores.mjs';

const FAR_TOO_LONG_MS = 30_000;

/** Runs a store that breaks a promise in the way that shows it. The checks have to find it, or they prove nothing. */
export async function mutant({ seed, store, name }) {
  const { role, way } = MUTANTS[name];
  const fleet = await startFleet({ seed, store });
  const given = { mutant: name, again: [] };
  try {
    await fleet.register();
    if (role === 'producer') await (await fleet.producer({ ...given, ...way })).ended;
    else {
      await (await fleet.producer({ plan: [['flood'], ['many', 10]], again: [] })).ended;
      const count = way.workers ?? 1;
      const workers = await Promise.all(
        Array.from({ length: count }, () => fleet.worker({ ...given, ...way })),
      );
      if (way.arrived)
        await Promise.all(workers.map((worker) => fleet.killWhenSeen(worker, 'arrived', FAR_TOO_LONG_MS)));
      else if (way.doom) await Promise.all(workers.map(({ ended }) => ended));
      else {
        await fleet.untilNothingIsOwed();
        await Promise.all(workers.map((worker) => worker.stop()));
      }
    }
    return await fleet.settleUp();
  } finally {
    await fleet.close();
  }
}
