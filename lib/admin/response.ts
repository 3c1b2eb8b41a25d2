import { type AdminErrorCode, HookplaneError, isHookplaneError, type Issue } from '../model/errors.js';

/** The one status of each code. A code that is not here is an internal error. */
export const STATUS_BY_CODE: Readonly<Record<AdminErrorCode, number>> = {
  INVALID_QUERY: 400,
  INVALID_BODY: 400,
  UNAUTHORIZED: 401,
  FORBIDDEN: 403,
  ENDPOINT_NOT_FOUND: 404,
  MESSAGE_NOT_FOUND: 404,
  TENANT_NOT_FOUND: 404,
  ROUTE_NOT_FOUND: 404,
  METHOD_NOT_ALLOWED: 405,
  ENDPOINT_DISABLED: 409,
  IDEMPOTENCY_CONFLICT: 409,
  SECRET_SEALED: 409,
  BODY_TOO_LARGE: 413,
  UNSUPPORTED_MEDIA_TYPE: 415,
  ENDPOINT_VALIDATION: 422,
  MESSAGE_VALIDATION: 422,
  TENANT_VALIDATION: 422,
  REPLAY_VALIDATION: 422,
  INTERNAL: 500,
  MIGRATION_REQUIRED: 503,
  STORE_UNAVAILABLE: 503,
};

/** The body of every answer that is not a success, except an unhealthy health record. */
export interface ErrorBody {
  errorCode: AdminErrorCode;
  error: string;
  issues?: readonly Issue[];
  /** On a 5xx: what the log has of it. */
  requestId?: string;
}

const HEADERS = Object.freeze({
  'content-type': 'application/json; charset=utf-8',
  'cache-control': 'no-store',
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
});

/** What the control plane answers, before a host makes it into its own kind of response. */
export interface Answer {
  status: number;
  headers: Readonly<Record<string, string>>;
  body: string | null;
}

/** @param body written as JSON; undefined is no body */
export function jsonAnswer(status: number, body: unknown, headers?: Record<string, string>): Answer {
  return {
    status,
    headers: headers ? { ...HEADERS, ...headers } : HEADERS,
    body: body === undefined ? null : JSON.stringify(body),
  };
}

/** @param mediaType what the text is. @default JSON */
export function textAnswer(
  status: number,
  text: string,
  mediaType: string = HEADERS['content-type'],
  headers: Record<string, string> = {},
): Answer {
  return { status, headers: { ...HEADERS, 'content-type': mediaType, ...headers }, body: text };
}

/**
 * The only place where an error becomes an answer. It throws for no error, whatever the application has thrown.
 * @param requestId goes into answers that say nothing else about what happened
 */
export function errorAnswer(error: unknown, requestId: () => string): Answer {
  try {
    return readError(error, requestId);
  } catch {
    // What looks like one of ours, and cannot be read or written.
    return readError(undefined, requestId);
  }
}

function readError(error: unknown, requestId: () => string): Answer {
  const known = isHookplaneError(error) && Object.hasOwn(STATUS_BY_CODE, error.code) ? error : null;
  const code = (known?.code ?? 'INTERNAL') as AdminErrorCode;
  const status = STATUS_BY_CODE[code];
  const body: ErrorBody = { errorCode: code, error: known?.message ?? 'Internal error' };
  if (known?.issues) body.issues = known.issues;
  if (status >= 500) body.requestId = requestId();
  const headers: Record<string, string> = {};
  if (status === 401) headers['www-authenticate'] = 'Bearer';
  if (status === 503) headers['retry-after'] = '5';
  if (known instanceof MethodNotAllowed) headers.allow = known.allow;
  return jsonAnswer(status, body, headers);
}

/**
 * What a response was made of, for a host that can write it at once and need not read it back. A property of it, since
 * a WeakMap of what lives as short as this keeps the garbage collector busy.
 */
const ANSWER = Symbol('answer');

/** @param ResponseClass the host's own, where it has a cheaper one than the native */
export function toResponse(answer: Answer, ResponseClass = Response): Response {
  // A copy of the headers: a light class writes the length of the body into the object that it is given.
  const { status, headers, body } = answer;
  return Object.assign(new ResponseClass(body, { status, headers: { ...headers } }), { [ANSWER]: answer });
}

/** The answer that a response was made of here; undefined for any other response. */
export function knownAnswer(response: unknown): Answer | undefined {
  return (response as { [ANSWER]?: Answer } | null | undefined)?.[ANSWER];
}

/** A path that is known, asked for by a method that it does not have. */
export class MethodNotAllowed extends HookplaneError {
  readonly allow: string;
  constructor(allow: string) {
    super('METHOD_NOT_ALLOWED', `The method is not one of this path: use ${allow}`);
    this.allow = allow;
  }
}
