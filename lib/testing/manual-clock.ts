/** A clock that stands still until it is told to move. */
export interface ManualClock {
  /** Milliseconds since the epoch. */
  now(): number;
  /** @throws RangeError for a number that is negative or none */
  advance(ms: number): void;
  /** Moves to a time: ISO 8601, milliseconds since the epoch, or a `Date`. @throws RangeError for one that has passed */
  advanceTo(time: string | number | Date): void;
}

export function createManualClock(start: string | number | Date): ManualClock {
  let now = millisecondsOf(start);
  return {
    now: () => now,
    advance(ms) {
      if (!(ms >= 0 && Number.isFinite(ms))) {
        throw new RangeError(`The clock can be advanced by milliseconds ≥ 0, not by ${ms}`);
      }
      now += Math.round(ms);
    },
    advanceTo(time) {
      const ms = millisecondsOf(time);
      if (ms < now) {
        throw new RangeError(
          `The clock only moves forward: ${new Date(ms).toISOString()} is before ${new Date(now).toISOString()}`,
        );
      }
      now = ms;
    },
  };
}

function millisecondsOf(time: string | number | Date): number {
  const ms = new Date(time).getTime();
  if (Number.isNaN(ms)) throw new RangeError(`${String(time)} is not a time`);
  return ms;
}
