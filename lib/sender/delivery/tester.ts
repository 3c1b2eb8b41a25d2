import type { Endpoint } from '../../model/endpoint.js';
import type { ResolvedOptions } from '../options.js';
import type { SecretSeal } from '../secrets.js';
import type { Tracing } from '../tracing.js';
import { type Deliverable, deliver, unsent } from './deliver.js';
import type { HttpClient, PostResult } from './http-client.js';

/** How many tests a process has under way at once; half of them for any one tenant, and one for any one endpoint. */
const MAX_TESTS = 8;
const MAX_TESTS_OF_TENANT = MAX_TESTS / 2;

/** Makes attempts that somebody waits for: outside the outbox, and of a process that need not deliver. */
export interface Tester {
  /** Makes the attempt when it is its turn, all within the endpoint's deadline. Never rejects. */
  test(event: Deliverable): Promise<PostResult>;
  /** Makes tests possible again after a `close`. */
  open(): void;
  /** Cuts off what is under way, and lets none begin. */
  close(): Promise<void>;
}

interface Waiting {
  endpoint: Tested;
  end(turn: Turn): void;
}

type Tested = Pick<Endpoint, 'id' | 'tenantId'>;

type Turn = 'mine' | 'late' | 'closed';

/** @param connect gives the connections of this process's tests; called when the first of them is made */
export function createTester(
  options: ResolvedOptions,
  secrets: SecretSeal,
  tracing: Tracing,
  connect: () => HttpClient,
): Tester {
  const running: Tested[] = [];
  const waiting = new Set<Waiting>();
  let client: HttpClient | null = null;
  let closed = false;

  function isFree({ id, tenantId }: Tested): boolean {
    const ofTenant = running.filter((each) => each.tenantId === tenantId).length;
    const isTested = running.some((each) => each.id === id);
    return running.length < MAX_TESTS && ofTenant < MAX_TESTS_OF_TENANT && !isTested;
  }

  /** In the order in which they came, but for those whose tenant or endpoint has all that it may have. */
  function admit(): void {
    for (const each of waiting) if (isFree(each.endpoint)) each.end('mine');
  }

  function turnOf(endpoint: Tested, ms: number): Turn | Promise<Turn> {
    if (isFree(endpoint)) {
      running.push(endpoint);
      return 'mine';
    }
    return new Promise((resolve) => {
      const each: Waiting = {
        endpoint,
        end(turn) {
          clearTimeout(timer);
          waiting.delete(each);
          if (turn === 'mine') running.push(endpoint);
          resolve(turn);
        },
      };
      const timer = setTimeout(() => each.end('late'), ms);
      waiting.add(each);
    });
  }

  return {
    async test(event) {
      const { endpoint } = event.target;
      const timeoutMs = endpoint.timeoutMs ?? options.timeoutMs;
      const startedAt = options.now();
      const began = performance.now();
      const passed = () => Math.round(performance.now() - began);
      const turn = closed ? 'closed' : await turnOf(endpoint, timeoutMs);
      if (turn === 'late') {
        const error = `No request was made within ${timeoutMs} ms: too many tests of endpoints are under way.`;
        return unsent(startedAt, error, { errorKind: 'timeout', durationMs: passed() });
      }
      const stopped = () => {
        const error = 'No request was made: the sender has been stopped.';
        return unsent(startedAt, error, { errorKind: 'connect', durationMs: passed() });
      };
      if (turn === 'closed') return stopped();
      try {
        // It may have been stopped between the turn and this.
        if (closed) return stopped();
        client ??= connect();
        return await deliver(event, { options, client, secrets, tracing }, Math.max(1, timeoutMs - passed()));
      } finally {
        running.splice(running.indexOf(endpoint), 1);
        admit();
      }
    },

    open() {
      closed = false;
    },

    async close() {
      closed = true;
      for (const each of waiting) each.end('closed');
      const closing = client;
      client = null;
      await closing?.abort();
    },
  };
}
