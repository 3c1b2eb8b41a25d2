import type { Lane } from '../../store/store.js';
import type { createUnderWay } from './under-way.js';

/** The places of requests that were given to lanes in a transaction that has not ended. */
export function createKeptPlaces(underWay: Pick<ReturnType<typeof createUnderWay>, 'keep'>) {
  let kept: { lane: Lane; count: number }[] = [];
  function giveUp(): void {
    for (const { lane, count } of kept) underWay.keep(lane, -count);
    kept = [];
  }
  return {
    /** Keeps as many for each lane, and none of those that it kept before. */
    keep(lanes: readonly Lane[], rooms: ReadonlyMap<string, number>): void {
      giveUp();
      kept = lanes.flatMap((lane) => ({ lane, count: rooms.get(lane.endpointId) ?? 0 }));
      for (const { lane, count } of kept) underWay.keep(lane, count);
    },
    giveUp,
  };
}
