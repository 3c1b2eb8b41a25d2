import { isoTime } from '../../model/time.js';
import type { TurnResult } from '../../store/store.js';
import type { SenderEmitter } from '../events.js';
import type { ResolvedOptions } from '../options.js';
import { type Outcome, publicAttempt } from './outcome.js';

/** Tells listeners and the log what a turn has settled, once it has. */
export function announce(
  { events, options }: { events: SenderEmitter; options: ResolvedOptions },
  batch: readonly Outcome[],
  { refused, paused, recovered }: Pick<TurnResult, 'refused' | 'paused' | 'recovered'>,
): void {
  const stale = new Set(refused);
  for (const [index, { leased, settlement }] of batch.entries()) {
    const { attempt, messageId, endpointId, fence, status, lastError } = settlement;
    const { type: messageType, tenantId } = leased.message;
    if (attempt && events.has('attempt')) {
      events.emit('attempt', { attempt: publicAttempt(attempt, settlement), messageType, tenantId });
    }
    if (stale.has(index)) {
      options.logger.warn('A delivery was not settled: its lease was over, or it was canceled', {
        messageId,
        endpointId,
        fence,
      });
    } else if (status === 'failed') {
      events.emit('dead', { messageId, endpointId, messageType, tenantId, error: lastError ?? '' });
    }
  }
  for (const { endpoint, failingSince } of recovered)
    events.emit('recovered', { endpoint, failingSince: isoTime(failingSince) });
  for (const endpoint of paused) {
    options.logger.warn('An endpoint was paused', {
      endpointId: endpoint.id,
      reason: endpoint.pausedReason,
    });
    events.emit('paused', { endpoint });
  }
}
