import type { AdminErrorCode, Issue } from '../model/errors.js';

/**
 * The control plane's own codes, and what can go wrong on the way to it: `NETWORK` (no answer came), `TIMEOUT` (none
 * came in time), `UNEXPECTED_ANSWER` (something else answered, such as a proxy), `INVALID_ARGUMENT` (nothing was asked,
 * because the question cannot be put).
 */
export type AdminClientErrorCode =
  | AdminErrorCode
  | 'NETWORK'
  | 'TIMEOUT'
  | 'UNEXPECTED_ANSWER'
  | 'INVALID_ARGUMENT';

/**
 * The error of every call that did not succeed. Compare `code`, not the class: a process may hold the CommonJS and the
 * ES module copy of this package at once, and each has a class of its own.
 */
export class AdminClientError extends Error {
  override readonly name = 'AdminClientError';
  readonly code: AdminClientErrorCode;
  /** The HTTP status; null when there was no answer. */
  readonly status: number | null;
  /** What is wrong, field by field; present on the `…_VALIDATION` codes. */
  readonly issues?: readonly Issue[];
  /** On a 5xx of the control plane: what its log has of it. */
  readonly requestId?: string;

  constructor(
    code: AdminClientErrorCode,
    message: string,
    details: {
      status?: number;
      issues?: readonly Issue[] | undefined;
      requestId?: string | undefined;
      cause?: unknown;
    } = {},
  ) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause });
    this.code = code;
    this.status = details.status ?? null;
    if (details.issues) this.issues = details.issues;
    if (details.requestId !== undefined) this.requestId = details.requestId;
  }
}

/** True for an {@link AdminClientError} of either copy of this package. */
export function isAdminClientError(error: unknown): error is AdminClientError {
  const { name, code } = (error ?? {}) as { name?: unknown; code?: unknown };
  return name === 'AdminClientError' && typeof code === 'string';
}

export function invalidArgument(message: string, cause?: unknown): AdminClientError {
  return new AdminClientError('INVALID_ARGUMENT', message, { cause });
}
