import { createHmac, timingSafeEqual, verify } from 'node:crypto';
import { rememberLast } from './key-cache.js';
import { hmacKeyOf, verifyingKeyOf } from './keys.js';

const REMEMBERED_KEYS = 256;
/** A sender signs with at most ten secrets; more tokens than this are not looked at, so that no header costs seconds. */
const MAX_TOKENS = 32;
const DEFAULT_TOLERANCE_SECONDS = 300;

const hmacKey = rememberLast(REMEMBERED_KEYS, hmacKeyOf);
const verifyingKey = rememberLast(REMEMBERED_KEYS, verifyingKeyOf);

/** What is wrong with a request that did not verify. */
export type VerificationErrorCode = 'MISSING_HEADER' | 'INVALID_TIMESTAMP' | 'STALE_TIMESTAMP' | 'NO_MATCH';

/** A request that did not come from the sender, or not lately: answer it with 400 or 401. */
export class WebhookVerificationError extends Error {
  override readonly name = 'WebhookVerificationError';
  readonly code: VerificationErrorCode;

  constructor(code: VerificationErrorCode, message: string) {
    super(message);
    this.code = code;
  }
}

/** The headers of a request: a Fetch `Headers`, or Node's plain object, whose names may have any case. */
export type VerifiableHeaders =
  | { get(name: string): string | null }
  | Readonly<Record<string, string | readonly string[] | undefined>>;

export interface VerifySignatureOptions {
  headers: VerifiableHeaders;
  /** The body as it arrived, before any parsing: JSON that was parsed and written again has other bytes. */
  body: string | Uint8Array;
  /** `whsec_…` for `v1`; `whpk_…` or `whsk_…` for `v1a`. */
  secret?: string | undefined;
  /** Several, of which any one may match: both of them while a secret is being rotated. */
  secrets?: readonly string[] | undefined;
  /** How far the timestamp may be from `now`, in either direction; seconds. @default 300 */
  toleranceSeconds?: number | undefined;
  /** Milliseconds since the epoch. @default Date.now */
  now?: (() => number) | undefined;
}

/**
 * Verifies a request signed by Standard Webhooks 1.0.0, for receivers. Answers the `webhook-id`, which is the same on
 * every retry and so tells duplicates, and the `webhook-timestamp` in Unix seconds.
 *
 * @throws {WebhookVerificationError} when the request is not authentic
 * @throws {TypeError} when a secret or an option is not usable, which is the receiver's own mistake
 */
export function verifySignature(options: VerifySignatureOptions): { id: string; timestamp: number } {
  const { headers, toleranceSeconds = DEFAULT_TOLERANCE_SECONDS, now = Date.now } = options;
  const secrets = [...(options.secrets ?? []), ...(options.secret === undefined ? [] : [options.secret])];
  if (secrets.length === 0) throw new TypeError('verifySignature needs a secret.');
  if (!(toleranceSeconds >= 0)) throw new TypeError('toleranceSeconds must be a number of seconds ≥ 0.');
  if (typeof options.body !== 'string' && !(options.body instanceof Uint8Array)) {
    throw new TypeError(
      'The body must be the raw request body, a string or bytes, not what was parsed from it.',
    );
  }
  const keys = secrets.map(readKey);

  const id = header(headers, 'webhook-id');
  const timestamp = header(headers, 'webhook-timestamp');
  const signatures = header(headers, 'webhook-signature');
  if (!/^\d{1,12}$/.test(timestamp)) {
    throw new WebhookVerificationError(
      'INVALID_TIMESTAMP',
      'The webhook-timestamp header is no Unix time in seconds.',
    );
  }
  if (Math.abs(now() / 1000 - Number(timestamp)) > toleranceSeconds) {
    throw new WebhookVerificationError(
      'STALE_TIMESTAMP',
      `The webhook-timestamp header is more than ${toleranceSeconds} seconds away from now.`,
    );
  }
  const body = typeof options.body === 'string' ? Buffer.from(options.body) : options.body;
  const signed = Buffer.concat([Buffer.from(`${id}.${timestamp}.`), body]);
  const tokens = signatures.split(' ', MAX_TOKENS).map(readToken);
  if (
    !keys.some((key) =>
      tokens.some((token) => key.version === token.version && key.matches(signed, token.bytes)),
    )
  ) {
    throw new WebhookVerificationError('NO_MATCH', 'No signature in the webhook-signature header matches.');
  }
  return { id, timestamp: Number(timestamp) };
}

interface VerifyingKey {
  version: 'v1' | 'v1a';
  matches(signed: Buffer, signature: Buffer): boolean;
}

function readKey(secret: string): VerifyingKey {
  if (secret.startsWith('whpk_') || secret.startsWith('whsk_')) {
    const key = verifyingKey(secret);
    return { version: 'v1a', matches: (signed, signature) => verify(null, signed, key, signature) };
  }
  const key = hmacKey(secret);
  let expected: Buffer | undefined;
  return {
    version: 'v1',
    matches(signed, signature) {
      expected ??= createHmac('sha256', key).update(signed).digest();
      return signature.length === expected.length && timingSafeEqual(signature, expected);
    },
  };
}

function readToken(token: string): { version: string; bytes: Buffer } {
  const comma = token.indexOf(',');
  return {
    version: token.slice(0, Math.max(comma, 0)),
    bytes: Buffer.from(token.slice(comma + 1), 'base64'),
  };
}

function header(headers: VerifiableHeaders, name: string): string {
  const value = isHeaders(headers) ? headers.get(name) : plainHeader(headers, name);
  if (typeof value === 'string' && value !== '') return value;
  throw new WebhookVerificationError('MISSING_HEADER', `The request has no ${name} header.`);
}

function isHeaders(headers: VerifiableHeaders): headers is { get(name: string): string | null } {
  return typeof headers.get === 'function';
}

function plainHeader(
  headers: Readonly<Record<string, string | readonly string[] | undefined>>,
  name: string,
) {
  const key = Object.hasOwn(headers, name)
    ? name
    : Object.keys(headers).find((candidate) => candidate.toLowerCase() === name);
  const value = key === undefined ? undefined : headers[key];
  // Node gives a repeated header of this kind as one string; frameworks that give a list mean the same.
  return typeof value === 'object' ? value.join(name === 'webhook-signature' ? ' ' : ', ') : value;
}
