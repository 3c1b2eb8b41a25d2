import type { DepthSample, Owed, OwedPosition, Store } from '../store/store.js';

const MINUTE_MS = 60_000;
/** How much is counted in one statement, during which a store in a file keeps the process from everything else. */
const COUNTED_AT_ONCE = 20_000;
/** How many samples are kept in one transaction. */
const KEPT_AT_ONCE = 1000;

export interface DepthSamplerContext {
  store: Store;
  now(): number;
  /** Ends it before its end: nothing is kept then. */
  isStopping(): boolean;
  /** Rests, after what has begun at this time by `performance.now`. */
  rest(began: number): Promise<void>;
}

/**
 * Makes what samples how much is owed, once in each minute, whatever process does it: of those that look at the same
 * time the first is kept.
 */
export function createDepthSampler({ store, now, isStopping, rest }: DepthSamplerContext) {
  /** The beginning of the last minute whose sample is known to have been taken. */
  let sampledAt: number | undefined;

  /** By tenant; undefined where it was told to stop. */
  async function countOwed(): Promise<Map<string | null, Omit<Owed, 'tenantId'>> | undefined> {
    const owed = new Map<string | null, Omit<Owed, 'tenantId'>>();
    let after: OwedPosition | null = null;
    do {
      const began = performance.now();
      const { rows, next }: { rows: Owed[]; next: OwedPosition | null } = await store.depths.owed(
        after,
        COUNTED_AT_ONCE,
      );
      for (const { tenantId, depth, oldestDueAt } of rows) {
        const known = owed.get(tenantId);
        owed.set(tenantId, {
          depth: depth + (known?.depth ?? 0),
          oldestDueAt: Math.min(oldestDueAt, known?.oldestDueAt ?? oldestDueAt),
        });
      }
      after = next;
      if (after) await rest(began);
      if (isStopping()) return undefined;
    } while (after);
    return owed;
  }

  return async function sample(): Promise<void> {
    const countedAt = now();
    const at = countedAt - (countedAt % MINUTE_MS);
    if (at === sampledAt) return;
    if (!(await store.depths.has(at))) {
      const owed = await countOwed();
      if (!owed) return;
      const total: DepthSample = { depth: 0, oldestAgeMs: 0 };
      const tenants: (DepthSample & { tenantId: string })[] = [];
      for (const [tenantId, { depth, oldestDueAt }] of owed) {
        const oldestAgeMs = Math.max(0, countedAt - oldestDueAt);
        total.depth += depth;
        total.oldestAgeMs = Math.max(total.oldestAgeMs, oldestAgeMs);
        if (tenantId !== null) tenants.push({ tenantId, depth, oldestAgeMs });
      }
      // The total comes last, since it says that the others are there.
      for (let index = 0; index < tenants.length; index += KEPT_AT_ONCE) {
        const began = performance.now();
        const some = tenants.slice(index, index + KEPT_AT_ONCE);
        await store.depths.add({ at, countedAt, tenants: some, total: null });
        await rest(began);
      }
      await store.depths.add({ at, countedAt, tenants: [], total });
    }
    sampledAt = at;
  };
}
