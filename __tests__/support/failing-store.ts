import type { Store } from '../../lib/store/store.js';

/** Which call of a store fails, and how. */
export interface Fault {
  /** As the port spells it: `open`, `outbox.turn`. */
  method: string;
  /** Which of its calls, from 1 on. */
  call: number;
  /** `after`: the call has happened, and its answer is lost. */
  when: 'before' | 'after';
  error: Error;
  /** Whether every call of every method fails from then on, until the store is restored. */
  lasting: boolean;
}

export interface FailingStore {
  store: Store;
  /** How often each method has been called. */
  calls: ReadonlyMap<string, number>;
  /** Resolves when the fault has come. */
  struck: Promise<void>;
  restore(): void;
}

/** A real store, whose methods all work but for one fault. */
export function failingStore(inner: Store, fault?: Fault): FailingStore {
  const calls = new Map<string, number>();
  let down = false;
  let strike = () => {};
  const struck = new Promise<void>((resolve) => {
    strike = resolve;
  });

  async function run(method: string, work: () => unknown): Promise<unknown> {
    const call = (calls.get(method) ?? 0) + 1;
    calls.set(method, call);
    const strikes = fault?.method === method && fault.call === call ? fault : undefined;
    if (!strikes) {
      if (down) throw fault?.error;
      return work();
    }
    if (strikes.when === 'after') await work();
    down = strikes.lasting;
    strike();
    throw strikes.error;
  }

  function wrap<Part extends object>(part: Part, path: string): Part {
    return new Proxy(part, {
      get(target, name) {
        const value: unknown = Reflect.get(target, name);
        const method = `${path}${String(name)}`;
        // These ask nothing of the database.
        if (method === 'now' || method === 'outbox.onWake') return value;
        if (typeof value === 'function') {
          return (...given: unknown[]) => run(method, () => Reflect.apply(value, target, given));
        }
        return typeof value === 'object' && value !== null ? wrap(value, `${method}.`) : value;
      },
    });
  }

  return {
    store: wrap(inner, ''),
    calls,
    struck,
    restore() {
      down = false;
    },
  };
}
