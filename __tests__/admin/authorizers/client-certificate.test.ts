import {
  clientCertificate,
  type ClientCertificateOptions,
} from '../../../lib/admin/authorizers/client-certificate.js';
import { xfccValue } from '../../../lib/admin/authorizers/xfcc.js';
import { ANYBODY, type AskedOf, verdictOf } from './ask.js';

const MISSING = { allowed: false, status: 401, publicMessage: 'A client certificate is required' };
const CROSS_SITE = {
  allowed: false,
  status: 403,
  publicMessage: 'The request was made by a page of another site',
};
const SUBJECT = 'CN=acme,O=Acme Inc';
const ACME = { ...ANYBODY, tenantId: 'acme', actor: { id: SUBJECT } };

const nginx = (options: Partial<ClientCertificateOptions> = {}) =>
  clientCertificate({
    header: 'SSL-Client-S-DN',
    verifyHeader: 'SSL-Client-Verify',
    fromProxy: '10.1.0.0/16',
    tenants: { [SUBJECT]: 'acme' },
    ...options,
  });
const VERIFIED = { 'ssl-client-s-dn': SUBJECT, 'ssl-client-verify': 'SUCCESS' };

/** A request as the proxy at this address passes it on. */
function from(remoteAddress: unknown, headers: Record<string, string> = VERIFIED, method = 'GET'): AskedOf {
  const rawHeaders = Object.entries(headers).flat();
  return { method, headers, host: { req: { socket: { remoteAddress }, rawHeaders }, res: {} } };
}

describe('a certificate that the proxy has verified', () => {
  it('binds to the tenant of its subject, which is the actor', async () => {
    expect(await verdictOf(nginx(), from('10.1.2.3'))).toStrictEqual(ACME);
  });

  it.each([
    ['10.1.0.0/16', '::ffff:10.1.2.3'],
    ['127.0.0.1', '127.0.0.1'],
    ['::1', '::1'],
    ['fd00:1::/32', 'fd00:1::7'],
    ['fe80::/10', 'fe80::1%eth0'],
    [['192.0.2.1', '10.1.0.0/16'], '10.1.255.255'],
  ])('counts from a proxy in %j: %s', async (fromProxy, address) => {
    expect(await verdictOf(nginx({ fromProxy }), from(address))).toStrictEqual(ACME);
  });

  it('is refused when its subject has no tenant', async () => {
    for (const subject of [
      'CN=other',
      'constructor',
      '__proto__',
      SUBJECT.toLowerCase(),
      `${SUBJECT},C=DE`,
    ]) {
      const asked = from('10.1.2.3', { ...VERIFIED, 'ssl-client-s-dn': subject });
      expect(await verdictOf(nginx(), asked)).toStrictEqual({ allowed: false, status: 403 });
    }
  });

  it('is decided on by a function where there is one', async () => {
    const allow = jest.fn(() => ({ allow: true, readOnly: true }) as const);
    const authorize = nginx({ tenants: undefined, allow });
    const verdict = { ...ANYBODY, actor: { id: SUBJECT }, readOnly: true };
    expect(await verdictOf(authorize, from('10.1.2.3'))).toStrictEqual(verdict);
    expect(allow).toHaveBeenCalledWith(SUBJECT, expect.any(Request), expect.objectContaining({ params: {} }));
    const named = nginx({ tenants: undefined, allow: async () => ({ allow: true, actor: 'ops' }) });
    expect(await verdictOf(named, from('10.1.2.3'))).toStrictEqual({ ...ANYBODY, actor: { id: 'ops' } });
    const denied = nginx({ tenants: undefined, allow: () => ({ allow: false, status: 401 }) });
    expect(await verdictOf(denied, from('10.1.2.3'))).toStrictEqual({ allowed: false, status: 401 });
  });

  it('needs no second header where the proxy refuses the rest by itself', async () => {
    const asked = from('10.1.2.3', { 'ssl-client-s-dn': SUBJECT });
    expect(await verdictOf(nginx({ verifyHeader: undefined }), asked)).toStrictEqual(ACME);
  });
});

describe('a certificate header that means nothing', () => {
  it.each([
    ['another network', '10.2.0.1'],
    ['a mapped address of another network', '::ffff:10.2.0.1'],
    ['the client itself', '203.0.113.9'],
    ['this machine', '127.0.0.1'],
    ['an IPv6 address', '::1'],
    ['a connection that is gone', undefined],
    ['no address', 'unix:'],
  ])('comes from %s', async (_name, address) => {
    for (const headers of [
      VERIFIED,
      { ...VERIFIED, 'x-forwarded-for': '10.1.2.3', forwarded: 'for=10.1.2.3' },
    ]) {
      expect(await verdictOf(nginx(), from(address, headers))).toStrictEqual(MISSING);
    }
  });

  it.each<[string, Record<string, string>]>([
    ['no header at all', {}],
    ['an empty subject', { ...VERIFIED, 'ssl-client-s-dn': '' }],
    ['no verdict of the proxy', { 'ssl-client-s-dn': SUBJECT }],
    ['a verdict of NONE', { ...VERIFIED, 'ssl-client-verify': 'NONE' }],
    ['a verdict of FAILED', { ...VERIFIED, 'ssl-client-verify': 'FAILED:certificate has expired' }],
    ['a verdict in small letters', { ...VERIFIED, 'ssl-client-verify': 'success' }],
    ['a subject in another header', { 'x-ssl-client-s-dn': SUBJECT, 'ssl-client-verify': 'SUCCESS' }],
  ])('is %s', async (_name, headers) => {
    expect(await verdictOf(nginx(), from('10.1.2.3', headers))).toStrictEqual(MISSING);
  });

  it('is there twice, so that one of them is the client’s', async () => {
    for (const repeated of Object.keys(VERIFIED)) {
      const asked = from('10.1.2.3');
      const { rawHeaders } = (asked.host as { req: { rawHeaders: string[] } }).req;
      rawHeaders.push(repeated.toUpperCase(), 'x');
      expect(await verdictOf(nginx(), asked)).toStrictEqual(MISSING);
    }
  });

  it.each([undefined, null, {}, { req: null }, { req: 'req' }])(
    'has no host request with it: %j',
    async (host) => {
      const verdict = await verdictOf(nginx(), { headers: VERIFIED, host });
      expect(verdict).toMatchObject({ allowed: false, status: 403 });
      expect((verdict.fault as Error).message).toMatch(/mount adminMiddleware of "hookplane\/express"/);
    },
  );
});

describe('a certificate that a browser presents for another site', () => {
  const post = (headers: Record<string, string>) => from('10.1.2.3', { ...VERIFIED, ...headers }, 'POST');

  it.each<Record<string, string>>([
    { 'sec-fetch-site': 'cross-site' },
    { 'sec-fetch-site': 'same-site' },
    { origin: 'https://evil.example' },
    { origin: 'null' },
  ])('is refused a write: %j', async (headers) => {
    expect(await verdictOf(nginx(), post(headers))).toStrictEqual(CROSS_SITE);
    expect(await verdictOf(nginx(), from('10.1.2.3', { ...VERIFIED, ...headers }))).toStrictEqual(ACME);
    expect(await verdictOf(nginx({ csrf: false }), post(headers))).toStrictEqual(ACME);
  });

  it.each<Record<string, string>>([
    {},
    { 'sec-fetch-site': 'same-origin' },
    { origin: 'http://hooks.example' },
  ])('is no such thing: %j', async (headers) => {
    expect(await verdictOf(nginx(), post(headers))).toStrictEqual(ACME);
  });

  it('is trusted from an origin that is named', async () => {
    const asked = post({ origin: 'https://admin.example' });
    const trusting = nginx({ trustedOrigins: ['https://admin.example'] });
    expect(await verdictOf(trusting, asked)).toStrictEqual(ACME);
    expect(await verdictOf(nginx(), asked)).toStrictEqual(CROSS_SITE);
  });
});

describe('x-forwarded-client-cert', () => {
  const hash = 'Hash=468ed33be74eee6556d90c0149c1309e9ba61d6425303443c0748a02dd8de688';
  const one = `By=spiffe://mesh/ns/default/sa/hooks;${hash};Subject="CN=acme,O=Acme Inc";URI=spiffe://mesh/ns/a/sa/acme`;

  it('names the subject, or another field', async () => {
    const envoy = (options: Partial<ClientCertificateOptions>) =>
      nginx({ header: 'X-Forwarded-Client-Cert', verifyHeader: undefined, ...options });
    const asked = from('10.1.2.3', { 'x-forwarded-client-cert': one });
    expect(await verdictOf(envoy({}), asked)).toStrictEqual(ACME);
    const byUri = envoy({ field: 'URI', tenants: { 'spiffe://mesh/ns/a/sa/acme': 'acme' } });
    expect(await verdictOf(byUri, asked)).toMatchObject({ tenantId: 'acme' });
    const two = from('10.1.2.3', { 'x-forwarded-client-cert': `${one},${one}` });
    expect(await verdictOf(envoy({}), two)).toStrictEqual(MISSING);
  });

  it.each([
    ['Subject=CN=acme', 'CN=acme'],
    ['subject="CN=acme";', 'CN=acme'],
    ['Subject="CN=a \\"b\\" \\\\c;d,e=f"', 'CN=a "b" \\c;d,e=f'],
    ['URI=a;Subject="/C=DE/CN=acme"', '/C=DE/CN=acme'],
    ['DNS=a.example;DNS=b.example;Subject="CN=acme"', 'CN=acme'],
  ])('is read: %s', (header, subject) => {
    expect(xfccValue(header, 'Subject')).toBe(subject);
  });

  it.each([
    ['no subject', hash],
    ['an empty subject', 'Subject=""'],
    ['nothing', ''],
    ['two subjects', 'Subject="CN=a";Subject="CN=b"'],
    ['a subject inside of another value', 'URI="a;Subject=CN=acme"'],
    ['two certificates', `${hash};Subject="CN=a",${hash}`],
    ['a quote that does not end', 'Subject="CN=acme'],
    ['something behind a quote', 'Subject="CN=a"b;'],
    ['a quote inside of a value', 'Subject=CN="a"'],
    ['no pair', 'CN'],
    ['a comma at its end', 'Subject="CN=a",'],
  ])('names no subject when it has %s', (_name, header) => {
    expect(xfccValue(header, 'Subject')).toBeUndefined();
  });
});

describe('options that cannot work', () => {
  it.each<[string, object, RegExp]>([
    ['no proxy', { fromProxy: undefined }, /fromProxy must name the addresses of the proxy: anybody else/],
    ['no proxy in a list', { fromProxy: [] }, /fromProxy must name/],
    [
      'a name for an address',
      { fromProxy: 'proxy.internal' },
      /fromProxy must be an address or a network.* "proxy.internal"$/,
    ],
    ['true', { fromProxy: true }, /fromProxy must be an address/],
    [
      'a network that is an address',
      { fromProxy: '10.1.2.3/16' },
      /write "10.1.0.0\/16" for "10.1.2.3\/16", or the address alone$/,
    ],
    ['a network without end', { fromProxy: '10.1.0.0/33' }, /fromProxy must be/],
    ['two lengths', { fromProxy: '10.0.0.0/8/24' }, /fromProxy must be/],
    ['a short address', { fromProxy: '10.1' }, /fromProxy must be/],
    ['no header', { header: undefined }, /header must be the name of a header/],
    ['a header with a space', { header: 'ssl client' }, /header must be the name of a header/],
    ['a verify header with a colon', { verifyHeader: 'a:' }, /verifyHeader must be the name of a header/],
    ['nobody to let in', { tenants: undefined }, /by "tenants" \(subject to tenant\) or by "allow"/],
    ['two rules', { allow: () => true }, /and not by both$/],
    ['a rule that is none', { tenants: undefined, allow: true }, /allow must be a function$/],
    ['an empty tenant', { tenants: { 'CN=a': '' } }, /tenants\["CN=a"\] must be a tenant id/],
    [
      'an origin with a path',
      { trustedOrigins: ['https://a.example/'] },
      /clientCertificate: trustedOrigins\[0\]/,
    ],
  ])('are refused at once: %s', (_name, options, message) => {
    const construct = () => nginx(options);
    expect(construct).toThrow(message);
    expect(construct).toThrow(expect.objectContaining({ code: 'INVALID_OPTIONS' }));
  });
});
