import type { KeyObject } from 'node:crypto';
import { within } from '../../model/deadline.js';
import { isHookplaneError } from '../../model/errors.js';
import { type KnownKeys, unknownKey } from '../../model/known-keys.js';
import {
  type Authorize,
  type AuthorizeInfo,
  type Decider,
  type Decision,
  judge,
  lazyAuthorizer,
  lazyDecider,
  toDecision,
} from '../authorize.js';
import type { LazyRequest } from '../lazy-request.js';
import { INVALID_BEARER, MISSING_BEARER, readBearer } from './bearer-token.js';
import { invalidOptions } from './invalid-options.js';
import { type JwtKeyOptions, readJwtKey } from './jwt-key.js';

const invalid = invalidOptions('jwt');

/** The claims of a token whose signature, issuer, audience and times have been checked. */
export interface JwtClaims {
  iss?: string;
  sub?: string;
  aud?: string | string[];
  exp?: number;
  nbf?: number;
  iat?: number;
  jti?: string;
  [claim: string]: unknown;
}

export interface JwtOptions extends JwtKeyOptions {
  /** What `iss` has to be, or one of several. */
  issuer: string | string[];
  /** What `aud` has to name, or one of several: the control plane, so that tokens for other services do not work here. */
  audience: string | string[];
  /** Narrows the algorithms: of those that fit the key, or any asymmetric one with `jwksUrl`. */
  algorithms?: readonly string[];
  /** The claim that holds the tenant that the caller is bound to. A token without it is refused with 403. */
  tenantClaim?: string;
  /** The claim that names the caller: the decision's `actor`, unless `allow` names one. @default 'sub' */
  actorClaim?: string;
  /**
   * Decides on the claims. A decision's own `tenantId` and `actor` go before those of the claims. Without it **every**
   * token of the issuer for the audience is let in.
   */
  allow?: Decider<JwtClaims>;
  /** By how much the issuer's clock may differ, for `exp` and `nbf`. @default 5 */
  clockToleranceSeconds?: number;
  /** `false` admits tokens without `exp`, which are good for ever. @default true */
  requireExpiration?: boolean;
}

const OPTIONS: KnownKeys<JwtOptions> = {
  jwksUrl: true,
  secret: true,
  publicKey: true,
  allowHttp: true,
  issuer: true,
  audience: true,
  algorithms: true,
  tenantClaim: true,
  actorClaim: true,
  allow: true,
  clockToleranceSeconds: true,
  requireExpiration: true,
};

/** The codes of jose's errors that are about the token. Others are about the key, its source, or this machine. */
const TOKEN_ERRORS = new Set([
  'ERR_JOSE_ALG_NOT_ALLOWED',
  'ERR_JOSE_NOT_SUPPORTED',
  'ERR_JWKS_MULTIPLE_MATCHING_KEYS',
  'ERR_JWKS_NO_MATCHING_KEY',
  'ERR_JWS_INVALID',
  'ERR_JWS_SIGNATURE_VERIFICATION_FAILED',
  'ERR_JWT_CLAIM_VALIDATION_FAILED',
  'ERR_JWT_EXPIRED',
  'ERR_JWT_INVALID',
]);
/** For a key set that never ends: jose gives up only on one that never begins. */
const VERIFY_LIMIT_MS = 8000;

const EXPIRED: Decision = { allow: false, status: 401, publicMessage: 'The bearer token has expired' };
const NO_TENANT: Decision = { allow: false, status: 403, publicMessage: 'The bearer token names no tenant' };

type Jose = typeof import('jose');
type JoseKeys = ReturnType<Jose['createRemoteJWKSet']>;

/**
 * Lets in by a JSON Web Token that is sent as `Authorization: Bearer …` and signed by a key of `jwksUrl`, by `publicKey`
 * or with `secret` (RFC 7519, RFC 8725). Without one, or with one that is not valid, the answer is 401. A key set that
 * cannot be fetched denies with 403, and `onError` is told.
 *
 * Needs the package `jose`, 5 or 6, which is loaded with the first token.
 * @throws HookplaneError `INVALID_OPTIONS`
 */
export function jwt(options: JwtOptions): Authorize {
  const problem = unknownKey(options, OPTIONS);
  if (problem !== null) throw invalid(`the configuration ${problem}`);
  const { tenantClaim, actorClaim = 'sub', allow = () => true } = options;
  const { clockToleranceSeconds: tolerance = 5, requireExpiration = true } = options;
  const issuer = readNames(options.issuer, 'issuer', 'the "iss" of the tokens that are meant');
  const audience = readNames(options.audience, 'audience', 'the "aud" of tokens for this control plane');
  const { algorithms, key, jwksUrl } = readJwtKey(options);
  if (tenantClaim !== undefined) readNames(tenantClaim, 'tenantClaim', 'the name of a claim');
  readNames(actorClaim, 'actorClaim', 'the name of a claim');
  if (typeof allow !== 'function') throw invalid('allow must be a function');
  if (typeof requireExpiration !== 'boolean') throw invalid('requireExpiration must be a boolean');
  if (!Number.isFinite(tolerance) || tolerance < 0)
    throw invalid('clockToleranceSeconds must be a number ≥ 0');

  const decider = lazyDecider(allow);
  let keySet: JoseKeys | undefined;
  async function verify(token: string): Promise<JwtClaims> {
    const jose = await loadJose();
    const checks = {
      issuer,
      audience,
      algorithms: [...algorithms],
      clockTolerance: tolerance,
      requiredClaims: requireExpiration ? ['exp'] : [],
    };
    if (key) return (await jose.jwtVerify(token, key as KeyObject, checks)).payload;
    keySet ??= jose.createRemoteJWKSet(jwksUrl as URL);
    const { payload } = await within(jose.jwtVerify(token, keySet, checks), VERIFY_LIMIT_MS, () => {
      // Whoever asks next must not wait for the same answer.
      keySet = undefined;
      return new Error(`it did not arrive within ${VERIFY_LIMIT_MS} ms`);
    });
    return payload;
  }

  async function decideOn(claims: JwtClaims, request: LazyRequest, info: AuthorizeInfo): Promise<Decision> {
    const tenantId = tenantClaim === undefined ? undefined : textOf(claims, tenantClaim);
    if (tenantClaim !== undefined && tenantId === undefined) return NO_TENANT;
    const verdict = await judge(() => decider(claims, request, info));
    if (!verdict.allowed) return toDecision(verdict);
    const id = textOf(claims, actorClaim);
    const actor = verdict.actor ?? (id === undefined ? undefined : { id });
    return toDecision({ ...verdict, tenantId: verdict.tenantId ?? tenantId, actor });
  }

  return lazyAuthorizer(async (request, info) => {
    const token = readBearer(request.head);
    if (token === null) return MISSING_BEARER;
    let claims: JwtClaims;
    try {
      claims = await verify(token);
    } catch (error) {
      const { code } = (error ?? {}) as { code?: unknown };
      if (code === 'ERR_JWT_EXPIRED') return EXPIRED;
      if (TOKEN_ERRORS.has(String(code))) return INVALID_BEARER;
      return {
        allow: false,
        status: 403,
        fault: isHookplaneError(error) ? error : cannotCheck(error, jwksUrl),
      };
    }
    return decideOn(claims, request, info);
  });
}

async function loadJose(): Promise<Jose> {
  try {
    return await import('jose');
  } catch (cause) {
    throw invalid(
      'the package "jose" cannot be loaded: install version 5, or 6 where Node.js can require() an ES module (20.19 or later)',
      cause,
    );
  }
}

function cannotCheck(error: unknown, jwksUrl: URL | undefined): Error {
  // Without what a query may hold: this ends up in logs.
  const source = jwksUrl ? `keys of ${jwksUrl.origin}${jwksUrl.pathname}` : 'given key';
  const { cause } = (error ?? {}) as { cause?: unknown };
  // fetch says only that it failed, and its cause says why.
  const why = [error, cause].map(describe).filter(Boolean).join(': ');
  return new Error(`jwt: no token can be checked with the ${source}: ${why}`, { cause: error });
}

function describe(error: unknown): string {
  const { message, code } = (error ?? {}) as { message?: unknown; code?: unknown };
  return String(message || code || '');
}

/** A claim that is a non-empty string. */
function textOf(claims: JwtClaims, name: string): string | undefined {
  const value = Object.hasOwn(claims, name) ? claims[name] : undefined;
  return typeof value === 'string' && value !== '' ? value : undefined;
}

/** An empty list would let every token pass. */
function readNames(value: unknown, option: string, what: string): string | string[] {
  const names: readonly unknown[] = Array.isArray(value) ? value : [value];
  if (names.length > 0 && names.every((name) => typeof name === 'string' && name !== '')) {
    return value as string | string[];
  }
  throw invalid(`${option} must be ${what}, a non-empty string`);
}
