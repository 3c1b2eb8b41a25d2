import type { LeasedDelivery } from '../../store/store.js';
import { type Load, mayTakePlace, type Requests } from './lanes.js';

/** The most that is leased in advance for one endpoint. */
const MAX_AHEAD = 256;

/** A target that was read longer ago is read again: edits by other processes hold so soon. */
export const MAX_AHEAD_MS = 100;

interface Waiting {
  leased: LeasedDelivery;
  /** By the clock that never jumps. */
  since: number;
}

/**
 * What is leased in advance, by endpoint. It is not under way: it begins when a request ends, of the same endpoint or, if
 * it may, of another, and takes its place.
 */
export function createAhead(concurrency: number) {
  const byEndpoint = new Map<string, Waiting[]>();
  let size = 0;

  /** Takes the first `count` of an endpoint's. */
  function take(endpointId: string, count: number): LeasedDelivery[] {
    const waiting = byEndpoint.get(endpointId) ?? [];
    const taken = waiting.splice(0, count);
    size -= taken.length;
    // Those of another endpoint come first the next time.
    byEndpoint.delete(endpointId);
    if (waiting.length > 0) byEndpoint.set(endpointId, waiting);
    return taken.map(({ leased }) => leased);
  }

  const isStale = ({ since }: Waiting) => performance.now() - since > MAX_AHEAD_MS;

  return {
    size: () => size,
    held: () => [...byEndpoint.values()].flatMap((waiting) => waiting.map(({ leased }) => leased)),
    add(leased: LeasedDelivery) {
      const waiting = byEndpoint.get(leased.endpointId);
      const since = performance.now();
      size += 1;
      if (waiting) waiting.push({ leased, since });
      else byEndpoint.set(leased.endpointId, [{ leased, since }]);
    },
    /** What takes the place of one that has ended: of the same endpoint, or of another whose turn it is. */
    nextInPlaceOf({ endpointId }: LeasedDelivery, requests: Requests): LeasedDelivery | undefined {
      const same = byEndpoint.get(endpointId)?.[0];
      if (same && !isStale(same)) return take(endpointId, 1)[0];
      for (const [other, [first]] of byEndpoint)
        if (first && !isStale(first) && mayTakePlace(first.leased, requests)) return take(other, 1)[0];
      return undefined;
    },
    /**
     * How much may be leased in advance by a turn that settles these: twice as many as have just ended, in all and of each
     * endpoint. As long as the next turn does not come, their requests find what begins next.
     */
    mayLease(ended: readonly LeasedDelivery[]): Pick<Load, 'ahead' | 'reserve'> {
      const counts = new Map<string, number>();
      for (const { endpointId } of ended)
        counts.set(endpointId, Math.min(MAX_AHEAD, (counts.get(endpointId) ?? 0) + 2));
      for (const [endpointId, count] of counts)
        counts.set(endpointId, count - (byEndpoint.get(endpointId)?.length ?? 0));
      return { ahead: counts, reserve: Math.max(0, Math.min(concurrency, 2 * ended.length) - size) };
    },
    takeOf: (endpointId: string) => take(endpointId, Number.POSITIVE_INFINITY),
    takeAll: () => [...byEndpoint.keys()].flatMap((endpointId) => take(endpointId, Number.POSITIVE_INFINITY)),
    takeStale: () =>
      [...byEndpoint].flatMap(([endpointId, waiting]) => {
        const kept = waiting.findIndex((each) => !isStale(each));
        return take(endpointId, kept === -1 ? waiting.length : kept);
      }),
  };
}

const MIN_GATHER_MS = 10;
const MAX_GATHER_MS = 30;

/**
 * How long what has ended may wait to be settled together with more, while its requests are used for what was leased in
 * advance: longer where a turn takes long.
 */
export function gatherMs(turnMs: number): number {
  return Math.min(Math.max(MIN_GATHER_MS, 3 * turnMs), MAX_GATHER_MS);
}
