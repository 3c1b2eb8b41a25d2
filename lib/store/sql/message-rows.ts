import type { InsertedMessage, LeasedDelivery, SendLease } from '../store.js';
import { auditOf } from './audit.js';
import { leaseMsOf } from './lease.js';
import { messageOf, type RoutedMessage, toJson } from './rows.js';
import type { Leases } from './send-lease.js';
import type { BulkInsert, RowsOf } from './steps.js';

const MESSAGES: BulkInsert = {
  table: 'hookplane_messages',
  columns: {
    id: 'text',
    tenant_id: 'text',
    type: 'text',
    channels: 'text',
    status: 'text',
    idempotency_key: 'text',
    created_at: 'integer',
    expires_at: 'integer',
    finished_at: 'integer',
    trace_context: 'text',
  },
};

const PAYLOADS: BulkInsert = {
  table: 'hookplane_payloads',
  columns: { message_id: 'text', payload: 'text' },
};

const DELIVERIES: BulkInsert = {
  table: 'hookplane_deliveries',
  columns: {
    message_id: 'text',
    endpoint_id: 'text',
    due_at: 'integer',
    expires_at: 'integer',
    fence: 'integer',
    lease_owner: 'text',
    lease_until: 'integer',
  },
  constants: { status: "'pending'", trigger: "'send'", attempt_count: '0', schedule_step: '0' },
};

/** What is stored of a send. */
export interface MessageRows {
  rows: RowsOf[];
  /** Whether some of what is owed is left to whoever looks for it. */
  isDue: boolean;
}

/** The messages, their payloads, a delivery for each endpoint they are owed to, and what the audit log says of them. */
export function rowsOfMessages(
  messages: readonly RoutedMessage[],
  leases: Leases,
  leasing: SendLease | undefined,
): MessageRows {
  const deliveries = messages.flatMap((message) =>
    message.endpointIds.map((endpointId) => ({
      message,
      endpointId,
      own: leases.of(message.id, endpointId),
    })),
  );
  const rows: RowsOf[] = [
    {
      into: MESSAGES,
      count: messages.length,
      rows: () =>
        messages.map((message) => [
          message.id,
          message.tenantId,
          message.type,
          toJson(message.channels),
          isRouted(message) ? 'pending' : 'unrouted',
          message.idempotencyKey,
          message.createdAt,
          message.expiresAt,
          isRouted(message) ? null : message.createdAt,
          message.traceContext,
        ]),
    },
    {
      into: PAYLOADS,
      count: messages.length,
      rows: () => messages.map((message) => [message.id, message.payload]),
    },
    {
      into: DELIVERIES,
      count: deliveries.length,
      rows: () =>
        deliveries.map(({ message, endpointId, own }) => [
          message.id,
          endpointId,
          message.createdAt,
          message.expiresAt,
          own ? own.fence : 0,
          own && leasing ? leasing.owner : null,
          own && leasing ? leasing.now + leaseMsOf(own.target, leasing.leaseMs) : null,
        ]),
    },
    auditOf(messages),
  ];
  return { rows, isDue: deliveries.some(({ own }) => !own) };
}

function isRouted(message: RoutedMessage): boolean {
  return message.endpointIds.length > 0;
}

/** What is answered of a message that was stored. */
export function storedMessage(message: RoutedMessage, leases: Leases): InsertedMessage {
  return {
    outcome: 'stored',
    message: messageOf(message),
    owed: message.endpointIds.length,
    leased: message.endpointIds.flatMap((endpointId): LeasedDelivery[] => {
      const own = leases.of(message.id, endpointId);
      return own ? [own] : [];
    }),
  };
}
