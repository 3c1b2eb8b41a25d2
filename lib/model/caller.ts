import type { AuditActor } from './audit.js';

/** What the control plane takes a caller for, by the decision of `authorize`. */
export interface CallerRecord {
  /** The tenant that the caller is bound to; null for one that may see every tenant. */
  tenantId: string | null;
  /** Whether it is refused every method but GET and HEAD, and what shows a signing secret. */
  readOnly: boolean;
  /** Who it is; null when the application does not say who its callers are. */
  actor: AuditActor | null;
}
