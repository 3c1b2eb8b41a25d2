import type { Kysely } from 'kysely';
import type { Endpoint, PausedReason } from '../../model/endpoint.js';
import type { TenantScope } from '../store.js';
import { newRevision } from './endpoint-cache.js';
import { toEndpoint } from './rows.js';
import type { Tables } from './schema.js';
import { firstOf, type Steps } from './steps.js';

/** Pauses an active endpoint; null when it is not there or paused already. */
export function* pauseActive(
  db: Kysely<Tables>,
  tenant: TenantScope,
  id: string,
  reason: PausedReason,
  now: number,
  only: { url?: string; failingBefore?: number | undefined } = {},
): Steps<Endpoint | null> {
  let query = db
    .updateTable('hookplane_endpoints')
    .set({
      status: 'paused',
      paused_reason: reason,
      paused_at: now,
      revision: newRevision(),
      updated_at: now,
    })
    .where('id', '=', id)
    .where('status', '=', 'active');
  if (tenant !== undefined) query = query.where('tenant_id', '=', tenant);
  if (only.url !== undefined) query = query.where('url', '=', only.url);
  if (only.failingBefore !== undefined) query = query.where('failing_since', '<=', only.failingBefore);
  const row = yield* firstOf(query.returningAll());
  return row ? toEndpoint(row) : null;
}
