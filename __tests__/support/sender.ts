import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createSender, type CreateSenderOptions } from '../../lib/create-sender.js';
import type { Logger } from '../../lib/model/logger.js';
import type { Sender } from '../../lib/sender/sender.js';
import { sqliteStore } from '../../lib/store/sqlite.js';
import { type Lifetime, onCleanUp } from './clean-up.js';

// A machine that is busy with other things must not fail a test; none needs more than a second on an idle one.
jest.setTimeout(30_000);

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

/** A folder that is removed when its lifetime ends. */
export async function temporaryFolder(lifetime: Lifetime = 'test'): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'hookplane-'));
  onCleanUp(lifetime, 'folder', () => rm(folder, { recursive: true, force: true }));
  return folder;
}

export type TestSender = Sender & {
  /** Its SQLite file; another sender made with `{ file }` shares the state. */
  file: string;
  /** What it logged. */
  log: LogEntry[];
};

export type TestSenderOptions = CreateSenderOptions & {
  /** @default a file in a folder of its own */
  file?: string;
  /** Begin to deliver. @default true */
  started?: boolean;
  /** When it is stopped. @default 'test' */
  lifetime?: Lifetime;
};

/**
 * A sender on a SQLite file that may deliver to this machine by plain HTTP and looks for work every 10 ms. It is
 * stopped and its file removed when its lifetime ends.
 */
export async function startSender(options: TestSenderOptions = {}): Promise<TestSender> {
  const { started = true, lifetime = 'test', file: given, ...senderOptions } = options;
  const file = given ?? join(await temporaryFolder(lifetime), 'hookplane.sqlite');
  const logger = recordingLogger();
  const sender = createSender({
    store: sqliteStore({ file }),
    allowHttp: true,
    allowTargets: ['127.0.0.1'],
    pollIntervalMs: 10,
    logger,
    ...senderOptions,
  });
  onCleanUp(lifetime, 'sender', () => sender.stop({ drainMs: 1000 }));
  if (started) await sender.start();
  return Object.assign(sender, { file, log: logger.entries });
}
