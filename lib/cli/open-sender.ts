import type { Logger } from '../model/logger.js';
import type { CreateSenderOptions } from '../create-sender.js';
import type { Sender } from '../sender/sender.js';
import type { CommandRun } from './command.js';
import { printable } from './text.js';

/**
 * Works with a sender that is never started: nothing is delivered, and the schema stays as it is, which the application
 * may not be ready for.
 */
export async function withSender(
  { store, io }: CommandRun,
  work: (sender: Sender) => Promise<number>,
  options: Omit<CreateSenderOptions, 'store' | 'logger'> = {},
): Promise<number> {
  store.assertExists();
  const { createSender } = await import('../create-sender.js');
  const say = (message: string) => void io.stderr.write(`${printable(message)}\n`);
  const logger: Logger = { error: say, warn: say, info: () => {}, debug: () => {} };
  const sender = createSender({ ...options, store: await store.make({ migrate: false }), logger });
  try {
    return await work(sender);
  } finally {
    await sender.stop();
  }
}
