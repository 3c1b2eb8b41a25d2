import {
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
  randomBytes,
} from 'node:crypto';

const SYMMETRIC_BYTES = 32;
/** Standard Webhooks 1.0.0 asks for 24 to 64 bytes; 75 is what the most used sender takes, so moved endpoints fit. */
const MIN_SYMMETRIC_BYTES = 24;
const MAX_SYMMETRIC_BYTES = 75;
const SEED_BYTES = 32;
const MAX_DER_BYTES = 512;
/** The PKCS#8 wrapping of an ed25519 seed (RFC 8410, §7); the seed follows. */
const PKCS8_HEAD = Buffer.from('302e020100300506032b657004220420', 'hex');
/** The SubjectPublicKeyInfo wrapping of an ed25519 public key (RFC 8410, §4); the key follows. */
const SPKI_HEAD = Buffer.from('302a300506032b6570032100', 'hex');

/** A secret that signs with HMAC-SHA256: `whsec_` and the base64 of 32 random bytes. */
export function generateSymmetric(): { secret: string } {
  return { secret: `whsec_${randomBytes(SYMMETRIC_BYTES).toString('base64')}` };
}

/**
 * An ed25519 pair. `whsk_` holds 64 bytes, the seed and the public key after it, since Standard Webhooks leaves the
 * length open and that is the form other senders read; `whpk_` holds the 32 bytes that receivers verify with.
 */
export function generateAsymmetric(): { privateKey: string; publicKey: string } {
  const pair = generateKeyPairSync('ed25519');
  const seed = pair.privateKey.export({ format: 'der', type: 'pkcs8' }).subarray(PKCS8_HEAD.length);
  const publicBytes = rawPublicKey(pair.publicKey);
  return {
    privateKey: `whsk_${Buffer.concat([seed, publicBytes]).toString('base64')}`,
    publicKey: `whpk_${publicBytes.toString('base64')}`,
  };
}

/**
 * Whether messages can be signed with a secret: null, or a sentence (without its subject) that says what to change.
 * `whsec_` takes 24 to 75 bytes; `whsk_` an ed25519 seed, a seed with its public key, or PKCS#8 DER.
 */
export function checkSecret(secret: string): string | null {
  if (secret.startsWith('whpk_'))
    return 'is a public key, which cannot sign: give the "whsk_" key of its pair';
  if (!secret.startsWith('whsec_') && !secret.startsWith('whsk_')) {
    return 'must start with "whsec_" (HMAC-SHA256) or "whsk_" (ed25519)';
  }
  const bytes = decode(secret);
  if (bytes === null) return `must be standard base64 with its padding after "${prefixOf(secret)}"`;
  if (secret.startsWith('whsec_')) {
    return bytes.length >= MIN_SYMMETRIC_BYTES && bytes.length <= MAX_SYMMETRIC_BYTES
      ? null
      : `must hold ${MIN_SYMMETRIC_BYTES} to 64 bytes after "whsec_", and holds ${bytes.length}`;
  }
  const key = privateKeyOf(bytes);
  return typeof key === 'string' ? key : null;
}

/** The `whpk_` key that verifies what a `whsk_` secret signs. @throws when the secret is not usable */
export function publicKeyOf(secret: string): string {
  return `whpk_${rawPublicKey(createPublicKey(signingKeyOf(secret))).toString('base64')}`;
}

/** The HMAC key of a `whsec_` secret. @throws when the secret is not usable */
export function hmacKeyOf(secret: string): Buffer {
  const problem = secret.startsWith('whsec_') ? checkSecret(secret) : 'must start with "whsec_"';
  if (problem !== null) throw new TypeError(`The secret ${problem}.`);
  return decode(secret) as Buffer;
}

/** The ed25519 key of a `whsk_` secret. Costs half a millisecond: keep the result. @throws when it is not usable */
export function signingKeyOf(secret: string): KeyObject {
  const bytes = secret.startsWith('whsk_') ? decode(secret) : null;
  const key = bytes === null ? (checkSecret(secret) ?? 'must start with "whsk_"') : privateKeyOf(bytes);
  if (typeof key === 'string') throw new TypeError(`The secret ${key}.`);
  return key;
}

/** The key that verifies `v1a` signatures, of a `whpk_` key or a `whsk_` secret. @throws when it is not usable */
export function verifyingKeyOf(key: string): KeyObject {
  if (key.startsWith('whsk_')) return createPublicKey(signingKeyOf(key));
  const bytes = key.startsWith('whpk_') ? decode(key) : null;
  if (bytes?.length !== SEED_BYTES) {
    throw new TypeError(`The public key must be "whpk_" and the base64 of ${SEED_BYTES} bytes.`);
  }
  return createPublicKey({ key: Buffer.concat([SPKI_HEAD, bytes]), format: 'der', type: 'spki' });
}

function privateKeyOf(bytes: Buffer): KeyObject | string {
  const raw = bytes.length === SEED_BYTES || bytes.length === 2 * SEED_BYTES;
  const der = raw ? Buffer.concat([PKCS8_HEAD, bytes.subarray(0, SEED_BYTES)]) : bytes;
  const key = der.length <= MAX_DER_BYTES ? readPkcs8(der) : null;
  if (key?.asymmetricKeyType !== 'ed25519') {
    return `must hold an ed25519 key after "whsk_": 32 bytes of seed, 64 of seed and public key, or PKCS#8 DER`;
  }
  // Signing with one half and publishing the other would make every receiver refuse every message.
  if (
    raw &&
    bytes.length > SEED_BYTES &&
    !rawPublicKey(createPublicKey(key)).equals(bytes.subarray(SEED_BYTES))
  ) {
    return 'holds a public key that does not belong to its seed';
  }
  return key;
}

function readPkcs8(der: Buffer): KeyObject | null {
  try {
    return createPrivateKey({ key: der, format: 'der', type: 'pkcs8' });
  } catch {
    return null;
  }
}

function rawPublicKey(key: KeyObject): Buffer {
  return key.export({ format: 'der', type: 'spki' }).subarray(SPKI_HEAD.length);
}

function prefixOf(secret: string): string {
  return secret.slice(0, secret.indexOf('_') + 1);
}

/** Buffer reads base64url and skips what it does not know; a secret that others read differently must not pass. */
function decode(secret: string): Buffer | null {
  const text = secret.slice(prefixOf(secret).length);
  const bytes = Buffer.from(text, 'base64');
  return text !== '' && bytes.toString('base64') === text ? bytes : null;
}
