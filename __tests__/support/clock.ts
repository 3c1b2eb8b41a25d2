/** A clock that stands still until it is told to move: the `now` of a sender that a test takes through time. */
export interface Clock {
  now: () => number;
  advance(ms: number): void;
}

export const SECOND = 1000;
export const MINUTE = 60 * SECOND;
export const HOUR = 60 * MINUTE;
export const DAY = 24 * HOUR;

export function createClock(start = Date.parse('2026-05-01T12:00:00.000Z')): Clock {
  let ms = start;
  return {
    now: () => ms,
    advance(by) {
      ms += by;
    },
  };
}
