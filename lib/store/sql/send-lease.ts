import type { DeliveryTarget, LeasedDelivery, SendLease } from '../store.js';
import type { DueLane } from './due-lanes.js';
import type { RoutedMessage } from './rows.js';

/** What of messages is leased to whoever stores them. */
export interface Leases {
  of(messageId: string, endpointId: string): LeasedDelivery | undefined;
}

export const NO_LEASES: Leases = { of: () => undefined };

/** How many of what is about to be stored the lease gives to lanes that are open, by endpoint. */
export function quotasOf(
  messages: readonly RoutedMessage[],
  open: readonly DueLane[],
  { share }: SendLease,
): ReadonlyMap<string, number> {
  const waiting = new Map<string, number>();
  for (const id of messages.flatMap((message) => message.endpointIds))
    waiting.set(id, (waiting.get(id) ?? 0) + 1);
  const lanes = open.flatMap((lane) => {
    const count = waiting.get(lane.endpointId);
    return count ? { ...lane, waiting: count } : [];
  });
  return lanes.length > 0 ? share(lanes).quotas : new Map();
}

/** Leases as many as that, those of a lane in the order of their messages. */
export function leaseMessages(
  messages: readonly RoutedMessage[],
  quotas: ReadonlyMap<string, number>,
  targets: ReadonlyMap<string, DeliveryTarget>,
): Leases {
  const leased = new Map<string, LeasedDelivery>();
  const left = new Map(quotas);
  for (const message of messages) {
    const { id, tenantId, type, channels, createdAt, expiresAt, payload, traceContext } = message;
    for (const endpointId of message.endpointIds) {
      const [target, quota = 0] = [targets.get(endpointId), left.get(endpointId)];
      if (!target || quota === 0) continue;
      left.set(endpointId, quota - 1);
      leased.set(`${id} ${endpointId}`, {
        messageId: id,
        endpointId,
        fence: 1,
        takeovers: 0,
        attemptCount: 0,
        scheduleStep: 0,
        trigger: 'send',
        webhookId: id,
        dueAt: createdAt,
        expiresAt,
        message: { id, tenantId, type, channels, createdAt, payload, traceContext },
        target,
      });
    }
  }
  return { of: (messageId, endpointId) => leased.get(`${messageId} ${endpointId}`) };
}
