/** How far the clock of the process may be from the database's and still be taken for right. */
const AGREEMENT_MS = 250;
const MEASURE_EVERY_MS = 5000;

/**
 * The time by the clock of the database, for processes on several machines: one whose clock is a minute ahead would take
 * the leases of all others for run out. It is measured with what is asked of the database anyway and carried on by the
 * time that the process has run since, which no setting of its clock moves.
 */
export interface DatabaseClock {
  now(): number;
  /** Whether it is time to ask the database for its own. */
  isDue(): boolean;
  /** The database's time, asked for at `askedAt` (of `performance.now`) and just answered. */
  set(databaseMs: number, askedAt: number): void;
}

export function createDatabaseClock(): DatabaseClock {
  let anchor: { databaseMs: number; at: number } | null = null;
  return {
    now() {
      const own = Date.now();
      if (!anchor) return own;
      const databaseMs = Math.round(anchor.databaseMs + performance.now() - anchor.at);
      // Where they agree as far as can be told, the process's is free of the error of the measurement.
      return Math.abs(databaseMs - own) <= AGREEMENT_MS ? own : databaseMs;
    },
    isDue: () => !anchor || performance.now() - anchor.at >= MEASURE_EVERY_MS,
    set(databaseMs, askedAt) {
      const answeredAt = performance.now();
      // An answer that took so long says little, unless nothing better is known.
      if (anchor && answeredAt - askedAt > AGREEMENT_MS) return;
      anchor = { databaseMs, at: (askedAt + answeredAt) / 2 };
    },
  };
}
