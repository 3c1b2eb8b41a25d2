import { type Authorize, type AuthorizeInfo, decide } from '../../../lib/admin/authorize.js';
import { anyOf } from '../../../lib/admin/authorizers/any-of.js';
import { bearerToken } from '../../../lib/admin/authorizers/bearer-token.js';
import { clientCertificate } from '../../../lib/admin/authorizers/client-certificate.js';
import { jwt } from '../../../lib/admin/authorizers/jwt.js';
import { readOnly } from '../../../lib/admin/authorizers/read-only.js';
import { type LazyRequest, lazyRequest } from '../../../lib/admin/lazy-request.js';
import { fromSession, fromUser } from '../../../lib/express/index.js';
import { AUDIENCE, ISSUER, mint, rsa } from './tokens.js';

const TOKEN = 'operator-0123456789';
const URL_OF_REQUEST = 'http://hooks.example/endpoints';
const PROXY = '10.1.2.3';
const BODY = '{}';

const certificate = () =>
  clientCertificate({ header: 'x-subject', fromProxy: PROXY, tenants: { acme: 'acme' } });
const claimed = (allow?: (...args: never[]) => boolean) =>
  jwt({
    publicKey: rsa.publicKey,
    issuer: ISSUER,
    audience: AUDIENCE,
    ...(allow && { allow: allow as () => boolean }),
  });

/** A request that any of the authorizers below lets in, unless the token that is sent is another. */
function asked(authorization = `Bearer ${TOKEN}`): {
  request: LazyRequest;
  info: AuthorizeInfo;
  made(): number;
} {
  const headers = { authorization, cookie: 'a=b', 'sec-fetch-site': 'same-origin', 'x-subject': 'acme' };
  let made = 0;
  const given = new Request(URL_OF_REQUEST, { method: 'POST', headers, body: BODY });
  const request = lazyRequest(given, () => {
    made += 1;
    return given;
  });
  const req = { headers, socket: { remoteAddress: PROXY }, user: { id: 'ada' }, session: { id: 'ada' } };
  return { request, info: { operation: null, params: {}, host: { req, res: {} } }, made: () => made };
}

async function madeFor(authorize: Authorize, authorization?: string): Promise<number> {
  const { request, info, made } = asked(authorization);
  expect(await decide(authorize, request, info)).toMatchObject({ allowed: true });
  return made();
}

describe('an authorizer that goes by the head of a request', () => {
  it.each<[string, Authorize]>([
    ['bearerToken', bearerToken(TOKEN)],
    ['bearerToken with a lookup', bearerToken((token) => token === TOKEN)],
    ['bearerToken with a lookup that takes its time', bearerToken(async (token) => token === TOKEN)],
    ['clientCertificate', certificate()],
    ['fromUser', fromUser((user: { id: string }) => user.id === 'ada')],
    ['fromSession', fromSession(({ id }: { id: string }) => id === 'ada')],
    ['a callback that takes nothing', fromUser(() => true)],
    ['readOnly', readOnly(bearerToken(TOKEN))],
    ['anyOf', anyOf(bearerToken('another-0123456789'), certificate())],
  ])('needs no native one: %s', async (_name, authorize) => {
    expect(await madeFor(authorize)).toBe(0);
  });

  it('needs no native one: jwt', async () => {
    const authorization = `Bearer ${await mint()}`;
    expect(await madeFor(claimed(), authorization)).toBe(0);
    expect(
      await madeFor(claimed(((claims: { sub: string }) => claims.sub === 'ada') as never), authorization),
    ).toBe(0);
  });

  it.each<[string, (inner: Authorize) => Authorize]>([
    ['a proxy', (inner) => new Proxy(inner, { apply: () => false })],
    ['a copy of its properties', (inner) => Object.assign(() => false, inner)],
    ['what inherits from it', (inner) => Object.setPrototypeOf(() => false, inner)],
    [
      'what has all its keys',
      (inner) => {
        const outer = () => false;
        for (const key of Reflect.ownKeys(inner)) {
          if (key !== 'length' && key !== 'name')
            Object.defineProperty(outer, key, Object.getOwnPropertyDescriptor(inner, key)!);
        }
        return outer;
      },
    ],
  ])('is not asked past what was made around it: %s', async (_name, around) => {
    const { request, info } = asked();
    expect(await decide(around(bearerToken(TOKEN)), request, info)).toMatchObject({ allowed: false });
  });

  it('is an authorizer like any other for who calls it by itself', async () => {
    const { request, info } = asked();
    expect(await bearerToken(TOKEN)(request.native(), info)).toBe(true);
  });
});

const isIt = (request: Request | undefined) => request?.url === URL_OF_REQUEST;

describe('the native request is made for', () => {
  it.each<[string, Authorize]>([
    ['an authorizer of the application’s', (request) => isIt(request)],
    ['one around another', (request, info) => bearerToken(TOKEN)(request, info)],
    ['a callback that takes it', fromUser((_user: object, request) => isIt(request))],
    ['a callback that takes all there is', fromUser((...all) => isIt(all[1]))],
    ['a callback that takes the rest', fromUser((_user: object, ...rest) => isIt(rest[0]))],
    [
      'a callback that looks at its arguments',
      fromUser(function (_user: object) {
        // biome-ignore lint/complexity/noArguments: it is what is tested
        return isIt(arguments[1]);
      }),
    ],
    ['a bound one', fromUser(((...all: unknown[]) => isIt(all[1] as Request)).bind(null))],
    ['a proxy of one', fromUser(new Proxy((...all: unknown[]) => isIt(all[1] as Request), {}))],
    [
      'a callback with defaults',
      fromUser((_user: object, request: Request | null = null, info: AuthorizeInfo | null = null) =>
        Boolean(isIt(request ?? undefined) && info),
      ),
    ],
    [
      'a callback with a default for what was found',
      fromUser(({ id }: { id?: string } = {}, request?: Request) => id === 'ada' && isIt(request)),
    ],
    [
      'a callback with a text of its own',
      fromUser(
        Object.assign((...all: unknown[]) => isIt(all[1] as Request), { toString: () => '(user) => true' }),
      ),
    ],
    ['a mock', fromSession(jest.fn((_session: object, request: Request) => isIt(request)))],
    ['a lookup that takes it', bearerToken((_token, request) => isIt(request))],
    [
      'several that each read the body',
      anyOf(
        async (request) => (await request.text()) !== BODY,
        async (request) => (await request.text()) === BODY,
      ),
    ],
  ])('%s', async (_name, authorize) => {
    expect(await madeFor(authorize)).toBe(1);
  });
});
