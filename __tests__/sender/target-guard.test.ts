import fc from 'fast-check';
import ipaddr from 'ipaddr.js';
import { classifyAddress } from '../../lib/sender/delivery/address-class.js';
import { createTargetGuard } from '../../lib/sender/delivery/target-guard.js';
import { NOT_PUBLIC, words } from './not-public.js';

function guardOf(allowTargets: string[] = [], allowHttp = false) {
  return createTargetGuard({ allowHttp, allowTargets });
}

function verdict(url: string, allowTargets: string[] = [], allowHttp = false): string {
  const checked = guardOf(allowTargets, allowHttp).checkUrl(url);
  return 'url' in checked ? checked.url : `refused: ${checked.problem}`;
}

describe('what a URL says', () => {
  test.each([
    ['https://example.com/hook', 'https://example.com/hook'],
    ['HTTPS://EXAMPLE.com', 'https://example.com/'],
    ['https://example.com:443/a?b=c', 'https://example.com/a?b=c'],
    ['https://example.com:8443/', 'https://example.com:8443/'],
    ['https://example.com./hook', 'https://example.com/hook'],
    ['https://münchen.example/ü', 'https://xn--mnchen-3ya.example/%C3%BC'],
    ['https://example.com/a/../b', 'https://example.com/b'],
    ['https://my_host.example.com/', 'https://my_host.example.com/'],
    ['https://93.184.215.14/', 'https://93.184.215.14/'],
    ['https://0x5db8d70e/', 'https://93.184.215.14/'],
    ['https://[2606:4700::1111]/', 'https://[2606:4700::1111]/'],
    ['https://[2606:4700:0:0:0:0:0:1111]/', 'https://[2606:4700::1111]/'],
    ['https://[::ffff:93.184.215.14]/', 'https://[::ffff:5db8:d70e]/'],
    ['https://[64:ff9b::93.184.215.14]/', 'https://[64:ff9b::5db8:d70e]/'],
    ['https://example.com/a@b', 'https://example.com/a@b'],
    ['https://localhost.example.com/', 'https://localhost.example.com/'],
    ['https://notlocalhost/', 'https://notlocalhost/'],
  ])('accepts %s', (url, canonical) => {
    expect(verdict(url)).toBe(canonical);
  });

  const REFUSED: [string, RegExp][] = [
    ['', /absolute URL/],
    ['example.com/hook', /absolute URL/],
    ['//example.com/hook', /absolute URL/],
    ['ftp://example.com/', /absolute URL/],
    ['file:///etc/passwd', /absolute URL/],
    ['javascript:alert(1)', /absolute URL/],
    ['gopher://example.com/', /absolute URL/],
    ['https:example.com', /absolute URL/],
    ['https:/example.com', /absolute URL/],
    ['https:///example.com', /absolute URL/],
    ['https://', /absolute URL/],
    ['https://?x', /absolute URL/],
    ['http://example.com/', /must use https.*allowHttp/],
    [' https://example.com/', /white space/],
    ['https://example.com/ ', /white space/],
    ['https://example.com/a b', /white space/],
    ['https://exam\tple.com/', /white space/],
    ['https://exam\nple.com/', /white space/],
    ['https://example.com/\u0000', /white space/],
    ['https://example.com\\@127.0.0.1/', /backslash/],
    ['https://example.com/\u00a0', /white space/],
    ['https://user@example.com/', /user name/],
    ['https://user:secret@example.com/', /user name/],
    ['https://@example.com/', /user name/],
    ['https://example.com@127.0.0.1/', /user name/],
    ['https://example.com/#top', /fragment/],
    ['https://example.com/#', /fragment/],
    ['https://example.com#@127.0.0.1/', /fragment/],
    ['https://exa mple.com/', /white space/],
    ['https://exa%mple.com/', /valid URL/],
    ['https://example.com:99999/', /valid URL/],
    ['https://256.1.1.1/', /valid URL/],
    ['https://[127.0.0.1]/', /valid URL/],
    ['https://[fe80::1%25eth0]/', /valid URL/],
    ['https://example.com../', /empty labels/],
    ['https://a..example.com/', /empty labels/],
    ['https://.example.com/', /empty labels/],
    ['https://example.com:0/', /port 0/],
    ['https://example.com:22/', /port 22/],
    ['https://example.com:25/', /port 25/],
    ['https://example.com:6379/', /^https/],
    ['https://example.com:6667/', /port 6667/],
    ['https://example.com:10080/', /port 10080/],
    [`https://example.com/${'a'.repeat(2048)}`, /2048 characters/],
    [`https://example.com/${'é'.repeat(1000)}`, /2048 characters when encoded/],
  ];
  test.each(REFUSED)('judges %j by its spelling', (url, sentence) => {
    expect(verdict(url)).toMatch(sentence);
  });
});

test('the table of spellings holds what it says', () => {
  expect(new Set(NOT_PUBLIC).size).toBe(NOT_PUBLIC.length);
  expect(NOT_PUBLIC.length).toBeGreaterThan(100);
});

test.each(NOT_PUBLIC)('https://%s/ is no target', (host) => {
  expect(verdict(`https://${host}/`)).toMatch(/^refused: must not point to/);
});

/** The same as DNS or a socket gives them, and what is no address in its usual spelling. */
const NO_ADDRESS = words(`
  127.0.0.1 0.0.0.0 10.1.2.3 169.254.169.254 224.0.0.1 :: ::1 ::ffff:127.0.0.1 ::ffff:a9fe:a9fe fe80::1 fe80::1%eth0
  2606:4700::1111%eth0 64:ff9b::a00:1 2002:a00:1:: fd00::1 localhost 127.1 0x7f000001 2130706433 [::1]
  93.184.215.14:80 93.184.215.14/32
`);
test.each([...NO_ADDRESS, '', ' 93.184.215.14'])('an answer of %j is not connected to', (address) => {
  const wide = guardOf(['*.example.com', 'example.com']);
  for (const host of ['hooks.other.com', address]) {
    expect(guardOf().mayConnect(address, host)).toBe(false);
    expect(wide.mayConnect(address, host)).toBe(false);
  }
});

describe('allowTargets', () => {
  test.each([
    ['127.0.0.1', 'https://127.0.0.1:8443/'],
    ['127.0.0.0/8', 'https://127.1/'],
    ['127.0.0.0/8', 'https://[::ffff:127.0.0.1]/'],
    ['::ffff:127.0.0.0/104', 'https://127.0.0.1/'],
    ['::1', 'https://[::1]/'],
    ['::1/128', 'https://[::1]/'],
    ['10.0.0.0/8', 'https://10.200.0.1/'],
    ['fd00::/8', 'https://[fd12::1]/'],
    ['localhost', 'https://localhost:8443/'],
    ['LocalHost.', 'https://localhost/'],
    ['*.localhost', 'https://a.localhost/'],
    ['127.0.0.0/8', 'https://localhost/'],
    ['127.0.0.1', 'https://localhost/'],
    ['::1', 'https://a.localhost/'],
    ['0.0.0.0/0', 'https://192.168.1.1/'],
    ['::/0', 'https://[fd12::1]/'],
    ['169.254.169.254', 'https://169.254.169.254/'],
    ['169.254.169.254/32', 'https://169.254.169.254/'],
    ['fd00:ec2::254', 'https://[fd00:ec2::254]/'],
    ['168.63.129.16', 'https://168.63.129.16/'],
  ])('%s admits %s', (entry, url) => {
    expect(verdict(url, [entry])).toMatch(/^https/);
  });

  test.each([
    ['10.0.0.0/8', 'https://11.0.0.1/', 'https'],
    ['10.0.0.0/8', 'https://192.168.0.1/', 'refused'],
    ['127.0.0.1', 'https://127.0.0.2/', 'refused'],
    ['::1', 'https://127.0.0.1/', 'refused'],
    ['10.0.0.0/8', 'https://localhost/', 'refused'],
    ['example.com', 'https://localhost/', 'refused'],
    ['localhost', 'https://127.0.0.1/', 'refused'],
    ['localhost', 'https://a.localhost/', 'refused'],
    ['10.0.0.0/8', 'https://[64:ff9b::10.0.0.1]/', 'refused'],
    ['0.0.0.0/0', 'https://0.0.0.0/', 'refused'],
    ['0.0.0.0/0', 'https://[::ffff:0.0.0.0]/', 'refused'],
    ['::/0', 'https://[::]/', 'refused'],
    ['::/0', 'https://[64:ff9b::10.0.0.1]/', 'refused'],
    ['::/0', 'https://[fe80::1]/', 'refused'],
    ['::/0', 'https://[fd00:ec2::254]/', 'refused'],
    ['fd00::/8', 'https://[fd20:ce::254]/', 'refused'],
    ['0.0.0.0/0', 'https://169.254.169.254/', 'refused'],
    ['169.254.0.0/16', 'https://169.254.169.254/', 'refused'],
    ['169.254.169.254/31', 'https://169.254.169.254/', 'refused'],
    ['169.254.169.253', 'https://169.254.169.254/', 'refused'],
    ['168.63.129.0/24', 'https://168.63.129.16/', 'refused'],
    ['100.64.0.0/10', 'https://100.100.100.200/', 'refused'],
    ['192.0.0.0/24', 'https://192.0.0.192/', 'refused'],
  ])('%s and %s: %s', (entry, url, expected) => {
    expect(verdict(url, [entry])).toMatch(new RegExp(`^${expected}`));
  });

  test('a named host may resolve to private, loopback and unique local addresses, and to nothing worse', () => {
    const guard = guardOf(['db.internal', '*.svc.cluster.local']);
    for (const host of ['db.internal', 'a.svc.cluster.local', 'a.b.svc.cluster.local']) {
      for (const address of ['10.0.0.1', '127.0.0.1', '::1', 'fd12::1', '100.64.0.1', '93.184.215.14']) {
        expect(guard.mayConnect(address, host)).toBe(true);
      }
      for (const address of [
        '169.254.169.254',
        'fd00:ec2::254',
        '0.0.0.0',
        '::',
        '224.0.0.1',
        '64:ff9b::a00:1',
      ]) {
        expect(guard.mayConnect(address, host)).toBe(false);
      }
      expect(guard.usesSystemResolver(host)).toBe(true);
    }
    for (const host of [
      'svc.cluster.local',
      'xsvc.cluster.local',
      'a.db.internal',
      'db.internal.example.com',
      '',
    ]) {
      expect(guard.mayConnect('10.0.0.1', host)).toBe(false);
      expect(guard.usesSystemResolver(host)).toBe(false);
    }
  });

  test('http needs allowHttp, and the address is judged all the same', () => {
    expect(verdict('http://example.com/', [], true)).toBe('http://example.com/');
    expect(verdict('http://127.0.0.1/', [], true)).toMatch(/must not point to/);
    expect(verdict('http://127.0.0.1/', ['127.0.0.1'], true)).toBe('http://127.0.0.1/');
  });

  const MALFORMED = words(`
    * *. **.example.com a.*.com example.* https://example.com example.com:443 example.com/ example.com/8 -example.com
    10.0.0.0/33 10.0.0.0/ 10.0.0.0/-1 10.0.0.0/08 10.0.0.0/8/8 10.0.0/8 10.0.0.1/8 fd00::1/8 fd00::/129
    ::ffff:10.0.0.1/104 127.1 0x7f000001 256.1.1.1 010.0.0.1 [::1] fe80::1%eth0 fe80::%eth0/64 0.0.0.0 :: 0.0.0.0/32
    64:ff9b::/96 64:ff9b::10.0.0.1 a..b .example.com 999
  `);
  const LONG = ['a'.repeat(64), `${'a.'.repeat(127)}com`];
  test.each([...MALFORMED, ...LONG, '', ' ', 'exa mple.com'])('the entry %j is refused by name', (entry) => {
    expect(() => guardOf(['example.com', entry])).toThrow(
      expect.objectContaining({
        name: 'HookplaneError',
        code: 'INVALID_OPTIONS',
        message: expect.stringContaining(`allowTargets: ${JSON.stringify(entry)}`),
      }),
    );
  });
});

test('no IPv4 address passes that the special-purpose registries hold, in any of its disguises', () => {
  const octet = fc.integer({ min: 0, max: 255 });
  fc.assert(
    fc.property(fc.tuple(octet, octet, octet, octet), (octets) => {
      const address = octets.join('.');
      const open = ipaddr.parse(address).range() === 'unicast' && address !== '168.63.129.16';
      const guard = guardOf();
      const number = octets.reduce((sum, value) => sum * 256 + value, 0);
      expect(guard.mayConnect(address, address)).toBe(open);
      expect(guard.mayConnect(`::ffff:${address}`, address)).toBe(open);
      expect(guard.mayConnect(`64:ff9b::${address}`, address)).toBe(open);
      expect(guard.mayConnect(`::${address}`, address)).toBe(false);
      for (const spelling of [
        address,
        String(number),
        `0x${number.toString(16)}`,
        `0${number.toString(8)}`,
      ]) {
        expect(verdict(`https://${spelling}/`)).toMatch(open ? `https://${address}/` : /^refused/);
      }
    }),
    { numRuns: 2000 },
  );
});

test('of IPv6, nothing is public that the address library does not call unicast', () => {
  fc.assert(
    fc.property(fc.ipV6(), (address) => {
      const known = classifyAddress(address);
      if (known?.class !== 'public' || known.translated || known.ip.kind() === 'ipv4') return;
      expect(known.ip.range()).toBe('unicast');
      expect(known.ip.match(ipaddr.parse('2000::'), 3)).toBe(true);
    }),
    { numRuns: 2000 },
  );
});

test('the verdict on a canonical URL is that URL', () => {
  fc.assert(
    fc.property(fc.webUrl({ withQueryParameters: true, validSchemes: ['https'] }), (url) => {
      const guard = guardOf();
      const first = guard.checkUrl(url);
      if ('url' in first) expect(guard.checkUrl(first.url)).toEqual(first);
    }),
    { numRuns: 1000 },
  );
});
