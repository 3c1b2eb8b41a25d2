import { AsyncResource } from 'node:async_hooks';
import { setImmediate as setImmediatePromise } from 'node:timers/promises';
import type { Lane, LeasedDelivery, LeaseKey, Shares, Store, TurnResult } from '../../store/store.js';
import type { SenderEmitter } from '../events.js';
import type { ResolvedOptions } from '../options.js';
import { countAttempt, countDuration, type Tally } from '../tally.js';
import { createAhead, gatherMs, MAX_AHEAD_MS } from './ahead.js';
import { announce } from './announce.js';
import { type DeliverContext, deliver } from './deliver.js';
import { createDrain } from './drain.js';
import { createKeptPlaces } from './kept-places.js';
import { type Load, nothingShared } from './lanes.js';
import { createOffers, type Offer } from './offers.js';
import { foregone, gatherNews, judge, type Outcome, standApart } from './outcome.js';
import { createServed } from './served.js';
import { createUnderWay } from './under-way.js';

const MAX_BACKOFF_MS = 30_000;
/** How long requests that were cut off have to end. */
const ABORT_MS = 1000;
const MAX_GATHERED = 256;

export interface DispatcherContext {
  workerId: string;
  store: Store;
  options: ResolvedOptions;
  events: SenderEmitter;
  tally: Tally;
  delivery: DeliverContext;
}

export interface Dispatcher {
  start(): void;
  /** Requests for the deliveries of so many messages; undefined where not as many are free, or others wait. */
  offer(messages: number): Offer | undefined;
  /** Looks for due work now. */
  wake(): void;
  /** Every lease that this worker knows that it has. */
  held(): LeaseKey[];
  /** Gives back what is leased in advance: an endpoint or a message of it has changed. */
  recall(): void;
  /**
   * Leases nothing more and waits for what is under way, at most `limitMs`; then calls `abort`, and hands back what is
   * left.
   */
  stop(limitMs: number, abort: () => Promise<void>): Promise<void>;
}

/**
 * The loop of a worker. Each turn asks the store once: it settles what has ended and leases what is due, as far as
 * requests are free; what it leases is delivered at once. A slow receiver holds its own request and nobody else's.
 */
export function createDispatcher(context: DispatcherContext): Dispatcher {
  const { workerId, store, options, events, tally, delivery } = context;
  // Not in the context of the send that happens to wake it: its trace would never end.
  const turnApart = AsyncResource.bind(turn);
  /** What has ended and is not settled is sent again if the process dies, so it is as bounded as what is under way. */
  const mostUnsettled = Math.min(MAX_GATHERED, options.concurrency);
  const underWay = createUnderWay();
  const ahead = createAhead(options.concurrency);
  let ended: Outcome[] = [];
  /** Of the turn under way. */
  let settling: Outcome[] = [];
  /** Leased and not attempted, or cut off by a stop that waits no longer: whether those arrived is not known. */
  let handedBack: LeasedDelivery[] = [];
  let running = false;
  let abandoned = false;
  let turning = false;
  let wakeAgain = false;
  const served = createServed();
  let failures = 0;
  let recalls = 0;
  /** What the last turn took. */
  let turnMs = 0;
  let timer: NodeJS.Timeout | undefined;
  let gathering: NodeJS.Timeout | undefined;

  const unsettled = () => ended.length > 0 || handedBack.length > 0;
  const begin = AsyncResource.bind(beginOfSend);
  const offers = createOffers({ workerId, options, underWay, load, begin, handBack, wake });
  const drain = createDrain(() => !turning && offers.size() === 0 && underWay.size() === 0 && !unsettled());

  function load(now: number): Load {
    const { concurrency } = options;
    const free = running ? Math.max(0, concurrency - underWay.size()) : 0;
    return { ...underWay, ahead: new Map(), reserve: 0, free, concurrency, after: served.last(), now };
  }

  function wake(): void {
    if (turning) wakeAgain = true;
    else if (running || unsettled()) {
      turning = true;
      clearTimeout(timer);
      // What ends in the same turn of the event loop is settled together.
      setImmediate(turnApart);
    }
  }

  async function turn(): Promise<void> {
    let delayMs = options.pollIntervalMs;
    try {
      let more = true;
      while (more) {
        wakeAgain = false;
        const { nextAt, full } = await settleAndLease();
        more = wakeAgain || full;
        if (nextAt !== null) delayMs = Math.min(delayMs, nextAt - options.now());
        // Between turns everybody else has theirs.
        if (more) await setImmediatePromise();
      }
      failures = 0;
    } catch (error) {
      failures += 1;
      delayMs = Math.min(MAX_BACKOFF_MS, 250 * 2 ** Math.min(failures - 1, 10));
      events.emit('error', { error, during: 'turn' });
      options.logger.error('The store failed a worker; it tries again', {
        error: String(error),
        inMs: delayMs,
      });
      // A store that fails while the worker stops leaves what is unsettled to the end of its leases.
      if (abandoned) [ended, handedBack] = [[], []];
    } finally {
      turning = false;
    }
    if (ahead.size() > 0) delayMs = Math.min(delayMs, MAX_AHEAD_MS);
    drain.look();
    if (running || unsettled()) timer = setTimeout(wake, Math.max(1, delayMs));
  }

  /** @returns when the next delivery is due, and whether another turn would find more to do at once */
  async function settleAndLease(): Promise<{ nextAt: number | null; full: boolean }> {
    clearTimeout(gathering);
    gathering = undefined;
    const now = options.now();
    const [batch, release] = [ended, [...handedBack, ...ahead.takeStale()]];
    [ended, handedBack, settling] = [[], [], batch];
    for (const { leased } of batch) underWay.remove(leased);
    for (const leased of release) underWay.remove(leased);
    let { free } = load(now);
    if (free === 0 && batch.length === 0 && release.length === 0) return { nextAt: null, full: false };
    const inAdvance = ahead.mayLease(running ? batch.map(({ leased }) => leased) : []);
    let shares = nothingShared(served.last());
    const places = createKeptPlaces(underWay);
    const share = (lanes: readonly Lane[]): Shares => {
      shares = places.share(lanes, () => {
        // Sends may have taken some since the turn began.
        free = Math.min(free, options.concurrency - underWay.requests());
        return { ...load(now), ...inAdvance, free };
      });
      return shares;
    };
    let result: TurnResult;
    const recalledBefore = recalls;
    const began = performance.now();
    try {
      result = await store.outbox.turn({
        owner: workerId,
        now,
        // Their leases may have been taken anew since they ended.
        settlements: batch.map(({ leased: { fence }, settlement }) => ({ ...settlement, fence })),
        news: gatherNews(batch),
        release,
        apart: release.length === 0 && standApart(batch),
        lease: free === 0 && inAdvance.reserve === 0 ? null : { leaseMs: options.leaseMs, share },
      });
    } catch (error) {
      ended = [...batch, ...ended];
      handedBack = [...release, ...handedBack];
      for (const { leased } of batch) underWay.hold(leased);
      throw error;
    } finally {
      places.giveUp();
      settling = [];
    }
    turnMs = performance.now() - began;
    countDuration(tally.turnDurations, turnMs);
    served.remember(shares.served);
    // What has come in between holds for what this turn has leased in advance as well. What begins at once may have cost a
    // token, which is not given back.
    const isRecalled = recalls > recalledBefore;
    const failing = endpointsOf(ended.filter(hasFailed));
    const beginning: LeasedDelivery[] = [];
    for (const leased of result.leased) {
      // Its own lease had run out, by a step of the clock or a suspension: the attempt goes on under the new one.
      if (underWay.renew(leased)) continue;
      const { endpointId } = leased;
      const left = shares.rooms.get(endpointId) ?? 0;
      shares.rooms.set(endpointId, left - 1);
      if (left > 0) beginning.push(leased);
      else if (!running || isRecalled || failing.has(endpointId)) handedBack.push(leased);
      else ahead.add(leased);
    }
    beginAll(beginning);
    announce({ events, options }, batch, result);
    // A lane that held less than its share leaves room for others, if room was what they lacked.
    const full =
      beginning.length > 0 && beginning.length < shares.total && (shares.total === free || shares.withheld);
    return { nextAt: result.nextAt, full };
  }

  /** Not to endpoints that have asked to be left alone since the lease. */
  function beginAll(leased: readonly LeasedDelivery[]): void {
    const refusing = endpointsOf(ended.filter(({ news }) => news.slowUntil !== null));
    for (const each of leased) {
      if (running && !refusing.has(each.endpointId)) beginOne(each);
      else handedBack.push(each);
    }
  }

  function handBack(leased: readonly LeasedDelivery[]): void {
    handedBack.push(...leased);
  }

  function beginOfSend(leased: readonly LeasedDelivery[]): void {
    beginAll(leased);
    if (handedBack.length > 0) wake();
    else drain.look();
  }

  function beginOne(leased: LeasedDelivery): void {
    underWay.begin(leased);
    const judging = () => ({ schedule: options.retry, now: options.now(), random: Math.random });
    const known = foregone(leased, judging());
    if (known) {
      if (known.settlement.attempt) countAttempt(tally, 'reset', 0);
      underWay.end(leased);
      ended.push(known);
      wake();
      return;
    }
    tally.inFlight += 1;
    void deliver(leased, delivery).then((result) => {
      tally.inFlight -= 1;
      underWay.end(leased);
      const outcome = judge(leased, result, judging());
      if (abandoned && hasFailed(outcome)) handedBack.push(leased);
      else {
        countAttempt(tally, result.errorKind, result.durationMs);
        ended.push(outcome);
      }
      // It may have asked to be left alone, or been paused by this: only a turn can tell.
      if (hasFailed(outcome)) {
        handBack(ahead.takeOf(leased.endpointId));
        offers.fail(leased.endpointId);
      }
      const free = options.concurrency - underWay.requests();
      const requests = { ...underWay, concurrency: options.concurrency, free };
      const next =
        running && ended.length < mostUnsettled ? ahead.nextInPlaceOf(leased, requests) : undefined;
      if (!next) {
        wake();
        return;
      }
      beginOne(next);
      // What has ended counts against the limit of its endpoint until it is settled.
      if (next.endpointId !== leased.endpointId && leased.target.endpoint.maxInFlight !== null) wake();
      else gathering ??= setTimeout(wake, gatherMs(turnMs));
    });
  }

  return {
    start() {
      [running, abandoned] = [true, false];
      wake();
    },
    offer(messages) {
      const isFree = messages <= load(options.now()).free && ahead.size() === 0;
      return isFree && ![...settling, ...ended].some(hasFailed) ? offers.make() : undefined;
    },
    wake,
    held: () => [...underWay.held(), ...ahead.held(), ...handedBack],
    recall() {
      recalls += 1;
      offers.recall();
      handBack(ahead.takeAll());
      wake();
    },
    async stop(limitMs, abort) {
      running = false;
      clearTimeout(timer);
      handBack(ahead.takeAll());
      wake();
      if (await drain.within(limitMs)) return;
      abandoned = true;
      clearTimeout(timer);
      await abort();
      wake();
      await drain.within(ABORT_MS);
      clearTimeout(timer);
    },
  };
}

function endpointsOf(outcomes: readonly Outcome[]): Set<string> {
  return new Set(outcomes.map(({ leased }) => leased.endpointId));
}

function hasFailed({ settlement }: Outcome): boolean {
  return settlement.status !== 'delivered';
}
