import type { LeasedDelivery } from '../../store/store.js';

/** What a process has under way, counted in the ways that sharing asks for. */
export function createUnderWay() {
  const all = new Map<string, LeasedDelivery>();
  const byEndpoint = new Map<string, number>();
  const byTenant = new Map<string | null, number>();
  let requests = 0;
  function countRequest({ endpointId, message }: LeasedDelivery, change: number): void {
    requests += change;
    count(byEndpoint, endpointId, change);
    count(byTenant, message.tenantId, change);
  }
  function count<Key>(counts: Map<Key, number>, key: Key, change: number): void {
    const next = (counts.get(key) ?? 0) + change;
    if (next === 0) counts.delete(key);
    else counts.set(key, next);
  }
  return {
    byEndpoint,
    byTenant,
    /** With what has ended and is not settled. */
    size: () => all.size,
    requests: () => requests,
    held: (): readonly LeasedDelivery[] => [...all.values()],
    /** Whether it is under way already; then it is so under the newer lease. */
    renew(leased: LeasedDelivery): boolean {
      const known = all.get(keyOf(leased));
      if (known) known.fence = leased.fence;
      return known !== undefined;
    },
    /** Its request begins. */
    begin(leased: LeasedDelivery) {
      all.set(keyOf(leased), leased);
      countRequest(leased, 1);
    },
    /** Its request has ended; it is held until it is settled. */
    end(leased: LeasedDelivery) {
      countRequest(leased, -1);
    },
    hold(leased: LeasedDelivery) {
      all.set(keyOf(leased), leased);
    },
    remove(leased: LeasedDelivery) {
      all.delete(keyOf(leased));
    },
  };
}

function keyOf({ messageId, endpointId }: LeasedDelivery): string {
  return `${messageId} ${endpointId}`;
}

/** A target that was read longer ago is read again: edits by other processes hold so soon. */
export const MAX_AHEAD_MS = 50;

interface Waiting {
  leased: LeasedDelivery;
  /** By the clock that never jumps. */
  since: number;
}

/**
 * What is leased in advance, by endpoint. It is not under way: it begins when a request ends, of the same endpoint or, if
 * it may, of another, and takes its place.
 */
export function createAhead() {
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
    count: (endpointId: string) => byEndpoint.get(endpointId)?.length ?? 0,
    add(leased: LeasedDelivery) {
      const waiting = byEndpoint.get(leased.endpointId);
      const since = performance.now();
      size += 1;
      if (waiting) waiting.push({ leased, since });
      else byEndpoint.set(leased.endpointId, [{ leased, since }]);
    },
    /** None when the next one has waited too long. */
    next(endpointId: string): LeasedDelivery | undefined {
      const first = byEndpoint.get(endpointId)?.[0];
      return first && !isStale(first) ? take(endpointId, 1)[0] : undefined;
    },
    /** The next one of any endpoint of which another may begin. */
    nextOfAny(mayBegin: (leased: LeasedDelivery) => boolean): LeasedDelivery | undefined {
      for (const [endpointId, [first]] of byEndpoint)
        if (first && !isStale(first) && mayBegin(first.leased)) return take(endpointId, 1)[0];
      return undefined;
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
