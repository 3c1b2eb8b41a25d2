import type { PausedReason } from '../model/endpoint.js';
import { isHookplaneError } from '../model/errors.js';
import type { ErrorKind } from '../model/message.js';
import type { SenderEmitter, SenderEvents } from './events.js';

/** In milliseconds, up to the longest deadline that an endpoint can have. */
const ATTEMPT_BOUNDS = [5, 10, 25, 50, 100, 250, 500, 1000, 2500, 5000, 10_000, 15_000, 30_000, 60_000];
const TURN_BOUNDS = [1, 2.5, 5, 10, 25, 50, 100, 250, 500, 1000, 2500, 5000, 10_000];

/** How many durations were at most so long, for each bound and beyond the last. */
export interface Durations {
  readonly bounds: readonly number[];
  readonly counts: number[];
  sumMs: number;
}

/**
 * What a sender has done since it was made. These are plain numbers, which others read when they want to: to count an
 * attempt costs some nanoseconds.
 */
export interface Tally {
  messagesSent: number;
  messagesRemoved: number;
  /** Requests that are under way at this moment. */
  inFlight: number;
  attempts: Record<ErrorKind | 'none', number>;
  attemptDurations: Record<'succeeded' | 'failed', Durations>;
  deliveriesDead: number;
  endpointsPaused: Record<Exclude<PausedReason, 'manual'>, number>;
  storeErrors: Record<SenderEvents['error']['during'] | 'send', number>;
  turnDurations: Durations;
}

/** @param events tells of what happens too seldom to be counted where it happens */
export function createTally(events: SenderEmitter): Tally {
  const tally: Tally = {
    messagesSent: 0,
    messagesRemoved: 0,
    inFlight: 0,
    attempts: {
      none: 0,
      http_status: 0,
      timeout: 0,
      dns: 0,
      connect: 0,
      tls: 0,
      reset: 0,
      blocked_address: 0,
      redirect: 0,
      invalid_response: 0,
      transform: 0,
    },
    attemptDurations: { succeeded: durations(ATTEMPT_BOUNDS), failed: durations(ATTEMPT_BOUNDS) },
    deliveriesDead: 0,
    endpointsPaused: { gone: 0, failing: 0 },
    storeErrors: { turn: 0, heartbeat: 0, sweep: 0, send: 0 },
    turnDurations: durations(TURN_BOUNDS),
  };
  events.on('dead', () => {
    tally.deliveriesDead += 1;
  });
  events.on('paused', ({ endpoint: { pausedReason } }) => {
    if (pausedReason === 'gone' || pausedReason === 'failing') tally.endpointsPaused[pausedReason] += 1;
  });
  events.on('error', ({ during }) => {
    tally.storeErrors[during] += 1;
  });
  return tally;
}

export function countAttempt(tally: Tally, errorKind: ErrorKind | null, durationMs: number): void {
  tally.attempts[errorKind ?? 'none'] += 1;
  countDuration(tally.attemptDurations[errorKind === null ? 'succeeded' : 'failed'], durationMs);
}

/** Counts a send that failed, if it was for the store. */
export function countFailedSend(tally: Tally, error: unknown): void {
  if (isHookplaneError(error) && ['STORE_UNAVAILABLE', 'MIGRATION_REQUIRED'].includes(error.code))
    tally.storeErrors.send += 1;
}

export function countDuration(durations: Durations, ms: number): void {
  const { bounds, counts } = durations;
  let index = 0;
  while (index < bounds.length && ms > bounds[index]!) index += 1;
  counts[index]! += 1;
  durations.sumMs += ms;
}

function durations(bounds: readonly number[]): Durations {
  return { bounds, counts: new Array(bounds.length + 1).fill(0), sumMs: 0 };
}
