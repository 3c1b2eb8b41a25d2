import type { IncomingMessage } from 'node:http';
import connect from 'connect';
import type { Express } from 'express';
import type { Authorize } from '../../lib/admin/authorize.js';
import { adminMiddleware, type FromHostOptions, fromSession, fromUser } from '../../lib/express/index.js';
import { startSender, type TestSender } from '../support/sender.js';
import { send, servers } from './http.js';
import { EXPRESSES } from './signed-in.js';

const serve = servers();
const HOST = 'app.example:8080';
const COOKIE = { host: HOST, cookie: 'sid=1' };
const allow = (): boolean => true;

let sender: TestSender;
beforeAll(async () => {
  sender = await startSender({ started: false, lifetime: 'file' });
});

/** What stands before us in a real application. */
function signIn(req: IncomingMessage, _res: unknown, next: () => void): void {
  Object.assign(req, { user: {}, session: {} });
  next();
}

const HELPERS: [string, (options?: FromHostOptions) => Authorize][] = [
  ['fromUser', (options) => fromUser(allow, options)],
  ['fromSession', (options) => fromSession(allow, options)],
];

type Mount = (authorize: Authorize) => Promise<number>;

const mountIn =
  (create: () => Express): Mount =>
  (authorize) =>
    serve(create().use(signIn).use('/admin', adminMiddleware(sender, { authorize })));

const HOSTS: [string, Mount][] = [
  ...EXPRESSES.map(([name, express]): [string, Mount] => [name, mountIn(express)]),
  [
    'connect',
    (authorize) => serve(connect().use(signIn).use('/admin', adminMiddleware(sender, { authorize }))),
  ],
  [
    'node:http',
    (authorize) => {
      const middleware = adminMiddleware(sender, { authorize, basePath: '/admin' });
      return serve((req, res) => signIn(req, res, () => void middleware(req, res)));
    },
  ],
];

async function post(port: number, headers: Record<string, string>, method = 'POST'): Promise<number> {
  const { status } = await send(port, { method, path: '/admin/keys/symmetric', headers });
  return status;
}

const PASSES: [string, Record<string, string>][] = [
  ['neither header', {}],
  ['Sec-Fetch-Site: same-origin', { 'sec-fetch-site': 'same-origin' }],
  ['Sec-Fetch-Site: none', { 'sec-fetch-site': 'none' }],
  [
    'same-origin, whatever the Origin',
    { 'sec-fetch-site': 'same-origin', origin: 'https://rewritten.example' },
  ],
  ['its own Origin', { origin: `http://${HOST}` }],
  ['its own Origin, by TLS that a proxy ends', { origin: `https://${HOST}` }],
  ['its own Origin on the port of https', { host: 'app.example:443', origin: 'https://app.example' }],
  ['its own Origin on the port of http', { host: 'app.example:80', origin: 'http://app.example' }],
  ['its own Origin, Host in capitals', { host: 'APP.example', origin: 'https://app.example' }],
  ['its own Origin at an IPv6 address', { host: '[::1]:3000', origin: 'http://[::1]:3000' }],
];

const REFUSED: [string, Record<string, string>][] = [
  ['Sec-Fetch-Site: cross-site', { 'sec-fetch-site': 'cross-site' }],
  ['Sec-Fetch-Site: same-site', { 'sec-fetch-site': 'same-site' }],
  ['Sec-Fetch-Site: anything', { 'sec-fetch-site': 'anything' }],
  ['Sec-Fetch-Site: Same-Origin', { 'sec-fetch-site': 'Same-Origin' }],
  ['Sec-Fetch-Site: two values', { 'sec-fetch-site': 'same-origin, cross-site' }],
  ['Sec-Fetch-Site: nothing', { 'sec-fetch-site': '' }],
  ['cross-site, with its own Origin', { 'sec-fetch-site': 'cross-site', origin: `http://${HOST}` }],
  ['another host', { origin: 'http://evil.example' }],
  ['another port', { origin: 'http://app.example:9090' }],
  ['no port', { origin: 'http://app.example' }],
  ['a host below', { origin: `http://sub.${HOST}` }],
  ['a host that begins so', { origin: 'http://app.example.evil.example:8080' }],
  ['a host that ends so', { origin: `http://evil${HOST}` }],
  ['another scheme', { origin: `ftp://${HOST}` }],
  ['null', { origin: 'null' }],
  ['nothing', { origin: '' }],
  ['no URL', { origin: HOST }],
  ['a Host that is none', { host: 'a b', origin: 'http://app.example' }],
  [
    'a forwarded host that nobody trusts',
    { origin: 'http://evil.example', 'x-forwarded-host': 'evil.example' },
  ],
];

describe.each(HELPERS)('%s', (_helper, authorizer) => {
  describe.each(HOSTS)('in %s', (_host, mount) => {
    it('lets a request with a cookie pass when no other site is behind it', async () => {
      const port = await mount(authorizer());
      const statuses = await Promise.all(PASSES.map(([, headers]) => post(port, { ...COOKIE, ...headers })));
      expect(statuses.map((status, index) => [PASSES[index]![0], status])).toEqual(
        PASSES.map(([name]) => [name, 201]),
      );
    });

    it('refuses a request with a cookie when another site is behind it', async () => {
      const port = await mount(authorizer());
      const statuses = await Promise.all(REFUSED.map(([, headers]) => post(port, { ...COOKIE, ...headers })));
      expect(statuses.map((status, index) => [REFUSED[index]![0], status])).toEqual(
        REFUSED.map(([name]) => [name, 403]),
      );
    });

    it('lets it pass when it carries no cookie, as the browser has then sent nothing by itself', async () => {
      const port = await mount(authorizer());
      for (const [, headers] of REFUSED) expect(await post(port, { host: HOST, ...headers })).toBe(201);
    });

    it('refuses it with other credentials that a browser sends by itself, and not with a bearer token', async () => {
      const port = await mount(authorizer());
      const crossSite = { host: HOST, 'sec-fetch-site': 'cross-site' };
      for (const authorization of [
        'Basic YTpi',
        'basic YTpi',
        'Negotiate YII=',
        'NTLM TlRM',
        'Digest a="b"',
      ]) {
        expect([authorization, await post(port, { ...crossSite, authorization })]).toEqual([
          authorization,
          403,
        ]);
        expect(await post(port, { host: HOST, authorization })).toBe(201);
      }
      expect(await post(port, { ...crossSite, authorization: 'Bearer abc' })).toBe(201);
    });

    it('looks at every method but GET and HEAD', async () => {
      const port = await mount(authorizer());
      const crossSite = { ...COOKIE, 'sec-fetch-site': 'cross-site' };
      for (const method of ['POST', 'PATCH', 'DELETE', 'PUT', 'OPTIONS', 'TRACE', 'PROPFIND']) {
        expect([method, await post(port, crossSite, method)]).toEqual([method, 403]);
        expect([method, await post(port, COOKIE, method)]).toEqual([method, method === 'POST' ? 201 : 405]);
      }
      for (const method of ['GET', 'HEAD']) {
        const { status } = await send(port, { method, path: '/admin/tenants', headers: crossSite });
        expect(status).toBe(200);
      }
    });

    it('believes the origins that are trusted, where only the Origin tells', async () => {
      const port = await mount(
        authorizer({ trustedOrigins: ['https://admin.example', 'http://other.example:81'] }),
      );
      const statusOf = (headers: Record<string, string>) => post(port, { ...COOKIE, ...headers });
      expect(await statusOf({ origin: 'https://admin.example' })).toBe(201);
      expect(await statusOf({ origin: 'http://other.example:81' })).toBe(201);
      expect(await statusOf({ origin: `http://${HOST}` })).toBe(201);
      for (const origin of [
        'http://admin.example',
        'https://admin.example:81',
        'http://other.example',
        'null',
      ]) {
        expect([origin, await statusOf({ origin })]).toEqual([origin, 403]);
      }
      const origin = 'https://admin.example';
      expect(await statusOf({ origin, 'sec-fetch-site': 'cross-site' })).toBe(403);
    });

    it('can be told to leave it to the host', async () => {
      const port = await mount(authorizer({ csrf: false }));
      for (const [, headers] of REFUSED) expect(await post(port, { ...COOKIE, ...headers })).toBe(201);
    });
  });

  it.each<[unknown, RegExp]>([
    ['https://a.example', /trustedOrigins must be an array of origins$/],
    [['https://a.example', 'a.example'], /trustedOrigins\[1\] must be an origin, .* and is "a.example"$/],
    [
      ['https://a.example/'],
      /trustedOrigins\[0\] must be an origin.*: write "https:\/\/a.example" for "https:\/\/a.example\/"$/,
    ],
    [['https://a.example/admin'], /write "https:\/\/a.example" for/],
    [['https://a.example:443'], /write "https:\/\/a.example" for/],
    [['https://A.example'], /write "https:\/\/a.example" for/],
    [['https://user@a.example'], /write "https:\/\/a.example" for/],
    [['*'], /must be an origin.* and is "\*"$/],
    [['null'], /and is "null"$/],
    [['file:///tmp'], /and is "file:\/\/\/tmp"$/],
    [[''], /and is ""$/],
    [[null], /and is null$/],
  ])('refuses at once to trust %j', (trustedOrigins, message) => {
    const construct = () => authorizer({ trustedOrigins: trustedOrigins as string[] });
    expect(construct).toThrow(message);
    expect(construct).toThrow(expect.objectContaining({ code: 'INVALID_OPTIONS' }));
  });

  it('has no other options', () => {
    const options = { trustedOrigin: ['https://a.example'] } as FromHostOptions;
    expect(() => authorizer(options)).toThrow(
      /the second argument has an unknown key "trustedOrigin": use trustedOrigins, csrf$/,
    );
  });

  it.each([null, 0, 'false'])('is switched off by nothing but false: %j', (csrf) => {
    expect(() => authorizer({ csrf: csrf as unknown as boolean })).toThrow('csrf must be a boolean');
  });
});

describe.each(EXPRESSES)('behind a proxy of %s', (_name, express) => {
  const proxied = (trust: unknown) => mountIn(() => express().set('trust proxy', trust))(fromUser(allow));
  const FORWARDED = {
    ...COOKIE,
    host: 'internal:3000',
    'x-forwarded-host': 'app.example',
    'x-forwarded-proto': 'https',
  };

  it.each<[string, Record<string, string>, number]>([
    ['the public origin', { origin: 'https://app.example' }, 201],
    ['the public origin with a port', { 'x-forwarded-host': HOST, origin: `https://${HOST}` }, 201],
    [
      'the first of several proxies',
      { 'x-forwarded-host': 'app.example, b.example', origin: 'https://app.example' },
      201,
    ],
    ['no forwarded host', { 'x-forwarded-host': '', origin: 'https://internal:3000' }, 201],
    ['another port', { 'x-forwarded-host': HOST, origin: 'https://app.example' }, 403],
    ['plain HTTP, where the application is on HTTPS', { origin: 'http://app.example' }, 403],
    ['plain HTTP', { origin: 'http://app.example', 'x-forwarded-proto': 'http' }, 201],
    ['the internal origin', { origin: 'https://internal:3000' }, 403],
    ['another site', { origin: 'https://evil.example' }, 403],
    [
      'a later proxy',
      { 'x-forwarded-host': 'app.example, evil.example', origin: 'https://evil.example' },
      403,
    ],
  ])(
    'that is trusted, goes by the origin that the proxy was asked for: %s',
    async (_case, headers, status) => {
      for (const trust of [true, 'loopback', 1, () => true]) {
        expect(await post(await proxied(trust), { ...FORWARDED, ...headers })).toBe(status);
      }
    },
  );

  it('that is not trusted, goes by Host', async () => {
    for (const trust of [false, '10.0.0.0/8', 0]) {
      const port = await proxied(trust);
      expect(await post(port, { ...FORWARDED, origin: 'https://app.example' })).toBe(403);
      expect(await post(port, { ...FORWARDED, origin: 'https://internal:3000' })).toBe(201);
    }
  });

  it('knows the setting of the application that it is mounted in', async () => {
    const inner = express()
      .use(signIn)
      .use('/admin', adminMiddleware(sender, { authorize: fromUser(allow) }));
    const port = await serve(express().set('trust proxy', true).use(inner));
    expect(await post(port, { ...FORWARDED, origin: 'https://app.example' })).toBe(201);
    expect(await post(port, { ...FORWARDED, origin: 'https://internal:3000' })).toBe(403);
  });

  it('wakes no warning of Express', async () => {
    const warn = jest.spyOn(process, 'emitWarning').mockImplementation();
    const stderr = jest.spyOn(process.stderr, 'write').mockImplementation(() => true);
    await post(await proxied(true), { ...FORWARDED, origin: 'https://app.example' });
    const said = [warn.mock.calls, stderr.mock.calls];
    warn.mockRestore();
    stderr.mockRestore();
    expect(said).toEqual([[], []]);
  });
});
