import { createSender, type CreateSenderOptions } from '../../lib/create-sender.js';
import type { Logger } from '../../lib/model/logger.js';
import type { Sender } from '../../lib/sender/sender.js';
import { type Lifetime, onCleanUp } from './clean-up.js';
import { newPlace, onPostgres, type StoredAt, storeAt } from './test-store.js';

export { temporaryFolder } from './temporary-folder.js';

// A machine that is busy with other things must not fail a test; none needs more than a second on an idle one.

export interface LogEntry {
  level: keyof Logger;
  message: string;
  fields: Record<string, unknown>;
}

export type RecordingLogger = Logger & { entries: LogEntry[] };

/** Keeps what it is told, and says nothing. */
export function recordingLogger(): RecordingLogger {
  const entries: LogEntry[] = [];
  const record =
    (level: keyof Logger) =>
    (message: string, fields: Record<string, unknown> = {}) =>
      void entries.push({ level, message, fields });
  return {
    entries,
    error: record('error'),
    warn: record('warn'),
    info: record('info'),
    debug: record('debug'),
  };
}

export type TestSender = Sender & {
  /** Where its state is: another sender made with `{ file }` shares it. */
  file: StoredAt;
  /** What it logged. */
  log: LogEntry[];
};

export type TestSenderOptions = CreateSenderOptions & {
  /** @default a place of its own */
  file?: StoredAt;
  /** Begin to deliver. @default true */
  started?: boolean;
  /** When it is stopped. @default 'test' */
  lifetime?: Lifetime;
};

/**
 * A sender on a store of its own that may deliver to this machine by plain HTTP and looks for work every 10 ms, on
 * PostgreSQL, where a look costs more, every 30 ms. It is stopped and its state removed when its lifetime ends.
 */
export async function startSender(options: TestSenderOptions = {}): Promise<TestSender> {
  const { started = true, lifetime = 'test', file: given, store, ...senderOptions } = options;
  const file = given ?? (await newPlace(lifetime));
  const logger = recordingLogger();
  const sender = createSender({
    store: store ?? (await storeAt(file)),
    allowHttp: true,
    allowTargets: ['127.0.0.1'],
    pollIntervalMs: onPostgres ? 30 : 10,
    logger,
    ...senderOptions,
  });
  onCleanUp(lifetime, 'sender', () => sender.stop({ drainMs: 1000 }));
  if (started) await sender.start();
  return Object.assign(sender, { file, log: logger.entries });
}
