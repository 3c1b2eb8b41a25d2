import type { Endpoint } from '../model/endpoint.js';
import type { Attempt } from '../model/message.js';
import type { Logger } from '../model/logger.js';

export interface SenderEvents {
  /** An attempt was made. It is recorded by now, unless its delivery was deleted meanwhile. */
  attempt: { attempt: Attempt; messageType: string; tenantId: string | null };
  /** A delivery was given up: its attempts ran out, or it expired. */
  dead: { messageId: string; endpointId: string; error: string };
  /** An endpoint was paused by what its receiver answered. */
  paused: { endpoint: Endpoint };
  /** Something failed in the background and is tried again; nothing was lost. */
  error: { error: unknown; during: string };
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
