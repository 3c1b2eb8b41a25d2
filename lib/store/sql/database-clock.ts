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
  /**
   * The time at present where `given` is what `now` answered last: it may have been measured since. Any other time is
   * the caller's own, and stays.
   */
  latest(given: number): number;
  /** Whether it is time to ask the database for its own. */
  isDue(): boolean;
  /** The database's time, asked for at `askedAt` (of `performance.now`) and just answered. */
  set(databaseMs: number, askedAt: number): void;
}

export function createDatabaseClock(): DatabaseClock {
  let anchor: { databaseMs: number; at: number; own: number } | null = null;
  let answered = Number.NaN;

  function now(): number {
    const own = Date.now();
    if (!anchor) return own;
    const databaseMs = Math.round(anchor.databaseMs + performance.now() - anchor.at);
    // Where they agree as far as can be told, the process's is free of the error of the measurement.
    return Math.abs(databaseMs - own) <= AGREEMENT_MS ? own : databaseMs;
  }

  /** Whether the machine slept, which the time that the process has run does not show, or its clock was set. */
  function hasJumped({ at, own }: { at: number; own: number }): boolean {
    return Math.abs(Date.now() - own - (performance.now() - at)) > AGREEMENT_MS;
  }

  return {
    now() {
      answered = now();
      return answered;
    },
    latest: (given) => (given === answered ? now() : given),
    isDue: () => !anchor || performance.now() - anchor.at >= MEASURE_EVERY_MS || hasJumped(anchor),
    set(databaseMs, askedAt) {
      const answeredAt = performance.now();
      // An answer that took so long says little, unless nothing better is known.
      if (anchor && answeredAt - askedAt > AGREEMENT_MS && !hasJumped(anchor)) return;
      const halfway = (askedAt + answeredAt) / 2;
      anchor = { databaseMs, at: halfway, own: Date.now() - (answeredAt - halfway) };
    },
  };
}
