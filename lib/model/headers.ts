import { z } from 'zod';
import { isForbiddenKey } from './input.js';

const MAX_HEADERS = 32;
const MAX_VALUE_LENGTH = 4096;
const MAX_TOTAL_LENGTH = 8192;
const TOKEN = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
const VALUE = /^[\t\x20-\x7e]*$/;

/** Headers the sender or the connection owns, or that a proxy or a cloud's metadata service would trust. */
const RESERVED = new Set([
  'accept-encoding',
  'cf-connecting-ip',
  'connection',
  'cookie',
  'date',
  'expect',
  'forwarded',
  'host',
  'http2-settings',
  'keep-alive',
  'metadata',
  'metadata-flavor',
  'set-cookie',
  'te',
  'trailer',
  'transfer-encoding',
  'true-client-ip',
  'upgrade',
  'user-agent',
  'via',
  'x-aws-ec2-metadata-token',
  'x-aws-ec2-metadata-token-ttl-seconds',
  'x-google-metadata-request',
  'x-real-ip',
  'traceparent',
  'tracestate',
]);
const RESERVED_PREFIXES = [
  'webhook-',
  'content-',
  'proxy-',
  'sec-',
  'x-forwarded-',
  'x-amz-',
  'x-goog-',
  'x-azure-',
];

/** Every problem of the extra headers of an endpoint, as pairs of header name and sentence. */
export function headerProblems(headers: Record<string, unknown>): { name: string; problem: string }[] {
  const problems: { name: string; problem: string }[] = [];
  const seen = new Set<string>();
  let total = 0;
  for (const [name, value] of Object.entries(headers)) {
    const lower = name.toLowerCase();
    total += name.length + (typeof value === 'string' ? value.length : 0);
    const problem = !TOKEN.test(name)
      ? 'is not a header name'
      : isForbiddenKey(name)
        ? 'is not allowed as a name'
        : RESERVED.has(lower) || RESERVED_PREFIXES.some((prefix) => lower.startsWith(prefix))
          ? 'is a reserved header and cannot be set'
          : seen.has(lower)
            ? 'is given twice'
            : typeof value !== 'string'
              ? 'must be a string'
              : value.length > MAX_VALUE_LENGTH
                ? `must be at most ${MAX_VALUE_LENGTH} characters`
                : !VALUE.test(value)
                  ? 'must hold visible ASCII characters, spaces and tabs only'
                  : null;
    seen.add(lower);
    if (problem) problems.push({ name, problem });
  }
  if (seen.size > MAX_HEADERS) problems.push({ name: '', problem: `must be at most ${MAX_HEADERS} headers` });
  if (total > MAX_TOTAL_LENGTH)
    problems.push({ name: '', problem: `must be at most ${MAX_TOTAL_LENGTH} bytes in all` });
  return problems;
}

export const endpointHeaders = z
  .custom<Record<string, string>>(
    (value) => typeof value === 'object' && value !== null && !Array.isArray(value),
    'must be an object of strings',
  )
  .superRefine((headers, context) => {
    for (const { name, problem } of headerProblems(headers)) {
      context.addIssue({ code: 'custom', path: name ? [name] : [], message: problem });
    }
  })
  // In JSON Schema, which cannot say what code checks.
  .meta({ type: 'object', additionalProperties: { type: 'string' } });
