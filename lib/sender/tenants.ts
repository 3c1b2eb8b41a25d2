import { z } from 'zod';
import { HookplaneError, validationError } from '../model/errors.js';
import { createId } from '../model/ids.js';
import { jsonObject, parseInput } from '../model/input.js';
import { rateLimitSetting } from '../model/rate-limit.js';
import type { TenantOperations } from '../model/scope.js';
import { tenantId } from '../model/tenant.js';
import { wording } from '../model/wording.js';
import type { TenantScope } from '../store/store.js';
import { type Auditor, createAuditor } from './audit.js';
import type { SenderCore } from './core.js';
import { decodeCursor, encodeCursor, type Listing, pageLimit } from './cursor.js';
import { tenantNotFound } from './scope-rules.js';

export function tenantOperations(
  core: SenderCore,
  tenant: TenantScope,
  audit: Auditor | undefined,
): TenantOperations {
  const { now } = core.options;

  /** Whether the other tenant exists is not looked at, so that the refusal says nothing about it. */
  function assertOwn(id: string): void {
    if (tenant !== undefined && id !== tenant) {
      throw new HookplaneError('FORBIDDEN', 'The caller is bound to another tenant');
    }
  }

  function assertId(id: string): void {
    const parsed = tenantId.safeParse(id, { error: wording });
    if (parsed.success) return;
    throw validationError('TENANT_VALIDATION', 'The tenant', [
      { path: 'id', message: parsed.error.issues[0]!.message },
    ]);
  }

  return {
    async list(request = {}) {
      const listing: Listing = { name: 'tenants' };
      const page = await (await core.ready()).tenants.list({
        tenant,
        after: decodeCursor(listing, request.cursor),
        limit: pageLimit(request.limit),
      });
      return { tenants: page.rows, nextCursor: encodeCursor(listing, page.next) };
    },

    async get(id) {
      const store = await core.ready();
      return (
        (tenant === undefined || tenant === id ? await store.tenants.get(id) : null) ?? tenantNotFound(id)
      );
    },

    async setRateLimit(id, input) {
      assertOwn(id);
      assertId(id);
      const rateLimit = parseInput(
        rateLimitSetting,
        input,
        'TENANT_VALIDATION',
        'The rate limit',
        () => 'is not a field of a rate limit',
      );
      const { tenants } = await core.ready();
      const limited = audit?.('tenants.setRateLimit', id, ['rateLimit']);
      const set = await tenants.set(id, { rateLimit }, now(), limited);
      core.recall();
      return set;
    },

    async setMetadata(id, metadata) {
      assertOwn(id);
      assertId(id);
      const input = parseInput(
        z.strictObject({ metadata: jsonObject }),
        { metadata },
        'TENANT_VALIDATION',
        'The tenant',
      );
      const { tenants } = await core.ready();
      return tenants.set(id, input, now(), audit?.('tenants.setMetadata', id, ['metadata']));
    },

    async delete(id) {
      assertOwn(id);
      const { tenants } = await core.ready();
      const at = now();
      const last = { ms: at, id: createId('msg', at) };
      // Whoever asks: by it those who are bound to the next tenant of this id are not shown what was this one's.
      const record = audit ?? createAuditor(now, {});
      const deleted = await tenants.delete(id, last, record('tenants.delete', id));
      core.recall();
      if (!deleted) tenantNotFound(id);
      core.sweep();
    },
  };
}
