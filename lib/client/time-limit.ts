import { AdminClientError, invalidArgument } from './client-error.js';

/** Timers of more than this fire at once. */
const MAX_MS = 2 ** 31 - 1;

/** The end of a call, by its deadline or by its caller. */
export interface TimeLimit {
  /** Aborts at the end, and says why. */
  signal: AbortSignal;
  remainingMs(): number;
  /** The same work, rejected at the end whether or not it heeds the signal. */
  within<T>(work: Promise<T>): Promise<T>;
  /** @throws what ended the call */
  wait(ms: number): Promise<void>;
  /** Lets go of the timer and of the caller's signal. */
  release(): void;
}

/** @throws AdminClientError `INVALID_ARGUMENT` */
export function checkTimeout(timeoutMs: number): number {
  if (timeoutMs > 0 && timeoutMs <= MAX_MS) return timeoutMs;
  throw invalidArgument(`timeoutMs must be a number of milliseconds above 0 and at most ${MAX_MS}`);
}

/** Made of a controller by hand: `AbortSignal.any` is missing in browsers of 2023. */
export function startTimeLimit(timeoutMs: number, caller: AbortSignal | undefined, what: string): TimeLimit {
  const controller = new AbortController();
  const { signal } = controller;
  const end = Date.now() + timeoutMs;
  const timer = setTimeout(() => {
    controller.abort(new AdminClientError('TIMEOUT', `${what} was not answered within ${timeoutMs} ms`));
  }, timeoutMs);
  const abort = () => controller.abort(caller?.reason);
  if (caller?.aborted) abort();
  else caller?.addEventListener('abort', abort, { once: true });

  function within<T>(work: Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      const stop = () => reject(signal.reason);
      signal.addEventListener('abort', stop, { once: true });
      if (signal.aborted) stop();
      work.then(resolve, reject).finally(() => signal.removeEventListener('abort', stop));
    });
  }

  return {
    signal,
    remainingMs: () => end - Date.now(),
    within,
    async wait(ms) {
      let waiting: ReturnType<typeof setTimeout> | undefined;
      const waited = new Promise<void>((resolve) => {
        waiting = setTimeout(resolve, ms);
      });
      try {
        await within(waited);
      } finally {
        clearTimeout(waiting);
      }
    },
    release() {
      clearTimeout(timer);
      caller?.removeEventListener('abort', abort);
    },
  };
}
