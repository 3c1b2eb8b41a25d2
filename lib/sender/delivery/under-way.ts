import type { Lane, LeasedDelivery } from '../../store/store.js';

/** What a process has under way, counted in the ways that sharing asks for. */
export function createUnderWay() {
  const all = new Map<string, LeasedDelivery>();
  const byEndpoint = new Map<string, number>();
  const byTenant = new Map<string | null, number>();
  let requests = 0;
  let kept = 0;
  function countRequest(endpointId: string, tenantId: string | null, change: number): void {
    requests += change;
    count(byEndpoint, endpointId, change);
    count(byTenant, tenantId, change);
  }
  function count<Key>(counts: Map<Key, number>, key: Key, change: number): void {
    const next = (counts.get(key) ?? 0) + change;
    if (next === 0) counts.delete(key);
    else counts.set(key, next);
  }
  return {
    byEndpoint,
    byTenant,
    /** With what has ended and is not settled, and with the places that are kept. */
    size: () => all.size + kept,
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
      countRequest(leased.endpointId, leased.message.tenantId, 1);
    },
    /** Its request has ended; it is held until it is settled. */
    end(leased: LeasedDelivery) {
      countRequest(leased.endpointId, leased.message.tenantId, -1);
    },
    /** Keeps places, or gives them up by a negative number, for requests that begin when their lease is known. */
    keep({ endpointId, tenantId }: Pick<Lane, 'endpointId' | 'tenantId'>, count: number) {
      kept += count;
      countRequest(endpointId, tenantId, count);
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
