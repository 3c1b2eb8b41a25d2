import type { Endpoint } from '../model/endpoint.js';
import type { Attempt } from '../model/message.js';
import type { Logger } from '../model/logger.js';

/**
 * What a sender tells its listeners, by the name of the event. Each tells of what its own process did, once it is
 * stored, to the listeners that this sender has: nothing is kept for those who come later, and a process that dies may
 * die between the two. What has to be known for certain is in the store.
 */
export interface SenderEvents {
  /**
   * An attempt was made, whatever came of it: one that succeeded has the status `succeeded`, and its delivery is
   * delivered by it. It is recorded by now, unless its delivery was deleted meanwhile. Tests of an endpoint are no
   * attempts of a delivery and are not told.
   */
  attempt: { attempt: Attempt; messageType: string; tenantId: string | null };
  /**
   * A delivery was given up, and nothing more is sent of it unless it is replayed: its attempts ran out, or it expired.
   * `error` is the sentence that its `lastError` is.
   */
  dead: {
    messageId: string;
    endpointId: string;
    messageType: string;
    tenantId: string | null;
    error: string;
  };
  /**
   * An endpoint was paused by what its receiver answered, as its `pausedReason` says: `gone` (it answered 410) or
   * `failing` (every attempt of five days failed). What it is owed is held until it is enabled. A `disable` is not told:
   * whoever calls it knows.
   */
  paused: { endpoint: Endpoint };
  /**
   * An endpoint whose attempts had failed, the first of them at `failingSince` (ISO 8601), has answered well. It is told
   * once for each such time, be it of one failure or of days; `enable` ends it as well, and is not told.
   */
  recovered: { endpoint: Endpoint; failingSince: string };
  /**
   * The store failed something in the background: a `turn`, in which outcomes are settled and deliveries leased, a
   * `heartbeat`, or a `sweep`, which samples what is owed, ends what has expired and removes what
   * is too old or was a deleted tenant's. It is tried again; nothing was lost. What a caller waits for rejects instead.
   */
  error: { error: unknown; during: 'turn' | 'heartbeat' | 'sweep' };
}

export type SenderEventName = keyof SenderEvents;

export interface SenderEmitter {
  on<Name extends SenderEventName>(name: Name, listener: (event: SenderEvents[Name]) => void): () => void;
  emit<Name extends SenderEventName>(name: Name, event: SenderEvents[Name]): void;
  /** Whether anyone listens: events that cost something to build are not built for nobody. */
  has(name: SenderEventName): boolean;
}

/** Unlike Node's emitter, an `error` nobody listens to is no exception, and a listener that throws harms no other. */
export function createEmitter(logger: Logger): SenderEmitter {
  const listeners = new Map<SenderEventName, Set<(event: never) => void>>();
  return {
    on(name, listener) {
      const set = listeners.get(name) ?? new Set();
      listeners.set(name, set);
      set.add(listener);
      return () => set.delete(listener);
    },
    emit(name, event) {
      const failed = (error: unknown) =>
        logger.error(`A listener of the sender's "${name}" event failed`, { error: String(error) });
      for (const listener of listeners.get(name) ?? []) {
        try {
          // One that is an async function fails later, where nobody else would hear of it.
          Promise.resolve(listener(event as never)).catch(failed);
        } catch (error) {
          failed(error);
        }
      }
    },
    has: (name) => (listeners.get(name)?.size ?? 0) > 0,
  };
}
