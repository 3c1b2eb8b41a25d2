import { createHash } from 'node:crypto';
import type { Endpoint } from '../model/endpoint.js';
import { idempotencyConflict, tenantDeleted } from '../model/errors.js';
import { matchesFilter } from '../model/filter.js';
import type { Message, SentMessage } from '../model/message.js';
import { matchesChannels, matchesTypes } from '../model/types.js';
import { isoTime } from '../model/time.js';
import type { InsertedMessage, NewMessage, Store } from '../store/store.js';
import { within } from '../model/deadline.js';
import type { ResolvedOptions } from './options.js';
import { countFailedSend, type Tally } from './tally.js';

/** The most sends that share a transaction. */
const MAX_BATCH = 256;

/** A message that is ready to be stored, but for whom it is owed to. */
export interface Outgoing extends Omit<NewMessage, 'endpointIds' | 'fingerprint'> {
  /** The serialized `data`, which the filters are asked about. */
  data: string;
}

export interface SendQueue {
  /** Stores a message together with others that are sent at the same time: they share one commit. */
  send(message: Outgoing): Promise<SentMessage>;
  /** Stores several messages, all or none. */
  sendAll(messages: readonly Outgoing[]): Promise<SentMessage[]>;
}

interface Waiting {
  message: Outgoing;
  /** Known once its hooks have been asked; until then it is matched when its batch is made. */
  endpointIds?: string[];
  resolve(message: SentMessage): void;
  reject(error: unknown): void;
}

export function createSendQueue(
  options: ResolvedOptions,
  tally: Tally,
  ready: () => Promise<Store>,
  wake: () => void,
): SendQueue {
  let waiting: Waiting[] = [];
  let flushing = false;

  function add(each: Waiting): void {
    waiting.push(each);
    schedule();
  }

  /** After the turn of the loop in which they arrive, so that sends of the same turn meet, and others have theirs. */
  function schedule(): void {
    if (flushing || waiting.length === 0) return;
    flushing = true;
    setImmediate(async () => {
      const batch = waiting.slice(0, MAX_BATCH);
      waiting = waiting.slice(MAX_BATCH);
      try {
        await flush(batch);
      } catch (error) {
        countFailedSend(tally, error);
        for (const each of batch) each.reject(error);
      }
      flushing = false;
      schedule();
    });
  }

  async function flush(batch: readonly Waiting[]): Promise<void> {
    const store = await ready();
    const matched = matcher(store);
    const routed: { each: Waiting; message: NewMessage }[] = [];
    for (const each of batch) {
      const endpointIds = each.endpointIds ?? route(each, await matched(each.message));
      if (endpointIds) routed.push({ each, message: toStore(each.message, endpointIds) });
    }
    if (routed.length === 0) return;
    const inserted = await insert(
      store,
      routed.map(({ message }) => message),
      false,
    );
    for (const [index, { each }] of routed.entries()) {
      const result = inserted[index]!;
      if (result.outcome === 'conflict') each.reject(idempotencyConflict(each.message.idempotencyKey));
      else if (result.outcome === 'refused') each.reject(tenantDeleted());
      else each.resolve(sent(result));
    }
  }

  async function insert(
    store: Store,
    messages: readonly NewMessage[],
    allOrNone: boolean,
  ): Promise<InsertedMessage[]> {
    const inserted = await store.messages.insert(messages, allOrNone);
    wake();
    for (const { outcome } of inserted) if (outcome === 'stored') tally.messagesSent += 1;
    return inserted;
  }

  /** A message with hooks to ask leaves its batch and comes back: whoever answers late delays no other send. */
  function route(each: Waiting, endpoints: readonly Endpoint[]): string[] | undefined {
    const answers = askHooks(options, each.message, endpoints);
    if (!answers) return endpoints.map(({ id }) => id);
    answers.then((endpointIds) => add({ ...each, endpointIds }), each.reject);
    return undefined;
  }

  async function storeAll(messages: readonly Outgoing[]): Promise<SentMessage[]> {
    const store = await ready();
    const matched = matcher(store);
    const routed = messages.map(async (message) => {
      const endpoints = await matched(message);
      const endpointIds = (await askHooks(options, message, endpoints)) ?? endpoints.map(({ id }) => id);
      return toStore(message, endpointIds);
    });
    const inserted = await insert(store, await Promise.all(routed), true);
    return inserted.flatMap((result) => ('message' in result ? sent(result) : []));
  }

  return {
    send: (message) => new Promise((resolve, reject) => add({ message, resolve, reject })),

    async sendAll(messages) {
      if (messages.length === 0) return [];
      return storeAll(messages).catch((error) => {
        countFailedSend(tally, error);
        throw error;
      });
    },
  };
}

function sent(result: Extract<InsertedMessage, { message: Message }>): SentMessage {
  return { ...result.message, duplicate: result.outcome === 'duplicate' };
}

function toStore(message: Outgoing, endpointIds: string[]): NewMessage {
  const fingerprint =
    message.idempotencyKey === null
      ? ''
      : createHash('sha256').update(`${message.type}\n${message.data}`).digest('base64url');
  return { ...message, fingerprint, endpointIds };
}

/** Finds the endpoints whose own filters match; each tenant's are read once for all that the matcher is asked. */
function matcher(store: Store): (message: Outgoing) => Promise<Endpoint[]> {
  const byTenant = new Map<string | null, Promise<Endpoint[]>>();
  return async ({ tenantId, type, channels, data }) => {
    let endpoints = byTenant.get(tenantId);
    if (!endpoints) {
      endpoints = store.endpoints.ofTenant(tenantId);
      byTenant.set(tenantId, endpoints);
    }
    let parsed: { data: unknown } | undefined;
    return (await endpoints).filter((endpoint) => {
      if (!matchesTypes(endpoint.types, type) || !matchesChannels(endpoint.channels, channels)) return false;
      if (endpoint.filter === null) return true;
      parsed ??= { data: JSON.parse(data) };
      return matchesFilter(endpoint.filter, parsed.data);
    });
  };
}

/** The endpoints whose `filterFn` agrees, all asked at once; null when there are no hooks. A throw rejects. */
function askHooks(
  options: ResolvedOptions,
  { id, tenantId, type, channels, data, createdAt: sentAt }: Outgoing,
  endpoints: readonly Endpoint[],
): Promise<string[]> | null {
  if (!options.endpointHooks) return null;
  const hooksOf = options.endpointHooks;
  const createdAt = isoTime(sentAt);
  const answers = endpoints.map(async (endpoint) => {
    const { filterFn } = hooksOf(endpoint) ?? {};
    if (!filterFn) return [endpoint.id];
    // A copy of its own: what it does to it must not change what others are asked about.
    const payload = { type, timestamp: createdAt, data: JSON.parse(data) as unknown };
    const answer = Promise.resolve(filterFn(payload, { id, tenantId, type, channels, createdAt }));
    const keep = await within(answer, options.timeoutMs, `The filterFn of the endpoint ${endpoint.id}`);
    return keep ? [endpoint.id] : [];
  });
  return Promise.all(answers).then((ids) => ids.flat());
}
