/** Who a caller is, for the record of who changed what. */
export interface Actor {
  /** What identifies the actor for good, such as the id of a user or the name of a token. */
  id: string;
  /** For people to read. */
  name?: string | undefined;
}

/**
 * The operations that leave a record: those that change something, `endpoints.secret`, which shows what must stay
 * secret, and `endpoints.test`, which sends whatever the caller wants under the signature of the endpoint.
 */
export const AUDITED_OPERATIONS = [
  'endpoints.create',
  'endpoints.update',
  'endpoints.delete',
  'endpoints.disable',
  'endpoints.enable',
  'endpoints.rotateSecret',
  'endpoints.secret',
  'endpoints.test',
  'replay',
  'send',
  'messages.expungePayload',
  'tenants.setRateLimit',
  'tenants.setMetadata',
  'tenants.delete',
] as const;

export type AuditedOperation = (typeof AUDITED_OPERATIONS)[number];

/** The actor of a record. */
export interface AuditActor {
  id: string;
  /** null when the application gave none. */
  name: string | null;
}

/** One change that a caller made. There is none of what was refused, failed or found nothing to change. */
export interface AuditEntry {
  id: string;
  at: string;
  /** The same for all that one request of the control plane did; null when the application named none. */
  requestId: string | null;
  /** null when the application does not say who its callers are. */
  actor: AuditActor | null;
  /** The tenant that the change concerns, which may be gone by now; null when it concerns none. */
  tenantId: string | null;
  operation: AuditedOperation;
  /** The endpoint, message or tenant. */
  targetId: string;
  /** The names of the fields that were set, `secret` among them; never what they were set to. */
  changes: string[];
}
