import { createHmac, sign } from 'node:crypto';
import { hmacKeyOf, signingKeyOf } from '../keys.js';
import { rememberLast } from '../key-cache.js';

/** Endpoints that are delivered to at the same time are fewer; one key is a few hundred bytes. */
const REMEMBERED_KEYS = 1024;

// Shared by all senders of the process: what a secret decodes to depends on nothing but the secret.
const hmacKey = rememberLast(REMEMBERED_KEYS, hmacKeyOf);
const signingKey = rememberLast(REMEMBERED_KEYS, signingKeyOf);

/**
 * The `webhook-signature` header of Standard Webhooks 1.0.0: one signature for each secret, in their order, joined by
 * exactly one space (the Python library throws on two). `whsec_` signs with HMAC-SHA256 (`v1`), `whsk_` with ed25519
 * (`v1a`). What is signed is `id.timestamp.body`, the body as the bytes that are sent.
 *
 * @param timestampSeconds Unix time of this attempt, whole seconds
 * @throws when there is no secret, or one that `checkSecret` refuses
 */
export function signatureHeader(
  secrets: readonly string[],
  webhookId: string,
  timestampSeconds: number,
  body: Buffer,
): string {
  if (secrets.length === 0) throw new TypeError('A message cannot be signed without a secret.');
  const head = `${webhookId}.${timestampSeconds}.`;
  let signed: Buffer | undefined;
  // A secret that was made the current one again stands twice among those in force.
  const tokens = [...new Set(secrets)].map((secret) => {
    if (!secret.startsWith('whsk_')) {
      return `v1,${createHmac('sha256', hmacKey(secret)).update(head).update(body).digest('base64')}`;
    }
    // ed25519 hashes its input twice and so takes it whole; HMAC is spared the copy.
    signed ??= Buffer.concat([Buffer.from(head), body]);
    return `v1a,${sign(null, signed, signingKey(secret)).toString('base64')}`;
  });
  return tokens.join(' ');
}
