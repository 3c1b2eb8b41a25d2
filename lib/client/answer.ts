import type { AdminErrorCode, Issue } from '../model/errors.js';
import { AdminClientError } from './client-error.js';

/** What of a `Response` is used. */
export interface FetchResponse {
  readonly status: number;
  readonly headers: { get(name: string): string | null };
  text(): Promise<string>;
}

/**
 * What a call is answered with when it succeeds: a record, `nothing`, or a `health` record, which 503 does not make an
 * error.
 */
export type Expected = 'record' | 'nothing' | 'health';

const SHOWN_CHARACTERS = 200;

/**
 * @param what names the call, `GET /endpoints`
 * @throws AdminClientError for every answer that is not a success
 */
export function readAnswer(response: FetchResponse, text: string, expected: Expected, what: string): unknown {
  const { status } = response;
  const value = parseObject(text);
  if (status >= 200 && status < 300) {
    if (expected === 'nothing' ? text === '' : value) return value;
  } else if (expected === 'health' && status === 503 && typeof value?.ok === 'boolean') {
    return value;
  } else if (typeof value?.errorCode === 'string' && typeof value.error === 'string') {
    const { errorCode, error, issues, requestId } = value;
    throw new AdminClientError(errorCode as AdminErrorCode, error, {
      status,
      issues: Array.isArray(issues) ? (issues as Issue[]) : undefined,
      requestId: typeof requestId === 'string' ? requestId : undefined,
    });
  }
  throw new AdminClientError('UNEXPECTED_ANSWER', `${what} ${describe(response, text)}`, { status });
}

/** Undefined when it is no JSON object. */
function parseObject(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : undefined;
  } catch {
    return undefined;
  }
}

function describe({ status, headers }: FetchResponse, text: string): string {
  // Browsers hide the status of a redirect that is not followed.
  if (status === 0 || (status >= 300 && status < 400)) {
    const target = headers.get('location');
    return `was redirected${target === null ? '' : ` to ${target}`}, which the control plane never does: is baseUrl its final address, and does the caller have to sign in first?`;
  }
  const type = headers.get('content-type') ?? 'no content-type';
  const began = text === '' ? 'an empty body' : excerpt(text);
  return `was answered by something else than the control plane (status ${status}, ${type}, ${began}): is baseUrl where it is mounted, and what is in front of it?`;
}

/** The beginning of a body, in quotation marks. */
export function excerpt(text: string): string {
  return JSON.stringify(text.length > SHOWN_CHARACTERS ? `${text.slice(0, SHOWN_CHARACTERS)}…` : text);
}
