import { HookplaneError, validationError } from '../model/errors.js';
import { createId } from '../model/ids.js';
import { parseInput } from '../model/input.js';
import { type MessageInput, messageInput, type Payload, type SentMessage } from '../model/message.js';
import type { MessageOperations, SenderScope } from '../model/scope.js';
import { isoTime, parseTime } from '../model/time.js';
import type { TenantScope } from '../store/store.js';
import type { SenderCore } from './core.js';
import { decodeCursor, encodeCursor, type Listing, pageLimit } from './cursor.js';
import { messageNotFound, narrowTenant } from './scope-rules.js';
import type { Outgoing } from './send-queue.js';

export function sendOperations(
  core: SenderCore,
  tenant: TenantScope,
): Pick<SenderScope, 'send' | 'sendMany'> {
  return {
    send: async (message): Promise<SentMessage> => core.queue.send(prepare(core, tenant, message)),
    async sendMany(messages) {
      if (!Array.isArray(messages)) {
        throw validationError('MESSAGE_VALIDATION', 'The batch', [
          { path: '', message: 'must be an array of messages' },
        ]);
      }
      return core.queue.sendAll(messages.map((message) => prepare(core, tenant, message)));
    },
  };
}

export function messageOperations(core: SenderCore, tenant: TenantScope): MessageOperations {
  return {
    async list(request = {}) {
      const { types, statuses, since, until, endpointId, tenantId } = request;
      const listing: Listing = {
        name: 'messages',
        filters: { types, statuses, since, until, endpointId, tenantId },
      };
      const query = {
        tenant: narrowTenant(tenant, tenantId),
        after: decodeCursor(listing, request.cursor),
        limit: pageLimit(request.limit),
        types,
        statuses,
        ...timeRange(since, until),
        endpointId,
      };
      const page = await (await core.ready()).messages.list(query);
      return { messages: page.rows, nextCursor: encodeCursor(listing, page.next) };
    },

    async get(id) {
      const found = await (await core.ready()).messages.get(tenant, id);
      if (!found) messageNotFound(id);
      return {
        ...found.message,
        payload: JSON.parse(found.payload) as Payload,
        deliveries: found.deliveries,
      };
    },

    async attempts(id, request = {}) {
      const listing: Listing = { name: 'attempts', filters: { id, status: request.status } };
      const page = await (await core.ready()).messages.attempts({
        tenant,
        messageId: id,
        status: request.status,
        after: decodeCursor(listing, request.cursor),
        limit: pageLimit(request.limit),
      });
      if (!page) messageNotFound(id);
      return { attempts: page.rows, nextCursor: encodeCursor(listing, page.next) };
    },
  };
}

function timeRange(since: string | undefined, until: string | undefined) {
  const range = { since: queryTime('since', since), until: queryTime('until', until) };
  if (range.since !== undefined && range.until !== undefined && range.since > range.until) {
    throw new HookplaneError('INVALID_QUERY', 'since is after until');
  }
  return range;
}

function queryTime(name: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const time = parseTime(text);
  if ('problem' in time) throw new HookplaneError('INVALID_QUERY', `${name} ${time.problem}`);
  return time.ms;
}

/** @throws HookplaneError `MESSAGE_VALIDATION` */
function prepare(core: SenderCore, tenant: TenantScope, input: MessageInput): Outgoing {
  const message = parseInput(
    messageInput,
    input,
    'MESSAGE_VALIDATION',
    'The message',
    () => 'is not a field of a message',
  );
  if (tenant !== undefined && message.tenantId !== undefined && message.tenantId !== tenant) {
    throw validationError('MESSAGE_VALIDATION', 'The message', [
      { path: 'tenantId', message: 'is not the tenant of the caller: leave it out' },
    ]);
  }
  const createdAt = core.options.now();
  const data = serialize(message.data);
  return {
    id: createId('msg', createdAt),
    tenantId: tenant ?? message.tenantId ?? null,
    type: message.type,
    channels: message.channels ?? null,
    idempotencyKey: message.idempotencyKey ?? null,
    data,
    // The serialized data is spliced in, so that a large one is serialized once.
    payload: `{"type":${JSON.stringify(message.type)},"timestamp":"${isoTime(createdAt)}","data":${data}}`,
    createdAt,
    expiresAt: expiry(message.expiresAt ?? undefined, createdAt, core.options.messageTtlSeconds),
  };
}

function serialize(data: unknown): string {
  let text: string | undefined;
  let problem = 'is required and must be a JSON value';
  try {
    text = JSON.stringify(data);
  } catch (error) {
    problem = `cannot be written as JSON: ${error instanceof Error ? error.message.split('\n')[0] : String(error)}`;
  }
  if (text === undefined)
    throw validationError('MESSAGE_VALIDATION', 'The message', [{ path: 'data', message: problem }]);
  return text;
}

function expiry(expiresAt: string | undefined, now: number, ttlSeconds: number): number {
  if (expiresAt === undefined) return now + ttlSeconds * 1000;
  const time = parseTime(expiresAt);
  const problem = 'problem' in time ? time.problem : time.ms <= now ? 'has passed already' : null;
  if (problem !== null || 'problem' in time) {
    throw validationError('MESSAGE_VALIDATION', 'The message', [
      { path: 'expiresAt', message: problem ?? '' },
    ]);
  }
  return time.ms;
}
