import { setImmediate, setTimeout } from 'node:timers/promises';

/** How long a lock that another connection holds is waited for. */
export const LOCK_TIMEOUT_MS = 5000;
/** How much of that SQLite itself waits, within the call: as long as processes that take turns need. */
export const WAIT_IN_CALL_MS = 20;
const ASK_AGAIN_MS = 10;

/** Does what may find the database locked, at once or when it is unlocked. */
export type WhenUnlocked = <T>(attempt: () => T) => Promise<T>;

/**
 * Waits for locks beside all else of the application, which SQLite would have stand still. Of those that wait only the
 * first asks, so that many do not take up in sum what none does alone.
 */
export function createWhenUnlocked(timeoutMs: number): WhenUnlocked {
  let last: Promise<unknown> | undefined;

  async function inTurn<T>(before: Promise<unknown> | undefined, attempt: () => T, end: number): Promise<T> {
    await before?.catch(() => {});
    await setImmediate();
    for (;;) {
      try {
        return attempt();
      } catch (error) {
        if (!isBusy(error) || performance.now() > end) throw error;
      }
      await setTimeout(ASK_AGAIN_MS);
    }
  }

  return async (attempt) => {
    if (last === undefined) {
      try {
        return attempt();
      } catch (error) {
        if (!isBusy(error) || timeoutMs === 0) throw error;
      }
    }
    const mine = inTurn(last, attempt, performance.now() + timeoutMs);
    last = mine;
    try {
      return await mine;
    } finally {
      if (last === mine) last = undefined;
    }
  };
}

function isBusy(error: unknown): boolean {
  const { code } = (error ?? {}) as { code?: unknown };
  return String(code).startsWith('SQLITE_BUSY');
}
