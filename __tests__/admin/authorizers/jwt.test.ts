import { createPrivateKey, createPublicKey, createSecretKey, generateKeyPairSync } from 'node:crypto';
import { UnsecuredJWT } from 'jose';
import { jwt, type JwtOptions } from '../../../lib/admin/authorizers/jwt.js';
import { ANYBODY, bearer, verdictOf } from './ask.js';
import { AUDIENCE, ec, ed, ISSUER, type Minted, mint, rsa, SECRET, secondsAgo } from './tokens.js';

const INVALID = { allowed: false, status: 401, publicMessage: 'The bearer token is not valid' };
const EXPIRED = { allowed: false, status: 401, publicMessage: 'The bearer token has expired' };
const NO_TENANT = { allowed: false, status: 403, publicMessage: 'The bearer token names no tenant' };
const ADA = { ...ANYBODY, actor: { id: 'ada' } };
const secretBytes = new TextEncoder().encode(SECRET);
const pem = rsa.publicKey.export({ type: 'spki', format: 'pem' }) as string;

const withKey = (options: Partial<JwtOptions> = {}) =>
  jwt({ publicKey: rsa.publicKey, issuer: ISSUER, audience: AUDIENCE, ...options });
const withSecret = (options: Partial<JwtOptions> = {}) =>
  jwt({ secret: SECRET, issuer: ISSUER, audience: AUDIENCE, ...options });
const verdictOn = async (authorize: ReturnType<typeof jwt>, minted: Minted = {}) =>
  verdictOf(authorize, bearer(await mint(minted)));

describe('a token that is valid', () => {
  it.each<[string, Partial<JwtOptions>, Minted]>([
    ['a key object', { publicKey: rsa.publicKey }, {}],
    ['PEM', { publicKey: pem }, { alg: 'PS256' }],
    ['a JWK', { publicKey: rsa.publicKey.export({ format: 'jwk' }) }, { alg: 'RS512' }],
    ['an EC key', { publicKey: ec.publicKey }, { alg: 'ES256', key: ec.privateKey }],
    ['an Ed25519 key', { publicKey: ed.publicKey }, { alg: 'EdDSA', key: ed.privateKey }],
    ['a secret', { publicKey: undefined, secret: SECRET }, { alg: 'HS256', key: secretBytes }],
    ['a secret of bytes', { publicKey: undefined, secret: secretBytes }, { alg: 'HS512', key: secretBytes }],
    ['one of several issuers', { issuer: ['https://other.example', ISSUER] }, {}],
    ['one of several audiences', { audience: ['other', AUDIENCE] }, { claims: { aud: ['x', AUDIENCE] } }],
    ['a clock that differs much', { clockToleranceSeconds: 90 }, { claims: { exp: secondsAgo(60) } }],
    ['no end, where that is admitted', { requireExpiration: false }, { claims: { exp: undefined } }],
  ])('lets in its subject: %s', async (_name, options, minted) => {
    expect(await verdictOn(withKey(options), minted)).toStrictEqual(ADA);
  });

  it('lets in its subject: a clock that differs', async () => {
    const claims = { exp: secondsAgo(3), nbf: secondsAgo(-3) };
    expect(await verdictOn(withKey(), { claims })).toStrictEqual(ADA);
  });
});

describe('a token that is not', () => {
  const stranger = generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey;
  // The classical confusion: the public key, which everybody has, taken for an HMAC secret.
  const confused = { alg: 'HS256', key: createSecretKey(Buffer.from(pem)) };

  it.each<[string, Partial<JwtOptions>, Minted]>([
    ['is signed by another key', {}, { key: stranger }],
    ['is signed with the public key as a secret', {}, confused],
    ['is signed so, and the key was given as PEM', { publicKey: pem }, confused],
    ['is signed by another kind of key', {}, { alg: 'ES256', key: ec.privateKey }],
    ['is signed by an algorithm that was not chosen', { algorithms: ['PS256'] }, {}],
    ['is of another issuer', {}, { claims: { iss: 'https://issuer.example' } }],
    ['is of no issuer', {}, { claims: { iss: undefined } }],
    ['is for another audience', {}, { claims: { aud: 'other' } }],
    ['is for nobody', {}, { claims: { aud: undefined } }],
    ['is not good yet', {}, { claims: { nbf: secondsAgo(-60) } }],
    ['has no end', {}, { claims: { exp: undefined } }],
    [
      'is signed with another secret',
      { publicKey: undefined, secret: SECRET },
      { alg: 'HS256', key: Buffer.alloc(32) },
    ],
  ])('is answered 401 when it %s', async (_name, options, minted) => {
    expect(await verdictOn(withKey(options), minted)).toStrictEqual(INVALID);
  });

  it('is answered 401 when it has expired', async () => {
    expect(await verdictOn(withKey(), { claims: { exp: secondsAgo(6) } })).toStrictEqual(EXPIRED);
    const forged = await mint({ key: stranger, claims: { exp: secondsAgo(60) } });
    expect(await verdictOf(withKey(), bearer(forged))).toStrictEqual(INVALID);
  });

  it('is answered 401 when it is signed by nobody', async () => {
    const unsecured = new UnsecuredJWT({ sub: 'ada' })
      .setIssuer(ISSUER)
      .setAudience(AUDIENCE)
      .setExpirationTime('1m')
      .encode();
    const [, claims] = (await mint()).split('.');
    const header = (alg: unknown) => Buffer.from(JSON.stringify({ alg })).toString('base64url');
    const tokens = [
      unsecured,
      ...['none', 'None', 'NONE', '', null, 7].map((alg) => `${header(alg)}.${claims}.`),
    ];
    for (const token of tokens) {
      for (const authorize of [withKey(), withSecret()]) {
        expect(await verdictOf(authorize, bearer(token))).toStrictEqual(INVALID);
      }
    }
  });

  it('is answered 401 when it has been changed', async () => {
    const [head, claims, signature] = (await mint()).split('.');
    const other = Buffer.from(JSON.stringify({ sub: 'eve' })).toString('base64url');
    const tokens = [
      `${head}.${other}.${signature}`,
      `${head}.${claims}.${signature?.slice(4)}`,
      `${head}.${claims}.`,
      `${head}.${claims}`,
      `${head}`,
      'a.b.c',
      '..',
      'a.b.c.d.e',
    ];
    for (const token of tokens) expect(await verdictOf(withKey(), bearer(token))).toStrictEqual(INVALID);
  });

  it.each<[string, Record<string, string>]>([
    ['none', {}],
    ['one of another scheme', { authorization: 'Basic YTpi' }],
    ['an empty one', { authorization: 'Bearer ' }],
  ])('is answered 401 when there is %s', async (_name, headers) => {
    expect(await verdictOf(withKey(), { headers })).toMatchObject({ allowed: false, status: 401 });
  });
});

describe('the tenant claim', () => {
  const authorize = withKey({ tenantClaim: 'https://hooks.example/tenant' });
  const claims = (tenant: unknown) => ({ claims: { 'https://hooks.example/tenant': tenant } });

  it('binds the caller', async () => {
    expect(await verdictOn(authorize, claims('acme'))).toStrictEqual({ ...ADA, tenantId: 'acme' });
  });

  it.each([undefined, null, '', 7, true, ['acme'], { id: 'acme' }])(
    'denies when it is %j, and never lets in unbound',
    async (tenant) => {
      expect(await verdictOn(authorize, claims(tenant))).toStrictEqual(NO_TENANT);
      const bound = withKey({ tenantClaim: 'https://hooks.example/tenant', allow: () => ({ allow: true }) });
      expect(await verdictOn(bound, claims(tenant))).toStrictEqual(NO_TENANT);
    },
  );

  it.each(['constructor', 'toString', '__proto__'])(
    'is not found in the prototype: %s',
    async (tenantClaim) => {
      expect(await verdictOn(withKey({ tenantClaim }))).toStrictEqual(NO_TENANT);
    },
  );
});

describe('the actor claim', () => {
  it('names the caller in place of the subject', async () => {
    const authorize = withKey({ actorClaim: 'email' });
    const verdict = await verdictOn(authorize, { claims: { email: 'ada@example.com' } });
    expect(verdict).toStrictEqual({ ...ANYBODY, actor: { id: 'ada@example.com' } });
  });

  it.each([undefined, '', 7, null])('names nobody when it is %j', async (sub) => {
    expect(await verdictOn(withKey(), { claims: { sub: sub as string } })).toStrictEqual(ANYBODY);
  });
});

describe('allow', () => {
  it('is given the claims, the request and what is asked for', async () => {
    const allow = jest.fn(() => true);
    await verdictOn(withKey({ allow }), { claims: { role: 'operator' } });
    const claims = expect.objectContaining({ iss: ISSUER, sub: 'ada', role: 'operator' });
    expect(allow).toHaveBeenCalledWith(claims, expect.any(Request), expect.objectContaining({ params: {} }));
  });

  it('is asked for valid tokens alone', async () => {
    const allow = jest.fn(() => true);
    await verdictOn(withKey({ allow }), { claims: { aud: 'other' } });
    await verdictOn(withKey({ allow, tenantClaim: 'tenant' }));
    expect(allow).not.toHaveBeenCalled();
  });

  it.each<[string, unknown, unknown]>([
    ['no', false, { allowed: false, status: 403 }],
    [
      'no, with a sentence',
      { allow: false, publicMessage: 'Not you' },
      { allowed: false, status: 403, publicMessage: 'Not you' },
    ],
    ['yes', true, { ...ADA, tenantId: 'acme' }],
    ['yes, read-only', { allow: true, readOnly: true }, { ...ADA, tenantId: 'acme', readOnly: true }],
    [
      'a name',
      { allow: true, actor: { id: '7', name: 'Ada' } },
      { ...ANYBODY, tenantId: 'acme', actor: { id: '7', name: 'Ada' } },
    ],
    ['another tenant', { allow: true, tenantId: 'other' }, { ...ADA, tenantId: 'other' }],
  ])('decides: %s', async (_name, decision, verdict) => {
    const authorize = withKey({ tenantClaim: 'tenant', allow: async () => decision as boolean });
    expect(await verdictOn(authorize, { claims: { tenant: 'acme' } })).toStrictEqual(verdict);
  });

  it('denies with the fault when it throws or answers nonsense', async () => {
    const fault = new Error('down');
    const throwing = withKey({
      allow: () => {
        throw fault;
      },
    });
    expect(await verdictOn(throwing)).toStrictEqual({ allowed: false, status: 403, fault });
    const tenantless = withKey({
      tenantClaim: 'tenant',
      allow: () => ({ allow: true, tenantId: undefined }) as never,
    });
    expect(await verdictOn(tenantless, { claims: { tenant: 'acme' } })).toEqual({
      allowed: false,
      status: 403,
      fault: expect.any(TypeError),
    });
  });
});

describe('options that cannot work', () => {
  const usual = { issuer: ISSUER, audience: AUDIENCE, publicKey: pem };
  const privatePem = rsa.privateKey.export({ type: 'pkcs8', format: 'pem' }) as string;
  const x25519 = generateKeyPairSync('x25519').publicKey;

  it.each<[string, object, RegExp]>([
    ['no key', { publicKey: undefined }, /exactly one of jwksUrl, secret and publicKey$/],
    ['two keys', { secret: SECRET }, /exactly one of/],
    ['no issuer', { issuer: undefined }, /issuer must be/],
    ['no issuer in a list', { issuer: [] }, /issuer must be/],
    ['an empty issuer', { issuer: '' }, /issuer must be/],
    ['no audience', { audience: undefined }, /audience must be/],
    ['an empty audience in a list', { audience: ['a', ''] }, /audience must be/],
    [
      'a short secret',
      { publicKey: undefined, secret: 'x'.repeat(31) },
      /secret has 31 bytes and needs at least 32/,
    ],
    ['a secret that is none', { publicKey: undefined, secret: 7 }, /secret must be a string or bytes/],
    ['no PEM', { publicKey: 'key' }, /publicKey cannot be read: give PEM/],
    ['a private PEM', { publicKey: privatePem }, /publicKey is a private key/],
    ['a private key object', { publicKey: createPrivateKey(privatePem) }, /publicKey is a private key/],
    ['a secret as a public key', { publicKey: { kty: 'oct', k: 'AAAA' } }, /publicKey cannot be read/],
    ['a key that does not sign', { publicKey: x25519 }, /publicKey must be RSA, EC on/],
    [
      'HMAC with a public key',
      { algorithms: ['RS256', 'HS256'] },
      /algorithms may hold, with this public key, RS256/,
    ],
    ['an algorithm of another key', { algorithms: ['ES256'] }, /algorithms may hold/],
    ['none', { algorithms: ['none'] }, /algorithms may hold/],
    ['no algorithms', { algorithms: [] }, /algorithms may hold/],
    [
      'HMAC with a key set',
      { publicKey: undefined, jwksUrl: 'https://a.example', algorithms: ['HS256'] },
      /algorithms may hold, with a key set/,
    ],
    [
      'RSA with a secret',
      { publicKey: undefined, secret: SECRET, algorithms: ['RS256'] },
      /with a secret, HS256, HS384, HS512$/,
    ],
    [
      'no URL',
      { publicKey: undefined, jwksUrl: 'jwks.json' },
      /jwksUrl must be an https URL, and is "jwks.json"$/,
    ],
    ['a file URL', { publicKey: undefined, jwksUrl: 'file:///jwks.json' }, /jwksUrl must be an https URL/],
    ['plain HTTP', { publicKey: undefined, jwksUrl: 'http://issuer.example/jwks' }, /jwksUrl is plain HTTP/],
    ['an empty tenant claim', { tenantClaim: '' }, /tenantClaim must be the name of a claim/],
    ['an actor claim that is none', { actorClaim: 7 }, /actorClaim must be the name of a claim/],
    ['allow as a boolean', { allow: true }, /allow must be a function$/],
    ['a negative tolerance', { clockToleranceSeconds: -1 }, /clockToleranceSeconds must be a number ≥ 0$/],
    ['a tolerance that is none', { clockToleranceSeconds: Number.NaN }, /clockToleranceSeconds/],
    ['a text for a boolean', { requireExpiration: 'no' }, /requireExpiration must be a boolean$/],
  ])('are refused at once: %s', (_name, options, message) => {
    const construct = () => jwt({ ...usual, ...options } as JwtOptions);
    expect(construct).toThrow(message);
    expect(construct).toThrow(expect.objectContaining({ code: 'INVALID_OPTIONS' }));
  });

  it('leave the secret out of the error', () => {
    expect(() => withSecret({ secret: 'hunter2' })).toThrow(/^(?!.*hunter2)/);
  });

  it('are not plain HTTP to this machine, or where it is admitted', () => {
    const options = { issuer: ISSUER, audience: AUDIENCE };
    for (const host of ['localhost:8080', '127.0.0.1:9', '[::1]']) {
      expect(jwt({ ...options, jwksUrl: `http://${host}/jwks` })).toBeInstanceOf(Function);
    }
    expect(jwt({ ...options, jwksUrl: 'http://keys:8080/jwks', allowHttp: true })).toBeInstanceOf(Function);
    expect(() => jwt({ ...options, jwksUrl: 'http://127.0.0.1.evil.example/' })).toThrow('plain HTTP');
  });

  it('do not depend on who made the key', () => {
    expect(withKey({ publicKey: createPublicKey(privatePem) })).toBeInstanceOf(Function);
  });
});
