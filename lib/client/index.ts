import type {
  AdminClient,
  AuditClient,
  EndpointsClient,
  MessagesClient,
  TenantsClient,
} from './admin-client.js';
import { countUp, walkPages, walkRows } from './pages.js';
import { type AdminClientOptions, createTransport } from './transport.js';

export type { AuditActor, AuditEntry, AuditedOperation } from '../model/audit.js';
export type { CallerRecord } from '../model/caller.js';
export type {
  Endpoint,
  EndpointCreate,
  EndpointSecrets,
  EndpointStatus,
  EndpointUpdate,
  PausedReason,
  RetrySchedule,
  SecretRotation,
} from '../model/endpoint.js';
export type { AdminErrorCode, Issue } from '../model/errors.js';
export type { Filter, FilterClause } from '../model/filter.js';
export type { Health, HealthReason } from '../model/health.js';
export type {
  Attempt,
  AttemptStatus,
  AttemptTrigger,
  Delivery,
  DeliveryStatus,
  ErrorKind,
  Message,
  MessageDetail,
  MessageInput,
  MessageStatus,
  Payload,
  SentMessage,
  TestInput,
} from '../model/message.js';
export type { PageRequest } from '../model/page.js';
export type { RateLimit } from '../model/rate-limit.js';
export type {
  MessageReplay,
  RangeReplay,
  ReconcileRequest,
  ReconcileResult,
  ReplayResult,
} from '../model/replay.js';
export type {
  AttemptListRequest,
  AuditListRequest,
  EndpointAttemptListRequest,
  EndpointListRequest,
  EndpointWithSecret,
  MessageListRequest,
} from '../model/scope.js';
export type {
  AttemptStats,
  AttemptStatsRequest,
  EndpointStats,
  OutboxStatsBucket,
  StatsBucket,
  StatsInterval,
  StatsRequest,
} from '../model/stats.js';
export type { Tenant } from '../model/tenant.js';
export type {
  AdminClient,
  AuditClient,
  EndpointsClient,
  MessagesClient,
  Progress,
  Remote,
  Rows,
  TenantsClient,
} from './admin-client.js';
export { AdminClientError, type AdminClientErrorCode, isAdminClientError } from './client-error.js';
export type { FetchResponse } from './answer.js';
export type { AdminClientOptions, CallOptions, ClientHeaders, Fetch, FetchInit } from './transport.js';

/**
 * A client of the control plane, for browsers and Node.js. It asks nothing until one of its methods is called.
 *
 * ```ts
 * const admin = createAdminClient({
 *   baseUrl: 'https://app.example.com/admin',
 *   headers: async () => ({ authorization: `Bearer ${await token()}` }),
 * });
 * for await (const message of admin.messages.listAll({ statuses: ['failed'] })) { … }
 * ```
 *
 * @throws AdminClientError `INVALID_ARGUMENT`
 */
export function createAdminClient(options: AdminClientOptions): AdminClient {
  const call = createTransport(options);

  const endpoints: EndpointsClient = {
    // Whatever is asked for: a filter that is not known here is refused by the control plane, not dropped.
    list: (request = {}, options) =>
      call({ method: 'GET', path: ['endpoints'], query: { ...request } }, options),
    listAll: (request = {}, options) =>
      walkRows(
        walkPages(request, (page) => endpoints.list(page, options), 'endpoints'),
        (page) => page.endpoints,
      ),
    create: (input, options) => call({ method: 'POST', path: ['endpoints'], body: input }, options),
    get: (id, options) => call({ method: 'GET', path: ['endpoints', id] }, options),
    update: (id, input, options) => call({ method: 'PATCH', path: ['endpoints', id], body: input }, options),
    delete: (id, options) =>
      call({ method: 'DELETE', path: ['endpoints', id], expected: 'nothing' }, options),
    disable: (id, options) => call({ method: 'POST', path: ['endpoints', id, 'disable'] }, options),
    enable: (id, options) => call({ method: 'POST', path: ['endpoints', id, 'enable'] }, options),
    rotateSecret: (id, input, options) =>
      call({ method: 'POST', path: ['endpoints', id, 'rotate-secret'], body: input }, options),
    secret: (id, options) => call({ method: 'GET', path: ['endpoints', id, 'secret'] }, options),
    test: (id, input, options) =>
      call({ method: 'POST', path: ['endpoints', id, 'test'], body: input }, options),
    attempts: (id, request = {}, options) =>
      call({ method: 'GET', path: ['endpoints', id, 'attempts'], query: { ...request } }, options),
    attemptsAll: (id, request = {}, options) =>
      walkRows(
        walkPages(request, (page) => endpoints.attempts(id, page, options), 'attempts'),
        (page) => page.attempts,
      ),
    stats: (id, request = {}, options) =>
      call({ method: 'GET', path: ['endpoints', id, 'stats'], query: { ...request } }, options),
  };

  const messages: MessagesClient = {
    list: ({ types, statuses, ...request } = {}, options) =>
      call(
        { method: 'GET', path: ['messages'], query: { type: types, status: statuses, ...request } },
        options,
      ),
    listAll: (request = {}, options) =>
      walkRows(
        walkPages(request, (page) => messages.list(page, options), 'messages'),
        (page) => page.messages,
      ),
    get: (id, options) => call({ method: 'GET', path: ['messages', id] }, options),
    attempts: (id, request = {}, options) =>
      call({ method: 'GET', path: ['messages', id, 'attempts'], query: { ...request } }, options),
    attemptsAll: (id, request = {}, options) =>
      walkRows(
        walkPages(request, (page) => messages.attempts(id, page, options), 'attempts'),
        (page) => page.attempts,
      ),
    expungePayload: (id, options) =>
      call({ method: 'DELETE', path: ['messages', id, 'payload'], expected: 'nothing' }, options),
  };

  const tenants: TenantsClient = {
    list: (request = {}, options) =>
      call({ method: 'GET', path: ['tenants'], query: { ...request } }, options),
    listAll: (request = {}, options) =>
      walkRows(
        walkPages(request, (page) => tenants.list(page, options), 'tenants'),
        (page) => page.tenants,
      ),
    get: (id, options) => call({ method: 'GET', path: ['tenants', id] }, options),
    setRateLimit: (id, input, options) =>
      call({ method: 'POST', path: ['tenants', id, 'rate-limit'], body: input }, options),
    delete: (id, options) => call({ method: 'DELETE', path: ['tenants', id], expected: 'nothing' }, options),
  };

  const audit: AuditClient = {
    list: (request = {}, options) => call({ method: 'GET', path: ['audit'], query: { ...request } }, options),
    listAll: (request = {}, options) =>
      walkRows(
        walkPages(request, (page) => audit.list(page, options), 'entries'),
        (page) => page.entries,
      ),
  };

  const client: AdminClient = {
    endpoints,
    messages,
    tenants,
    audit,
    keys: {
      generateSymmetric: (options) => call({ method: 'POST', path: ['keys', 'symmetric'] }, options),
      generateAsymmetric: (options) => call({ method: 'POST', path: ['keys', 'asymmetric'] }, options),
    },
    openapi: { get: (options) => call({ method: 'GET', path: ['openapi.json'] }, options) },
    // The key goes with the body: a header would have to be Latin-1.
    send: (message, options) =>
      call(
        {
          method: 'POST',
          path: ['messages'],
          body: message,
          repeatable: typeof message?.idempotencyKey === 'string',
        },
        options,
      ),
    replay: (request, options) => call({ method: 'POST', path: ['replay'], body: request }, options),
    replayAll: (request, options) =>
      countUp(
        walkPages(request, (page) => client.replay(page, options), 'replayed', Number.isInteger),
        (page) => page.replayed,
      ),
    // A read, for all that its question is sent as a body.
    reconcile: (request, options) =>
      call({ method: 'POST', path: ['reconcile'], body: request, repeatable: true }, options),
    reconcileAll: (request, options) =>
      countUp(
        walkPages(request, (page) => client.reconcile(page, options), 'messageIds'),
        (page) => page.messageIds.length,
      ),
    stats: (request = {}, options) =>
      call({ method: 'GET', path: ['stats'], query: { ...request } }, options),
    caller: (options) => call({ method: 'GET', path: ['caller'] }, options),
    health: (options) => call({ method: 'GET', path: ['health'], expected: 'health' }, options),
  };
  return client;
}
