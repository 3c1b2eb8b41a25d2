import { generateKeyPairSync, type KeyObject } from 'node:crypto';
import { type JWTPayload, SignJWT } from 'jose';
import { type Receiver, startReceiver } from '../../support/receiver.js';

export const ISSUER = 'https://issuer.example/';
export const AUDIENCE = 'hookplane';

export const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 });
export const ec = generateKeyPairSync('ec', { namedCurve: 'P-256' });
export const ed = generateKeyPairSync('ed25519');
export const SECRET = 'a secret that is shared, of enough bytes';

export interface Minted {
  claims?: JWTPayload;
  alg?: string;
  key?: KeyObject | Uint8Array;
  kid?: string;
}

/** A token as the issuer makes it for us: by ada, good for a minute. Claims that are undefined are left out. */
export function mint({
  claims = {},
  alg = 'RS256',
  key = rsa.privateKey,
  kid,
}: Minted = {}): Promise<string> {
  const now = Math.floor(Date.now() / 1000);
  const usual = { iss: ISSUER, aud: AUDIENCE, sub: 'ada', iat: now, exp: now + 60 };
  return new SignJWT({ ...usual, ...claims })
    .setProtectedHeader({ alg, ...(kid !== undefined && { kid }) })
    .sign(key);
}

export const secondsAgo = (seconds: number) => Math.floor(Date.now() / 1000) - seconds;

export function jwkOf(key: KeyObject, more: { kid?: string; alg?: string } = {}) {
  return { ...key.export({ format: 'jwk' }), use: 'sig', ...more };
}

/** A server that publishes these keys at its `/jwks`. */
export async function startIssuer(...keys: object[]): Promise<Receiver> {
  const issuer = await startReceiver();
  publish(issuer, ...keys);
  return issuer;
}

export function publish(issuer: Receiver, ...keys: object[]): void {
  const headers = { 'content-type': 'application/json' };
  issuer.answer('/jwks', { headers, body: JSON.stringify({ keys }) });
}
