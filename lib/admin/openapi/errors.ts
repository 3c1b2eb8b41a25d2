import type { AdminErrorCode } from '../../model/errors.js';
import { STATUS_BY_CODE } from '../response.js';
import type { Route } from '../route.js';
import { ERROR_NOTES, error, errorExample } from '../schemas/error.js';
import { type JsonSchema, schemaFor } from './json-schema.js';

export const JSON_TYPE = 'application/json';

const CODES = Object.keys(STATUS_BY_CODE) as AdminErrorCode[];

const ANY_ROUTE: readonly AdminErrorCode[] = ['INVALID_QUERY', 'UNAUTHORIZED', 'FORBIDDEN', 'INTERNAL'];
const READING_A_BODY: readonly AdminErrorCode[] = [
  'INVALID_BODY',
  'BODY_TOO_LARGE',
  'UNSUPPORTED_MEDIA_TYPE',
];
const ASKING_THE_STORE: readonly AdminErrorCode[] = ['MIGRATION_REQUIRED', 'STORE_UNAVAILABLE'];

/** Every code that a route can answer, by status. */
export function errorCodes(route: Route): Map<number, AdminErrorCode[]> {
  const all = new Set([
    ...ANY_ROUTE,
    ...(route.method === 'POST' || route.method === 'PATCH' ? READING_A_BODY : []),
    ...(route.storeless ? [] : ASKING_THE_STORE),
    ...route.errors,
  ]);
  const byStatus = new Map<number, AdminErrorCode[]>();
  for (const code of CODES.filter((each) => all.has(each))) {
    const status = STATUS_BY_CODE[code];
    byStatus.set(status, [...(byStatus.get(status) ?? []), code]);
  }
  return byStatus;
}

/** The name of a response that holds one of these codes. */
export function responseName(codes: readonly AdminErrorCode[]): string {
  return codes.join('-');
}

export function errorResponse(status: number, codes: readonly AdminErrorCode[]): JsonSchema {
  return {
    description: codes.map((code) => `- \`${code}\`: ${ERROR_NOTES[code].when}.`).join('\n'),
    ...(status in HEADERS && { headers: HEADERS[status] }),
    content: {
      [JSON_TYPE]: {
        schema: { allOf: [schemaFor(error), narrowing(status, codes)] },
        examples: Object.fromEntries(codes.map((code) => [code, { $ref: `#/components/examples/${code}` }])),
      },
    },
  };
}

const HEADERS: Readonly<Record<number, JsonSchema>> = {
  401: {
    'WWW-Authenticate': { description: 'How to authenticate.', required: true, schema: { type: 'string' } },
  },
  503: {
    'Retry-After': { description: 'Seconds to wait.', required: true, schema: { type: 'string' } },
  },
};

/** What an error of these codes says beside what any error says. */
function narrowing(status: number, codes: readonly AdminErrorCode[]): JsonSchema {
  const required = [
    ...(codes.every((code) => code.endsWith('_VALIDATION')) ? ['issues'] : []),
    ...(status >= 500 ? ['requestId'] : []),
  ];
  return {
    properties: { errorCode: { enum: codes } },
    ...(required.length > 0 && { required }),
  };
}

/** One example of each code that is used. */
export function errorExamples(used: ReadonlySet<AdminErrorCode>): JsonSchema {
  return Object.fromEntries(
    CODES.filter((code) => used.has(code)).map((code) => [code, { value: errorExample(code) }]),
  );
}
