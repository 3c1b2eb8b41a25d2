import type { TenantScope } from './outbox.js';

/** Where counting goes on: with what an endpoint is owed from a due time on, and then with the endpoints behind it. */
export interface OwedPosition {
  endpointId: string;
  dueAt: number;
}

/** What the active endpoints of a tenant are owed. */
export interface Owed {
  tenantId: string | null;
  depth: number;
  oldestDueAt: number;
}

/** What was owed at one moment. */
export interface DepthSample {
  depth: number;
  /** For how long the most overdue delivery had been due; 0 when none was. */
  oldestAgeMs: number;
}

/** What is owed, and what was owed minute by minute. */
export interface DepthStore {
  /** Whether the sample of this minute, told by its beginning, has been taken. */
  has(at: number): Promise<boolean>;
  /**
   * Counts what is owed, at most `limit` deliveries of those that wait a call, and with the first of them all that is
   * in flight. `next` is where to go on, null when that was all; a tenant may be in several answers.
   */
  owed(after: OwedPosition | null, limit: number): Promise<{ rows: Owed[]; next: OwedPosition | null }>;
  /**
   * Keeps samples of this minute, at most one for each tenant: the first. Of a tenant that was made after `countedAt`, or
   * is gone, it keeps none. `total` is that of all together, whoever owed anything or not, and says that the sample has
   * been taken.
   */
  add(sample: {
    at: number;
    countedAt: number;
    tenants: readonly (DepthSample & { tenantId: string })[];
    total: DepthSample | null;
  }): Promise<void>;
  /**
   * The highest samples in each step of time from `since` to before `until`, counted from the epoch: of a tenant, of
   * those since it was made, or of all together. Steps in which none was taken are left out.
   */
  highest(query: {
    tenant: TenantScope;
    since: number;
    until: number;
    stepMs: number;
  }): Promise<(DepthSample & { start: number })[]>;
  /** Removes a batch of the samples from before that time; answers whether there may be more. */
  removeBefore(before: number): Promise<boolean>;
}
