import type { LeasedDelivery, SendLease } from '../../store/store.js';
import type { ResolvedOptions } from '../options.js';
import { createKeptPlaces } from './kept-places.js';
import type { Load } from './lanes.js';
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
  handBack(leased: readonly LeasedDelivery[]): void;
  wake(): void;
}

/** What has come in since an offer was made, and holds for what is leased by it. */
interface OpenOffer {
  recalled: boolean;
  /** Endpoints. */
  failing: Set<string>;
}

export function createOffers(context: OffersContext) {
  const { workerId, options, underWay, load, begin, handBack, wake } = context;
  const open = new Set<OpenOffer>();
  return {
    /** How many have not been taken. */
    size: () => open.size,
    make(): Offer {
      const now = options.now();
      const places = createKeptPlaces(underWay);
      const offer: OpenOffer = { recalled: false, failing: new Set() };
      open.add(offer);
      const mayBegin = ({ endpointId }: LeasedDelivery) => !offer.recalled && !offer.failing.has(endpointId);
      return {
        lease: {
          owner: workerId,
          now,
          leaseMs: options.leaseMs,
          most: load(now).free,
          share: (lanes) => places.share(lanes, () => load(now)),
        },
        take(leased) {
          const isLess = leased.length < places.count();
          open.delete(offer);
          places.giveUp();
          handBack(leased.filter((each) => !mayBegin(each)));
          begin(leased.filter(mayBegin));
          // A turn may have gone without the places.
          if (isLess) wake();
        },
      };
    },
    /** An endpoint or a message has changed. */
    recall() {
      for (const offer of open) offer.recalled = true;
    },
    /** An attempt to the endpoint has failed. */
    fail(endpointId: string) {
      for (const offer of open) offer.failing.add(endpointId);
    },
  };
}
