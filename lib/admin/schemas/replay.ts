import { z } from 'zod';
import {
  type MessageReplay,
  type RangeReplay,
  reconcileInput,
  type ReconcileResult,
  replayInput,
  type ReplayResult,
} from '../../model/replay.js';
import { component, EXAMPLE, nextCursor, schemaOf } from './component.js';

const page = {
  limit: 'How many to do in this call. Default 100; above 1000 it means 1000.',
  cursor: 'The `nextCursor` of the call before, with the same fields.',
};
const range = {
  since: 'Messages sent from then on: an RFC 3339 time with an offset, or a date, which means midnight UTC.',
  until: 'Messages sent before then. Default: what had been sent when the first page was asked for.',
};
const replayed = {
  dryRun: 'Count what would be due again, and change nothing.',
  freshId:
    'Send under a new `webhook-id`, so that a receiver that leaves out duplicates takes it for new. Default: the same id.',
};

component(replayInput.message, {
  id: 'MessageReplay',
  description: 'Sends one message again.',
  fields: {
    messageId: 'The message.',
    endpointId:
      'Only to this endpoint. Default: to every endpoint it was owed to; those that are paused are passed over, unless there are no others.',
    ...replayed,
    ...page,
  },
  examples: [
    {
      messageId: EXAMPLE.messageId,
      endpointId: EXAMPLE.endpointId,
    } satisfies MessageReplay,
  ],
});
component(replayInput.range, {
  id: 'RangeReplay',
  description:
    'Sends again to one endpoint every message of a range that its current `types`, `channels` and `filter` match, also those it was never owed.',
  fields: {
    endpointId: 'The endpoint.',
    ...range,
    types: 'Only messages of these types: patterns such as `invoice.paid` and `order.*`.',
    status: 'Only messages whose delivery to the endpoint is in this state.',
    ...replayed,
    ...page,
  },
  examples: [
    {
      endpointId: EXAMPLE.endpointId,
      since: '2026-01-01',
      status: 'failed',
      dryRun: true,
    } satisfies RangeReplay,
  ],
});

/** Which of the two is meant is told by `messageId`. */
export const replayRequest = component(z.union([replayInput.message, replayInput.range]), {
  id: 'ReplayRequest',
  description: 'A message, by `messageId`; or a range, by `endpointId` and `since`.',
});

export const replayResult = component(
  schemaOf<ReplayResult>()(
    z.object({ replayed: z.int().describe('How many deliveries this call made due again.'), nextCursor }),
  ),
  { id: 'ReplayResult', description: 'What one call did.', examples: [{ replayed: 12, nextCursor: null }] },
);

component(reconcileInput, {
  id: 'ReconcileRequest',
  description: 'A range of messages, and the endpoint that should have them.',
  fields: { endpointId: 'The endpoint.', ...range, ...page },
  examples: [{ endpointId: EXAMPLE.endpointId, since: '2026-01-01T00:00:00Z' }],
});

export const reconcileResult = component(
  schemaOf<ReconcileResult>()(
    z.object({
      messageIds: z.array(z.string()).describe('Oldest first. A page may be empty and not the last one.'),
      nextCursor,
    }),
  ),
  {
    id: 'ReconcileResult',
    description: 'The messages of the range that match the endpoint and were never delivered to it.',
    examples: [{ messageIds: [EXAMPLE.messageId], nextCursor: null }],
  },
);
