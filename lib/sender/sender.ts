import { MAX_TIMEOUT_MS } from '../model/endpoint.js';
import { HookplaneError } from '../model/errors.js';
import { createId } from '../model/ids.js';
import type { SenderScope } from '../model/scope.js';
import { isTenantId } from '../model/tenant.js';
import type { Store, TenantScope } from '../store/store.js';
import { type Auditor, auditOperations, createAuditor, type ScopeCaller } from './audit.js';
import type { SenderCore } from './core.js';
import { createDispatcher, type Dispatcher } from './delivery/dispatcher.js';
import { createHttpClient, type HttpClient } from './delivery/http-client.js';
import { createTargetGuard } from './delivery/target-guard.js';
import { createTester } from './delivery/tester.js';
import { endpointOperations } from './endpoints.js';
import { createEmitter, type SenderEventName, type SenderEvents } from './events.js';
import { HEARTBEAT_MS, readHealth } from './health.js';
import { createInTurn } from './in-turn.js';
import { generateAsymmetric, generateSymmetric } from './keys.js';
import { messageOperations, sendOperations } from './messages.js';
import { type MetricRegistry, metricsText, registerMetrics } from './metrics.js';
import { resolveOptions, type SenderOptions } from './options.js';
import { replayOperations } from './replay.js';
import { type ResealResult, resealSecrets } from './reseal.js';
import { createSecretSeal } from './secrets.js';
import { createSendQueue } from './send-queue.js';
import { statsOperation } from './stats.js';
import { createStatsCache } from './stats-cache.js';
import { createSweeper } from './sweep.js';
import { createTally } from './tally.js';
import { tenantOperations } from './tenants.js';
import { createTracing } from './tracing.js';

const DRAIN_MS = 10_000;

/**
 * A sender of webhooks. It is also the unscoped {@link SenderScope}: it sees every tenant. Operations work before
 * `start` and without it: a process that only sends leaves the delivering to those that have started.
 */
export interface Sender extends SenderScope, AsyncDisposable {
  readonly tenantId: null;
  /** Opens the store and begins to deliver. @throws HookplaneError `STORE_UNAVAILABLE`, `MIGRATION_REQUIRED` */
  start(): Promise<void>;
  /**
   * Begins no more attempts, waits for those under way, hands back the rest and closes the store. Tests of endpoints are
   * cut off, and none begins before the next start.
   * @param options.drainMs how long to wait at most; default 10000
   */
  stop(options?: { drainMs?: number }): Promise<void>;
  /** All that a caller bound to this tenant may do. */
  forTenant(tenantId: string): SenderScope;
  /**
   * All that a caller may do, with a record of it in the audit log: of each change, and of each secret that is read.
   * The record is made in the transaction of the change; neither is there without the other. The control plane acts
   * through such scopes. The sender itself and those of `forTenant` record nothing but the deletion of a tenant.
   * @throws HookplaneError `TENANT_VALIDATION` when the key `tenantId` is there without the id of a tenant,
   * `INVALID_OPTIONS` when another field is malformed
   */
  forCaller(caller: ScopeCaller): SenderScope;
  /**
   * Seals every signing secret by the current `secretKey`: those that were stored before there was one, and those that
   * are sealed by an older one, which may be dropped afterwards. Works in batches, beside workers that deliver; again,
   * it changes nothing. Call it when every process has the key: one without it cannot sign by what is sealed anew.
   * @throws HookplaneError `INVALID_OPTIONS` without a `secretKey`
   */
  resealSecrets(): Promise<ResealResult>;
  /**
   * Adds what {@link SenderScope.metrics} says to the application's own registry of prom-client, of any version:
   * `sender.registerMetrics(register)`. From then on the registry asks this sender whenever it is asked itself. Two
   * senders need a registry each, since their metrics have the same names; it throws on the second.
   */
  registerMetrics(registry: MetricRegistry): void;
  /** Listens to what the sender does: see {@link SenderEvents}. @returns a function that ends it */
  on<Name extends SenderEventName>(name: Name, listener: (event: SenderEvents[Name]) => void): () => void;
}

/** @throws HookplaneError `INVALID_OPTIONS` */
export function createEngine(given: SenderOptions): Sender {
  const options = resolveOptions(given);
  const { store, logger, now } = options;
  const events = createEmitter(logger);
  const tally = createTally(events);
  const tracing = createTracing();
  const secrets = createSecretSeal(options.secretKey, logger);
  const guard = createTargetGuard({ allowHttp: options.allowHttp, allowTargets: options.allowTargets });
  let stopped = false;
  let worker: Worker | null = null;
  let warned = false;

  async function ready(): Promise<Store> {
    if (stopped) throw new HookplaneError('STORE_UNAVAILABLE', 'The sender has been stopped');
    await store.open();
    const loading = tracing.ready();
    if (loading) await loading;
    return store;
  }

  // Endpoints of one origin are many tenants' at times: no request waits for a connection that a slow one has.
  const connect = () =>
    createHttpClient({
      guard,
      now,
      logger,
      proxy: options.egressProxy,
      connectionsPerOrigin: options.concurrency,
    });
  const wake = () => worker?.dispatcher.wake();
  const offer = (deliveries: number) => worker?.dispatcher.offer(deliveries);
  const sweeper = createSweeper({ store, options, events, tally, isWorker: () => worker !== null });
  const core: SenderCore = {
    options,
    guard,
    secrets,
    events,
    ready,
    wake,
    recall: () => worker?.dispatcher.recall(),
    sweep: () => sweeper.begin(),
    queue: createSendQueue(options, tally, ready, { wake, offer }),
    tester: createTester(options, secrets, tracing, connect),
    countInTurn: createInTurn(),
    // The longest deadline of an attempt, and a lease to settle it in.
    statsCache: createStatsCache(MAX_TIMEOUT_MS + options.leaseMs),
    tally,
    tracing,
  };

  function startWorker(): Worker {
    const id = createId('wrk', now());
    const client = connect();
    const dispatcher = createDispatcher({
      workerId: id,
      store,
      options,
      events,
      tally,
      delivery: { options, client, secrets, tracing },
    });
    let beating: Promise<void> | null = null;

    function beat(): Promise<void> {
      beating ??= giveSign().finally(() => {
        beating = null;
      });
      return beating;
    }

    /** Shows that the worker lives, and keeps its leases: nothing that takes long may be done before the next one. */
    async function giveSign(): Promise<void> {
      try {
        await store.workers.beat(id, now());
        await store.outbox.renew(id, dispatcher.held(), options.leaseMs, now());
        if (worker) sweeper.begin();
      } catch (error) {
        events.emit('error', { error, during: 'heartbeat' });
        logger.error('A heartbeat failed; the next one is tried', { error: String(error) });
      }
    }

    const heartbeat = setInterval(beat, HEARTBEAT_MS);
    const deafen = store.outbox.onWake?.(dispatcher.wake);
    async function rest(): Promise<void> {
      clearInterval(heartbeat);
      deafen?.();
      await beating;
    }
    return { id, client, dispatcher, beat, rest };
  }

  /** Starts and stops follow one another, so that none closes the store under another. */
  const inTurn = createInTurn();

  async function start(): Promise<void> {
    stopped = false;
    core.tester.open();
    await ready();
    if (worker) return;
    if (options.secretKey.length === 0 && !warned) {
      warned = true;
      logger.warn(
        'Signing secrets are stored as they are: give createSender a secretKey, and call resealSecrets once',
      );
    }
    worker = startWorker();
    await worker.beat();
    worker.dispatcher.start();
  }

  async function stop(drainMs: number): Promise<void> {
    const stopping = worker;
    worker = null;
    if (stopping) {
      // The heart beats until the last attempt has ended: its lease must not end before.
      await stopping.dispatcher.stop(drainMs, () => stopping.client.abort());
      await stopping.rest();
      await stopping.client.close();
      await store.workers
        .leave(stopping.id)
        .catch((error) => logger.warn('The worker could not sign off', { error: String(error) }));
    }
    stopped = true;
    await sweeper.stop();
    await core.tester.close();
    await store.close();
  }

  const sender: Sender = {
    ...createScope(core, undefined),
    tenantId: null,
    start: () => inTurn(start),
    stop: ({ drainMs = DRAIN_MS } = {}) => inTurn(() => stop(drainMs)),
    forTenant(tenantId) {
      if (!isTenantId(tenantId)) {
        throw new HookplaneError('TENANT_VALIDATION', 'forTenant needs the id of a tenant');
      }
      return createScope(core, tenantId);
    },
    forCaller(caller) {
      const { tenantId } = caller;
      // The key alone makes the difference: `tenantId: user.orgId` must not see everything for want of an orgId.
      if ('tenantId' in caller && !isTenantId(tenantId)) {
        throw new HookplaneError(
          'TENANT_VALIDATION',
          'forCaller needs the id of a tenant; leave tenantId out for a caller that may see every tenant',
        );
      }
      return createScope(core, tenantId, createAuditor(now, caller));
    },
    resealSecrets: () => resealSecrets(core),
    registerMetrics: (registry) => registerMetrics(core, undefined, registry),
    on: events.on,
    [Symbol.asyncDispose]: () => sender.stop(),
  };
  return sender;
}

interface Worker {
  id: string;
  client: HttpClient;
  dispatcher: Dispatcher;
  beat(): Promise<void>;
  /** Beats no more. Waits for the beat under way: the store must not be closed under it. */
  rest(): Promise<void>;
}

function createScope(core: SenderCore, tenant: TenantScope, audit?: Auditor): SenderScope {
  return {
    tenantId: tenant ?? null,
    endpoints: endpointOperations(core, tenant, audit),
    messages: messageOperations(core, tenant, audit),
    tenants: tenantOperations(core, tenant, audit),
    keys: { generateSymmetric, generateAsymmetric },
    audit: auditOperations(core, tenant),
    ...sendOperations(core, tenant, audit),
    ...replayOperations(core, tenant, audit),
    ...statsOperation(core, tenant),
    health: () => readHealth(core, tenant),
    metrics: () => metricsText(core, tenant),
  };
}
