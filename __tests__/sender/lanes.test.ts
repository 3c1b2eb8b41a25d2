import fc from 'fast-check';
import { bucketTokens } from '../../lib/model/rate-limit.js';
import { type Load, mayTakePlace, type Served, shareOut } from '../../lib/sender/delivery/lanes.js';
import type { Lane, LeasedDelivery } from '../../lib/store/store.js';

const NOW = 1_777_000_000_000;
const NOBODY: Served = { tenantId: undefined, endpointByTenant: new Map() };

/** Deals out one request a turn, and remembers who was served as a worker does. */
function turnsOfOne(lanes: readonly Lane[], turns: number): string[] {
  const order: string[] = [];
  const endpointByTenant = new Map<string | null, string>();
  let tenantId: Served['tenantId'];
  for (let turn = 0; turn < turns; turn++) {
    const after = { tenantId, endpointByTenant };
    const { quotas, served } = shareOut(lanes, load({ free: 1, concurrency: 100, after }));
    order.push(...quotas.keys());
    tenantId = served.tenantId;
    for (const [tenant, endpoint] of served.endpointByTenant) endpointByTenant.set(tenant, endpoint);
  }
  return order;
}

function lane(endpointId: string, fixture: Partial<Lane> = {}): Lane {
  return {
    endpointId,
    tenantId: null,
    dueAt: NOW,
    slowUntil: null,
    slowStep: 0,
    inFlight: 0,
    maxInFlight: null,
    rateLimit: null,
    rateUsed: null,
    tenantRateLimit: null,
    tenantRateUsed: null,
    ...fixture,
  };
}

function load(fixture: Partial<Load> = {}): Load {
  const free = fixture.free ?? 100;
  return {
    free,
    concurrency: free,
    byEndpoint: new Map(),
    byTenant: new Map(),
    ahead: new Map(),
    reserve: 0,
    after: NOBODY,
    now: NOW,
    ...fixture,
  };
}

const quotasOf = (lanes: readonly Lane[], given: Partial<Load> = {}) =>
  Object.fromEntries(shareOut(lanes, load(given)).quotas);

const rateLimit = fc.option(
  fc.record({ perSecond: fc.integer({ min: 1, max: 100 }), burst: fc.integer({ min: 1, max: 20 }) }),
);
const used = fc.option(fc.integer({ min: NOW - 5000, max: NOW + 5000 }));
const tenants = fc.constantFrom('acme', 'other', 'third', null);

/** Lanes as a store shows them: those of one tenant agree on its limit. */
const lanes: fc.Arbitrary<Lane[]> = fc
  .tuple(
    fc.uniqueArray(
      fc.record({
        endpointId: fc.stringMatching(/^ep_[a-z0-9]{1,3}$/),
        tenantId: tenants,
        dueAt: fc.integer({ min: NOW - 1000, max: NOW }),
        slowUntil: fc.option(fc.integer({ min: NOW - 1000, max: NOW + 1000 })),
        slowStep: fc.nat(2),
        inFlight: fc.nat(5),
        maxInFlight: fc.option(fc.integer({ min: 1, max: 8 })),
        rateLimit,
        rateUsed: used,
      }),
      { selector: (each) => each.endpointId, maxLength: 30 },
    ),
    fc.dictionary(fc.constantFrom('acme', 'other', 'third'), fc.tuple(rateLimit, used)),
  )
  .map(([each, limits]) =>
    each.map((one) => {
      const [tenantRateLimit, tenantRateUsed] = (one.tenantId !== null && limits[one.tenantId]) || [
        null,
        null,
      ];
      return { ...one, tenantRateLimit, tenantRateUsed };
    }),
  );

const loads = fc
  .record({
    concurrency: fc.integer({ min: 1, max: 128 }),
    share: fc.double({ min: 0, max: 1, noNaN: true }),
  })
  .map(({ concurrency, share }) => ({ concurrency, free: Math.round(concurrency * share) }));

const sum = (values: Iterable<number>): number => [...values].reduce((total, value) => total + value, 0);

describe('whatever the lanes are', () => {
  test('no more is shared out than is free, and what is shared out is counted', () => {
    fc.assert(
      fc.property(lanes, loads, (each, given) => {
        const { quotas, total } = shareOut(each, load(given));
        expect(total).toBe(sum(quotas.values()));
        expect(total).toBeLessThanOrEqual(given.free);
        for (const quota of quotas.values()) expect(quota).toBeGreaterThanOrEqual(1);
      }),
    );
  });

  test('no lane gets more than its own room, its tokens, or one while it recovers', () => {
    fc.assert(
      fc.property(lanes, loads, fc.nat(20), (each, given, reserve) => {
        const { quotas } = shareOut(each, load({ ...given, reserve }));
        for (const one of each) {
          const quota = quotas.get(one.endpointId) ?? 0;
          if (one.maxInFlight !== null)
            expect(quota).toBeLessThanOrEqual(Math.max(0, one.maxInFlight - one.inFlight));
          if (one.rateLimit) {
            expect(quota).toBeLessThanOrEqual(bucketTokens(one.rateLimit, one.rateUsed, NOW).tokens);
          }
          if (one.slowUntil !== null && one.slowUntil > NOW) expect(quota).toBe(0);
          if (one.slowStep > 0) expect(quota).toBeLessThanOrEqual(Math.max(0, 1 - one.inFlight));
        }
      }),
    );
  });

  test('no tenant gets more than its tokens', () => {
    fc.assert(
      fc.property(lanes, loads, fc.nat(20), (each, given, reserve) => {
        const { quotas } = shareOut(each, load({ ...given, reserve }));
        for (const one of each) {
          if (!one.tenantRateLimit) continue;
          const own = each.filter(({ tenantId }) => tenantId === one.tenantId);
          const taken = sum(own.map(({ endpointId }) => quotas.get(endpointId) ?? 0));
          const { tokens } = bucketTokens(one.tenantRateLimit, one.tenantRateUsed, NOW);
          expect(taken).toBeLessThanOrEqual(tokens);
        }
      }),
    );
  });

  test('with enough free for a turn of every tenant, every lane that has room gets something', () => {
    fc.assert(
      fc.property(lanes, (each) => {
        const open = each.map((one) => ({ ...one, tenantRateLimit: null, tenantRateUsed: null }));
        // Tenants take turns, so one with few lanes is served again while another's are served first.
        const turns = Math.max(
          0,
          ...open.map((one) => open.filter((two) => two.tenantId === one.tenantId).length),
        );
        // Twice as much: of what is left the last eighth of all requests is for those who hold less.
        const free = Math.max(1, 2 * turns * new Set(open.map(({ tenantId }) => tenantId)).size);
        const { quotas } = shareOut(open, load({ free, concurrency: 2 * free }));
        for (const one of open) {
          const hasRoom =
            (one.slowUntil === null || one.slowUntil <= NOW) &&
            (one.slowStep === 0 || one.inFlight === 0) &&
            (one.maxInFlight === null || one.inFlight < one.maxInFlight) &&
            (one.rateLimit === null || bucketTokens(one.rateLimit, one.rateUsed, NOW).tokens > 0);
          expect(quotas.has(one.endpointId)).toBe(hasRoom);
        }
      }),
    );
  });

  test('what was not served says when it may be, unless only an event can tell', () => {
    fc.assert(
      fc.property(lanes, loads, (each, given) => {
        const { nextAt } = shareOut(each, load(given));
        for (const one of each) {
          if (one.slowUntil !== null && one.slowUntil > NOW)
            expect(nextAt).toBeLessThanOrEqual(one.slowUntil);
        }
        if (nextAt !== null) expect(nextAt).toBeGreaterThan(NOW);
      }),
    );
  });
});

describe('fairness', () => {
  test('two lanes share alike, however overdue one is', () => {
    const overdue = lane('ep_a', { dueAt: NOW - 1e9 });
    expect(quotasOf([overdue, lane('ep_b')], { free: 12, concurrency: 20 })).toEqual({ ep_a: 5, ep_b: 5 });
  });

  test('what one has no room for goes to the others', () => {
    const narrow = lane('ep_a', { maxInFlight: 1 });
    expect(quotasOf([narrow, lane('ep_b'), lane('ep_c')], { free: 13, concurrency: 20 })).toEqual({
      ep_a: 1,
      ep_b: 5,
      ep_c: 5,
    });
  });

  test('a tenant of one lane gets as much as one of many, and no tenant is a tenant like others', () => {
    const many = Array.from({ length: 6 }, (_each, index) => lane(`ep_a${index}`, { tenantId: 'acme' }));
    const quotas = quotasOf([...many, lane('ep_b', { tenantId: 'other' }), lane('ep_c')], {
      free: 21,
      concurrency: 24,
    });
    expect(quotas.ep_b).toBe(6);
    expect(quotas.ep_c).toBe(6);
    expect(many.map(({ endpointId }) => quotas[endpointId])).toEqual([1, 1, 1, 1, 1, 1]);
  });

  test('the turn goes on behind the lane that was served last', () => {
    const each = ['ep_a', 'ep_b', 'ep_c', 'ep_d'].map((id) => lane(id));
    expect(turnsOfOne(each, 8)).toEqual(['ep_a', 'ep_b', 'ep_c', 'ep_d', 'ep_a', 'ep_b', 'ep_c', 'ep_d']);
  });

  test('a tenant with one lane has every other turn beside one with many', () => {
    const many = Array.from({ length: 50 }, (_, index) => lane(`ep_${index}`, { tenantId: 'many' }));
    const order = turnsOfOne([...many, lane('ep_one', { tenantId: 'one' })], 20);
    expect(order.filter((id) => id === 'ep_one')).toHaveLength(10);
    expect(new Set(order).size).toBe(11);
  });

  test('over turns of one, no lane of any tenant starves', () => {
    fc.assert(
      fc.property(fc.uniqueArray(fc.tuple(fc.nat(99), tenants), { minLength: 1, maxLength: 12 }), (given) => {
        const each = given.map(([number, tenantId], index) => lane(`ep_${number}_${index}`, { tenantId }));
        const turns = new Set(each.map(({ tenantId }) => tenantId)).size * each.length;
        expect(new Set(turnsOfOne(each, turns)).size).toBe(each.length);
      }),
    );
  });
});

describe('ceilings', () => {
  test('one endpoint holds at most half of the requests of a process', () => {
    expect(quotasOf([lane('ep_a')], { free: 10 })).toEqual({ ep_a: 5 });
    expect(
      quotasOf([lane('ep_a')], { free: 6, concurrency: 10, byEndpoint: new Map([['ep_a', 4]]) }),
    ).toEqual({
      ep_a: 1,
    });
    expect(
      quotasOf([lane('ep_a')], { free: 5, concurrency: 10, byEndpoint: new Map([['ep_a', 5]]) }),
    ).toEqual({});
  });

  test('one tenant holds at most three quarters of them', () => {
    const each = ['ep_a', 'ep_b', 'ep_c'].map((id) => lane(id, { tenantId: 'acme' }));
    const many = Array.from({ length: 12 }, (_, index) => lane(`ep_${index}`, { tenantId: 'acme' }));
    expect(sum(Object.values(quotasOf(many, { free: 12 })))).toBe(9);
    const held = new Map([['acme', 8]]);
    expect(sum(Object.values(quotasOf(each, { free: 4, concurrency: 12, byTenant: held })))).toBe(1);
    const full = new Map([['acme', 9]]);
    expect(quotasOf([...each, lane('ep_d')], { free: 3, concurrency: 12, byTenant: full })).toEqual({
      ep_d: 2,
    });
  });

  test('what has no tenant is held to no share of one, and leaves what is spared to endpoints that hold less', () => {
    const many = Array.from({ length: 12 }, (_, index) => lane(`ep_${index}`));
    const first = shareOut(many, load({ free: 16 }));
    expect(first.total).toBe(15);
    const held = { concurrency: 16, byEndpoint: first.rooms, byTenant: new Map([[null, 14]]) };
    expect(quotasOf(many, { ...held, free: 2 })).toEqual({ ep_11: 1 });
    expect(quotasOf([...many, lane('ep_new')], { ...held, free: 1 })).toEqual({ ep_new: 1 });
  });

  describe('an eighth of them', () => {
    const of = (tenantId: string | null, id: string) => lane(id, { tenantId });

    test('is spared for tenants that hold less than is left of it', () => {
      const hogs = [of('acme', 'ep_a'), of('other', 'ep_b')];
      const first = shareOut(hogs, load({ free: 128 }));
      expect(first).toMatchObject({ total: 112, withheld: true });
      const held = {
        free: 16,
        concurrency: 128,
        byEndpoint: first.rooms,
        byTenant: new Map([
          ['acme', 56],
          ['other', 56],
        ]),
      };
      expect(quotasOf(hogs, held)).toEqual({});
      expect(quotasOf([...hogs, of('third', 'ep_c')], held)).toEqual({ ep_c: 8 });
    });

    test('is spared in the share of a tenant too, for endpoints that hold less than is left of it', () => {
      const hogs = [of('acme', 'ep_a'), of('acme', 'ep_b')];
      const first = shareOut(hogs, load({ free: 128 }));
      expect(first).toMatchObject({ total: 80, withheld: true });
      const held = { free: 48, concurrency: 128, byEndpoint: first.rooms, byTenant: new Map([['acme', 80]]) };
      expect(quotasOf(hogs, held)).toEqual({});
      expect(quotasOf([...hogs, of('acme', 'ep_c')], held)).toEqual({ ep_c: 8 });
    });

    test('is not kept from an endpoint that is told how many it may hold', () => {
      expect(quotasOf([lane('ep_a', { maxInFlight: 100 })], { free: 20, concurrency: 128 })).toEqual({
        ep_a: 20,
      });
    });

    test('does not keep what is leased in advance from an endpoint that has nobody beside it', () => {
      const ahead = new Map([['ep_a', 6]]);
      expect(quotasOf([lane('ep_a')], { free: 128, ahead })).toEqual({ ep_a: 70 });
      const beside = quotasOf([lane('ep_a'), of('acme', 'ep_b')], { free: 128, ahead });
      expect(beside).toEqual({ ep_a: 56, ep_b: 56 });
    });
  });

  test('a process of one request serves all the same', () => {
    expect(quotasOf([lane('ep_a')], { free: 1 })).toEqual({ ep_a: 1 });
  });

  test('an endpoint may be given more than half by its own maxInFlight, counted over all processes', () => {
    expect(quotasOf([lane('ep_a', { maxInFlight: 90 })], { free: 100, concurrency: 120 })).toEqual({
      ep_a: 90,
    });
    const busy = lane('ep_a', { maxInFlight: 5, inFlight: 4 });
    expect(quotasOf([busy])).toEqual({ ep_a: 1 });
    expect(quotasOf([{ ...busy, inFlight: 5 }])).toEqual({});
    expect(quotasOf([{ ...busy, inFlight: 9 }])).toEqual({});
  });
});

describe('waiting', () => {
  test('an endpoint that asked to be left alone is, until then', () => {
    const slow = lane('ep_a', { slowUntil: NOW + 500, slowStep: 1 });
    expect(shareOut([slow], load())).toMatchObject({ total: 0, nextAt: NOW + 500 });
    expect(shareOut([slow], load({ now: NOW + 500 }))).toMatchObject({ total: 1, nextAt: null });
  });

  test('and is then tried with one request at a time, until it answers well', () => {
    expect(quotasOf([lane('ep_a', { slowUntil: NOW, slowStep: 3 })])).toEqual({ ep_a: 1 });
    expect(quotasOf([lane('ep_a', { slowUntil: NOW, slowStep: 3, inFlight: 1 })])).toEqual({});
    expect(quotasOf([lane('ep_a', { slowUntil: NOW, slowStep: 0 })], { free: 10 })).toEqual({ ep_a: 5 });
  });

  test('an empty bucket waits for its next token', () => {
    const limited = lane('ep_a', { rateLimit: { perSecond: 2, burst: 1 }, rateUsed: NOW + 500 });
    expect(shareOut([limited], load())).toMatchObject({ total: 0, nextAt: NOW + 500 });
    expect(shareOut([limited], load({ now: NOW + 500 }))).toMatchObject({ total: 1 });
  });

  test("so does a tenant's, and other tenants do not wait with it", () => {
    const tenant = {
      tenantId: 'acme',
      tenantRateLimit: { perSecond: 2, burst: 1 },
      tenantRateUsed: NOW + 500,
    };
    const { quotas, nextAt } = shareOut([lane('ep_a', tenant), lane('ep_b', tenant), lane('ep_c')], load());
    expect([...quotas.keys()]).toEqual(['ep_c']);
    expect(nextAt).toBe(NOW + 500);
  });

  test('a bucket that this turn empties is asked again when it has a token', () => {
    const limit = { perSecond: 2, burst: 3 };
    const limited = lane('ep_a', { rateLimit: limit });
    expect(shareOut([limited], load())).toMatchObject({ total: 3, nextAt: NOW + 500 });
    const used = { ...limited, rateUsed: NOW + 700 };
    expect(shareOut([used], load())).toMatchObject({ total: 1, nextAt: NOW + 200 });
    const narrow = { ...limited, maxInFlight: 2 };
    expect(shareOut([narrow], load())).toMatchObject({ total: 2, nextAt: null });
  });

  test("so is a tenant's, by what all its lanes are given", () => {
    const tenant = { tenantId: 'acme', tenantRateLimit: { perSecond: 2, burst: 3 } };
    const both = [lane('ep_a', tenant), lane('ep_b', tenant)];
    expect(shareOut(both, load())).toMatchObject({ total: 3, nextAt: NOW + 500 });
    const narrow = both.map((each) => ({ ...each, maxInFlight: 1 }));
    expect(shareOut(narrow, load())).toMatchObject({ total: 2, nextAt: null });
  });

  test('very many lanes may wait at once', () => {
    const each = Array.from({ length: 200_000 }, (_each, n) => lane(`ep_${n}`, { slowUntil: NOW + 1 + n }));
    expect(shareOut(each, load()).nextAt).toBe(NOW + 1);
  });

  test("a tenant's tokens are shared among its lanes", () => {
    const tenant = { tenantId: 'acme', tenantRateLimit: { perSecond: 1, burst: 3 } };
    expect(quotasOf([lane('ep_a', tenant), lane('ep_b', tenant)])).toEqual({ ep_a: 2, ep_b: 1 });
  });

  test('the earliest of many waits counts', () => {
    const each = [700, 300, 500].map((ms, index) => lane(`ep_${index}`, { slowUntil: NOW + ms }));
    expect(shareOut(each, load()).nextAt).toBe(NOW + 300);
  });

  test('nothing that waits only for room has a time', () => {
    expect(shareOut([lane('ep_a', { maxInFlight: 1, inFlight: 1 })], load()).nextAt).toBeNull();
    expect(shareOut([], load())).toMatchObject({ total: 0, nextAt: null });
    expect(shareOut([lane('ep_a')], load({ free: 0, concurrency: 5 }))).toMatchObject({
      total: 0,
      nextAt: null,
    });
  });

  describe('in advance', () => {
    const ahead = new Map([['ep_a', 6]]);

    test('an endpoint may be given more than it has room for, when requests are left over', () => {
      const shared = shareOut([lane('ep_a')], load({ free: 4, concurrency: 4, ahead }));
      expect(Object.fromEntries(shared.quotas)).toEqual({ ep_a: 8 });
      expect(Object.fromEntries(shared.rooms)).toEqual({ ep_a: 2 });
      expect(shared.total).toBe(2);
    });

    test('nothing is given while others need the requests', () => {
      const lanes = [lane('ep_a'), lane('ep_b', { tenantId: 'acme' }), lane('ep_c', { tenantId: 'other' })];
      expect(quotasOf(lanes, { free: 4, concurrency: 4, ahead })).toEqual({ ep_a: 2, ep_b: 1, ep_c: 1 });
    });

    describe('of what is reserved', () => {
      const names = Array.from({ length: 9 }, (_, index) => `ep_${index}`);

      test('each in its turn is given its share, also of a tenant that has all that it may', () => {
        const lanes = names.map((name) => lane(name, { tenantId: 'acme' }));
        const shared = shareOut(lanes, load({ free: 4, concurrency: 4, reserve: 3, ahead }));
        expect([...shared.rooms.keys()]).toEqual(['ep_0', 'ep_1', 'ep_2']);
        expect([...shared.quotas.keys()]).toEqual(names.slice(0, 6));
        expect(shared.total).toBe(3);
        expect(shared.served.endpointByTenant.get('acme')).toBe('ep_5');
        const none = shareOut(lanes, load({ free: 0, concurrency: 4, reserve: 3, after: shared.served }));
        expect([...none.quotas.keys()]).toEqual(names.slice(6));
        expect(none.rooms.size).toBe(0);
      });

      test('nothing more is given when it is the turn of one that spends tokens', () => {
        const limited = lane('ep_4', { rateLimit: { perSecond: 9, burst: 9 } });
        const lanes = names.map((name) => (name === 'ep_4' ? limited : lane(name)));
        const shared = shareOut(lanes, load({ free: 4, concurrency: 4, reserve: 9, ahead }));
        expect([...shared.quotas.keys()]).toEqual(['ep_0', 'ep_1', 'ep_2', 'ep_3']);
        const next = shareOut(lanes, load({ free: 1, concurrency: 4, reserve: 2, after: shared.served }));
        expect([...next.rooms.keys()]).toEqual(['ep_4']);
        const empty = {
          tenantId: 'acme',
          tenantRateLimit: { perSecond: 1, burst: 1 },
          tenantRateUsed: NOW + 1000,
        };
        const beside = [lane('ep_x', empty), ...names.map((name) => lane(name))];
        expect(shareOut(beside, load({ free: 0, concurrency: 4, reserve: 9 })).quotas.size).toBe(9);
      });

      test('no endpoint is given more than it may have under way', () => {
        const reserve = 100;
        expect(quotasOf([lane('ep_a')], { free: 10, reserve })).toEqual({ ep_a: 5 });
        const limited = lane('ep_a', { maxInFlight: 7, inFlight: 3 });
        expect(quotasOf([limited], { free: 1, concurrency: 10, reserve })).toEqual({ ep_a: 4 });
      });

      test('what begins in the place of another is within every share', () => {
        const leased = (endpointId: string, tenantId: string | null, maxInFlight: number | null = null) =>
          ({
            target: { endpoint: { id: endpointId, maxInFlight } },
            message: { tenantId },
          }) as LeasedDelivery;
        const requests = (
          free: number,
          byEndpoint: [string, number][],
          byTenant: [string | null, number][],
        ) => ({
          free,
          concurrency: 128,
          byEndpoint: new Map(byEndpoint),
          byTenant: new Map(byTenant),
        });
        const held = (ofEndpoint: number, ofTenant: number, free: number) =>
          mayTakePlace(leased('ep_a', 'acme'), requests(free, [['ep_a', ofEndpoint]], [['acme', ofTenant]]));
        expect([held(0, 0, 1), held(63, 63, 65), held(64, 64, 64)]).toEqual([true, true, false]);
        expect([held(1, 95, 33), held(0, 95, 33), held(0, 96, 32)]).toEqual([false, true, false]);
        expect([held(0, 16, 16), held(0, 15, 16), held(0, 1, 1)]).toEqual([false, true, false]);
        const told = leased('ep_a', 'acme', 128);
        expect(mayTakePlace(told, requests(1, [['ep_a', 90]], [['acme', 90]]))).toBe(true);
        expect(mayTakePlace(told, requests(1, [['ep_a', 96]], [['acme', 96]]))).toBe(false);
      });
    });

    test.each([
      ['maxInFlight', { maxInFlight: 1 }],
      ['a rate limit', { rateLimit: { perSecond: 1, burst: 1 } }],
      ["its tenant's rate limit", { tenantId: 'acme', tenantRateLimit: { perSecond: 1, burst: 1 } }],
      ['a slowdown', { slowStep: 1 }],
    ])('nothing is given where %s holds', (_, limit) => {
      const next = { ahead, reserve: 5 };
      expect(quotasOf([lane('ep_a', limit)], next)).toEqual({ ep_a: 1 });
    });
  });
});
