import {
  createCipheriv,
  createDecipheriv,
  createHash,
  createSecretKey,
  type KeyObject,
  randomBytes,
} from 'node:crypto';
import { isUint8Array } from 'node:util/types';
import { HookplaneError } from '../model/errors.js';
import type { Logger } from '../model/logger.js';
import type { StoredSecret } from '../store/store.js';
import { rememberLast } from './key-cache.js';

/** 32 random bytes, as 64 hexadecimal digits, as base64 or as they are. */
export type SecretKey = string | Uint8Array;

/** A key that was read. As a `KeyObject` it shows its bytes to nothing that prints or serializes it. */
export interface SealingKey {
  /** Stands in what is sealed, in logs and in errors: the first eight digits of a digest of the key. */
  id: string;
  key: KeyObject;
}

/** Seals what is stored of signing secrets, and opens it. */
export interface SecretSeal {
  /** What is to be stored of a new secret; the secret itself where there is no key. */
  seal(endpointId: string, secret: StoredSecret): StoredSecret;
  /**
   * The secret out of what is stored of it. Costs a decryption only when it was not opened lately.
   * @throws HookplaneError `SECRET_SEALED`, which names the key and nothing of the secret
   */
  open(endpointId: string, stored: StoredSecret): string;
  /**
   * The text that belongs in place of `stored`; null when that is sealed by the current key already.
   * @throws HookplaneError `SECRET_SEALED`
   */
  reseal(endpointId: string, stored: StoredSecret): string | null;
}

const KEY_BYTES = 32;
const IV_BYTES = 12;
const TAG_BYTES = 16;
const CIPHER = 'aes-256-gcm';
/** No signing secret begins so: they begin with `whsec_` or `whsk_`. */
const SEALED = 'enc:';
const ENVELOPE = /^enc:v1:([\w.-]{1,64}):([\w-]{16}):([\w-]{22,})$/;

/** As many as signing keys are remembered. */
const REMEMBERED_SECRETS = 1024;
const MAX_COMPLAINTS = 100;

const HOW_TO_MAKE = `make one with: node -p "crypto.randomBytes(${KEY_BYTES}).toString('base64')"`;

/** What is wrong with the option `secretKey`, by the path below it. No sentence repeats anything of a key. */
export function secretKeyProblems(given: unknown): { path: number[]; message: string }[] {
  if (!Array.isArray(given)) {
    const problem = keyProblem(given);
    return problem === null ? [] : [{ path: [], message: problem }];
  }
  if (given.length === 0) {
    return [{ path: [], message: 'must hold at least one key; leave it out to store secrets as they are' }];
  }
  const seen = new Set<string>();
  return given.flatMap((each, index) => {
    const problem = keyProblem(each);
    if (problem !== null) return [{ path: [index], message: problem }];
    const { id } = toSealingKey(each as SecretKey);
    if (seen.has(id)) return [{ path: [index], message: 'is given twice' }];
    seen.add(id);
    return [];
  });
}

/** The keys of an option in which `secretKeyProblems` finds nothing: the current one first. */
export function readSecretKeys(given: SecretKey | readonly SecretKey[] | undefined): SealingKey[] {
  if (given === undefined) return [];
  const keys = Array.isArray(given) ? given : [given];
  return keys.map(toSealingKey);
}

/** @param keys the current one first; none stores secrets as they are */
export function createSecretSeal(keys: readonly SealingKey[], logger: Logger): SecretSeal {
  const [current] = keys;
  const keysById = new Map(keys.map((each) => [each.id, each.key]));
  const complained = new Set<string>();
  const opened = rememberLast(REMEMBERED_SECRETS, (secret, endpointId: string, id: string) => ({
    endpointId,
    id,
    secret: unseal(endpointId, { id, secret }),
  }));

  function unseal(endpointId: string, { id, secret }: StoredSecret): string {
    if (!secret.startsWith(SEALED)) return secret;
    const [, keyId = '', iv = '', sealed = ''] = ENVELOPE.exec(secret) ?? [];
    if (keyId === '') throw sealedError('is sealed in a form that this version of hookplane does not know');
    const key = keysById.get(keyId);
    if (!key) throw sealedError(`is sealed by the key "${keyId}", which is not in secretKey`);
    const bytes = Buffer.from(sealed, 'base64url');
    const end = bytes.length - TAG_BYTES;
    const decipher = createDecipheriv(CIPHER, key, Buffer.from(iv, 'base64url'), {
      authTagLength: TAG_BYTES,
    });
    decipher.setAAD(rowOf(endpointId, id)).setAuthTag(bytes.subarray(end));
    try {
      return Buffer.concat([decipher.update(bytes.subarray(0, end)), decipher.final()]).toString();
    } catch {
      throw sealedError(
        `is not what was sealed for this endpoint by the key "${keyId}": it was changed or moved in the store`,
      );
    }
  }

  /** Each trouble once: every attempt that fails by it has its own record. */
  function complain(endpointId: string, secretId: string, { message }: HookplaneError): void {
    if (complained.has(message) || complained.size >= MAX_COMPLAINTS) return;
    complained.add(message);
    logger.error('A signing secret cannot be opened; what it signs fails until it can', {
      error: message,
      endpointId,
      secretId,
    });
  }

  function sealText(endpointId: string, id: string, secret: string, { id: keyId, key }: SealingKey): string {
    const iv = randomBytes(IV_BYTES);
    const cipher = createCipheriv(CIPHER, key, iv, { authTagLength: TAG_BYTES });
    cipher.setAAD(rowOf(endpointId, id));
    const sealed = Buffer.concat([cipher.update(secret, 'utf8'), cipher.final(), cipher.getAuthTag()]);
    return `enc:v1:${keyId}:${iv.toString('base64url')}:${sealed.toString('base64url')}`;
  }

  return {
    seal: (endpointId, { id, secret }) => ({
      id,
      secret: current ? sealText(endpointId, id, secret, current) : secret,
    }),

    open(endpointId, stored) {
      if (!stored.secret.startsWith(SEALED)) return stored.secret;
      try {
        const known = opened(stored.secret, endpointId, stored.id);
        // A text that was opened in its own row must not open in another: the cipher says so.
        const own = known.endpointId === endpointId && known.id === stored.id;
        return own ? known.secret : unseal(endpointId, stored);
      } catch (error) {
        complain(endpointId, stored.id, error as HookplaneError);
        throw error;
      }
    },

    reseal(endpointId, stored) {
      const secret = unseal(endpointId, stored);
      if (!current || stored.secret.startsWith(`enc:v1:${current.id}:`)) return null;
      return sealText(endpointId, stored.id, secret, current);
    },
  };
}

/** The additional data of the cipher: what is sealed opens in its own row alone. */
function rowOf(endpointId: string, secretId: string): Buffer {
  return Buffer.from(`${endpointId}|${secretId}`);
}

function sealedError(problem: string): HookplaneError {
  return new HookplaneError('SECRET_SEALED', `The signing secret ${problem}`);
}

function toSealingKey(given: SecretKey): SealingKey {
  const bytes = bytesOf(given) as Buffer;
  // The digest of 32 random bytes says nothing of them; named by hand, ids and keys could get out of step.
  const id = createHash('sha256').update('hookplane secretKey\n').update(bytes).digest('hex').slice(0, 8);
  return { id, key: createSecretKey(bytes) };
}

function keyProblem(given: unknown): string | null {
  const bytes = bytesOf(given);
  if (bytes === null) {
    return `must be ${KEY_BYTES} random bytes, as base64, as ${2 * KEY_BYTES} hexadecimal digits or as a Buffer: ${HOW_TO_MAKE}`;
  }
  return bytes.length === KEY_BYTES
    ? null
    : `must hold ${KEY_BYTES} random bytes, and holds ${bytes.length}: ${HOW_TO_MAKE}`;
}

function bytesOf(given: unknown): Buffer | null {
  if (isUint8Array(given)) return Buffer.from(given);
  if (typeof given !== 'string') return null;
  if (/^[0-9a-f]{64}$/i.test(given)) return Buffer.from(given, 'hex');
  const bytes = Buffer.from(given, 'base64');
  // Buffer skips what it does not know: what it reads must be all that was written.
  const read = given.replaceAll('+', '-').replaceAll('/', '_').replace(/=$/, '');
  return bytes.toString('base64url') === read ? bytes : null;
}
