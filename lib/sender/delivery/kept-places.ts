import type { Lane } from '../../store/store.js';
import { type Load, type Shared, shareOut } from './lanes.js';
import type { createUnderWay } from './under-way.js';

/** The places of requests that were given to lanes in a transaction that has not ended. */
export function createKeptPlaces(underWay: Pick<ReturnType<typeof createUnderWay>, 'keep'>) {
  let kept: { lane: Lane; count: number }[] = [];
  function giveUp(): void {
    for (const { lane, count } of kept) underWay.keep(lane, -count);
    kept = [];
  }
  return {
    /** Shares out, and keeps what may begin at once, in the stead of what it kept before. */
    share(lanes: readonly Lane[], load: () => Load): Shared {
      giveUp();
      const shares = shareOut(lanes, load());
      kept = lanes.map((lane) => ({ lane, count: shares.rooms.get(lane.endpointId) ?? 0 }));
      for (const { lane, count } of kept) underWay.keep(lane, count);
      return shares;
    },
    count: () => kept.reduce((sum, { count }) => sum + count, 0),
    giveUp,
  };
}
