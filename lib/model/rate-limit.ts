import { z } from 'zod';

/** At most `perSecond` deliveries a second on average, and at most `burst` at once. */
export interface RateLimit {
  perSecond: number;
  /** A whole number ≥ 1. Default when it is set: `perSecond`, rounded up. */
  burst: number;
}

const perSecond = z.number().positive().max(1_000_000);
const burst = z.int().min(1).max(1_000_000).optional();

export const rateLimitInput = z.strictObject({ perSecond, burst }).transform(
  (input): RateLimit => ({
    perSecond: input.perSecond,
    burst: input.burst ?? defaultBurst(input.perSecond),
  }),
);

/** The body of a tenant's rate-limit setting: `perSecond: null` clears the limit. */
export const rateLimitSetting = z
  .strictObject({ perSecond: perSecond.nullable(), burst })
  .refine((input) => input.perSecond !== null || input.burst === undefined, {
    path: ['burst'],
    message: 'must be left out when perSecond is null',
  })
  .transform((input): RateLimit | null =>
    input.perSecond === null
      ? null
      : { perSecond: input.perSecond, burst: input.burst ?? defaultBurst(input.perSecond) },
  );

function defaultBurst(rate: number): number {
  return Math.max(1, Math.ceil(rate));
}

/**
 * A token bucket kept as one number, the "theoretical arrival time" of GCRA (ATM Forum TM 4.0, §4.4.2): the moment,
 * in milliseconds, until which what was already let through has used up the rate. Null is a full bucket.
 */
export type BucketTime = number | null;

/** How many may pass at `now`, and when the next one may. */
export function bucketTokens(
  limit: RateLimit,
  used: BucketTime,
  now: number,
): { tokens: number; nextAt: number } {
  const interval = 1000 / limit.perSecond;
  // Reckoned from now on: beside the milliseconds since 1970 a double has no room for the fractions of an interval.
  const ahead = Math.max((used ?? now) - now, 0);
  const tokens = Math.max(0, Math.floor(limit.burst - ahead / interval + 1e-9));
  return { tokens, nextAt: tokens > 0 ? now : now + Math.ceil(ahead - (limit.burst - 1) * interval) };
}

/** The bucket after `taken` have passed at `now`. */
export function spendTokens(limit: RateLimit, used: BucketTime, now: number, taken: number): number {
  return Math.max(used ?? now, now) + (taken * 1000) / limit.perSecond;
}
