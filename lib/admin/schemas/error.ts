import { z } from 'zod';
import type { AdminErrorCode } from '../../model/errors.js';
import { type ErrorBody, STATUS_BY_CODE } from '../response.js';
import { component, schemaOf } from './component.js';

const CODES = Object.keys(STATUS_BY_CODE) as AdminErrorCode[];

export const error = component(
  schemaOf<ErrorBody>()(
    z.object({
      errorCode: z.enum(CODES).describe('What went wrong, for programs.'),
      error: z.string().describe('The same as a sentence, for people; its wording may change.'),
      issues: z
        .array(
          z.object({
            path: z.string().describe('The field, `filter.0.dataPath`; empty for the body as a whole.'),
            message: z.string().describe('What to change.'),
          }),
        )
        .readonly()
        .optional()
        .describe('What is wrong, field by field; present on the `…_VALIDATION` codes.'),
      requestId: z.string().optional().describe('On a 5xx: what to look for in the log of the application.'),
    }),
  ),
  { id: 'Error', description: 'The body of every answer that is not a success.' },
);

/** When each code is answered, and a sentence that comes with it. */
export const ERROR_NOTES: Readonly<Record<AdminErrorCode, { when: string; example: string }>> = {
  INVALID_QUERY: {
    when: 'a query parameter that the route does not have or cannot read, or a `limit` or `cursor` of no use',
    example: 'limit must be a positive whole number',
  },
  INVALID_BODY: {
    when: 'the body is missing, is no JSON object, names a field twice, or is given where none is taken',
    example: 'The body is not valid JSON',
  },
  UNAUTHORIZED: {
    when: 'the application does not know who is calling',
    example: 'Authentication is required',
  },
  FORBIDDEN: { when: 'the application does not let the caller do this', example: 'No access' },
  ENDPOINT_NOT_FOUND: {
    when: 'there is no such endpoint, or it is another tenant’s',
    example: 'There is no endpoint "ep_1"',
  },
  MESSAGE_NOT_FOUND: {
    when: 'there is no such message, or it is another tenant’s',
    example: 'There is no message "msg_1"',
  },
  TENANT_NOT_FOUND: {
    when: 'there is no such tenant, or it is not the caller’s, or it was deleted while the message was being sent',
    example: 'There is no tenant "acme"',
  },
  ROUTE_NOT_FOUND: { when: 'there is no such path', example: 'There is no such route' },
  METHOD_NOT_ALLOWED: {
    when: 'the path does not have the method; `Allow` names those it has',
    example: 'The method is not one of this path: use GET, HEAD, POST',
  },
  ENDPOINT_DISABLED: {
    when: 'the endpoint is paused',
    example: 'The endpoint ep_1 is paused: enable it first',
  },
  IDEMPOTENCY_CONFLICT: {
    when: 'the idempotency key was used for a message with another type or other data',
    example: 'The idempotency key "inv_1-paid" was used for a message with another type or data',
  },
  SECRET_SEALED: {
    when: 'a signing secret of the endpoint is sealed by a key that the application no longer has',
    example: 'The signing secret is sealed by the key "9f86d081", which is not in secretKey',
  },
  BODY_TOO_LARGE: {
    when: 'the body is larger than the application admits (256 KiB unless it says otherwise)',
    example: 'The body is larger than 262144 bytes',
  },
  UNSUPPORTED_MEDIA_TYPE: {
    when: 'the body is not `application/json`, or it is compressed',
    example: 'The body must be JSON: send it with "content-type: application/json"',
  },
  ENDPOINT_VALIDATION: {
    when: 'a field of the endpoint or of the rotation is wrong, missing or unknown; every one is named',
    example: 'The endpoint is not valid: url: is required',
  },
  MESSAGE_VALIDATION: {
    when: 'a field of the message is wrong, missing or unknown; every one is named',
    example: 'The message is not valid: type: is required',
  },
  TENANT_VALIDATION: {
    when: 'the tenant’s id or the rate limit is wrong',
    example: 'The rate limit is not valid: perSecond: is required',
  },
  REPLAY_VALIDATION: {
    when: 'a field of the request is wrong, missing or unknown; every one is named',
    example: 'The replay is not valid: since: is required',
  },
  INTERNAL: { when: 'something that should not happen', example: 'Internal error' },
  MIGRATION_REQUIRED: {
    when: 'the database has another schema than this version of hookplane needs',
    example: 'The schema of the store is newer than this version of hookplane',
  },
  STORE_UNAVAILABLE: {
    when: 'the database does not answer; try again later',
    example: 'The store does not answer',
  },
};

/** The body that goes with a code, as an example. */
export function errorExample(errorCode: AdminErrorCode): ErrorBody {
  const body: ErrorBody = { errorCode, error: ERROR_NOTES[errorCode].example };
  if (errorCode.endsWith('_VALIDATION')) {
    const [, path = '', message = ''] = /: (\S+): (.*)$/.exec(body.error) ?? [];
    body.issues = [{ path, message }];
  }
  if (STATUS_BY_CODE[errorCode] >= 500) body.requestId = 'req_01jf0odng08k2vqg4t5u6b7c8d';
  return body;
}
