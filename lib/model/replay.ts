import { z } from 'zod';
import { DEFAULT_LIMIT } from './page.js';

// Read where pages are, whose errors are of another code; `meta` is what JSON Schema is told.
const page = {
  limit: z.unknown().meta({ type: 'integer', minimum: 1, default: DEFAULT_LIMIT }).optional(),
  cursor: z.unknown().meta({ type: 'string' }).optional(),
};
const id = z.string().min(1).max(128);

const messageReplay = z.strictObject({
  messageId: id,
  endpointId: id.optional(),
  dryRun: z.boolean().optional(),
  freshId: z.boolean().optional(),
  ...page,
});

const rangeReplay = z.strictObject({
  endpointId: id,
  since: z.string(),
  until: z.string().optional(),
  types: z.array(z.string()).min(1).optional(),
  status: z.enum(['pending', 'delivered', 'failed', 'canceled']).optional(),
  dryRun: z.boolean().optional(),
  freshId: z.boolean().optional(),
  ...page,
});

/** Which of the two is meant is told by `messageId`. */
export const replayInput = { message: messageReplay, range: rangeReplay };

export const reconcileInput = z.strictObject({
  endpointId: id,
  since: z.string(),
  until: z.string().optional(),
  ...page,
});

interface PageFields {
  limit?: number | undefined;
  cursor?: string | undefined;
}

interface ReplayFields extends PageFields {
  /** Count what would be re-queued and change nothing. */
  dryRun?: boolean | undefined;
  /** Send under a new webhook id, so that a receiver that deduplicates takes it as new. Default: the same id. */
  freshId?: boolean | undefined;
}

/** Replays one message, to one endpoint or to every endpoint it was owed to. */
export interface MessageReplay extends ReplayFields {
  messageId: string;
  endpointId?: string | undefined;
}

/** Replays to one endpoint every message of a range (`since` inclusive, `until` exclusive) that matches it now. */
export interface RangeReplay extends ReplayFields {
  endpointId: string;
  since: string;
  until?: string | undefined;
  /** Patterns that narrow the range further. */
  types?: string[] | undefined;
  /** Only deliveries in this state; messages that the endpoint was never owed are left out then. */
  status?: 'pending' | 'delivered' | 'failed' | 'canceled' | undefined;
}

export interface ReplayResult {
  /** How many deliveries this page made due again. */
  replayed: number;
  nextCursor: string | null;
}

export interface ReconcileRequest extends PageFields {
  endpointId: string;
  since: string;
  until?: string | undefined;
}

export interface ReconcileResult {
  messageIds: string[];
  nextCursor: string | null;
}
