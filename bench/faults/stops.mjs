import { setTimeout as sleep } from 'node:timers/promises';
import { startFleet } from './fleet.mjs';

/**
 * Two producers and two workers, each a process, on one database; then the workers are stopped under load and replaced,
 * `stops` times, as by deployments. Nobody is killed, so that nothing may be received twice, but for what a worker had
 * under way that was given no time to end it.
 */
export async function stops({ seed, store, seconds = 10, stops: wanted = 12 }) {
  const fleet = await startFleet({ seed, store });
  try {
    await fleet.register();
    const producers = await Promise.all(
      [1, 2].map(() => fleet.producer({ again: [], pauseMs: 250, flood: 0.03 })),
    );
    const random = fleet.random.branch('stops');
    const workers = await Promise.all([fleet.worker(), fleet.worker()]);
    await Promise.all(workers.map(({ started }) => started));
    await sleep((seconds * 1000) / 2);
    for (let stop = 0; stop < wanted; stop++) {
      const next = await fleet.worker();
      await sleep(random.integer(0, (seconds * 500) / wanted));
      await workers.shift().stop(stop % 2 === 0 ? 10_000 : 0);
      await next.started;
      workers.push(next);
    }
    await Promise.all(producers.map((producer) => producer.stop()));
    await Promise.all(workers.map((worker) => worker.stop()));
    return await fleet.settleUp();
  } finally {
    await fleet.close();
  }
}
