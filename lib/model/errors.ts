/** Every code an operation of the sender can fail with. */
export type OperationErrorCode =
  | 'ENDPOINT_NOT_FOUND'
  | 'MESSAGE_NOT_FOUND'
  | 'TENANT_NOT_FOUND'
  | 'ENDPOINT_VALIDATION'
  | 'MESSAGE_VALIDATION'
  | 'TENANT_VALIDATION'
  | 'REPLAY_VALIDATION'
  | 'ENDPOINT_DISABLED'
  | 'IDEMPOTENCY_CONFLICT'
  | 'SECRET_SEALED'
  | 'INVALID_QUERY'
  | 'MIGRATION_REQUIRED'
  | 'STORE_UNAVAILABLE'
  | 'FORBIDDEN';

/** Every code the control plane can answer. */
export type AdminErrorCode =
  | OperationErrorCode
  | 'ROUTE_NOT_FOUND'
  | 'INVALID_BODY'
  | 'UNAUTHORIZED'
  | 'METHOD_NOT_ALLOWED'
  | 'BODY_TOO_LARGE'
  | 'UNSUPPORTED_MEDIA_TYPE'
  | 'INTERNAL';

/** `INVALID_OPTIONS` is thrown by options in code that cannot work: of the construction, and of a send. */
export type ErrorCode = AdminErrorCode | 'INVALID_OPTIONS';

/** One thing that is wrong with an input: `path` names the field (`filter.0.dataPath`), `message` what to change. */
export interface Issue {
  path: string;
  message: string;
}

/**
 * The error of every rejected operation. Compare `code`, not the class: a process may hold the CommonJS and the
 * ES module copy of this package at once, and each has a class of its own.
 */
export class HookplaneError extends Error {
  override readonly name = 'HookplaneError';
  readonly code: ErrorCode;
  /** What is wrong, field by field; present on the `…_VALIDATION` codes. */
  readonly issues?: readonly Issue[];

  constructor(
    code: ErrorCode,
    message: string,
    options: { issues?: readonly Issue[]; cause?: unknown } = {},
  ) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.code = code;
    if (options.issues) this.issues = options.issues;
  }
}

/** True for a {@link HookplaneError} of either copy of this package. */
export function isHookplaneError(error: unknown): error is HookplaneError {
  const { name, code } = (error ?? {}) as { name?: unknown; code?: unknown };
  return name === 'HookplaneError' && typeof code === 'string';
}

/** A validation error whose message repeats the first issue, so that a log line alone says what to change. */
export function validationError(code: ErrorCode, what: string, issues: readonly Issue[]): HookplaneError {
  const [first] = issues;
  const more = issues.length > 1 ? ` (and ${issues.length - 1} more)` : '';
  const detail = first ? `${first.path ? `${first.path}: ` : ''}${first.message}${more}` : 'invalid';
  return new HookplaneError(code, `${what} is not valid: ${detail}`, { issues });
}

/** The second use of an idempotency key, for something else than the first. */
export function idempotencyConflict(key: string | null): HookplaneError {
  return new HookplaneError(
    'IDEMPOTENCY_CONFLICT',
    `The idempotency key ${JSON.stringify(key)} was used for a message with another type or data`,
  );
}

/** A message that was made before its tenant was deleted, and would be stored after. */
export function tenantDeleted(): HookplaneError {
  return new HookplaneError(
    'TENANT_NOT_FOUND',
    'The tenant was deleted while the message was being sent; send it again if the tenant is there anew',
  );
}
