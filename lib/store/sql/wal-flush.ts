import { type FileHandle, open } from 'node:fs/promises';
import { HookplaneError } from '../../model/errors.js';

export interface WalFlush {
  /** Answers when all that was committed before the call is on the disk. @throws HookplaneError `STORE_UNAVAILABLE` */
  flush(): Promise<void>;
  close(): Promise<void>;
}

/**
 * Brings commits of `synchronous = normal` to the disk, which makes them as durable as those of `full` are, on a thread
 * of Node's own: SQLite would keep the whole process waiting for the disk. What a checkpoint has moved out of the log
 * in the meantime it has brought to the disk itself. Commits that come while a flush is under way share the next one.
 * @param file path of the write-ahead log, which exists from the first transaction on
 * @param checkpoint moves the whole log into the database, on the disk; false when readers are in the way
 */
export function createWalFlush(file: string, checkpoint: () => boolean): WalFlush {
  let handle: Promise<FileHandle> | undefined;
  /** A system tells of a failed flush once, and takes the next one for done though earlier pages are missing. */
  let torn = false;
  let running: Promise<void> | undefined;
  let next: Promise<void> | undefined;

  async function sync(): Promise<void> {
    try {
      if (torn && !checkpoint()) throw new Error('A flush has failed, and the log cannot be moved yet');
      torn = false;
      handle ??= open(file, 'r+');
      await (await handle).sync();
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
