import type { AuditActor, AuditedOperation } from '../model/audit.js';

/**
 * What is to be recorded of a change. A method that takes one inserts it in the transaction of the change, so that
 * neither is there without the other; where nothing is changed, nothing is recorded. The tenant of the record is that
 * of what is changed, as the store has it.
 */
export interface NewAuditEntry {
  id: string;
  at: number;
  requestId: string | null;
  actor: AuditActor | null;
  operation: AuditedOperation;
  targetId: string;
  changes: readonly string[];
}
