import type { Actor, AuditedOperation } from '../model/audit.js';
import { HookplaneError } from '../model/errors.js';
import { createId } from '../model/ids.js';
import type { AuditOperations } from '../model/scope.js';
import type { NewAuditEntry, TenantScope } from '../store/store.js';
import type { SenderCore } from './core.js';
import { decodeCursor, encodeCursor, type Listing, pageLimit } from './cursor.js';
import { narrowTenant, timeRange } from './scope-rules.js';

/** Who a scope acts for. */
export interface ScopeCaller {
  /** Binds the scope to this tenant. Leave the key out for a caller that may see every tenant. */
  tenantId?: string;
  /** Who it is; absent when that is not known. */
  actor?: Actor | undefined;
  /** What the application calls the request in which this happens. */
  requestId?: string | undefined;
}

/** Makes what is to be recorded of a change. Scopes whose changes are not recorded have none. */
export type Auditor = (
  operation: AuditedOperation,
  targetId: string,
  changes?: readonly string[],
) => NewAuditEntry;

/** @throws HookplaneError `INVALID_OPTIONS` */
export function createAuditor(now: () => number, { actor, requestId }: ScopeCaller): Auditor {
  const ids = [actor === undefined ? 'nobody' : (actor as Partial<Actor> | null)?.id, requestId ?? 'none'];
  if (ids.some((id) => typeof id !== 'string' || id === '')) {
    throw new HookplaneError(
      'INVALID_OPTIONS',
      'forCaller: actor.id and requestId must be non-empty strings; leave out what is not known',
    );
  }
  const who = actor ? { id: storable(actor.id), name: storable(actor.name ?? null) } : null;
  return (operation, targetId, changes = []) => {
    const at = now();
    return {
      id: createId('aud', at),
      at,
      requestId: storable(requestId ?? null),
      actor: who,
      operation,
      targetId,
      changes,
    };
  };
}

/** Not every database keeps a NUL, and a caller whose name has one must not make others' sends fail with its own. */
function storable<Text extends string | null>(text: Text): Text {
  return (text === null ? null : text.replaceAll('\0', '\ufffd')) as Text;
}

/** The names of the fields that an input has. */
export function fieldNames(input: object): string[] {
  return Object.entries(input).flatMap(([name, value]) => (value === undefined ? [] : [name]));
}

export function auditOperations(core: SenderCore, tenant: TenantScope): AuditOperations {
  return {
    async list(request = {}) {
      const { actor, operation, targetId, since, until, tenantId } = request;
      const listing: Listing = {
        name: 'audit',
        filters: { actor, operation, targetId, since, until, tenantId },
      };
      const query = {
        tenant: narrowTenant(tenant, tenantId),
        sinceDeletion: tenant !== undefined,
        actor,
        operation,
        targetId,
        ...timeRange(since, until),
        after: decodeCursor(listing, request.cursor),
        limit: pageLimit(request.limit),
      };
      const page = await (await core.ready()).audit.list(query);
      return { entries: page.rows, nextCursor: encodeCursor(listing, page.next) };
    },
  };
}
