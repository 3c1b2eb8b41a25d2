import { createHash } from 'node:crypto';
import type { Endpoint } from '../model/endpoint.js';
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
  /** Known once its hooks have been asked; until then it is matched when its batch is made. */
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
    const unmatched = batch.filter(({ endpointIds }) => !endpointIds).map(({ message }) => message);
    const matched = await matcher((tenantId) => store.endpoints.ofTenant(tenantId), unmatched);
    const routed: { each: Waiting; message: NewMessage }[] = [];
    for (const each of batch) {
      const endpointIds = each.endpointIds ?? route(each, matched(each.message));
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

  /** In a transaction of the store's own; the worker of this process begins at once with what it has requests for. */
  async function insert(
    store: Store,
    messages: readonly NewMessage[],
    allOrNone: boolean,
  ): Promise<InsertedMessage[]> {
    const owed = messages.reduce((sum, { endpointIds }) => sum + endpointIds.length, 0);
    const offered = owed > 0 ? offer(owed) : undefined;
    let leased: LeasedDelivery[] = [];
    try {
      const inserted = count(await store.messages.insert(messages, allOrNone, offered?.lease));
      leased = inserted.flatMap((result) => (result.outcome === 'stored' ? result.leased : []));
      if (leased.length < owed) wake();
      return inserted;
    } finally {
      offered?.take(leased);
    }
  }

  function count(inserted: InsertedMessage[]): InsertedMessage[] {
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

  async function storeAll(store: SendingStore, messages: readonly Outgoing[]): Promise<SentMessage[]> {
    const endpoints = messages.map(await matcher(store.ofTenant, messages));
    // Without hooks a promise for each message would be made for nothing.
    const agreeing = options.endpointHooks
      ? await Promise.all(messages.map((message, index) => askHooks(options, message, endpoints[index]!)))
      : [];
    const routed = messages.map((message, index) =>
      toStore(message, agreeing[index] ?? endpoints[index]!.map(({ id }) => id)),
    );
    return allSent(await store.insert(routed));
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
    const ofTenant = (tenantId: string | null) => store.endpoints.ofTenant(tenantId);
    return storeAll({ ofTenant, insert: (all) => insert(store, all, true) }, messages);
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
          const endpoints = matching(store.ofTenant(message.tenantId), message);
          const endpointIds = askHooksSync(options, message, endpoints);
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

function toStore(message: Outgoing, endpointIds: string[]): NewMessage {
  const fingerprint =
    message.idempotencyKey === null
      ? ''
      : createHash('sha256').update(`${message.type}\n${message.data}`).digest('base64url');
  return { ...message, fingerprint, endpointIds };
}
