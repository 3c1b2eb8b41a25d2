import { createSecretKey } from 'node:crypto';
import { jwt, type JwtOptions } from '../../../lib/admin/authorizers/jwt.js';
import type { Verdict } from '../../../lib/admin/authorize.js';
import { createAdminHandler } from '../../../lib/admin/handler.js';
import type { Receiver } from '../../support/receiver.js';
import { anId, expectError } from '../expectations.js';
import { answerOf, openPlane, requestOf } from '../plane.js';
import { ANYBODY, bearer, verdictOf } from './ask.js';
import { AUDIENCE, ec, ed, ISSUER, jwkOf, type Minted, mint, publish, rsa, startIssuer } from './tokens.js';

const INVALID = { allowed: false, status: 401, publicMessage: 'The bearer token is not valid' };
const ADA = { ...ANYBODY, actor: { id: 'ada' } };

const byKeySetOf = (issuer: Receiver, options: Partial<JwtOptions> = {}) =>
  jwt({ jwksUrl: issuer.url('/jwks'), issuer: ISSUER, audience: AUDIENCE, ...options });
const verdictOn = async (authorize: ReturnType<typeof jwt>, minted: Minted = {}): Promise<Verdict> =>
  verdictOf(authorize, bearer(await mint(minted)));

describe('a key set', () => {
  it('has the key of the token, whatever its kind', async () => {
    const issuer = await startIssuer(
      jwkOf(rsa.publicKey, { kid: 'r', alg: 'RS256' }),
      jwkOf(ec.publicKey, { kid: 'e' }),
      jwkOf(ed.publicKey, { kid: 'd' }),
    );
    const authorize = byKeySetOf(issuer);
    expect(await verdictOn(authorize, { kid: 'r' })).toStrictEqual(ADA);
    expect(await verdictOn(authorize, { kid: 'e', alg: 'ES256', key: ec.privateKey })).toStrictEqual(ADA);
    expect(await verdictOn(authorize, { kid: 'd', alg: 'EdDSA', key: ed.privateKey })).toStrictEqual(ADA);
    expect(await verdictOn(authorize)).toStrictEqual(ADA);
    expect(issuer.requests('/jwks')).toHaveLength(1);
  });

  it('is not asked for before there is a token, and once for many at a time', async () => {
    const issuer = await startIssuer(jwkOf(rsa.publicKey));
    const authorize = byKeySetOf(issuer);
    await verdictOf(authorize);
    expect(issuer.requests()).toHaveLength(0);
    const verdicts = await Promise.all([1, 2, 3].map(() => verdictOn(authorize)));
    expect(verdicts).toEqual([ADA, ADA, ADA]);
    expect(issuer.requests()).toHaveLength(1);
  });

  it.each<[string, Minted]>([
    ['a key that is not in it', { kid: 'unknown' }],
    ['another key under its name', { kid: 'r', alg: 'ES256', key: ec.privateKey }],
    ['the public key as a secret', { kid: 'r', alg: 'HS256', key: createSecretKey(Buffer.alloc(32, 1)) }],
  ])('denies what is signed by %s, which is no fault', async (_name, minted) => {
    const issuer = await startIssuer(jwkOf(rsa.publicKey, { kid: 'r' }));
    expect(await verdictOn(byKeySetOf(issuer), minted)).toStrictEqual(INVALID);
  });

  it('gives no secret of its own to HMAC', async () => {
    const key = Buffer.alloc(32, 7);
    const issuer = await startIssuer({ kty: 'oct', kid: 's', k: key.toString('base64url') });
    expect(await verdictOn(byKeySetOf(issuer), { kid: 's', alg: 'HS256', key })).toStrictEqual(INVALID);
  });
});

describe('a key set that cannot be had', () => {
  it.each<[string, (issuer: Receiver) => unknown]>([
    ['its server is down', (issuer) => issuer.close()],
    ['it is answered 500', (issuer) => issuer.answer('/jwks', 500)],
    [
      'it is somewhere else',
      (issuer) => issuer.answer('/jwks', { status: 302, headers: { location: '/other' } }),
    ],
    ['it is no JSON', (issuer) => issuer.answer('/jwks', { body: '<html>' })],
    ['it is no key set', (issuer) => issuer.answer('/jwks', { body: '{"keys":7}' })],
    ['its key is broken', (issuer) => publish(issuer, { kty: 'RSA', n: '!', e: '' })],
    [
      'it breaks off',
      (issuer) => issuer.answer('/jwks', (_, response) => response.write('{') && response.destroy()),
    ],
  ])('denies with a fault and without a throw: %s', async (_name, spoil) => {
    const issuer = await startIssuer(jwkOf(rsa.publicKey));
    await spoil(issuer);
    const verdict = await verdictOn(byKeySetOf(issuer));
    expect(verdict).toEqual({ allowed: false, status: 403, fault: expect.any(Error) });
    const { message, cause } = verdict.fault as Error;
    expect(message).toMatch(`jwt: no token can be checked with the keys of ${issuer.url('/jwks')}: `);
    expect(cause).toMatchObject({ message: expect.any(String) });
  });

  it('is reported by the control plane, which tells the client nothing of it', async () => {
    const issuer = await startIssuer();
    issuer.answer('/jwks', 500);
    const onError = jest.fn();
    const { sender } = await openPlane();
    const handler = createAdminHandler(sender, { authorize: byKeySetOf(issuer), onError });
    const answer = await answerOf(handler(requestOf('GET /tenants', bearer(await mint()))));
    expectError(answer, 'FORBIDDEN', 'No access');
    expect(onError).toHaveBeenCalledWith(expect.any(Error), { requestId: anId('req') });
  });

  it('is asked for again by the next token', async () => {
    const issuer = await startIssuer();
    issuer.answer('/jwks', 500);
    const authorize = byKeySetOf(issuer);
    expect(await verdictOn(authorize)).toMatchObject({ allowed: false, status: 403 });
    publish(issuer, jwkOf(rsa.publicKey));
    expect(await verdictOn(authorize)).toStrictEqual(ADA);
  });

  it('is given up when it does not end, and asked for again by the next token', async () => {
    const issuer = await startIssuer();
    const begun = new Promise<void>((resolve) => {
      issuer.answer('/jwks', (_request, response) => response.writeHead(200).write('{', () => resolve()));
    });
    const authorize = byKeySetOf(issuer);
    const token = await mint();
    jest.useFakeTimers({ doNotFake: ['nextTick', 'setImmediate', 'queueMicrotask', 'Date'] });
    try {
      const verdict = verdictOf(authorize, bearer(token));
      await begun;
      jest.advanceTimersByTime(8000);
      expect(await verdict).toMatchObject({
        status: 403,
        fault: expect.objectContaining({
          message: expect.stringMatching(/\/jwks: it did not arrive within 8000 ms$/),
        }),
      });
    } finally {
      jest.useRealTimers();
    }
    publish(issuer, jwkOf(rsa.publicKey));
    expect(await verdictOn(authorize)).toStrictEqual(ADA);
  });
});
