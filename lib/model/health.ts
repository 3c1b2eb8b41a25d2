/** Why a health record is not ok. */
export type HealthReason = 'store_unavailable' | 'migration_required' | 'no_worker' | 'overdue';

export interface Health {
  ok: boolean;
  /** Deliveries owed to active endpoints; null when the store does not say. */
  outboxDepth: number | null;
  /** How long, in milliseconds, the most overdue of them has been due; null when none is due. */
  oldestPendingAge: number | null;
  /** Live workers of every process that shares the store, by heartbeat; null when the store does not say. */
  workerCount: number | null;
  /** Present when `ok` is false. */
  reason?: HealthReason;
}
