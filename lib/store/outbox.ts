import type { Endpoint, PausedReason } from '../model/endpoint.js';
import type { AttemptStatus, AttemptTrigger, DeliveryStatus, ErrorKind } from '../model/message.js';
import type { BucketTime, RateLimit } from '../model/rate-limit.js';
import type { NewAuditEntry } from './audit.js';

/** The scope of a caller: undefined sees every tenant. */
export type TenantScope = string | undefined;

/** An endpoint with due deliveries, as the lease sees it. */
export interface Lane {
  endpointId: string;
  tenantId: string | null;
  /** When its earliest delivery that nobody holds is due. */
  dueAt: number;
  /** Not before this: the endpoint asked to be left alone. */
  slowUntil: number | null;
  /** Above 0 while it has not answered well since it asked to be left alone. */
  slowStep: number;
  /** Leased at this moment, by any process: counted where `maxInFlight` or `slowStep` asks for it, and else 0. */
  inFlight: number;
  maxInFlight: number | null;
  rateLimit: RateLimit | null;
  rateUsed: BucketTime;
  tenantRateLimit: RateLimit | null;
  tenantRateUsed: BucketTime;
  /** How many it has to give; absent where nobody has counted. */
  waiting?: number;
}

/** How many each lane may take now; and when a lane that may not could next. */
export interface Shares {
  quotas: ReadonlyMap<string, number>;
  /** The earliest time at which asking again may give more; null when only an event can tell. */
  nextAt: number | null;
}

export interface LeaseRequest {
  leaseMs: number;
  /**
   * Decides whose turn it is. Called inside the transaction: pure, and quick. It may be called again with what is known
   * better by then; the last answer counts.
   */
  share(lanes: readonly Lane[]): Shares;
}

/** What a send asks for that has messages to store and requests that are free. */
export interface SendLease extends LeaseRequest {
  owner: string;
  now: number;
  /** Nothing is leased where more deliveries than this are owed. */
  most: number;
}

/** Names a lease. The fence grows with every lease of a delivery; a settlement under an older one is refused. */
export interface LeaseKey {
  messageId: string;
  endpointId: string;
  fence: number;
}

/** What a worker has to say and to ask, in one transaction, or in two: see `apart`. */
export interface Turn {
  owner: string;
  now: number;
  /** Each holds only if its lease is still the owner's; its attempt is recorded either way. */
  settlements: readonly Settlement[];
  news: readonly EndpointNews[];
  /** Leases given back unspent. */
  release: readonly LeaseKey[];
  /** What to take; null takes nothing. */
  lease: LeaseRequest | null;
  /**
   * Whether what is settled changes nothing for what is leased: all of it was delivered, to endpoints that were well and
   * have no bound on what is in flight. A store may then settle and lease at the same time.
   */
  apart: boolean;
}

/** A delivery that this worker alone may attempt until its lease ends. */
export interface LeasedDelivery extends LeaseKey {
  /**
   * How often its lease was taken from another worker since an outcome was known, this time included; 0 unless this
   * lease was taken so.
   */
  takeovers: number;
  attemptCount: number;
  /** Failures since the schedule began. */
  scheduleStep: number;
  trigger: AttemptTrigger;
  webhookId: string;
  dueAt: number;
  expiresAt: number;
  message: {
    id: string;
    tenantId: string | null;
    type: string;
    channels: string[] | null;
    createdAt: number;
    payload: string;
    traceContext: string | null;
  };
  target: DeliveryTarget;
}

/** A secret of an endpoint, as it was handed over: what it holds is the sender's affair. */
export interface StoredSecret {
  id: string;
  secret: string;
}

/** The endpoint as it is at the moment of the lease. */
export interface DeliveryTarget {
  endpoint: Endpoint;
  /** Newest first; every one of them signs. */
  secrets: StoredSecret[];
  failingSince: number | null;
  slowStep: number;
}

export interface NewAttempt {
  id: string;
  number: number;
  status: AttemptStatus;
  trigger: AttemptTrigger;
  startedAt: number;
  durationMs: number;
  requestUrl: string;
  remoteAddress: string | null;
  responseStatus: number | null;
  responseHeaders: Record<string, string> | null;
  responseBody: string | null;
  errorKind: ErrorKind | null;
  error: string | null;
  nextAttemptAt: number | null;
}

/** What became of a leased delivery. */
export interface Settlement extends LeaseKey {
  status: Exclude<DeliveryStatus, 'canceled'>;
  /** When it is due again; for a finished one the time it finished. */
  dueAt: number;
  /** All attempts so far, this one included. */
  attemptCount: number;
  scheduleStep: number;
  lastError: string | null;
  /** Its workers died before there was an outcome: its takeovers go on being counted. Anything else begins anew. */
  lost: boolean;
  /** null when no request was made. */
  attempt: NewAttempt | null;
}

/** What a batch of attempts says about an endpoint. */
export interface EndpointNews {
  endpointId: string;
  /** Where the attempts went: what they say is not held against an endpoint that has moved since. */
  url: string;
  /** Ends its failing, and a slow-down that was known when the attempt was leased. */
  succeeded: boolean;
  /** When an attempt failed first, if one did. */
  failedAt: number | null;
  slowUntil: number | null;
  /** How often it had slowed down as the attempts' leases knew: the most of them. */
  slowStep: number;
  /** `failing` pauses only if every attempt has failed since `failingBefore`. */
  pause: { reason: PausedReason; failingBefore: number } | null;
}

export interface TurnResult {
  /** Indexes of settlements that were refused: their lease had been taken over, or their delivery was gone. */
  refused: number[];
  paused: Endpoint[];
  /** Endpoints that had failed since then, and of which the news says that they succeed again. */
  recovered: { endpoint: Endpoint; failingSince: number }[];
  leased: LeasedDelivery[];
  /** When the next delivery is due, as far as is known; null when none is. */
  nextAt: number | null;
}

export interface ExpiredDelivery {
  messageId: string;
  endpointId: string;
  messageType: string;
  tenantId: string | null;
}

export interface OutboxStore {
  /**
   * Settles, gives back and leases. A power failure may undo it, which repeats attempts and loses none; the death of
   * the process does not.
   */
  turn(turn: Turn): Promise<TurnResult>;
  /**
   * Moves the end of these leases, as far as they are still the owner's, run out or not. The owner names them, so that
   * one whose turn was committed and whose answer was lost ends: nobody would ever settle it.
   */
  renew(owner: string, leases: readonly LeaseKey[], leaseMs: number, now: number): Promise<void>;
  /** Cancels a batch of what is owed to endpoints that are gone; answers how many there were. */
  cancelOrphans(now: number): Promise<number>;
  /** Ends deliveries whose time is over; at most `limit` a call. Answers those it ended. */
  expire(now: number, limit: number): Promise<ExpiredDelivery[]>;
  /**
   * Makes deliveries of one endpoint due at once, and makes those that are missing. One that is in flight is left
   * alone, and so is one whose message was expunged. Answers the messages it did it for.
   */
  requeue(request: {
    endpointId: string;
    messageIds: readonly string[];
    /** Webhook ids to send under, by position; null keeps the one it was last sent under. */
    webhookIds: readonly string[] | null;
    expiresAt: number;
    now: number;
    audit?: NewAuditEntry | undefined;
  }): Promise<string[]>;
  /**
   * Calls the listener when another process has sent something, has replayed something, has let through what was held
   * back (an endpoint resumed or changed, another limit of a tenant) or has given back what it had leased; and whenever
   * that may have gone unnoticed for a while. Absent where nobody tells; whoever listens looks for work from time to time all the same.
   * @returns a function that ends it
   */
  onWake?(listener: () => void): () => void;
  /** Whether a delivery is leased at this moment. */
  inFlight(messageId: string, endpointId: string, now: number): Promise<boolean>;
  /** `tenant` undefined counts all. */
  depth(tenant: TenantScope): Promise<{ depth: number; oldestDueAt: number | null }>;
}
