import { createHash, timingSafeEqual } from 'node:crypto';
import { type KnownKeys, unknownKey } from '../../model/known-keys.js';
import {
  type Authorize,
  type Decider,
  type Decision,
  isThenable,
  lazyAuthorizer,
  lazyDecider,
} from '../authorize.js';
import type { RequestHead } from '../lazy-request.js';
import { invalidOptions } from './invalid-options.js';

const invalid = invalidOptions('bearerToken');

/** A token, and what whoever sends it may do. */
export interface BearerToken {
  /** At least 16 visible ASCII characters, such as what `openssl rand -hex 32` prints. */
  token: string;
  /** Binds the caller to this tenant. Without the key the caller sees every tenant. */
  tenantId?: string;
  /** Names the caller: the decision's `actor`. */
  name?: string;
  /** Allows GET and HEAD alone, and no signing secrets. */
  readOnly?: boolean;
}

/** Decides on a token that is kept elsewhere. Null and undefined mean that it is nobody's: 401. */
export type BearerLookup = Decider<
  string,
  Decision | null | undefined | Promise<Decision | null | undefined>
>;

const MIN_LENGTH = 16;
const VISIBLE_ASCII = /^[\x21-\x7e]+$/;
const BEARER = /^bearer +([\x21-\x7e]+)$/i;
const KEYS: KnownKeys<BearerToken> = { token: true, tenantId: true, name: true, readOnly: true };

export const MISSING_BEARER: Decision = {
  allow: false,
  status: 401,
  publicMessage: 'Send a bearer token: "Authorization: Bearer <token>"',
};
export const INVALID_BEARER: Decision = {
  allow: false,
  status: 401,
  publicMessage: 'The bearer token is not valid',
};

/**
 * Lets in who sends one of these tokens as `Authorization: Bearer …` (RFC 6750, §2.1); without one, or with another,
 * the answer is 401.
 *
 * Tokens are compared by their SHA-256, in a time that depends on neither the token sent nor the ones known. The lookup
 * form, for tokens that are kept in a database, has to see to that by itself: look up by a digest.
 * @param tokens one token, several with what each allows, or a lookup
 * @throws HookplaneError `INVALID_OPTIONS` for a token that is empty, short, given twice, or cannot be sent
 */
export function bearerToken(
  tokens: string | BearerToken | readonly (string | BearerToken)[] | BearerLookup,
): Authorize {
  const lookup = lazyDecider(typeof tokens === 'function' ? tokens : amongTokens(tokens));
  return lazyAuthorizer((request, info) => {
    const token = readBearer(request.head);
    if (token === null) return MISSING_BEARER;
    const decision = lookup(token, request, info);
    // One that is given at once needs nobody to wait for it.
    return isThenable(decision)
      ? Promise.resolve(decision).then((known) => known ?? INVALID_BEARER)
      : (decision ?? INVALID_BEARER);
  });
}

/** The token of `Authorization: Bearer`; null when there is none that is well-formed. */
export function readBearer({ headers }: RequestHead): string | null {
  return BEARER.exec(headers.get('authorization') ?? '')?.[1] ?? null;
}

function amongTokens(tokens: string | BearerToken | readonly (string | BearerToken)[]): BearerLookup {
  const list: readonly unknown[] = Array.isArray(tokens) ? tokens : [tokens];
  if (list.length === 0) throw invalid('it needs at least one token');
  const known = list.map((entry, index) =>
    readEntry(entry, Array.isArray(tokens) ? `tokens[${index}]` : 'the token'),
  );
  for (const [index, { digest }] of known.entries()) {
    const first = known.findIndex((other) => other.digest.equals(digest));
    if (first !== index) throw invalid(`tokens[${index}] is the same token as tokens[${first}]: remove one`);
  }
  return (token) => {
    const digest = sha256(token);
    let found: Decision | undefined;
    // To the end, so that the time does not tell which one it was.
    for (const each of known) if (timingSafeEqual(each.digest, digest)) found = each.decision;
    return found;
  };
}

function readEntry(entry: unknown, where: string): { digest: Buffer; decision: Decision } {
  if (typeof entry !== 'object' || entry === null) {
    return { digest: sha256(readToken(entry, where)), decision: true };
  }
  // A misspelt tenantId would open every tenant.
  const problem = unknownKey(entry, KEYS);
  if (problem !== null) throw invalid(`${where} ${problem}`);
  const { token, name, readOnly = false } = entry as Record<string, unknown>;
  if (typeof readOnly !== 'boolean') throw invalid(`${where}: readOnly must be a boolean`);
  if (name !== undefined && (typeof name !== 'string' || name === '')) {
    throw invalid(`${where}: name must be a non-empty string`);
  }
  const decision: Decision = { allow: true, readOnly, ...(name !== undefined && { actor: name }) };
  if ('tenantId' in entry) {
    const { tenantId } = entry;
    if (typeof tenantId !== 'string' || tenantId === '') {
      throw invalid(
        `${where}: tenantId must be a non-empty string; leave the key out for a token that may see every tenant`,
      );
    }
    decision.tenantId = tenantId;
  }
  return { digest: sha256(readToken(token, where)), decision };
}

/** The messages never repeat the token: they end up in logs. */
function readToken(token: unknown, where: string): string {
  if (typeof token !== 'string') {
    throw invalid(
      `${where} is ${token === null ? 'null' : typeof token}: is the variable that it comes from set?`,
    );
  }
  if (token.length < MIN_LENGTH) {
    throw invalid(
      `${where} has ${token.length} characters and needs at least ${MIN_LENGTH}: take what "openssl rand -hex 32" prints`,
    );
  }
  if (!VISIBLE_ASCII.test(token)) {
    throw invalid(
      `${where} holds a space, a line break or a character that is not ASCII, which no header can carry`,
    );
  }
  return token;
}

function sha256(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}
