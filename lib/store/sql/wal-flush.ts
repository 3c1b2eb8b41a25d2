import { type FileHandle, open } from 'node:fs/promises';
import { HookplaneError } from '../../model/errors.js';

/** A disk that mostly takes less is waited for in the call: to have a thread wait costs as much. */
const QUICK_MS = 0.5;
/** One that has been slow is given time to become quick again, and one slow flush alone changes nothing. */
const COUNTED_MS = 2;
const SHARE_OF_LAST = 1 / 16;

export interface WalFlush {
  /** Whether a commit may wait for the disk itself: one in each turn of the event loop, what comes with it shares a flush. */
  isQuick(): boolean;
  /** Runs a commit that waits for the disk itself. */
  watch(commit: () => unknown): void;
  /** Answers when all that was committed before the call is on the disk. @throws HookplaneError `STORE_UNAVAILABLE` */
  flush(): Promise<void>;
  close(): Promise<void>;
}

/**
 * Brings commits of `synchronous = normal` to the disk, which makes them as durable as those of `full` are, on a thread
 * of Node's own: SQLite would keep the whole process waiting for the disk. What a checkpoint has moved out of the log
 * in the meantime it has brought to the disk itself. Commits that come while a flush is under way share the next one.
 * Where the disk has been quick of late, SQLite is left to wait: a send that is alone takes 0.3 ms so in place of 0.43.
 * @param file path of the write-ahead log, which exists from the first transaction on
 * @param checkpoint moves the whole log into the database, on the disk; false when readers are in the way
 */
export function createWalFlush(file: string, checkpoint: () => boolean): WalFlush {
  let handle: Promise<FileHandle> | undefined;
  /** A system tells of a failed flush once, and takes the next one for done though earlier pages are missing. */
  let torn = false;
  let usualMs = COUNTED_MS;
  let isFirstOfTurn = true;
  let running: Promise<void> | undefined;
  let next: Promise<void> | undefined;

  function took(ms: number): void {
    usualMs += (Math.min(ms, COUNTED_MS) - usualMs) * SHARE_OF_LAST;
  }

  async function sync(): Promise<void> {
    try {
      if (torn && !checkpoint()) throw new Error('A flush has failed, and the log cannot be moved yet');
      torn = false;
      handle ??= open(file, 'r+');
      const opened = await handle;
      const start = performance.now();
      await opened.sync();
      took(performance.now() - start);
    } catch (cause) {
      await release();
      // The log is gone when the last connection has closed, which brings all of it to the disk.
      if ((cause as NodeJS.ErrnoException).code === 'ENOENT') return;
      torn = true;
      throw new HookplaneError('STORE_UNAVAILABLE', 'The disk of the store does not take what was written', {
        cause,
      });
    }
  }

  async function release(): Promise<void> {
    const opened = await handle?.catch(() => undefined);
    handle = undefined;
    await opened?.close().catch(() => {});
  }

  function begin(): Promise<void> {
    next = undefined;
    const begun = sync().finally(() => {
      if (running === begun) running = undefined;
    });
    running = begun;
    return begun;
  }

  return {
    isQuick: () => usualMs < QUICK_MS && isFirstOfTurn && !running && !torn,
    watch(commit) {
      isFirstOfTurn = false;
      setImmediate(() => {
        isFirstOfTurn = true;
      });
      const start = performance.now();
      try {
        commit();
      } catch (error) {
        torn = true;
        throw error;
      }
      took(performance.now() - start);
    },
    flush() {
      if (!running) return begin();
      next ??= running.then(begin, begin);
      return next;
    },
    async close() {
      await (next ?? running)?.catch(() => {});
      await release();
    },
  };
}
