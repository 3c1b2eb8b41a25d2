import { createPublicKey, type JsonWebKey, KeyObject } from 'node:crypto';
import { parseUrl } from '../../model/url.js';
import { invalidOptions } from './invalid-options.js';

const invalid = invalidOptions('jwt');

/** What the signatures of tokens are checked with: exactly one of the three. */
export interface JwtKeyOptions {
  /**
   * Where the issuer publishes its keys (RFC 7517), such as `https://issuer.example/.well-known/jwks.json`. They are kept
   * for ten minutes, and fetched again, at most every 30 seconds, for a key that is not among them.
   */
  jwksUrl?: string | URL;
  /** A secret that is shared with the issuer, of at least 32 bytes; text is taken as UTF-8. */
  secret?: string | Uint8Array;
  /** The issuer's public key: PEM, a JWK, or a key object of Node.js. */
  publicKey?: string | JsonWebKey | KeyObject;
  /** Lets `jwksUrl` be plain HTTP: whoever can change the answer on its way can sign tokens. @default only to this machine */
  allowHttp?: boolean;
  algorithms?: readonly string[];
}

export interface JwtKey {
  /** The only algorithms that are tried. Never `none`, and never HMAC with a key that is public. */
  algorithms: readonly string[];
  /** Undefined with `jwksUrl`. */
  key?: Uint8Array | KeyObject;
  jwksUrl?: URL;
}

const HMAC = ['HS256', 'HS384', 'HS512'];
const RSA = ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512'];
const EDWARDS = ['EdDSA', 'Ed25519'];
const BY_CURVE: Readonly<Record<string, string[]>> = {
  prime256v1: ['ES256'],
  secp384r1: ['ES384'],
  secp521r1: ['ES512'],
};
const ASYMMETRIC = [...RSA, ...Object.values(BY_CURVE).flat(), ...EDWARDS];
/** RFC 7518, §3.2: as long as the hash of HS256. */
const MIN_SECRET_BYTES = 32;
/** RFC 7518, §3.3 and §3.5. With a shorter key no token can be checked. */
const MIN_RSA_BITS = 2048;
const LOOPBACK = /^(?:localhost|127(?:\.\d+){3}|\[::1\])$/;

/** @throws HookplaneError `INVALID_OPTIONS` */
export function readJwtKey(options: JwtKeyOptions): JwtKey {
  const { jwksUrl, secret, publicKey } = options;
  if ([jwksUrl, secret, publicKey].filter((each) => each !== undefined).length !== 1) {
    throw invalid('give exactly one of jwksUrl, secret and publicKey');
  }
  if (secret !== undefined) {
    return { key: readSecret(secret), algorithms: narrowed(HMAC, options.algorithms, 'a secret') };
  }
  if (publicKey !== undefined) {
    const key = readPublicKey(publicKey);
    return { key, algorithms: narrowed(algorithmsOf(key), options.algorithms, 'this public key') };
  }
  return {
    jwksUrl: readUrl(jwksUrl, options.allowHttp === true),
    algorithms: narrowed(ASYMMETRIC, options.algorithms, 'a key set'),
  };
}

function narrowed(fitting: readonly string[], chosen: unknown, what: string): readonly string[] {
  if (chosen === undefined) return fitting;
  if (Array.isArray(chosen) && chosen.length > 0 && chosen.every((name) => fitting.includes(name)))
    return chosen;
  throw invalid(`algorithms may hold, with ${what}, ${fitting.join(', ')}`);
}

function readSecret(secret: unknown): Uint8Array {
  const bytes = typeof secret === 'string' ? Buffer.from(secret) : secret;
  if (!(bytes instanceof Uint8Array)) throw invalid('secret must be a string or bytes');
  if (bytes.length >= MIN_SECRET_BYTES) return new Uint8Array(bytes);
  throw invalid(
    `secret has ${bytes.length} bytes and needs at least ${MIN_SECRET_BYTES}: take what "openssl rand -hex 32" prints`,
  );
}

function readPublicKey(publicKey: unknown): KeyObject {
  // It would work, as its public half is in it, and lie where no private key should.
  if (isPrivate(publicKey)) throw invalid('publicKey is a private key: give the public one of its pair');
  if (publicKey instanceof KeyObject) {
    if (publicKey.type === 'public') return publicKey;
    throw invalid(`publicKey is a ${publicKey.type} key`);
  }
  try {
    return typeof publicKey === 'string'
      ? createPublicKey(publicKey)
      : createPublicKey({ key: publicKey as JsonWebKey, format: 'jwk' });
  } catch (cause) {
    throw invalid('publicKey cannot be read: give PEM ("-----BEGIN PUBLIC KEY-----…") or a JWK', cause);
  }
}

/** PEM, or a JWK: `d` is what is private of every kind of key (RFC 7518, §6; RFC 8037, §2). */
function isPrivate(publicKey: unknown): boolean {
  if (typeof publicKey === 'string') return publicKey.includes('PRIVATE KEY');
  return (
    !(publicKey instanceof KeyObject) &&
    typeof publicKey === 'object' &&
    publicKey !== null &&
    (publicKey as JsonWebKey).d !== undefined
  );
}

function algorithmsOf({ asymmetricKeyType, asymmetricKeyDetails }: KeyObject): readonly string[] {
  if (asymmetricKeyType === 'rsa') {
    const { modulusLength = 0 } = asymmetricKeyDetails ?? {};
    if (modulusLength >= MIN_RSA_BITS) return RSA;
    throw invalid(`publicKey has ${modulusLength} bits, and an RSA key needs at least ${MIN_RSA_BITS}`);
  }
  if (asymmetricKeyType === 'ed25519') return EDWARDS;
  const algorithms = BY_CURVE[asymmetricKeyDetails?.namedCurve ?? ''];
  if (algorithms) return algorithms;
  throw invalid('publicKey must be RSA, EC on P-256, P-384 or P-521, or Ed25519');
}

function readUrl(jwksUrl: unknown, allowHttp: boolean): URL {
  const text = String(jwksUrl);
  const url = parseUrl(text);
  if (url?.protocol === 'https:') return url;
  if (url?.protocol !== 'http:')
    throw invalid(`jwksUrl must be an https URL, and is ${JSON.stringify(text)}`);
  if (allowHttp || LOOPBACK.test(url.hostname)) return url;
  throw invalid('jwksUrl is plain HTTP: use https, or set allowHttp where nobody can reach into the network');
}
