import type { LeasedDelivery, SendLease } from '../../store/store.js';
import type { ResolvedOptions } from '../options.js';
import { createKeptPlaces } from './kept-places.js';
import { type Load, shareOut } from './lanes.js';
import type { createUnderWay } from './under-way.js';

/** To a send: what it stores is delivered without a turn that looks for it. */
export interface Offer {
  lease: SendLease;
  /** Begins what was leased. To be called in any case: with nothing where the send has failed. */
  take(leased: readonly LeasedDelivery[]): void;
}

interface OffersContext {
  workerId: string;
  options: Pick<ResolvedOptions, 'leaseMs' | 'now'>;
  underWay: ReturnType<typeof createUnderWay>;
  load(now: number): Load;
  begin(leased: readonly LeasedDelivery[]): void;
}

export function createOffers({ workerId, options, underWay, load, begin }: OffersContext) {
  let open = 0;
  return {
    /** How many have not been taken. */
    open: () => open,
    make(): Offer {
      const now = options.now();
      const places = createKeptPlaces(underWay);
      open += 1;
      return {
        lease: {
          owner: workerId,
          now,
          leaseMs: options.leaseMs,
          share(lanes) {
            places.giveUp();
            const shares = shareOut(lanes, load(now));
            places.keep(lanes, shares.rooms);
            return shares;
          },
        },
        take(leased) {
          places.giveUp();
          open -= 1;
          begin(leased);
        },
      };
    },
  };
}
