import { stackOf } from '../model/error-text.js';
import { defaultLogger, type Logger, safeLogger } from '../model/logger.js';

/** Who is told of what went wrong inside. */
export interface Listeners {
  onError?: ((error: unknown, details: { requestId: string }) => void) | undefined;
  logger?: Logger | undefined;
}

/** Never rejects, so that it need not be waited for. */
export type Report = (error: unknown, requestId: string) => Promise<void>;

/** Tells `onError`, or the log where there is none; and the log of an `onError` that fails itself, also by rejecting. */
export function createReport({ onError, logger: given }: Listeners): Report {
  const logger = safeLogger(given ?? defaultLogger);
  return async (error, requestId) => {
    try {
      if (onError) await onError(error, { requestId });
      else logger.error('The control plane failed', { requestId, error: stackOf(error) });
    } catch (second) {
      logger.error('onError of the control plane threw', { requestId, error: stackOf(second) });
    }
  };
}
