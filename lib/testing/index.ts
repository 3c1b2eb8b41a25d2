import { randomBytes } from 'node:crypto';
import { createSender, type CreateSenderOptions } from '../create-sender.js';
import type { EndpointCreate, RetrySchedule } from '../model/endpoint.js';
import { HookplaneError } from '../model/errors.js';
import type { Attempt } from '../model/message.js';
import type { EndpointWithSecret, SenderScope } from '../model/scope.js';
import { DEFAULT_RETRY } from '../sender/delivery/retry.js';
import type { Sender } from '../sender/sender.js';
import { verifySignature } from '../sender/verify-signature.js';
import { sqliteStore } from '../store/sqlite.js';
import { createManualClock, type ManualClock } from './manual-clock.js';
import { type ReceivedWebhook, type RecordingReceiver, startReceiver } from './recording-receiver.js';
import { watchStore } from './watched-store.js';

export type { ManualClock } from './manual-clock.js';
export type {
  ReceivedWebhook,
  ReceiverAnswer,
  ReceiverScript,
  RecordingReceiver,
} from './recording-receiver.js';

/** The options of a sender, but for its store and its clock. */
export interface TestSenderOptions extends Omit<CreateSenderOptions, 'store' | 'now' | 'pollIntervalMs'> {
  /** Where its clock stands at first: ISO 8601, milliseconds since the epoch, or a `Date`. @default now */
  startAt?: string | number | Date;
  /** How many requests are under way at once. One after another, they arrive in the same order every time. @default 1 */
  concurrency?: number;
  /** @default the sender's own schedule, without jitter: a retry is due at a time that a test can name */
  retry?: RetrySchedule;
  /**
   * Whether endpoints may have an `http:` URL, as that of the receiver. With false they are refused as in production;
   * `createEndpoint` goes on to register the receiver.
   * @default true
   */
  allowHttp?: boolean;
}

/**
 * A sender for the tests of an application that sends webhooks: what it is owed by is a real store, and what it sends
 * arrives, signed, at a real receiver. It delivers nothing by itself, and its time does not pass by itself.
 */
export interface TestSender extends Sender {
  /** The time of the sender. */
  readonly clock: ManualClock;
  /** Where `createEndpoint` has messages sent. */
  readonly receiver: RecordingReceiver;
  /** Registers the receiver; any field of an endpoint may be given, `types` and `tenantId` for some. */
  createEndpoint(fields?: Partial<EndpointCreate>): Promise<EndpointWithSecret>;
  /**
   * Delivers all that is due at the present time of the clock, until nothing is, and answers the attempts that were
   * made, in their order. Requests take real time, and a receiver that does not answer the real `timeoutMs`.
   */
  deliverDue(): Promise<Attempt[]>;
  /**
   * Moves the clock from one due time to the next and delivers, until nothing is owed any more but to paused endpoints:
   * every retry has been made, or was not needed.
   */
  runRetries(): Promise<Attempt[]>;
  /** Opens nothing and begins nothing: it is here for applications that start their sender. */
  start(): Promise<void>;
  /** Stops the receiver and drops all state. `await using` does it too. */
  stop(): Promise<void>;
}

/**
 * Makes a sender for tests on a SQLite database in memory, with a clock that is moved by hand and a receiver on
 * 127.0.0.1. Hand it to the application in place of its own; then say when it delivers.
 *
 * ```ts
 * const sender = await createTestSender();
 * await sender.createEndpoint();
 * await request(createApp(sender)).post('/orders').send({ total: 42 });
 * await sender.deliverDue();
 * expect(sender.receiver.requests).toMatchObject([{ type: 'order.created', verified: true }]);
 * await sender.stop();
 * ```
 *
 * It needs the package better-sqlite3, and timers that are not faked: its own clock stands in for those.
 * @throws HookplaneError `INVALID_OPTIONS`
 */
export async function createTestSender(options: TestSenderOptions = {}): Promise<TestSender> {
  const { startAt = Date.now(), allowHttp = true, ...given } = options;
  for (const name of ['store', 'now']) {
    if (name in given) {
      throw new HookplaneError('INVALID_OPTIONS', `A test sender has its own ${name}: leave the option out`);
    }
  }
  const clock = createManualClock(startAt);
  const watched = watchStore(sqliteStore({ file: ':memory:' }));
  const common: CreateSenderOptions = {
    concurrency: 1,
    // It ends with the store, and spares every test the warning that there is none.
    secretKey: randomBytes(32),
    retry: { ...DEFAULT_RETRY, jitter: 0 },
    ...given,
    allowTargets: [...(given.allowTargets ?? []), '127.0.0.1'],
    store: watched.store,
    now: clock.now,
  };
  // What the application has. It is not started, so nothing is delivered by it.
  const application = createSender({ ...common, allowHttp });
  // What delivers, for as long as it is told to.
  const worker = createSender({ ...common, allowHttp: true });
  // What may register the receiver and test it, and knows who may send to it.
  const operator = createSender({ ...common, allowHttp: true });
  await watched.store.open();
  const receiver = await startReceiver((webhook) => signerOf(webhook));
  let stopped = false;
  let nextAt: number | null = null;
  let lastRun: Promise<unknown> = Promise.resolve();

  async function signerOf(webhook: ReceivedWebhook): Promise<string | null> {
    const url = new URL(webhook.path, receiver.url).href;
    for (let cursor: string | undefined; ; ) {
      const page = await operator.endpoints.list({ cursor });
      for (const { id } of page.endpoints.filter((endpoint) => endpoint.url === url)) {
        const { secret, previousSecrets } = await operator.endpoints.secret(id);
        const secrets = [secret, ...previousSecrets.map((previous) => previous.secret)];
        if (isSignedBy(webhook, secrets, clock.now)) return id;
      }
      if (page.nextCursor === null) return null;
      cursor = page.nextCursor;
    }
  }

  function assertRunning(): void {
    if (stopped) throw new HookplaneError('STORE_UNAVAILABLE', 'The test sender has been stopped');
  }

  async function deliver(): Promise<Attempt[]> {
    assertRunning();
    const attempts: Attempt[] = [];
    const stopListening = worker.on('attempt', ({ attempt }) => void attempts.push(attempt));
    try {
      const quiet = watched.untilQuiet();
      await Promise.all([worker.start(), quiet]);
      nextAt = await quiet;
    } finally {
      // Announces what it has settled before it ends.
      await worker.stop();
      stopListening();
    }
    return attempts;
  }

  /** One after another: each has the worker for itself. */
  function inTurn<T>(work: () => Promise<T>): Promise<T> {
    const run = lastRun.then(work);
    lastRun = run.catch(() => {});
    return run;
  }

  async function stop(): Promise<void> {
    if (stopped) return;
    stopped = true;
    await Promise.all([application.stop(), operator.stop()]);
    await receiver.close();
    await watched.close();
  }

  const sender: TestSender = {
    ...withTestsOf(operator, application),
    clock,
    receiver,
    createEndpoint: (fields = {}) => operator.endpoints.create({ url: receiver.url, ...fields }),
    forTenant: (id) => withTestsOf(operator.forTenant(id), application.forTenant(id)),
    forCaller: (caller) => withTestsOf(operator.forCaller(caller), application.forCaller(caller)),
    deliverDue: () => inTurn(deliver),
    runRetries: () =>
      inTurn(async () => {
        const attempts = await deliver();
        while (nextAt !== null) {
          clock.advanceTo(Math.max(nextAt, clock.now() + 1));
          attempts.push(...(await deliver()));
        }
        return attempts;
      }),
    on(name, listener) {
      const ends = [application.on(name, listener), worker.on(name, listener)];
      return () => {
        for (const end of ends) end();
      };
    },
    start: async () => assertRunning(),
    stop: () => inTurn(stop),
    [Symbol.asyncDispose]: () => sender.stop(),
  };
  return sender;
}

/** A scope, but that its tests go where another may go. */
function withTestsOf<Scope extends SenderScope>(other: SenderScope, scope: Scope): Scope {
  return { ...scope, endpoints: { ...scope.endpoints, test: other.endpoints.test } };
}

function isSignedBy({ headers, body }: ReceivedWebhook, secrets: string[], now: () => number): boolean {
  try {
    verifySignature({ headers, body, secrets, now });
    return true;
  } catch (error) {
    // Anything else is a mistake of this module.
    if ((error as Error).name !== 'WebhookVerificationError') throw error;
    return false;
  }
}
