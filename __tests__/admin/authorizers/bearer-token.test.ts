import { bearerToken } from '../../../lib/admin/authorizers/bearer-token.js';
import { ANYBODY, bearer, verdictOf } from './ask.js';

const OPERATOR = 'operator-0123456789';
const CUSTOMER = 'customer-0123456789';
const INVALID = { allowed: false, status: 401, publicMessage: 'The bearer token is not valid' };
const MISSING = {
  allowed: false,
  status: 401,
  publicMessage: 'Send a bearer token: "Authorization: Bearer <token>"',
};

describe('one token', () => {
  const authorize = bearerToken(OPERATOR);

  it('lets in who sends it', async () => {
    expect(await verdictOf(authorize, bearer(OPERATOR))).toStrictEqual(ANYBODY);
  });

  it.each(['bearer', 'BEARER', 'Bearer ', 'Bearer   '])('takes the scheme %j', async (scheme) => {
    const headers = { authorization: `${scheme} ${OPERATOR}` };
    expect(await verdictOf(authorize, { headers })).toStrictEqual(ANYBODY);
  });

  it.each([
    ['another token', CUSTOMER],
    ['its beginning', OPERATOR.slice(0, -1)],
    ['it with something behind it', `${OPERATOR}0`],
    ['it in another case', OPERATOR.toUpperCase()],
    ['a very long one', 'x'.repeat(10_000)],
  ])('answers 401 to %s', async (_name, token) => {
    expect(await verdictOf(authorize, bearer(token))).toStrictEqual(INVALID);
  });

  it.each([
    ['nothing', {}],
    ['an empty header', { authorization: '' }],
    ['the scheme alone', { authorization: 'Bearer' }],
    ['the token alone', { authorization: OPERATOR }],
    ['another scheme', { authorization: `Basic ${OPERATOR}` }],
    ['no space', { authorization: `Bearer${OPERATOR}` }],
    ['two tokens', { authorization: `Bearer ${OPERATOR} ${OPERATOR}` }],
    [
      'two headers',
      new Headers([1, 2].map(() => ['authorization', `Bearer ${OPERATOR}`] as [string, string])),
    ],
    ['the token in another header', { 'x-api-key': OPERATOR }],
  ])('answers 401 to %s', async (_name, headers) => {
    expect(await verdictOf(authorize, { headers })).toStrictEqual(MISSING);
  });
});

describe('several tokens', () => {
  const authorize = bearerToken([
    OPERATOR,
    { token: CUSTOMER, tenantId: 'acme', name: 'acme ci', readOnly: true },
    { token: 'named-0123456789ab', name: 'deploy' },
  ]);

  it.each([
    [OPERATOR, ANYBODY],
    [CUSTOMER, { allowed: true, tenantId: 'acme', actor: { id: 'acme ci' }, readOnly: true }],
    ['named-0123456789ab', { ...ANYBODY, actor: { id: 'deploy' } }],
    ['nobody-0123456789ab', INVALID],
  ])('allow each what is its own: %s', async (token, verdict) => {
    expect(await verdictOf(authorize, bearer(token))).toStrictEqual(verdict);
  });
});

describe('a lookup', () => {
  it('is given the token, the request and what is asked for, and decides', async () => {
    const lookup = jest.fn(async () => ({ allow: true, tenantId: 'acme' }));
    expect(await verdictOf(bearerToken(lookup), bearer('short'))).toStrictEqual({
      ...ANYBODY,
      tenantId: 'acme',
    });
    expect(lookup).toHaveBeenCalledWith(
      'short',
      expect.any(Request),
      expect.objectContaining({ params: {} }),
    );
  });

  it.each([null, undefined])('that finds nobody (%s) answers 401', async (nobody) => {
    for (const lookup of [() => nobody, async () => nobody]) {
      expect(await verdictOf(bearerToken(lookup), bearer('short'))).toStrictEqual(INVALID);
    }
  });

  it('that says no answers 403', async () => {
    expect(
      await verdictOf(
        bearerToken(() => false),
        bearer('short'),
      ),
    ).toEqual({ allowed: false, status: 403 });
  });

  it('that fails denies with the fault', async () => {
    const fault = new Error('the database is down');
    const authorize = bearerToken(() => Promise.reject(fault));
    expect(await verdictOf(authorize, bearer('short'))).toEqual({ allowed: false, status: 403, fault });
  });

  it('is not asked without a token', async () => {
    const lookup = jest.fn(() => true);
    expect(await verdictOf(bearerToken(lookup))).toStrictEqual(MISSING);
    expect(lookup).not.toHaveBeenCalled();
  });
});

describe('tokens that cannot work', () => {
  it.each<[string, unknown, RegExp]>([
    ['none', [], /needs at least one token$/],
    [
      'a variable that is not set',
      undefined,
      /the token is undefined: is the variable that it comes from set\?$/,
    ],
    ['null', null, /the token is null/],
    ['an empty one', '', /the token has 0 characters and needs at least 16: .*openssl rand/],
    ['a short one', [OPERATOR, 'fifteen-chars-x'], /tokens\[1\] has 15 characters and needs at least 16/],
    ['one without its token', [{ tenantId: 'acme' }], /tokens\[0\] is undefined/],
    ['a line break', `${OPERATOR}\n`, /holds a space, a line break/],
    ['letters that no header has', 'ключ-от-квартиры-где', /not ASCII/],
    [
      'one that is given twice',
      [OPERATOR, CUSTOMER, { token: OPERATOR, tenantId: 'a' }],
      /tokens\[2\] is the same token as tokens\[0\]: remove one$/,
    ],
    [
      'a tenant that is not set',
      { token: OPERATOR, tenantId: undefined },
      /tenantId must be a non-empty string; leave the key out/,
    ],
    ['an empty tenant', { token: OPERATOR, tenantId: '' }, /tenantId must be a non-empty string/],
    [
      'a misspelt key',
      { token: OPERATOR, tenantid: 'acme' },
      /unknown key "tenantid": use token, tenantId, name, readOnly$/,
    ],
    ['an empty name', { token: OPERATOR, name: '' }, /name must be a non-empty string/],
    ['readOnly as a text', { token: OPERATOR, readOnly: 'true' }, /readOnly must be a boolean/],
  ])('are refused at once: %s', (_name, tokens, message) => {
    const construct = () => bearerToken(tokens as string);
    expect(construct).toThrow(message);
    expect(construct).toThrow(expect.objectContaining({ code: 'INVALID_OPTIONS' }));
  });

  it.each(['short-secret', `${OPERATOR} x`, `${OPERATOR}\n`])(
    'are not repeated by the error: %j',
    (token) => {
      let message = '';
      try {
        bearerToken([token]);
      } catch (error) {
        ({ message } = error as Error);
      }
      expect(message).toMatch(/^bearerToken: tokens\[0\]/);
      expect(message).not.toContain(token.trim().slice(0, 12));
    },
  );
});
