import { isHookplaneError } from '../model/errors.js';
import type { Health, HealthReason } from '../model/health.js';
import type { TenantScope } from '../store/store.js';
import type { SenderCore } from './core.js';

/** How often a worker gives a sign of life. */
export const HEARTBEAT_MS = 5000;
/** A worker that has given none for so long is taken for dead. */
const ALIVE_MS = 3 * HEARTBEAT_MS;

export async function readHealth(core: SenderCore, tenant: TenantScope): Promise<Health> {
  const now = core.options.now();
  try {
    const store = await core.ready();
    const { depth, oldestDueAt } = await store.outbox.depth(tenant);
    const workerCount = await store.workers.countSince(now - ALIVE_MS);
    const oldestPendingAge = oldestDueAt === null || oldestDueAt > now ? null : now - oldestDueAt;
    const reason: HealthReason | null =
      workerCount === 0
        ? 'no_worker'
        : oldestPendingAge !== null && oldestPendingAge > core.options.maxPendingAgeMs
          ? 'overdue'
          : null;
    const record = { outboxDepth: depth, oldestPendingAge, workerCount };
    return reason === null ? { ok: true, ...record } : { ok: false, ...record, reason };
  } catch (error) {
    const reason =
      isHookplaneError(error) && error.code === 'MIGRATION_REQUIRED'
        ? 'migration_required'
        : 'store_unavailable';
    return { ok: false, outboxDepth: null, oldestPendingAge: null, workerCount: null, reason };
  }
}
