import type { Authorize } from '../../../lib/admin/authorize.js';
import { anyOf } from '../../../lib/admin/authorizers/any-of.js';
import { bearerToken } from '../../../lib/admin/authorizers/bearer-token.js';
import { readOnly } from '../../../lib/admin/authorizers/read-only.js';
import { ANYBODY, bearer, verdictOf } from './ask.js';

const TOKEN = 'operator-0123456789';
const says = (decision: unknown) => jest.fn<boolean, Parameters<Authorize>>(() => decision as boolean);
const fails =
  (fault: unknown): Authorize =>
  () =>
    Promise.reject(fault);
const no401 = says({ allow: false, status: 401, publicMessage: 'Sign in' });
const no403 = says({ allow: false, publicMessage: 'Not you' });

describe('anyOf', () => {
  it('takes the decision of the first that allows, and asks none after it', async () => {
    const acme = says({ allow: true, tenantId: 'acme', actor: { id: 'ada', name: 'Ada' }, readOnly: true });
    const last = says(true);
    const verdict = { allowed: true, tenantId: 'acme', actor: { id: 'ada', name: 'Ada' }, readOnly: true };
    expect(await verdictOf(anyOf(no403, no401, acme, last))).toStrictEqual(verdict);
    expect(last).not.toHaveBeenCalled();
  });

  it('gives each the request and what is asked for', async () => {
    const [first, second] = [says(false), says(true)];
    await verdictOf(anyOf(first, second), { host: 'here' });
    for (const each of [first, second]) {
      expect(each).toHaveBeenCalledWith(expect.any(Request), expect.objectContaining({ host: 'here' }));
    }
  });

  it.each<[string, Authorize[], unknown]>([
    ['401 when the first says 401', [no401, no403], { status: 401, publicMessage: 'Sign in' }],
    ['401 when a later one says 401', [no403, no401], { status: 401, publicMessage: 'Sign in' }],
    ['403 when all say 403', [no403, says(false)], { status: 403, publicMessage: 'Not you' }],
    ['what the only one says', [no401], { status: 401, publicMessage: 'Sign in' }],
  ])('answers %s', async (_name, authorizers, denial) => {
    expect(await verdictOf(anyOf(...authorizers))).toStrictEqual({ allowed: false, ...(denial as object) });
  });

  it('takes the first sentence of two denials of one kind', async () => {
    const other = says({ allow: false, status: 401, publicMessage: 'Or so' });
    expect(await verdictOf(anyOf(no403, no401, other))).toMatchObject({ publicMessage: 'Sign in' });
  });

  it('can be nested', async () => {
    expect(await verdictOf(anyOf(anyOf(no403, no401), anyOf(says(false), says(true))))).toStrictEqual(
      ANYBODY,
    );
  });

  it('opens nothing when there is none, or one is no function', () => {
    expect(() => anyOf()).toThrow(expect.objectContaining({ code: 'INVALID_OPTIONS' }));
    expect(() => anyOf(no401, true as unknown as Authorize)).toThrow(
      'anyOf: argument 2 must be an authorizer',
    );
  });
});

describe('an authorizer of anyOf that fails', () => {
  const fault = new Error('down');

  it('denies, with the fault', async () => {
    expect(await verdictOf(anyOf(fails(fault)))).toStrictEqual({ allowed: false, status: 403, fault });
    expect(await verdictOf(anyOf(no401, fails(fault)))).toMatchObject({ allowed: false, status: 401, fault });
  });

  it('does not keep another one from allowing, and is reported all the same', async () => {
    expect(await verdictOf(anyOf(fails(fault), says(true)))).toStrictEqual({ ...ANYBODY, fault });
  });

  it('is one that answers nonsense, too', async () => {
    const verdict = await verdictOf(anyOf(says({ allow: true, tenantId: undefined }), no403));
    expect(verdict).toMatchObject({ allowed: false, status: 403, fault: expect.any(TypeError) });
  });

  it('is reported together with the others that fail', async () => {
    const second = new Error('down, too');
    const verdict = await verdictOf(anyOf(fails(fault), no401, fails(second)));
    expect(verdict.fault).toBeInstanceOf(AggregateError);
    expect((verdict.fault as AggregateError).errors).toEqual([fault, second]);
    expect((verdict.fault as Error).message).toBe('2 authorizers failed: down; down, too');
  });

  it('may fail with anything', async () => {
    for (const thrown of [undefined, null, false]) {
      const verdict = await verdictOf(anyOf(fails(thrown), no401));
      expect(verdict).toStrictEqual({ allowed: false, status: 401, publicMessage: 'Sign in', fault: thrown });
    }
  });
});

describe('readOnly', () => {
  it('leaves the decision as it is but for the writes', async () => {
    const named = says({ allow: true, tenantId: 'acme', actor: 'ada', readOnly: false });
    const verdict = { allowed: true, tenantId: 'acme', actor: { id: 'ada' }, readOnly: true };
    expect(await verdictOf(readOnly(named))).toStrictEqual(verdict);
    expect(await verdictOf(readOnly(bearerToken(TOKEN)), bearer(TOKEN))).toStrictEqual({
      ...ANYBODY,
      readOnly: true,
    });
  });

  it('leaves denials and faults as they are', async () => {
    const fault = new Error('down');
    expect(await verdictOf(readOnly(no401))).toStrictEqual({
      allowed: false,
      status: 401,
      publicMessage: 'Sign in',
    });
    expect(await verdictOf(readOnly(fails(fault)))).toStrictEqual({ allowed: false, status: 403, fault });
  });

  it('concerns its own authorizer alone within anyOf', async () => {
    expect(await verdictOf(anyOf(readOnly(no401), says(true)))).toStrictEqual(ANYBODY);
  });

  it('wants a function', () => {
    expect(() => readOnly(true as unknown as Authorize)).toThrow(
      'readOnly: it needs an authorizer, a function',
    );
  });
});
