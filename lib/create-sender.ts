import { createEngine, type Sender } from './sender/sender.js';
import type { SenderOptions } from './sender/options.js';
import { sqliteStore } from './store/sqlite.js';
import type { Store } from './store/store.js';

export type CreateSenderOptions = Omit<SenderOptions, 'store'> & {
  /** Where messages are kept. @default a SQLite file `hookplane.sqlite` in the working directory */
  store?: Store;
};

/**
 * Makes a sender. Nothing is opened and nothing is delivered before `start`, or before the first operation.
 * @throws HookplaneError `INVALID_OPTIONS`
 */
export function createSender({ store, ...options }: CreateSenderOptions = {}): Sender {
  return createEngine({ ...options, store: store ?? sqliteStore({ file: 'hookplane.sqlite' }) });
}
