import { type Authorize, type Decision, decide } from '../../lib/admin/authorize.js';
import { createAdminHandler } from '../../lib/admin/handler.js';
import { givenRequest } from '../../lib/admin/lazy-request.js';
import { ROUTES } from '../../lib/admin/routes.js';
import { anId, expectError } from './expectations.js';
import { type Asked, answerOf, dump, hostedHandler, openPlane, type Plane, requestOf } from './plane.js';
import { countedBody, inPieces } from './streams.js';

const READ_ONLY = 'The access is read-only: it allows GET and HEAD';
const BODY = JSON.stringify({ url: 'https://example.com/hook' });
let plane: Plane;
let onError: jest.Mock;
beforeAll(async () => {
  plane = await openPlane({ lifetime: 'file' });
  for (const id of ['acme', 'other']) await plane.sender.tenants.setMetadata(id, {});
});
beforeEach(() => {
  onError = jest.fn();
});

function ask(decision: unknown, route: string, asked?: Asked) {
  const handler = hostedHandler(plane.sender, { authorize: () => decision as Decision, onError });
  return answerOf(handler(requestOf(route, asked), asked?.context));
}

const verdictOn = (decision: unknown) =>
  decide((() => decision) as Authorize, givenRequest(requestOf('GET /health')), {
    operation: null,
    params: {},
    host: undefined,
  });

describe('the actor of a decision', () => {
  it.each<[unknown, unknown]>([
    ['ada', { id: 'ada' }],
    [{ id: 'ada' }, { id: 'ada' }],
    [
      { id: 'ada', name: 'Ada' },
      { id: 'ada', name: 'Ada' },
    ],
    [
      { id: 'ada', name: '' },
      { id: 'ada', name: '' },
    ],
    [{ id: 'ada', name: undefined }, { id: 'ada' }],
    [{ id: 'ada', role: 'operator' }, { id: 'ada' }],
  ])('%j is %j', async (actor, read) => {
    const verdict = { allowed: true, tenantId: 'acme', actor: read, readOnly: false };
    expect(await verdictOn({ allow: true, tenantId: 'acme', actor })).toStrictEqual(verdict);
    expect((await ask({ allow: true, actor }, 'GET /tenants')).status).toBe(200);
    expect(onError).not.toHaveBeenCalled();
  });

  it('is nobody when the decision names none', async () => {
    const verdict = { allowed: true, tenantId: undefined, actor: undefined, readOnly: false };
    for (const decision of [true, { allow: true }]) expect(await verdictOn(decision)).toStrictEqual(verdict);
  });

  it('is a copy, of what was said first', async () => {
    const ids = ['ada', 'eve'];
    const actor = Object.defineProperty({}, 'id', { get: () => ids.shift() });
    expect(await verdictOn({ allow: true, actor })).toMatchObject({ actor: { id: 'ada' } });
    expect(ids).toEqual(['eve']);
  });

  it('does not matter to a denial', async () => {
    expectError(await ask({ allow: false, actor: 7, readOnly: 'yes' }, 'GET /tenants'), 'FORBIDDEN');
    expect(onError).not.toHaveBeenCalled();
  });
});

const MALFORMED: [string, Record<string, unknown>][] = [
  ...[
    undefined,
    null,
    '',
    7,
    true,
    [],
    ['ada'],
    {},
    { id: '' },
    { id: 7 },
    { id: null },
    { name: 'Ada' },
  ].map((actor): [string, Record<string, unknown>] => [`actor: ${JSON.stringify(actor)}`, { actor }]),
  ...[null, 7, {}, ['Ada']].map((name): [string, Record<string, unknown>] => [
    `actor.name: ${JSON.stringify(name)}`,
    { actor: { id: 'ada', name } },
  ]),
  ...[undefined, null, '', 'true', 'false', 0, 1, {}, [], new Boolean(false)].map(
    (readOnly): [string, Record<string, unknown>] => [
      `readOnly: ${JSON.stringify(readOnly)} (${typeof readOnly})`,
      { readOnly },
    ],
  ),
];

describe('a decision that is malformed', () => {
  it.each(MALFORMED)('%s denies, and is reported', async (name, properties) => {
    const answer = await ask({ allow: true, ...properties }, 'GET /tenants');
    expectError(answer, 'FORBIDDEN', 'No access');
    expect(onError.mock.calls).toEqual([[expect.any(TypeError), { requestId: anId('req') }]]);
    const [property] = name.split(':');
    expect(onError.mock.calls[0][0].message).toMatch(new RegExp(`^authorize answered an? ${property}\\b`));
  });
});

describe('a read-only caller', () => {
  const decision = { allow: true, readOnly: true };
  const changing = ROUTES.filter(({ method }) => method !== 'GET').map(
    ({ method, path }) => `${method} ${path.replace(':id', 'acme')}`,
  );

  it.each([...changing, 'PUT /endpoints', 'OPTIONS /endpoints', 'POST /nowhere', 'POST /'])(
    'is refused %s, of whose body nothing is read',
    async (route) => {
      const before = await dump(plane);
      for (const each of [decision, { ...decision, tenantId: 'acme' }]) {
        const body = countedBody(inPieces(BODY));
        expectError(await ask(each, route, { body: body.stream }), 'FORBIDDEN', READ_ONLY);
        expect(body.pulled()).toBe(0);
      }
      expect(await dump(plane)).toEqual(before);
      expect(onError).not.toHaveBeenCalled();
    },
  );

  it('is refused a method that no Request can have', async () => {
    expectError(
      await ask(decision, 'GET /tenants', { context: { method: 'TRACE' } }),
      'FORBIDDEN',
      READ_ONLY,
    );
  });

  it('may read, within its tenant', async () => {
    const answer = await ask({ ...decision, tenantId: 'acme' }, 'GET /tenants');
    expect(answer.body.tenants).toMatchObject([{ id: 'acme' }]);
    expect((await ask(decision, 'HEAD /tenants')).status).toBe(200);
    expectError(await ask(decision, 'GET /nowhere'), 'ROUTE_NOT_FOUND');
  });

  it('is shown no signing secret, of its tenant or of another, and none that is not there', async () => {
    const { id } = await plane.sender.endpoints.create({ url: 'https://example.com/hook', tenantId: 'acme' });
    const before = await dump(plane);
    for (const each of [decision, { ...decision, tenantId: 'acme' }, { ...decision, tenantId: 'other' }]) {
      for (const method of ['GET', 'HEAD']) {
        for (const path of [
          `/endpoints/${id}/secret`,
          `/endpoints/${id}/secret/`,
          '/endpoints/none/secret',
        ]) {
          const answer = await ask(each, `${method} ${path}`);
          if (method === 'HEAD') expect(answer).toMatchObject({ status: 403, text: '' });
          else expectError(answer, 'FORBIDDEN', 'The access is read-only: it shows no secrets');
        }
      }
    }
    expect(await dump(plane)).toEqual(before);
    expect((await ask({ allow: true }, `GET /endpoints/${id}/secret`)).body.secret).toMatch(/^whsec_/);
  });

  it('is shown a secret by no route at all', async () => {
    const secret = `whsec_${Buffer.from('a secret that is never shown').toString('base64')}`;
    const input = { url: 'https://example.com/hook', tenantId: 'acme', secret };
    const { id } = await plane.sender.endpoints.create(input);
    const { id: messageId } = await plane.sender.send({ type: 'a', data: 1, tenantId: 'acme' });
    const ids: Record<string, string> = { endpoints: id, messages: messageId, tenants: 'acme' };
    const shown: string[] = [];
    for (const { method, path } of ROUTES.filter((route) => route.method === 'GET')) {
      const filled = path.replace(':id', ids[path.split('/')[1]!] ?? 'x');
      const handler = createAdminHandler(plane.sender, { authorize: () => decision, onError });
      if ((await (await handler(requestOf(`${method} ${filled}`))).text()).includes(secret)) shown.push(path);
    }
    expect(shown).toEqual([]);
  });

  it('is one only when readOnly is true', async () => {
    expect((await ask({ allow: true, readOnly: false }, 'POST /keys/symmetric')).status).toBe(201);
  });
});

describe('what a denied caller is told', () => {
  it('is the sentence of the decision', async () => {
    const publicMessage = 'Sign in to use this';
    expectError(
      await ask({ allow: false, status: 401, publicMessage }, 'GET /tenants'),
      'UNAUTHORIZED',
      publicMessage,
    );
    expectError(await ask({ allow: false, publicMessage }, 'GET /tenants'), 'FORBIDDEN', publicMessage);
  });

  it.each([undefined, null, '', 7, {}, ['text']])('is the usual one for %j', async (publicMessage) => {
    expectError(await ask({ allow: false, publicMessage }, 'GET /tenants'), 'FORBIDDEN', 'No access');
  });
});

describe('a fault that a decision carries', () => {
  it.each<[string, unknown]>([
    ['an error', new Error('the key set is down')],
    ['undefined', undefined],
  ])('is reported and changes nothing: %s', async (_name, fault) => {
    expect((await ask({ allow: true, fault }, 'GET /tenants')).status).toBe(200);
    const denied = await ask({ allow: false, status: 401, fault }, 'GET /tenants');
    expectError(denied, 'UNAUTHORIZED', 'Authentication is required');
    const reported = [fault, { requestId: anId('req') }];
    expect(onError.mock.calls).toEqual([reported, reported]);
  });
});
