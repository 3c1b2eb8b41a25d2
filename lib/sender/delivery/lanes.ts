import { bucketTokens, spendTokens } from '../../model/rate-limit.js';
import type { Lane, LeasedDelivery, Shares } from '../../store/store.js';

/**
 * The share of a process's requests that one endpoint, and one tenant, may hold while others may come. What has no tenant
 * is nobody's: it is not held back for the sake of tenants, which the application may not have at all, and its endpoints
 * stand each for itself.
 */
const ENDPOINT_SHARE = 1 / 2;
const TENANT_SHARE = 3 / 4;
/**
 * The last of what is free, which goes to whoever holds less than is left of it: as many slow endpoints as there are
 * between them hold everything else, and the next one must not have to wait for them.
 */
const SPARE_SHARE = 1 / 8;

/** What a process has under way. */
export interface Requests {
  /** How many more requests it may have. */
  free: number;
  concurrency: number;
  byEndpoint: ReadonlyMap<string, number>;
  byTenant: ReadonlyMap<string | null, number>;
}

export interface Load extends Requests {
  /** How many each endpoint may be given in advance, beyond its room, where nobody else needs the requests. */
  ahead: ReadonlyMap<string, number>;
  /** How many may be given in advance in all, in turn, each within its own room. */
  reserve: number;
  after: Served;
  now: number;
}

/** Who was served last: the next tenant, and within each tenant the next lane, is first in turn. */
export interface Served {
  /** undefined when nobody was. */
  tenantId: string | null | undefined;
  endpointByTenant: ReadonlyMap<string | null, string>;
}

export interface Shared extends Shares {
  /** Of each quota, how many may begin at once. */
  rooms: Map<string, number>;
  /** How many may begin at once in all. */
  total: number;
  /** Whether somebody got less than its room so that something is spared. */
  withheld: boolean;
  served: Served;
}

export function nothingShared(served: Served): Shared {
  return { quotas: new Map(), rooms: new Map(), total: 0, withheld: false, nextAt: null, served };
}

interface Turn {
  lane: Lane;
  room: number;
  quota: number;
  /** What it has under way, before it is given more. */
  held: number;
}

interface TenantTurns {
  tenantId: string | null;
  /** How many more its limit lets through. */
  tokens: number;
  /** How many more the tenant may be given. */
  left: number;
  /** What it has under way, with what it is given. */
  held: number;
  turns: Turn[];
  /** Whose turn it is among them. */
  next: number;
}

/**
 * Whose turn it is: one delivery at a time from tenant to tenant, and within a tenant from lane to lane, until nothing
 * is free or nobody has room. How long a lane is does not matter, so a dead endpoint with a long one delays nobody.
 */
export function shareOut(lanes: readonly Lane[], load: Load): Shared {
  const waits: number[] = [];
  const tenants = new Map<string | null, TenantTurns>();
  for (const lane of sortBy(lanes, ({ endpointId }) => endpointId)) {
    const { room, nextAt } = roomOf(lane, load);
    if (nextAt !== null) waits.push(nextAt);
    if (room === 0) continue;
    let tenant = tenants.get(lane.tenantId);
    if (!tenant) {
      const limit = lane.tenantRateLimit && bucketTokens(lane.tenantRateLimit, lane.tenantRateUsed, load.now);
      if (limit && limit.tokens === 0) waits.push(limit.nextAt);
      const held = load.byTenant.get(lane.tenantId) ?? 0;
      const tokens = limit ? limit.tokens : Number.POSITIVE_INFINITY;
      const left = Math.min(ceilingOf(lane.tenantId, load) - held, tokens);
      tenant = { tenantId: lane.tenantId, tokens, left, held, turns: [], next: 0 };
      tenants.set(lane.tenantId, tenant);
    }
    tenant.turns.push({ lane, room, quota: 0, held: load.byEndpoint.get(lane.endpointId) ?? 0 });
  }
  for (const tenant of tenants.values()) {
    const last = load.after.endpointByTenant.get(tenant.tenantId) ?? '';
    tenant.next = Math.max(
      0,
      tenant.turns.findIndex(({ lane }) => lane.endpointId > last),
    );
  }

  let free = load.free;
  let withheld = false;
  let sparedWithin = false;
  const isWithheld = (tenant: TenantTurns, { lane, held, quota }: Turn): boolean => {
    // Its ceiling is what its owner wants.
    if (lane.maxInFlight !== null) return false;
    if (isSpared(load, ceilingOf(tenant.tenantId, load) - tenant.held, held + quota)) {
      sparedWithin = true;
      return true;
    }
    const is = isSpared(load, free, tenant.tenantId === null ? held + quota : tenant.held);
    withheld ||= is;
    return is;
  };
  let lastTenant = load.after.tenantId;
  const endpointByTenant = new Map<string | null, string>();
  const inTurn = behind(
    sortBy([...tenants.values()], ({ tenantId }) => tenantId ?? ''),
    lastTenant,
  );
  function giveOut(next: (tenant: TenantTurns) => Turn | undefined, give: (turn: Turn) => void): void {
    for (let served = true; served; ) {
      served = false;
      for (const tenant of inTurn) {
        const turn = next(tenant);
        if (!turn) continue;
        turn.quota += 1;
        tenant.held += 1;
        tenant.left -= 1;
        give(turn);
        served = true;
        lastTenant = tenant.tenantId;
        endpointByTenant.set(tenant.tenantId, turn.lane.endpointId);
      }
    }
  }
  const rooms = new Map<string, number>();
  giveOut(
    (tenant) => (free > 0 && tenant.left > 0 ? nextTurn(tenant, isWithheld) : undefined),
    ({ lane, quota }) => {
      free -= 1;
      rooms.set(lane.endpointId, quota);
    },
  );
  const quotas = new Map(rooms);
  let { reserve } = load;
  let isKept = false;
  giveOut(
    // Its tenant may have what it may: one of the tenant's ends first.
    (tenant) => {
      if (reserve === 0 || isKept || tenant.tokens === 0) return undefined;
      const turn = nextTurn(tenant, () => false);
      // Nothing is leased of it in vain, so the next place is kept free for it, whose turn it is.
      isKept = turn !== undefined && spendsTokens(turn.lane);
      return isKept ? undefined : turn;
    },
    ({ lane, quota }) => {
      reserve -= 1;
      quotas.set(lane.endpointId, quota);
    },
  );
  const othersWait = withheld || isKept || free === 0 || (reserve === 0 && load.reserve > 0);
  if (!othersWait) addAhead(quotas, rooms, lanes, load);
  // A lane may owe less than it was given, and its requests may take long: the rest is asked for when there is a token.
  const waitForTokens = (limit: Lane['rateLimit'], used: Lane['rateUsed'], given: number) => {
    if (!limit || given === 0) return;
    const { tokens, nextAt } = bucketTokens(limit, spendTokens(limit, used, load.now, given), load.now);
    if (tokens === 0) waits.push(nextAt);
  };
  for (const { turns } of tenants.values()) {
    let given = 0;
    for (const { lane, quota } of turns) {
      given += quota;
      waitForTokens(lane.rateLimit, lane.rateUsed, quota);
    }
    const { tenantRateLimit, tenantRateUsed } = turns[0]!.lane;
    waitForTokens(tenantRateLimit, tenantRateUsed, given);
  }
  return {
    quotas,
    rooms,
    withheld: withheld || sparedWithin,
    // Not by spreading into Math.min, which fails on very many.
    nextAt: waits.reduce<number | null>((first, at) => (first === null || at < first ? at : first), null),
    total: load.free - free,
    served: { tenantId: lastTenant, endpointByTenant },
  };
}

/** Whether one of the endpoint may begin in the place of another that has ended, by the shares of {@link shareOut}. */
export function mayTakePlace(
  { target: { endpoint }, message: { tenantId } }: LeasedDelivery,
  requests: Requests,
): boolean {
  const ofEndpoint = requests.byEndpoint.get(endpoint.id) ?? 0;
  const ofTenant = requests.byTenant.get(tenantId) ?? 0;
  const left = ceilingOf(tenantId, requests) - ofTenant;
  if (left <= 0) return false;
  if (endpoint.maxInFlight !== null) return true;
  return (
    ofEndpoint < ceiling(requests, ENDPOINT_SHARE) &&
    !isSpared(requests, left, ofEndpoint) &&
    !isSpared(requests, requests.free, tenantId === null ? ofEndpoint : ofTenant)
  );
}

/** Whether the last of what is left is for whoever holds less. */
function isSpared({ concurrency }: Requests, left: number, held: number): boolean {
  return left <= Math.floor(concurrency * SPARE_SHARE) && held >= left;
}

/** Whether what is leased of the lane costs it something, so that nothing is leased in vain. */
function spendsTokens(lane: Lane): boolean {
  return lane.rateLimit !== null || lane.tenantRateLimit !== null || lane.slowStep > 0;
}

/**
 * Adds what begins when a request of the lane's ends: there has to be one. Nothing in advance for those that are held to a
 * limit: what is leased counts against it.
 */
function addAhead(
  quotas: Map<string, number>,
  rooms: ReadonlyMap<string, number>,
  lanes: readonly Lane[],
  { ahead, byEndpoint }: Load,
): void {
  for (const lane of lanes) {
    const more = ahead.get(lane.endpointId) ?? 0;
    const moves = rooms.has(lane.endpointId) || byEndpoint.has(lane.endpointId);
    if (more > 0 && moves && lane.maxInFlight === null && !spendsTokens(lane))
      quotas.set(
        lane.endpointId,
        Math.max(quotas.get(lane.endpointId) ?? 0, (rooms.get(lane.endpointId) ?? 0) + more),
      );
  }
}

function nextTurn(
  tenant: TenantTurns,
  isWithheld: (tenant: TenantTurns, turn: Turn) => boolean,
): Turn | undefined {
  for (let step = 0; step < tenant.turns.length; step++) {
    const turn = tenant.turns[(tenant.next + step) % tenant.turns.length]!;
    if (turn.quota < turn.room && !isWithheld(tenant, turn)) {
      tenant.next = (tenant.next + step + 1) % tenant.turns.length;
      return turn;
    }
  }
  return undefined;
}

function roomOf(lane: Lane, load: Load): { room: number; nextAt: number | null } {
  if (lane.slowUntil !== null && lane.slowUntil > load.now) return { room: 0, nextAt: lane.slowUntil };
  const limit = lane.rateLimit && bucketTokens(lane.rateLimit, lane.rateUsed, load.now);
  if (limit && limit.tokens === 0) return { room: 0, nextAt: limit.nextAt };
  const held =
    lane.maxInFlight === null
      ? ceiling(load, ENDPOINT_SHARE) - (load.byEndpoint.get(lane.endpointId) ?? 0)
      : lane.maxInFlight - lane.inFlight;
  // One at a time to an endpoint that has asked to be left alone and has not answered well since.
  const probe = lane.slowStep > 0 ? 1 - lane.inFlight : Number.POSITIVE_INFINITY;
  return {
    room: Math.max(
      0,
      Math.min(
        held,
        probe,
        lane.waiting ?? Number.POSITIVE_INFINITY,
        limit ? limit.tokens : Number.POSITIVE_INFINITY,
      ),
    ),
    nextAt: null,
  };
}

function ceilingOf(tenantId: string | null, requests: Requests): number {
  return tenantId === null ? requests.concurrency : ceiling(requests, TENANT_SHARE);
}

function ceiling({ concurrency }: Requests, share: number): number {
  return Math.max(1, Math.ceil(concurrency * share));
}

function sortBy<T>(items: readonly T[], key: (item: T) => string): T[] {
  return [...items].sort((a, b) => (key(a) < key(b) ? -1 : 1));
}

/** The tenants, beginning behind the one that was served last. */
function behind(sorted: TenantTurns[], last: string | null | undefined): TenantTurns[] {
  if (last === undefined) return sorted;
  const start = sorted.findIndex(({ tenantId }) => (tenantId ?? '') > (last ?? ''));
  return start <= 0 ? sorted : [...sorted.slice(start), ...sorted.slice(0, start)];
}
