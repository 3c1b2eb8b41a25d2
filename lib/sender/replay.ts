import { setImmediate } from 'node:timers/promises';
import type { Endpoint } from '../model/endpoint.js';
import { type Issue, validationError } from '../model/errors.js';
import { matchesFilter } from '../model/filter.js';
import { createId } from '../model/ids.js';
import { isPlainObject, parseInput } from '../model/input.js';
import type { Payload } from '../model/message.js';
import { reconcileInput, type ReplayResult, replayInput } from '../model/replay.js';
import type { SenderScope } from '../model/scope.js';
import { parseTime } from '../model/time.js';
import { matchesChannels, matchesTypes, TYPE_PATTERN } from '../model/types.js';
import type { NewAuditEntry, RangeRow, Store, TenantScope } from '../store/store.js';
import type { Auditor } from './audit.js';
import type { SenderCore } from './core.js';
import { decodeCursor, encodeCursor, type Listing, pageLimit } from './cursor.js';
import { assertActive, endpointNotFound, messageNotFound } from './scope-rules.js';

const WHAT = 'The replay';
const RECONCILE = 'The reconcile request';
const unknownField = () => 'is not a field of this request';

export function replayOperations(
  core: SenderCore,
  tenant: TenantScope,
  audit: Auditor | undefined,
): Pick<SenderScope, 'replay' | 'reconcile'> {
  const { now } = core.options;

  async function requeue(
    store: Store,
    endpointId: string,
    messageIds: string[],
    freshId = false,
    entry?: NewAuditEntry,
  ): Promise<number> {
    if (messageIds.length === 0) return 0;
    const at = now();
    const requeued = await store.outbox.requeue({
      endpointId,
      messageIds,
      webhookIds: freshId ? messageIds.map(() => createId('msg', at)) : null,
      expiresAt: at + core.options.messageTtlSeconds * 1000,
      now: at,
      audit: entry,
    });
    core.wake();
    return requeued.length;
  }

  async function replayMessage(request: Record<string, unknown>): Promise<ReplayResult> {
    const input = parseInput(replayInput.message, request, 'REPLAY_VALIDATION', WHAT, unknownField);
    const { messageId, endpointId } = input;
    const listing: Listing = { name: 'replay message', filters: { messageId, endpointId } };
    const limit = pageLimit(input.limit);
    const after = decodeCursor(listing, input.cursor);
    const store = await core.ready();
    const owner = await store.messages.owner(tenant, messageId);
    if (!owner) messageNotFound(messageId);
    if (owner.expunged) {
      throw validationError('REPLAY_VALIDATION', WHAT, [
        { path: 'messageId', message: 'names a message whose payload was expunged: nothing is left to send' },
      ]);
    }
    let endpoints: Endpoint[];
    if (endpointId !== undefined) {
      const endpoint = (await store.endpoints.get(tenant, endpointId)) ?? endpointNotFound(endpointId);
      if (endpoint.tenantId !== owner.tenantId) {
        throw validationError('REPLAY_VALIDATION', WHAT, [
          { path: 'endpointId', message: 'belongs to another tenant than the message' },
        ]);
      }
      assertActive(endpoint);
      endpoints = [endpoint];
    } else {
      const owed = await endpointsOwed(store, tenant, messageId);
      endpoints = owed.filter((endpoint) => endpoint.status === 'active');
      // Those that are paused are passed over, unless nothing else is left to replay to.
      if (endpoints.length === 0 && owed[0]) assertActive(owed[0]);
    }
    const rest = endpoints.filter(({ id }) => after === null || id > after.id);
    const page = rest.slice(0, limit);
    let replayed = 0;
    for (const endpoint of page) {
      if (input.dryRun) {
        replayed += await countReplayable(store, messageId, endpoint);
      } else {
        // One record for the page, by the first transaction that changes something.
        const entry = replayed === 0 ? audit?.('replay', messageId) : undefined;
        replayed += await requeue(store, endpoint.id, [messageId], input.freshId, entry);
      }
    }
    const next = rest.length > limit ? { ms: 0, id: page.at(-1)!.id } : null;
    return { replayed, nextCursor: encodeCursor(listing, next) };
  }

  async function countReplayable(store: Store, messageId: string, endpoint: Endpoint): Promise<number> {
    const inFlight = await store.outbox.inFlight(messageId, endpoint.id, now());
    return inFlight ? 0 : 1;
  }

  async function replayRange(request: Record<string, unknown>): Promise<ReplayResult> {
    const input = parseInput(replayInput.range, request, 'REPLAY_VALIDATION', WHAT, unknownField);
    const typeIssues = (input.types ?? []).flatMap((pattern, index) =>
      TYPE_PATTERN.test(pattern)
        ? []
        : [{ path: `types.${index}`, message: 'must be a message type, "*", or a type followed by ".*"' }],
    );
    if (typeIssues.length > 0) throw validationError('REPLAY_VALIDATION', WHAT, typeIssues);
    const { endpointId, since, until, types, status } = input;
    const listing: Listing = { name: 'replay', filters: { endpointId, since, until, types, status } };
    const walk = readWalk(WHAT, listing, input, now());
    const store = await core.ready();
    const endpoint = (await store.endpoints.get(tenant, endpointId)) ?? endpointNotFound(endpointId);
    assertActive(endpoint);
    const wanted = (row: RangeRow) =>
      (input.types === undefined || matchesTypes(input.types, row.type)) &&
      (status === undefined || row.delivery?.status === status) &&
      !row.delivery?.inFlight;
    const { rows, next } = await scan(store, endpoint, { ...walk, now: now(), wanted });
    const ids = rows.map((row) => row.id);
    const replayed = input.dryRun
      ? ids.length
      : await requeue(store, endpoint.id, ids, input.freshId, audit?.('replay', endpoint.id));
    return { replayed, nextCursor: encodeCursor(listing, next && { ...next, until: walk.until }) };
  }

  return {
    async replay(request) {
      const input: unknown = request;
      if (!isPlainObject(input)) {
        throw validationError('REPLAY_VALIDATION', WHAT, [{ path: '', message: 'must be an object' }]);
      }
      if (input.messageId === undefined && input.endpointId === undefined) {
        throw validationError('REPLAY_VALIDATION', WHAT, [
          { path: '', message: 'must name a messageId, or an endpointId and since' },
        ]);
      }
      return input.messageId === undefined ? replayRange(input) : replayMessage(input);
    },

    async reconcile(request) {
      const input = parseInput(reconcileInput, request, 'REPLAY_VALIDATION', RECONCILE, unknownField);
      const { endpointId, since, until } = input;
      const listing: Listing = { name: 'reconcile', filters: { endpointId, since, until } };
      const walk = readWalk(RECONCILE, listing, input, now());
      const store = await core.ready();
      const endpoint = (await store.endpoints.get(tenant, endpointId)) ?? endpointNotFound(endpointId);
      const wanted = (row: RangeRow) => !row.delivery?.everDelivered;
      const { rows, next } = await scan(store, endpoint, { ...walk, now: now(), wanted });
      const nextCursor = encodeCursor(listing, next && { ...next, until: walk.until });
      return { messageIds: rows.map((row) => row.id), nextCursor };
    },
  };
}

/** How many messages a page looks at for each one it may answer, so that a page that finds few stays quick. */
const SCAN_FACTOR = 10;
const SCAN_BATCH = 500;
/** Payloads may be large: those that a structural filter is asked about are read a few at a time. */
const PAYLOAD_BATCH = 50;

interface Scan {
  since: number;
  until: number;
  after: { ms: number; id: string } | null;
  limit: number;
  now: number;
  wanted(row: RangeRow): boolean;
}

/** Walks the range from where the page before ended, and keeps what the endpoint's current filters match. */
async function scan(
  store: Store,
  endpoint: Endpoint,
  request: Scan,
): Promise<{ rows: RangeRow[]; next: Scan['after'] }> {
  const kept: RangeRow[] = [];
  let { after } = request;
  const withPayload = endpoint.filter !== null;
  const size = withPayload ? PAYLOAD_BATCH : SCAN_BATCH;
  let budget = Math.max(request.limit * SCAN_FACTOR, SCAN_BATCH);
  while (budget > 0) {
    const rows = await store.messages.range({
      tenantId: endpoint.tenantId,
      endpointId: endpoint.id,
      since: request.since,
      until: request.until,
      after,
      limit: size,
      withPayload,
      now: request.now,
    });
    for (const [index, row] of rows.entries()) {
      after = row.position;
      budget -= 1;
      if (request.wanted(row) && matchesEndpoint(endpoint, row)) kept.push(row);
      if (kept.length === request.limit || budget === 0) {
        const end = index === rows.length - 1 && rows.length < size;
        return { rows: kept, next: end ? null : after };
      }
    }
    if (rows.length < size) return { rows: kept, next: null };
    // Between batches everybody else has a turn.
    await setImmediate();
  }
  return { rows: kept, next: after };
}

function matchesEndpoint(endpoint: Endpoint, row: RangeRow): boolean {
  if (!matchesTypes(endpoint.types, row.type) || !matchesChannels(endpoint.channels, row.channels))
    return false;
  return row.payload === null || matchesFilter(endpoint.filter, (JSON.parse(row.payload) as Payload).data);
}

/** In the order of their ids, by which a replay is paged. */
async function endpointsOwed(store: Store, tenant: TenantScope, messageId: string): Promise<Endpoint[]> {
  const message = await store.messages.get(tenant, messageId);
  const endpoints: Endpoint[] = [];
  for (const delivery of message?.deliveries ?? []) {
    const endpoint = await store.endpoints.get(tenant, delivery.endpointId);
    if (endpoint) endpoints.push(endpoint);
  }
  return endpoints;
}

interface WalkInput {
  since: string;
  until?: string | undefined;
  limit?: unknown;
  cursor?: unknown;
}

/** The range of a walk, and where in it this page begins. */
function readWalk(
  what: string,
  listing: Listing,
  input: WalkInput,
  now: number,
): Pick<Scan, 'since' | 'until' | 'after' | 'limit'> {
  const issues: Issue[] = [];
  const read = (path: 'since' | 'until', text: string): number => {
    const time = parseTime(text);
    if ('ms' in time) return time.ms;
    issues.push({ path, message: time.problem });
    return 0;
  };
  const since = read('since', input.since);
  const end = input.until === undefined ? undefined : read('until', input.until);
  if (issues.length === 0 && end !== undefined && since > end)
    issues.push({ path: 'since', message: 'is after until' });
  if (issues.length > 0) throw validationError('REPLAY_VALIDATION', what, issues);
  const limit = pageLimit(input.limit);
  const after = decodeCursor(listing, input.cursor);
  // Without an end the walk covers what had been sent when it began, so that it ends though sends go on.
  return { since, until: end ?? after?.until ?? now + 1, after, limit };
}
