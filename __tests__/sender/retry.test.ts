import fc from 'fast-check';
import { DEFAULT_RETRY, delayAfter, nextDelayMs, retryAfterMs } from '../../lib/sender/delivery/retry.js';

const DAY_MS = 86_400_000;
const NOW = Date.parse('2026-05-01T12:00:00Z');
const schedule = fc.record({
  delaysSeconds: fc.array(fc.double({ min: 0, max: 30 * 86_400, noNaN: true }), { maxLength: 50 }),
  jitter: fc.double({ min: 0, max: 1, noNaN: true }),
});
const random = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });

test('the default schedule is the one of Standard Webhooks: 75 hours and 35 minutes', () => {
  const delays = DEFAULT_RETRY.delaysSeconds.map((_delay, index) =>
    nextDelayMs(DEFAULT_RETRY, index + 1, () => 0.5),
  );
  expect(delays).toEqual([5, 300, 1800, 7200, 18_000, 36_000, 50_400, 72_000, 86_400].map((s) => s * 1000));
  expect(delays.reduce<number>((sum, delay) => sum + (delay ?? 0), 0)).toBe((75 * 60 + 35) * 60_000 + 5000);
  expect(nextDelayMs(DEFAULT_RETRY, 10, () => 0.5)).toBeNull();
  expect(nextDelayMs(DEFAULT_RETRY, 0, () => 0.5)).toBe(0);
});

test('a delay lies within its jitter, whatever the schedule', () => {
  fc.assert(
    fc.property(schedule, fc.nat(60), random, (retry, failures, value) => {
      const delay = nextDelayMs(retry, failures + 1, () => value);
      const base = retry.delaysSeconds[failures];
      if (base === undefined) {
        expect(delay).toBeNull();
        return;
      }
      expect(Number.isSafeInteger(delay)).toBe(true);
      expect(delay).toBeGreaterThanOrEqual(Math.floor(base * 1000 * (1 - retry.jitter)));
      expect(delay).toBeLessThanOrEqual(Math.ceil(base * 1000 * (1 + retry.jitter)));
    }),
  );
});

test('every schedule ends', () => {
  fc.assert(
    fc.property(schedule, random, (retry, value) => {
      let failures = 1;
      while (nextDelayMs(retry, failures, () => value) !== null) failures += 1;
      expect(failures).toBe(retry.delaysSeconds.length + 1);
    }),
  );
});

test.each([
  [null, null],
  ['', null],
  ['0', 0],
  ['120', 120_000],
  [' 120 ', 120_000],
  ['86400', DAY_MS],
  ['86401', DAY_MS],
  ['9'.repeat(400), DAY_MS],
  ['-1', null],
  ['+1', null],
  ['1.5', null],
  ['1e3', null],
  ['0x10', null],
  ['soon', null],
  ['Fri, 01 May 2026 12:00:30 GMT', 30_000],
  ['Fri, 01 May 2026 11:00:00 GMT', 0],
  ['Sun, 06 Nov 1994 08:49:37 GMT', 0],
  ['Sat, 02 May 2026 13:00:00 GMT', DAY_MS],
  ['Friday, 01-May-26 12:00:30 GMT', 30_000],
  ['Sunday, 06-Nov-94 08:49:37 GMT', 0],
  ['Fri May  1 12:00:30 2026', 30_000],
  ['Fri, 01 May 2026 12:00:30', null],
  ['Fri, 01 May 2026 12:00:30 +0200', null],
  ['2026-05-01T12:00:30Z', null],
  ['Fri, 99 May 2026 12:00:30 GMT', null],
  ['1', 1000],
])('Retry-After %j asks for %j', (value, expected) => {
  expect(retryAfterMs(value, NOW)).toBe(expected);
});

test('no Retry-After asks for less than nothing, for more than a day, or for a fraction', () => {
  const value = fc.oneof(
    fc.string(),
    fc.bigInt().map(String),
    fc.date({ noInvalidDate: true }).map((date) => date.toUTCString()),
  );
  fc.assert(
    fc.property(value, (text) => {
      const asked = retryAfterMs(text, NOW);
      if (asked === null) return;
      expect(Number.isSafeInteger(asked)).toBe(true);
      expect(asked).toBeGreaterThanOrEqual(0);
      expect(asked).toBeLessThanOrEqual(DAY_MS);
    }),
  );
});

test('a date is read to the second it names', () => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 86_400 }), (seconds) => {
      expect(retryAfterMs(new Date(NOW + seconds * 1000).toUTCString(), NOW)).toBe(seconds * 1000);
    }),
  );
});

test('a receiver can put the next attempt off and never bring it forward', () => {
  expect(delayAfter(5000, null)).toBe(5000);
  fc.assert(
    fc.property(fc.nat(DAY_MS), fc.nat(DAY_MS), (scheduled, asked) => {
      expect(delayAfter(scheduled, asked)).toBe(Math.max(scheduled, asked));
    }),
  );
});
