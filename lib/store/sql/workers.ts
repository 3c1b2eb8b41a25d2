import type { WorkerStore } from '../store.js';
import { followClock } from './clock-step.js';
import type { SqlContext } from './context.js';
import { rowOf, changesOf } from './steps.js';

/** Signs of life older than this are of workers that will not come back. */
const FORGET_AFTER_MS = 24 * 3_600_000;

export function workerStore({ read, writeRelaxed, dialect }: SqlContext): WorkerStore {
  return {
    beat: (id, given) =>
      writeRelaxed(function* (db) {
        // Within the transaction, whose beginning may have measured it: a time from before may set back all others.
        const now = dialect.latest?.(given) ?? given;
        yield* followClock(db, dialect, now);
        yield* changesOf(
          db
            .insertInto('hookplane_workers')
            .values({ id, heartbeat_at: now })
            .onConflict((conflict) => conflict.column('id').doUpdateSet({ heartbeat_at: now })),
        );
        yield* changesOf(
          db.deleteFrom('hookplane_workers').where('heartbeat_at', '<', now - FORGET_AFTER_MS),
        );
      }),
    leave: (id) =>
      writeRelaxed(function* (db) {
        yield* changesOf(db.deleteFrom('hookplane_workers').where('id', '=', id));
      }),
    countSince: (since) =>
      read(function* (db) {
        const row = yield* rowOf(
          db
            .selectFrom('hookplane_workers')
            .select((eb) => eb.fn.countAll<number>().as('count'))
            .where('heartbeat_at', '>=', since),
        );
        return Number(row.count);
      }),
  };
}
