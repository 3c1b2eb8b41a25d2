import { type RawBuilder, sql } from 'kysely';
import type { RateLimit } from '../../model/rate-limit.js';

/**
 * What `rate_used` becomes where the limit of its row becomes another: as many tokens stay used up, which come back in
 * another time, and no more than a bucket holds. Edits give nobody more than the limit before and after them.
 */
export function usedUnder({ perSecond, burst }: RateLimit, now: number): RawBuilder<number | null> {
  const used = sql`(rate_used - ${now}) * rate_per_second`;
  return sql`case when rate_used > ${now} then ${now}
    + case when ${used} < ${burst * 1000} then ${used} else ${burst * 1000} end / ${perSecond} end`;
}
