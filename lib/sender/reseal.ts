import { setImmediate } from 'node:timers/promises';
import { HookplaneError } from '../model/errors.js';
import type { SenderCore } from './core.js';

/** What is read at a time, and sealed in one transaction: a millisecond of work. */
const BATCH = 100;
/** How many endpoints a log entry names. */
const MAX_NAMED = 20;

export interface ResealResult {
  /** Secrets that are sealed by the current key now, and were not before. */
  resealed: number;
  /** Secrets that could not be opened and stay as they are; the log names their endpoints. */
  unopened: number;
}

/** @throws HookplaneError `INVALID_OPTIONS` */
export async function resealSecrets({ options, secrets, ready }: SenderCore): Promise<ResealResult> {
  if (options.secretKey.length === 0) {
    throw new HookplaneError('INVALID_OPTIONS', 'resealSecrets needs a key: give createSender a secretKey');
  }
  const unopened: { endpointId: string; error: string }[] = [];
  let resealed = 0;
  for (let after: string | null = null; ; ) {
    const { endpoints } = await ready();
    const batch = await endpoints.allSecrets(after, BATCH);
    const changes = batch.flatMap(({ endpointId, ...stored }) => {
      try {
        const to = secrets.reseal(endpointId, stored);
        return to === null ? [] : { id: stored.id, endpointId, from: stored.secret, to };
      } catch (error) {
        unopened.push({ endpointId, error: (error as Error).message });
        return [];
      }
    });
    // By what was read: a secret that was deleted meanwhile stays gone, and of two processes that seal it one does.
    if (changes.length > 0) resealed += await endpoints.replaceSecrets(changes);
    if (batch.length < BATCH) break;
    after = batch.at(-1)!.id;
    // Between batches everybody else has a turn.
    await setImmediate();
  }
  if (unopened.length > 0) {
    options.logger.warn('Signing secrets that cannot be opened stay as they are', {
      count: unopened.length,
      first: unopened.slice(0, MAX_NAMED),
    });
  }
  return { resealed, unopened: unopened.length };
}
