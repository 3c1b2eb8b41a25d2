import { createPublicKey, generateKeyPairSync, sign, verify } from 'node:crypto';
import {
  checkSecret,
  generateAsymmetric,
  generateSymmetric,
  publicKeyOf,
  signingKeyOf,
  verifyingKeyOf,
} from '../../lib/sender/keys.js';

const bytes = (length: number) => Buffer.alloc(length, 0xab).toString('base64');

describe('generated keys', () => {
  test('a symmetric secret is whsec_ and 32 bytes, never twice the same', () => {
    const { secret } = generateSymmetric();
    expect(secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
    expect(generateSymmetric().secret).not.toBe(secret);
    expect(checkSecret(secret)).toBeNull();
  });

  test('an asymmetric pair is 64 and 32 bytes, and the public half is the end of the private one', () => {
    const { privateKey, publicKey } = generateAsymmetric();
    const secretBytes = Buffer.from(privateKey.replace('whsk_', ''), 'base64');
    const publicBytes = Buffer.from(publicKey.replace('whpk_', ''), 'base64');
    expect([secretBytes.length, publicBytes.length]).toEqual([64, 32]);
    expect(secretBytes.subarray(32)).toEqual(publicBytes);
    expect(checkSecret(privateKey)).toBeNull();
    expect(publicKeyOf(privateKey)).toBe(publicKey);
  });

  test('what the private key signs, the public key verifies', () => {
    const { privateKey, publicKey } = generateAsymmetric();
    const signature = sign(null, Buffer.from('hello'), signingKeyOf(privateKey));
    expect(verify(null, Buffer.from('hello'), verifyingKeyOf(publicKey), signature)).toBe(true);
    expect(verify(null, Buffer.from('hellO'), verifyingKeyOf(publicKey), signature)).toBe(false);
  });
});

describe('checkSecret', () => {
  test.each([24, 32, 64, 75])('accepts a whsec_ secret of %i bytes', (length) => {
    expect(checkSecret(`whsec_${bytes(length)}`)).toBeNull();
  });

  test.each([1, 3, 23, 76, 1000])('refuses a whsec_ secret of %i bytes', (length) => {
    expect(checkSecret(`whsec_${bytes(length)}`)).toMatch(/24 to 64 bytes.*holds \d+$/);
  });

  test.each([
    ['nothing', 'whsec_'],
    ['no padding', `whsec_${bytes(32).replace('=', '')}`],
    ['base64url', `whsec_${'-_'.repeat(16)}`],
    ['white space', `whsec_${bytes(32)}\n`],
    ['characters that base64 has not', `whsec_${'!'.repeat(32)}`],
    ['bits beyond the last byte', `whsec_${bytes(32).slice(0, -2)}t=`],
    ['nothing', 'whsk_'],
  ])('refuses a secret with %s after its prefix', (_what, secret) => {
    expect(checkSecret(secret)).toMatch(/standard base64/);
  });

  test.each(['', 'abc', 'WHSEC_', bytes(32), 'whsec', 'v1,whsec_abc'])(
    'refuses %j, which has no prefix',
    (secret) => {
      expect(checkSecret(secret)).toMatch(/must start with "whsec_"/);
    },
  );

  test('refuses a public key and says which one to give', () => {
    expect(checkSecret(generateAsymmetric().publicKey)).toMatch(/public key.*"whsk_"/);
  });

  test('accepts an ed25519 key as a seed, as seed and public key, and as PKCS#8, all of them the same key', () => {
    const { privateKey, publicKey } = generateAsymmetric();
    const whole = Buffer.from(privateKey.replace('whsk_', ''), 'base64');
    const der = signingKeyOf(privateKey).export({ format: 'der', type: 'pkcs8' });
    for (const form of [whole, whole.subarray(0, 32), der]) {
      const secret = `whsk_${form.toString('base64')}`;
      expect(checkSecret(secret)).toBeNull();
      expect(publicKeyOf(secret)).toBe(publicKey);
    }
  });

  test('refuses a seed beside the public key of another', () => {
    const seed = Buffer.from(generateAsymmetric().privateKey.replace('whsk_', ''), 'base64').subarray(0, 32);
    const other = Buffer.from(generateAsymmetric().publicKey.replace('whpk_', ''), 'base64');
    expect(checkSecret(`whsk_${Buffer.concat([seed, other]).toString('base64')}`)).toMatch(/does not belong/);
  });

  test('refuses keys of other algorithms and other lengths', () => {
    const rsa = generateKeyPairSync('rsa', { modulusLength: 1024 }).privateKey;
    const x25519 = generateKeyPairSync('x25519').privateKey;
    const forms = [
      rsa.export({ format: 'der', type: 'pkcs8' }),
      x25519.export({ format: 'der', type: 'pkcs8' }),
      Buffer.alloc(31, 1),
      Buffer.alloc(33, 1),
      Buffer.alloc(63, 1),
      Buffer.alloc(65, 1),
    ];
    for (const form of forms) expect(checkSecret(`whsk_${form.toString('base64')}`)).toMatch(/ed25519 key/);
  });
});

test('a public key for v1a is the whpk_ key or the whsk_ secret, and nothing else', () => {
  const { privateKey, publicKey } = generateAsymmetric();
  const spki = (key: string) => verifyingKeyOf(key).export({ format: 'der', type: 'spki' });
  expect(spki(publicKey)).toEqual(spki(privateKey));
  expect(createPublicKey(signingKeyOf(privateKey)).asymmetricKeyType).toBe('ed25519');
  for (const bad of ['whpk_', `whpk_${bytes(31)}`, `whsec_${bytes(32)}`, 'whsk_AAAA']) {
    expect(() => verifyingKeyOf(bad)).toThrow(TypeError);
  }
});
