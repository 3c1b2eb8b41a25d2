import type { LeasedDelivery } from '../../store/store.js';

/** What a process has under way, counted in the ways that sharing asks for. */
export function createUnderWay() {
  const all = new Map<string, LeasedDelivery>();
  const byEndpoint = new Map<string, number>();
  const byTenant = new Map<string | null, number>();
  function count<Key>(counts: Map<Key, number>, key: Key, change: number): void {
    const next = (counts.get(key) ?? 0) + change;
    if (next === 0) counts.delete(key);
    else counts.set(key, next);
  }
  return {
    byEndpoint,
    byTenant,
    size: () => all.size,
    /** Whether it is under way already; then it is so under the newer lease. */
    renew(leased: LeasedDelivery): boolean {
      const known = all.get(keyOf(leased));
      if (known) known.fence = leased.fence;
      return known !== undefined;
    },
    add(leased: LeasedDelivery) {
      all.set(keyOf(leased), leased);
      count(byEndpoint, leased.endpointId, 1);
      count(byTenant, leased.message.tenantId, 1);
    },
    remove(leased: LeasedDelivery) {
      if (!all.delete(keyOf(leased))) return;
      count(byEndpoint, leased.endpointId, -1);
      count(byTenant, leased.message.tenantId, -1);
    },
  };
}

function keyOf({ messageId, endpointId }: LeasedDelivery): string {
  return `${messageId} ${endpointId}`;
}

/** A target that was read longer ago is read again: an edit holds from the next attempt on. */
const MAX_AHEAD_MS = 250;

/**
 * What is leased in advance, by endpoint. It is not under way: it begins when a request to the same endpoint ends, and
 * takes its place.
 */
export function createAhead() {
  const byEndpoint = new Map<string, { leased: LeasedDelivery; since: number }[]>();
  return {
    count: (endpointId: string) => byEndpoint.get(endpointId)?.length ?? 0,
    add(leased: LeasedDelivery, since: number) {
      const waiting = byEndpoint.get(leased.endpointId);
      if (waiting) waiting.push({ leased, since });
      else byEndpoint.set(leased.endpointId, [{ leased, since }]);
    },
    next(endpointId: string): LeasedDelivery | undefined {
      const waiting = byEndpoint.get(endpointId);
      const first = waiting?.shift();
      if (waiting?.length === 0) byEndpoint.delete(endpointId);
      return first?.leased;
    },
    /** Takes out those that have waited too long; without `now`, all. */
    takeStale(now = Number.POSITIVE_INFINITY): LeasedDelivery[] {
      const stale: LeasedDelivery[] = [];
      for (const [endpointId, waiting] of byEndpoint) {
        const kept = waiting.findIndex(({ since }) => now - since <= MAX_AHEAD_MS);
        const taken = waiting.splice(0, kept === -1 ? waiting.length : kept);
        stale.push(...taken.map(({ leased }) => leased));
        if (waiting.length === 0) byEndpoint.delete(endpointId);
      }
      return stale;
    },
  };
}
