import { HookplaneError, validationError } from '../model/errors.js';
import { createId } from '../model/ids.js';
import { parseInput } from '../model/input.js';
import { type MessageInput, messageInput, type Payload, type SentMessage } from '../model/message.js';
import type { MessageOperations, SenderScope } from '../model/scope.js';
import { isoTime, parseTime } from '../model/time.js';
import type { TenantScope } from '../store/store.js';
import { type Auditor, fieldNames } from './audit.js';
import type { SenderCore } from './core.js';
import { decodeCursor, encodeCursor, type Listing, pageLimit } from './cursor.js';
import { messageNotFound, namedOf, narrowTenant, timeRange } from './scope-rules.js';
import type { Outgoing } from './routing.js';
import { traceSend, traceSendSync } from './tracing.js';

export function sendOperations(
  core: SenderCore,
  tenant: TenantScope,
  audit: Auditor | undefined,
): Pick<SenderScope, 'send' | 'sendMany' | 'sendSync'> {
  const idOf = ({ id }: SentMessage) => id;
  return {
    send: (message, options) =>
      traceSend(
        core.tracing,
        { messages: [message], tenantId: tenant },
        async (traceContext) => {
          const prepared = prepare(core, tenant, message, traceContext, audit);
          if (options === undefined) return core.queue.send(prepared);
          const [sent] = await core.queue.sendAll([prepared], transactionOf(options));
          return sent!;
        },
        idOf,
      ),
    sendSync: (message, options) =>
      traceSendSync(
        core.tracing,
        { messages: [message], tenantId: tenant },
        (traceContext) =>
          core.queue.sendSync(prepare(core, tenant, message, traceContext, audit), transactionOf(options)),
        idOf,
      ),
    async sendMany(messages, options) {
      if (!Array.isArray(messages)) {
        throw validationError('MESSAGE_VALIDATION', 'The batch', [
          { path: '', message: 'must be an array of messages' },
        ]);
      }
      return traceSend(core.tracing, { messages, tenantId: tenant }, async (traceContext) =>
        core.queue.sendAll(
          messages.map((message) => prepare(core, tenant, message, traceContext, audit)),
          options === undefined ? undefined : transactionOf(options),
        ),
      );
    },
  };
}

/**
 * The transaction that a send is told to be part of. One that is missing by mistake must not lead to a send outside of it.
 * @throws HookplaneError `INVALID_OPTIONS`
 */
function transactionOf(options: { transaction: object }): object {
  const transaction: unknown = options?.transaction;
  // That of Knex is a function.
  if ((typeof transaction === 'object' || typeof transaction === 'function') && transaction !== null)
    return transaction;
  throw new HookplaneError(
    'INVALID_OPTIONS',
    'The transaction is missing: leave the options out for a send that is part of none',
  );
}

export function messageOperations(
  core: SenderCore,
  tenant: TenantScope,
  audit: Auditor | undefined,
): MessageOperations {
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
        types: namedOf('types', types),
        statuses: namedOf('statuses', statuses),
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
        payload: found.payload === null ? null : (JSON.parse(found.payload) as Payload),
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

    async expungePayload(id) {
      const store = await core.ready();
      const expunged = audit?.('messages.expungePayload', id, ['payload']);
      const found = await store.messages.expunge(tenant, id, core.options.now(), expunged);
      core.recall();
      if (!found) messageNotFound(id);
    },
  };
}

/** @throws HookplaneError `MESSAGE_VALIDATION` */
function prepare(
  core: SenderCore,
  tenant: TenantScope,
  input: MessageInput,
  traceContext: string | null,
  audit: Auditor | undefined,
): Outgoing {
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
  const id = createId('msg', createdAt);
  return {
    id,
    tenantId: tenant ?? message.tenantId ?? null,
    type: message.type,
    channels: message.channels ?? null,
    idempotencyKey: message.idempotencyKey ?? null,
    data,
    payload: eventText(message.type, createdAt, data),
    traceContext,
    createdAt,
    expiresAt: expiry(message.expiresAt ?? undefined, createdAt, core.options.messageTtlSeconds),
    audit: audit?.('send', id, fieldNames(message)),
  };
}

/** The event as it is signed and sent. The serialized data is spliced in, so that a large one is serialized once. */
export function eventText(type: string, createdAt: number, data: string): string {
  return `{"type":${JSON.stringify(type)},"timestamp":"${isoTime(createdAt)}","data":${data}}`;
}

/** @throws HookplaneError `MESSAGE_VALIDATION` */
export function serialize(data: unknown): string {
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
