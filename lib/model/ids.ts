export type IdPrefix = 'ep' | 'msg' | 'att' | 'sec' | 'wrk' | 'req' | 'aud';

/** Base 32 of Number.prototype.toString, 0-9 and a-v: its digits sort as their values do. */
const RADIX = 32;
const TIME_DIGITS = 10;
const HALF_DIGITS = 8;
const HALF = RADIX ** HALF_DIGITS;

/** One for each prefix: attempts are named by when they began, which would tear messages of one millisecond apart. */
const sequences = new Map<IdPrefix, { ms: number; head: string; tail: number }>();

/**
 * A time-ordered id in the manner of a ULID: the prefix, 10 digits of milliseconds and 16 digits of randomness, 80
 * bits, in base 32. Ids of one prefix that a process makes in one millisecond count up from a random number, so that
 * they keep the order in which they were made and "newest first" is exact.
 */
export function createId(prefix: IdPrefix, ms: number): string {
  let sequence = sequences.get(prefix);
  if (sequence?.ms === ms && sequence.tail + 1 < HALF) {
    sequence.tail += 1;
  } else {
    // 122 random bits out of a pool, in hex: some hundred times cheaper than asking for random bytes.
    const random = globalThis.crypto.randomUUID();
    const high = Number.parseInt(random.slice(0, 8) + random.slice(9, 11), 16);
    sequence = {
      ms,
      head: digits(ms, TIME_DIGITS) + digits(high, HALF_DIGITS),
      tail: Number.parseInt(random.slice(-10), 16),
    };
    sequences.set(prefix, sequence);
  }
  return `${prefix}_${sequence.head}${digits(sequence.tail, HALF_DIGITS)}`;
}

/** When an id was made, in milliseconds. */
export function timeOfId(id: string): number {
  const from = id.indexOf('_') + 1;
  return Number.parseInt(id.slice(from, from + TIME_DIGITS), RADIX);
}

/** What the ids of a prefix that were made at `ms` or later (and after 1970) are behind, and no earlier one: a bound, no id. */
export function firstIdAt(prefix: IdPrefix, ms: number): string {
  const whole = Math.min(Math.max(Math.ceil(ms), 0), RADIX ** TIME_DIGITS - 1);
  return `${prefix}_${digits(whole, TIME_DIGITS)}`;
}

function digits(value: number, length: number): string {
  return value.toString(RADIX).padStart(length, '0');
}
