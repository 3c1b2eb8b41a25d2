import { createDatabaseClock } from '../../lib/store/sql/database-clock.js';
import { postgresStore } from '../../lib/store/postgres.js';
import { onCleanUp } from '../support/clean-up.js';
import { createDatabase } from '../support/postgres/database.js';

const HOUR = 3_600_000;

/** Has the clock of the process be so far from what it is. */
function shift(byMs: number): void {
  const real = Date.now;
  jest.spyOn(Date, 'now').mockImplementation(() => real() + byMs);
}

afterEach(() => jest.restoreAllMocks());

describe('the clock of the database', () => {
  it('is asked for at first, after a while, and when the machine has slept or its clock was set', () => {
    const clock = createDatabaseClock();
    expect(clock.isDue()).toBe(true);
    clock.set(Date.now(), performance.now());
    expect(clock.isDue()).toBe(false);
    shift(HOUR);
    expect(clock.isDue()).toBe(true);
    clock.set(Date.now() - HOUR, performance.now());
    expect(clock.isDue()).toBe(false);
  });

  it('is told apart from a clock that the caller has', () => {
    const clock = createDatabaseClock();
    const given = clock.now();
    clock.set(given + HOUR, performance.now());
    expect(clock.latest(given) - given).toBeGreaterThan(HOUR - 1000);
    expect(clock.latest(42)).toBe(42);
  });

  it.each([-60_000, 60_000])(
    'is gone by from the opening on, by a process that is %d ms off',
    async (offMs) => {
      const { url } = await createDatabase('test');
      const open = async () => {
        const store = postgresStore({ connectionString: url, listen: false });
        onCleanUp('test', 'sender', () => store.close());
        await store.open();
        return store;
      };
      await (await open()).workers.beat('right', Date.now());
      const real = Date.now;
      shift(offMs);
      const store = await open();
      expect(Math.abs(store.now!() - real())).toBeLessThan(1000);
      await store.workers.beat('off', store.now!());
      expect(await store.workers.countSince(real() - 5000)).toBe(2);
      expect(await store.workers.countSince(real() + 5000)).toBe(0);
    },
  );
});
