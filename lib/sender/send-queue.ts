import { createHash } from 'node:crypto';
import { idempotencyConflict, tenantDeleted } from '../model/errors.js';
import type { Message, SentMessage } from '../model/message.js';
import type { InsertedMessage, LeasedDelivery, NewMessage, SendingStore, Store } from '../store/store.js';
import type { Dispatcher } from './delivery/dispatcher.js';
import { createInTurn, type InTurn } from './in-turn.js';
import type { ResolvedOptions } from './options.js';
import { askHooks, askHooksSync, matcher, matching, type Outgoing } from './routing.js';
import { countFailedSend, type Tally } from './tally.js';

/** The most sends that share a transaction. */
const MAX_BATCH = 256;

export interface SendQueue {
  /** Stores a message together with others that are sent at the same time: they share one commit. */
  send(message: Outgoing): Promise<SentMessage>;
  /** Stores several messages, all or none; with a transaction of the application's as a part of it. */
  sendAll(messages: readonly Outgoing[], transaction?: object): Promise<SentMessage[]>;
  /** Stores a message within the call, as a part of a transaction of the application's. */
  sendSync(message: Outgoing, transaction: object): SentMessage;
}

interface Waiting {
  message: Outgoing;
  /** Known once its hooks have been asked. */
  endpointIds?: string[];
  resolve(message: SentMessage): void;
  reject(error: unknown): void;
}

export function createSendQueue(
  options: ResolvedOptions,
  tally: Tally,
  ready: () => Promise<Store>,
  { wake, offer }: Pick<Dispatcher, 'wake' | 'offer'>,
): SendQueue {
  let waiting: Waiting[] = [];
  let flushing = false;
  /** Sends within one transaction follow one another, as its statements do. */
  const turns = new WeakMap<object, InTurn>();

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
    const routed = options.endpointHooks ? await askedOf(store, batch) : batch;
    if (routed.length === 0) return;
    const inserted = await insert(
      store,
      routed.map(({ message, endpointIds }) => toStore(message, endpointIds)),
      false,
    );
    for (const [index, each] of routed.entries()) {
      const result = inserted[index]!;
      if (result.outcome === 'conflict') each.reject(idempotencyConflict(each.message.idempotencyKey));
      else if (result.outcome === 'refused') each.reject(tenantDeleted());
      else each.resolve(sent(result));
    }
  }

  /**
   * Of messages with hooks those that have been asked. The others leave their batch and come back: whoever answers late
   * delays no other send.
   */
  async function askedOf(store: Store, batch: readonly Waiting[]): Promise<readonly Waiting[]> {
    const unasked = batch.filter(({ endpointIds }) => !endpointIds);
    if (unasked.length === 0) return batch;
    const matched = matcher(await store.endpoints.ofTenants(unasked.map(({ message }) => message.tenantId)));
    for (const each of unasked)
      askHooks(options, each.message, matched(each.message)).then(
        (endpointIds) => add({ ...each, endpointIds }),
        each.reject,
      );
    return batch.filter(({ endpointIds }) => endpointIds);
  }

  /** In a transaction of the store's own; the worker of this process begins at once with what it has requests for. */
  async function insert(
    store: Store,
    messages: readonly NewMessage[],
    allOrNone: boolean,
  ): Promise<InsertedMessage[]> {
    const offered = offer(messages.length);
    let leased: LeasedDelivery[] = [];
    try {
      const inserted = count(await store.messages.insert(messages, allOrNone, offered?.lease));
      const stored = inserted.filter((result) => result.outcome === 'stored');
      leased = stored.flatMap((result) => result.leased);
      if (stored.some((result) => result.leased.length < result.owed)) wake();
      return inserted;
    } finally {
      offered?.take(leased);
    }
  }

  function count(inserted: InsertedMessage[]): InsertedMessage[] {
    for (const { outcome } of inserted) if (outcome === 'stored') tally.messagesSent += 1;
    return inserted;
  }

  async function storeAll(store: SendingStore, messages: readonly Outgoing[]): Promise<SentMessage[]> {
    if (!options.endpointHooks)
      return allSent(await store.insert(messages.map((message) => toStore(message))));
    const matched = matcher(await store.ofTenants(messages.map(({ tenantId }) => tenantId)));
    const agreeing = await Promise.all(
      messages.map((message) => askHooks(options, message, matched(message))),
    );
    return allSent(await store.insert(messages.map((message, index) => toStore(message, agreeing[index]))));
  }

  async function sendAll(messages: readonly Outgoing[], transaction?: object): Promise<SentMessage[]> {
    const store = await ready();
    if (transaction) {
      let inTurn = turns.get(transaction);
      if (!inTurn) {
        inTurn = createInTurn();
        turns.set(transaction, inTurn);
      }
      return inTurn(() =>
        store.within(transaction, (within) =>
          storeAll({ ...within, insert: async (all) => count(await within.insert(all)) }, messages),
        ),
      );
    }
    const ofTenants = (tenantIds: Iterable<string | null>) => store.endpoints.ofTenants(tenantIds);
    return storeAll({ ofTenants, insert: (all) => insert(store, all, true) }, messages);
  }

  return {
    send: (message) => new Promise((resolve, reject) => add({ message, resolve, reject })),

    async sendAll(messages, transaction) {
      if (messages.length === 0) return [];
      return sendAll(messages, transaction).catch((error) => {
        countFailedSend(tally, error);
        throw error;
      });
    },

    sendSync(message, transaction) {
      try {
        return options.store.withinSync(transaction, (store) => {
          const endpointIds = options.endpointHooks
            ? askHooksSync(options, message, matcher(store.ofTenants([message.tenantId]))(message))
            : undefined;
          const [result] = allSent(count(store.insert([toStore(message, endpointIds)])));
          return result!;
        });
      } catch (error) {
        countFailedSend(tally, error);
        throw error;
      } finally {
        // When the transaction is over.
        setImmediate(wake);
      }
    },
  };
}

/** Of what was stored all or not at all. */
function allSent(inserted: readonly InsertedMessage[]): SentMessage[] {
  return inserted.flatMap((result) => ('message' in result ? sent(result) : []));
}

function sent(result: Extract<InsertedMessage, { message: Message }>): SentMessage {
  return { ...result.message, duplicate: result.outcome === 'duplicate' };
}

/** @param endpointIds where hooks were asked; without them it is told by the transaction that stores it */
function toStore(message: Outgoing, endpointIds?: readonly string[]): NewMessage {
  const fingerprint =
    message.idempotencyKey === null
      ? ''
      : createHash('sha256').update(`${message.type}\n${message.data}`).digest('base64url');
  const owedTo: NewMessage['owedTo'] =
    endpointIds ?? ((ofTenant) => matching(ofTenant, message).map(({ id }) => id));
  return { ...message, fingerprint, owedTo };
}
