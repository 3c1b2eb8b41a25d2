import fc from 'fast-check';
import {
  bucketTokens,
  type RateLimit,
  rateLimitInput,
  rateLimitSetting,
  spendTokens,
} from '../../lib/model/rate-limit.js';

const NOW = 1_777_000_000_000;
const limits: fc.Arbitrary<RateLimit> = fc.record({
  perSecond: fc.oneof(fc.integer({ min: 1, max: 1000 }), fc.double({ min: 0.01, max: 1000, noNaN: true })),
  burst: fc.integer({ min: 1, max: 500 }),
});

describe('a bucket', () => {
  test('that was never used is full', () => {
    expect(bucketTokens({ perSecond: 2, burst: 5 }, null, NOW).tokens).toBe(5);
  });

  test('that is full gives its burst at any rate, and in any millisecond', () => {
    fc.assert(
      fc.property(limits, fc.integer({ min: 0, max: 4e12 }), (limit, now) => {
        expect(bucketTokens(limit, null, now)).toEqual({ tokens: limit.burst, nextAt: now });
        expect(bucketTokens(limit, now - 0.0001, now).tokens).toBe(limit.burst);
      }),
    );
    // An interval of 7.142857… ms: the milliseconds since 1970 leave its fractions too few digits.
    expect(bucketTokens({ perSecond: 140, burst: 1 }, NOW, NOW).tokens).toBe(1);
  });

  test('gives its burst at once, then one at a time at its rate', () => {
    const limit = { perSecond: 4, burst: 2 };
    const used = spendTokens(limit, null, NOW, 2);
    expect(bucketTokens(limit, used, NOW)).toEqual({ tokens: 0, nextAt: NOW + 250 });
    expect(bucketTokens(limit, used, NOW + 249).tokens).toBe(0);
    expect(bucketTokens(limit, used, NOW + 250).tokens).toBe(1);
    expect(bucketTokens(limit, used, NOW + 500).tokens).toBe(2);
    expect(bucketTokens(limit, used, NOW + 99_999).tokens).toBe(2);
  });

  test('of less than one a second waits for seconds', () => {
    const limit = { perSecond: 0.1, burst: 1 };
    const used = spendTokens(limit, null, NOW, 1);
    expect(bucketTokens(limit, used, NOW + 9999)).toEqual({ tokens: 0, nextAt: NOW + 10_000 });
    expect(bucketTokens(limit, used, NOW + 10_000).tokens).toBe(1);
  });

  test('never gives more than its burst at once, and never less than nothing', () => {
    fc.assert(
      fc.property(limits, fc.option(fc.integer({ min: -1e9, max: 1e9 })), (limit, offset) => {
        const { tokens } = bucketTokens(limit, offset === null ? null : NOW + offset, NOW);
        expect(Number.isInteger(tokens)).toBe(true);
        expect(tokens).toBeGreaterThanOrEqual(0);
        expect(tokens).toBeLessThanOrEqual(limit.burst);
      }),
    );
  });

  test('says truly when the next one may pass', () => {
    fc.assert(
      fc.property(limits, fc.integer({ min: 1, max: 500 }), (limit, taken) => {
        const used = spendTokens(limit, null, NOW, Math.min(taken, limit.burst));
        const { tokens, nextAt } = bucketTokens(limit, used, NOW);
        if (tokens > 0) {
          expect(nextAt).toBe(NOW);
          return;
        }
        expect(nextAt).toBeGreaterThan(NOW);
        expect(bucketTokens(limit, used, nextAt).tokens).toBeGreaterThanOrEqual(1);
        if (nextAt - 2 > NOW) expect(bucketTokens(limit, used, nextAt - 2).tokens).toBe(0);
      }),
    );
  });

  test('taking one after another or all at once comes to the same', () => {
    fc.assert(
      fc.property(limits, fc.integer({ min: 1, max: 50 }), (limit, taken) => {
        let used: number | null = null;
        for (let index = 0; index < taken; index++) used = spendTokens(limit, used, NOW, 1);
        expect(used! - NOW).toBeCloseTo(spendTokens(limit, null, NOW, taken) - NOW, 1);
      }),
    );
  });

  test('over any stretch of time lets no more through than its burst and its rate', () => {
    const steps = fc.array(fc.integer({ min: 0, max: 3000 }), { minLength: 1, maxLength: 60 });
    fc.assert(
      fc.property(limits, steps, (limit, waits) => {
        let now = NOW;
        let used: number | null = null;
        let passed = 0;
        for (const wait of waits) {
          now += wait;
          const { tokens } = bucketTokens(limit, used, now);
          if (tokens > 0) used = spendTokens(limit, used, now, tokens);
          passed += tokens;
        }
        const most = limit.burst + ((now - NOW) * limit.perSecond) / 1000;
        expect(passed).toBeLessThanOrEqual(most + 0.001);
      }),
    );
  });

  test('loses nothing to a caller that always takes what there is', () => {
    const limit = { perSecond: 10, burst: 3 };
    let used: number | null = null;
    let passed = 0;
    for (let now = NOW; now <= NOW + 10_006; now += 7) {
      const { tokens } = bucketTokens(limit, used, now);
      if (tokens > 0) used = spendTokens(limit, used, now, tokens);
      passed += tokens;
    }
    expect(passed).toBe(3 + 100);
  });

  test('a clock that was set back does not lock it for longer than it was', () => {
    const limit = { perSecond: 1, burst: 1 };
    const used = spendTokens(limit, null, NOW, 1);
    expect(bucketTokens(limit, used, NOW - 5000).nextAt).toBe(NOW + 1000);
  });
});

describe('the setting', () => {
  test.each([
    [{ perSecond: 5 }, { perSecond: 5, burst: 5 }],
    [{ perSecond: 0.2 }, { perSecond: 0.2, burst: 1 }],
    [{ perSecond: 2.5 }, { perSecond: 2.5, burst: 3 }],
    [
      { perSecond: 5, burst: 1 },
      { perSecond: 5, burst: 1 },
    ],
  ])('%j means %j', (input, expected) => {
    expect(rateLimitInput.parse(input)).toEqual(expected);
    expect(rateLimitSetting.parse(input)).toEqual(expected);
  });

  test.each([
    {},
    { perSecond: 0 },
    { perSecond: -1 },
    { perSecond: Number.NaN },
    { perSecond: Number.POSITIVE_INFINITY },
    { perSecond: '5' },
    { perSecond: 1_000_001 },
    { perSecond: 5, burst: 0 },
    { perSecond: 5, burst: 1.5 },
    { perSecond: 5, burst: null },
    { perSecond: 5, more: 1 },
    { perSecond: null, burst: 1 },
    null,
    5,
  ])('%j is refused', (input) => {
    expect(rateLimitInput.safeParse(input).success).toBe(false);
    expect(rateLimitSetting.safeParse(input).success).toBe(false);
  });

  test('null clears it', () => {
    expect(rateLimitSetting.parse({ perSecond: null })).toBeNull();
  });
});
