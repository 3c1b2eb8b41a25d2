import { AUTHORIZE_MS, type AuthorizeInfo, type Decision } from '../../lib/admin/authorize.js';
import { createAdminHandler } from '../../lib/admin/handler.js';
import { anId, expectError } from './expectations.js';
import { answerOf, openPlane, type Plane, requestOf } from './plane.js';

let plane: Plane;
let onError: jest.Mock;
beforeAll(async () => {
  plane = await openPlane({ lifetime: 'file' });
  for (const id of ['acme', 'other']) await plane.sender.tenants.setMetadata(id, {});
});
beforeEach(() => {
  onError = jest.fn();
});

/** Asks for the tenants of a control plane whose authorizer answers so. */
function askWith(
  authorize: (request: Request, info: AuthorizeInfo) => unknown,
  request = requestOf('GET /tenants'),
) {
  const handler = createAdminHandler(plane.sender, {
    authorize: authorize as (request: Request) => Decision,
    onError,
  });
  return answerOf(handler(request));
}

async function tenantsSeenWith(authorize: () => unknown): Promise<string[]> {
  const answer = await askWith(authorize);
  expect(answer.status).toBe(200);
  return (answer.body.tenants as { id: string }[]).map(({ id }) => id).sort();
}

class Caller {
  get allow() {
    return true;
  }
  get tenantId() {
    return 'acme';
  }
}

const ALLOWED: [string, unknown, string[]][] = [
  ['true', true, ['acme', 'other']],
  ['{ allow: true }', { allow: true }, ['acme', 'other']],
  ['{ allow: true, status: 401 }', { allow: true, status: 401 }, ['acme', 'other']],
  ['{ allow: true, status: 403 }', { allow: true, status: 403 }, ['acme', 'other']],
  ['{ allow: true, tenantId }', { allow: true, tenantId: 'acme' }, ['acme']],
  ['{ allow: true, tenantId } of nobody', { allow: true, tenantId: 'nobody' }, []],
  ['{ allow: true, more: 1 }', { allow: true, more: 1 }, ['acme', 'other']],
  ['an object without a prototype', Object.assign(Object.create(null), { allow: true }), ['acme', 'other']],
  ['an object of a class', new Caller(), ['acme']],
];

const DENIED: [string, unknown, 401 | 403][] = [
  ['false', false, 403],
  ['{ allow: false }', { allow: false }, 403],
  ['{ allow: false, status: 403 }', { allow: false, status: 403 }, 403],
  ['{ allow: false, status: 401 }', { allow: false, status: 401 }, 401],
  ...[200, 201, 302, 404, 99, 0, -401, 401.5, 500, 503, Number.NaN, '401', null, true, [401]].map(
    (status): [string, unknown, 403] => [
      `{ allow: false, status: ${JSON.stringify(status)} }`,
      { allow: false, status },
      403,
    ],
  ),
  ['{ allow: false, tenantId }', { allow: false, tenantId: 'acme' }, 403],
  ['{ allow: false, tenantId: undefined }', { allow: false, tenantId: undefined }, 403],
];

const NONSENSE: [string, unknown][] = [
  ['undefined', undefined],
  ['null', null],
  ['0', 0],
  ['1', 1],
  ['NaN', Number.NaN],
  ['1n', 1n],
  ['an empty string', ''],
  ['"true"', 'true'],
  ['"allow"', 'allow'],
  ['a symbol', Symbol('true')],
  ['a function', () => true],
  ['[]', []],
  ['[true]', [true]],
  ['[{ allow: true }]', [{ allow: true }]],
  ['{}', {}],
  ['new Boolean(true)', new Boolean(true)],
  ['a Response', new Response('ok')],
  ['a Map', new Map([['allow', true]])],
  ['an Error', new Error('no')],
  ['{ tenantId } alone', { tenantId: 'acme' }],
  ['{ status: 401 } alone', { status: 401 }],
  ...[undefined, null, 1, 0, 'yes', 'true', 'false', [], {}, new Boolean(true)].map(
    (allow): [string, unknown] => [`{ allow: ${JSON.stringify(allow)} (${typeof allow}) }`, { allow }],
  ),
  ...[undefined, null, '', 0, 7, Number.NaN, true, false, {}, [], ['acme'], new String('acme')].map(
    (tenantId): [string, unknown] => [
      `{ allow: true, tenantId: ${JSON.stringify(tenantId)} (${typeof tenantId}) }`,
      { allow: true, tenantId },
    ],
  ),
  ['a tenantId with a control character', { allow: true, tenantId: 'acme\n' }],
  ['a tenantId with a lone surrogate', { allow: true, tenantId: 'acme\ud800' }],
  ['a tenantId of 256 characters', { allow: true, tenantId: 'a'.repeat(256) }],
  [
    'an inherited tenantId that is undefined',
    Object.assign(Object.create({ tenantId: undefined }), { allow: true }),
  ],
];

describe('§5.2 what the callback may answer', () => {
  it('is tried on all sorts of values', () => {
    expect(ALLOWED.length + DENIED.length + NONSENSE.length).toBeGreaterThanOrEqual(26);
  });

  it.each(ALLOWED)('%s allows', async (_name, decision, tenants) => {
    expect(await tenantsSeenWith(() => decision)).toEqual(tenants);
    expect(await tenantsSeenWith(async () => decision)).toEqual(tenants);
    expect(onError).not.toHaveBeenCalled();
  });

  it.each(DENIED)('%s denies, and is nothing to report', async (_name, decision, status) => {
    for (const authorize of [() => decision, async () => decision]) {
      const answer = await askWith(authorize);
      expectError(answer, status === 401 ? 'UNAUTHORIZED' : 'FORBIDDEN');
      expect(answer.headers.get('www-authenticate')).toBe(status === 401 ? 'Bearer' : null);
    }
    expect(onError).not.toHaveBeenCalled();
  });

  it.each(NONSENSE)('%s denies, and is reported', async (_name, decision) => {
    for (const authorize of [() => decision, async () => decision]) {
      expectError(await askWith(authorize), 'FORBIDDEN', 'No access');
    }
    expect(onError.mock.calls).toEqual([
      [expect.any(TypeError), { requestId: anId('req') }],
      [expect.any(TypeError), { requestId: anId('req') }],
    ]);
    expect(onError.mock.calls[0][0].message).toMatch(/^authorize answered /);
  });

  it('a thenable is waited for', async () => {
    const thenable = Object.defineProperty({}, 'then', {
      value: (resolve: (decision: Decision) => void) => resolve({ allow: true, tenantId: 'acme' }),
    });
    expect(await tenantsSeenWith(() => thenable)).toEqual(['acme']);
  });
});

describe('an authorizer that takes its time', () => {
  beforeEach(() => jest.useFakeTimers({ doNotFake: ['setImmediate', 'nextTick', 'queueMicrotask'] }));
  afterEach(() => jest.useRealTimers());

  it('is waited for', async () => {
    const asked = askWith(() => new Promise((resolve) => setTimeout(resolve, AUTHORIZE_MS - 1, true)));
    await jest.advanceTimersByTimeAsync(AUTHORIZE_MS - 1);
    expect((await asked).status).toBe(200);
    expect(onError).not.toHaveBeenCalled();
  });

  it.each([
    ['a promise', () => new Promise(() => {})],
    // biome-ignore lint/suspicious/noThenProperty: what some libraries answer in place of a promise
    ['a thenable', () => ({ then() {} })],
  ])('for good is a denial, and reported: %s that never settles', async (_, authorize) => {
    const asked = askWith(authorize);
    await jest.advanceTimersByTimeAsync(AUTHORIZE_MS);
    expectError(await asked, 'FORBIDDEN');
    expect(String(onError.mock.calls[0]?.[0])).toMatch(/authorize did not answer within 10000 ms/);
  });
});

describe('requireTenant', () => {
  const ask = (decision: Decision, requireTenant = true) =>
    answerOf(
      createAdminHandler(plane.sender, { authorize: () => decision, requireTenant, onError })(
        requestOf('GET /tenants'),
      ),
    );

  it('refuses a caller who is not bound to a tenant, and reports it', async () => {
    expectError(await ask(true), 'FORBIDDEN');
    expectError(await ask({ allow: true }), 'FORBIDDEN');
    expect(onError).toHaveBeenCalledTimes(2);
    expect(String(onError.mock.calls[0]?.[0])).toMatch(/without a tenantId/);
  });

  it('lets in who is bound, and anybody when it is off', async () => {
    expect((await ask({ allow: true, tenantId: 'acme' })).status).toBe(200);
    expect((await ask(true, false)).status).toBe(200);
    expect(onError).not.toHaveBeenCalled();
  });

  it.each(['requireTennant', 'authorise', 'basepath'])(
    'is no option of the control plane by the name %s',
    (name) => {
      const options = { authorize: () => true, [name]: true };
      expect(() => createAdminHandler(plane.sender, options)).toThrow(`unknown key "${name}"`);
    },
  );

  it('must be a boolean', () => {
    const options = { requireTenant: 'yes' } as object;
    expect(() => createAdminHandler(plane.sender, options)).toThrow(/requireTenant must be a boolean/);
  });
});

describe('§5.3 an answer that changes while it is read', () => {
  /** An object whose property says one thing after the other. */
  function changing(property: string, values: unknown[], rest: object = {}) {
    const read = jest.fn(() => values.shift());
    const decision = Object.defineProperty({ ...rest }, property, { get: read, enumerable: true });
    return { decision, read };
  }

  it('binds to the tenant that it named first', async () => {
    const { decision, read } = changing('tenantId', ['acme', 'other'], { allow: true });
    expect(await tenantsSeenWith(() => decision)).toEqual(['acme']);
    expect(read).toHaveBeenCalledTimes(1);
  });

  it.each([
    ['tenantId', [undefined, 'acme'], { allow: true }],
    ['allow', [false, true], {}],
    ['allow', ['yes', true], {}],
  ])('denies by the %s that it gave first: %j', async (property, values, rest) => {
    const { decision, read } = changing(property, values, rest);
    expectError(await askWith(() => decision), 'FORBIDDEN');
    expect(read).toHaveBeenCalledTimes(1);
  });

  it.each(['allow', 'status', 'tenantId'])('denies when reading its %s throws', async (property) => {
    const fault = new Error('a getter');
    const decision = Object.defineProperty({ allow: true, tenantId: 'acme' }, property, {
      get() {
        throw fault;
      },
    });
    expectError(await askWith(() => decision), 'FORBIDDEN');
    expect(onError).toHaveBeenCalledWith(fault, { requestId: anId('req') });
  });
});

describe('§5.2 a callback that throws', () => {
  const thrown = [new Error('down'), null, undefined, true, 'text', { allow: true }, new Response('ok')];

  it.each(thrown)('denies and reports %p, at once or later', async (reason) => {
    const throwing = () => {
      throw reason;
    };
    for (const authorize of [throwing, async () => throwing()]) {
      onError.mockClear();
      expectError(await askWith(authorize), 'FORBIDDEN', 'No access');
      expect(onError.mock.calls).toEqual([[reason, { requestId: anId('req') }]]);
    }
  });

  it('says nothing of it to the client', async () => {
    const answer = await askWith(() => {
      throw new Error('password is hunter2');
    });
    expect(answer.text).toBe('{"errorCode":"FORBIDDEN","error":"No access"}');
  });
});
