import type { Kysely } from 'kysely';
import type { NewAuditEntry, TenantScope } from '../store.js';
import { appendAudit } from './audit.js';
import { IS_KEPT } from './deleted-tenants.js';
import type { SqlDialect } from './dialect.js';
import { lockMessages } from './locks.js';
import { rollUp } from './roll-up.js';
import type { Tables } from './schema.js';
import { changesOf, firstOf, type Steps } from './steps.js';

interface Expunction {
  tenant: TenantScope;
  id: string;
  now: number;
  audit: NewAuditEntry | undefined;
}

/**
 * Removes what a message says, and leaves what became of it. That a payload is missing is what tells an expunged
 * message: none of its deliveries is pending, so nothing is ever leased that could not be sent.
 */
export function* expungeMessage(
  db: Kysely<Tables>,
  dialect: SqlDialect,
  { tenant, id, now, audit }: Expunction,
): Steps<boolean> {
  const found = db
    .selectFrom('hookplane_messages as m')
    .select('tenant_id')
    .where('id', '=', id)
    .where(IS_KEPT);
  yield* lockMessages(db, dialect, [id]);
  const message = yield* firstOf(tenant === undefined ? found : found.where('tenant_id', '=', tenant));
  if (!message) return false;
  const removed = yield* changesOf(db.deleteFrom('hookplane_payloads').where('message_id', '=', id));
  if (removed > 0) yield* appendAudit([{ audit, tenantId: message.tenant_id }]);
  const canceled = yield* changesOf(
    db
      .updateTable('hookplane_deliveries')
      .set({
        status: 'canceled',
        last_error: 'The payload of the message was expunged',
        lease_owner: null,
        lease_until: null,
      })
      .where('message_id', '=', id)
      .where('status', '=', 'pending'),
  );
  yield* changesOf(
    db
      .updateTable('hookplane_attempts')
      .set({ response_body: null })
      .where('message_id', '=', id)
      .where('response_body', 'is not', null),
  );
  if (canceled > 0) yield* rollUp(db, dialect, [id], now);
  return true;
}
