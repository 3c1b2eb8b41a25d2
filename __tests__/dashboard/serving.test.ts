import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { createDashboardHandler, type DashboardHandlerOptions } from '../../lib/dashboard/index.js';
import { useBuiltPage } from './built-page.js';

useBuiltPage();

const ORIGIN = 'https://app.example.com';
const CSP =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
  "base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

function serve(options: Partial<DashboardHandlerOptions> = {}) {
  const handler = createDashboardHandler({ adminUrl: '/admin', ...options });
  return (path: string, init: RequestInit = {}) => handler(new Request(ORIGIN + path, init));
}
const ask = serve();

/** What the shell refers to, resolved as a browser does. */
async function references(base: string, html: string): Promise<string[]> {
  return [...html.matchAll(/\s(?:src|href)="([^"]*)"/g)].map(([, to]) => new URL(to!, base).href);
}

/** The path of the one script. */
async function scriptPath(): Promise<string> {
  const html = await (await ask('/')).text();
  return `/${/src="\.\/(assets\/[^"]+\.js)"/.exec(html)![1]}`;
}

describe('the shell', () => {
  it('is HTML at the mount, and may be kept only to be asked about', async () => {
    const response = await ask('/');
    expect([response.status, response.headers.get('content-type')]).toEqual([
      200,
      'text/html; charset=utf-8',
    ]);
    expect(response.headers.get('cache-control')).toBe('no-cache');
    expect(await response.text()).toMatch(/^<!doctype html>/i);
  });

  it('refers to what is below its own folder, by relative URLs that are answered', async () => {
    const serveBelow = serve({ basePath: '/deep/webhooks', theme: { '--hp-accent': 'red' } });
    const found = await references(
      `${ORIGIN}/deep/webhooks/`,
      await (await serveBelow('/deep/webhooks/')).text(),
    );
    expect(found.length).toBeGreaterThanOrEqual(4);
    for (const url of found) {
      expect(url).toMatch(/^https:\/\/app\.example\.com\/deep\/webhooks\/(?:assets\/|theme\.css$)/);
      expect((await serveBelow(new URL(url).pathname)).status).toBe(200);
    }
  });

  it('has no inline script, style or handler, and no base', async () => {
    const html = await (await ask('/')).text();
    expect(html).not.toMatch(/<style|<base|\sstyle=|\son[a-z]+=|<script(?![^>]*\ssrc=)/i);
  });

  it('holds the settings as data, whatever is in them', async () => {
    const title = `</title><script>alert("1")</script> $& $' & 'ü`;
    const html = await (await serve({ title, adminUrl: `https://a.example/x'y&z` })('/')).text();
    const content = unescapeHtml(/<meta name="hookplane" content="([^"]*)">/.exec(html)![1]!);
    expect(JSON.parse(content)).toEqual({ adminUrl: `https://a.example/x'y&z`, title });
    expect(unescapeHtml(/<title>(.*?)<\/title>/.exec(html)![1]!)).toBe(title);
    expect(html.match(/<script/g)).toHaveLength(1);
  });

  it('has the title Webhooks unless another is given', async () => {
    expect(await (await ask('/')).text()).toContain('<title>Webhooks</title>');
  });

  it('is at no other path: views are told apart behind the #', async () => {
    const statuses = await Promise.all(
      ['/index.html', '/messages', '/messages/', '//', '/.', '/assets', '/assets/', '/theme.css'].map(
        async (path) => (await ask(path)).status,
      ),
    );
    // The Fetch standard makes "/" of "/.".
    expect(statuses).toEqual([404, 404, 404, 404, 200, 404, 404, 404]);
  });
});

describe('the path of the mount', () => {
  it('is led to the slash at its end by a relative URL that keeps the query', async () => {
    const response = await serve({ basePath: '/api/webhooks' })('/api/webhooks?a=b&a=%2F');
    expect([response.status, response.headers.get('location')]).toEqual([308, './webhooks/?a=b&a=%2F']);
    expect(response.headers.get('cache-control')).toBe('no-cache');
    const target = new URL(response.headers.get('location')!, `${ORIGIN}/api/webhooks?a=b`);
    expect(target.href).toBe(`${ORIGIN}/api/webhooks/?a=b&a=%2F`);
  });

  it('leads to no other origin, whatever its last segment is like', async () => {
    for (const segment of ['javascript:alert(1)', 'https:', '%2F%2Fevil.test', '@evil.test']) {
      const response = await serve({ basePath: `/x/${segment}` })(`/x/${segment}`);
      const target = new URL(response.headers.get('location')!, `${ORIGIN}/x/${segment}`);
      expect(target.href).toBe(`${ORIGIN}/x/${segment}/`);
    }
  });

  it('is the only one that is answered, with a slash at the end of basePath or without', async () => {
    for (const basePath of ['/webhooks', '/webhooks/']) {
      const below = serve({ basePath });
      const statuses = await Promise.all(
        ['/webhooks/', '/webhooksx/', '/', '/other/webhooks/'].map(
          async (path) => (await below(path)).status,
        ),
      );
      expect(statuses).toEqual([200, 404, 404, 404]);
    }
  });
});

describe('an asset', () => {
  it('has a hash in its name and is kept for ever', async () => {
    const path = await scriptPath();
    expect(path).toMatch(/^\/assets\/[\w.-]+-[\w-]{8}\.js$/);
    const response = await ask(path);
    expect(response.headers.get('cache-control')).toBe('public, max-age=31536000, immutable');
    expect(response.headers.get('content-type')).toBe('text/javascript; charset=utf-8');
  });

  it('is not found under a hash that is not its own', async () => {
    const { status, headers } = await ask((await scriptPath()).replace(/.\.js$/, '!.js'));
    expect([status, headers.get('cache-control')]).toEqual([404, 'no-cache']);
  });
});

describe('encodings', () => {
  it.each([
    [null, null],
    ['', null],
    ['gzip, deflate, br, zstd', 'br'],
    ['gzip, deflate', 'gzip'],
    ['deflate', null],
    ['BR', 'br'],
    ['*', 'br'],
    ['br;q=0, *', 'gzip'],
    ['br;q=0, gzip;q=0', null],
    ['br;q=0.2, gzip;q=0.8', 'gzip'],
    ['gzip;q=0.5, identity', null],
    ['gzip; q=0.5 , br; Q=0.5', 'br'],
    ['br;q=high', null],
    ['identity;q=0', null],
    ['*;q=0', null],
  ])('for accept-encoding %j are %j', async (accepted, chosen) => {
    const headers = new Headers(accepted === null ? [] : [['accept-encoding', accepted]]);
    const response = await ask('/', { headers });
    expect(response.headers.get('content-encoding')).toBe(chosen);
    expect(response.headers.get('vary')).toBe('accept-encoding');
  });

  it('give the same bytes, of the length that is told, for every file', async () => {
    const themed = serve({ theme: { '--hp-accent': 'red' } });
    const html = await (await themed('/')).text();
    const paths = ['/', ...(await references(`${ORIGIN}/`, html)).map((url) => new URL(url).pathname)];
    for (const path of paths) {
      const [plain, gz, br] = await Promise.all(
        ['identity', 'gzip', 'br'].map(async (encoding) => {
          const response = await themed(path, { headers: { 'accept-encoding': encoding } });
          const bytes = Buffer.from(await response.arrayBuffer());
          expect(response.headers.get('content-length')).toBe(String(bytes.length));
          return bytes;
        }),
      );
      expect(gunzipSync(gz!).equals(plain!)).toBe(true);
      expect(brotliDecompressSync(br!).equals(plain!)).toBe(true);
    }
  });

  it('take the whole page to less than 120 KiB by brotli', async () => {
    const html = await (await ask('/')).text();
    const paths = ['/', ...(await references(`${ORIGIN}/`, html)).map((url) => new URL(url).pathname)];
    const lengths = await Promise.all(
      paths.map(async (path) => {
        const { headers } = await ask(path, { headers: { 'accept-encoding': 'br' } });
        return Number(headers.get('content-length'));
      }),
    );
    expect(Math.min(...lengths)).toBeGreaterThan(0);
    expect(lengths.reduce((sum, length) => sum + length)).toBeLessThan(120 * 1024);
  });
});

describe('conditional requests', () => {
  const tagOf = async (path: string, encoding: string, from = ask) =>
    (await from(path, { headers: { 'accept-encoding': encoding } })).headers.get('etag')!;

  it('are answered 304 without a body where the tag is the present one', async () => {
    for (const path of ['/', await scriptPath()]) {
      const etag = await tagOf(path, 'br');
      for (const known of [etag, `W/${etag}`, `"other", ${etag}`, '*']) {
        const response = await ask(path, { headers: { 'accept-encoding': 'br', 'if-none-match': known } });
        expect([response.status, response.headers.get('etag'), await response.text()]).toEqual([
          304,
          etag,
          '',
        ]);
        expect(response.headers.get('content-length')).toBeNull();
        expect(response.headers.get('content-security-policy')).toBe(CSP);
      }
    }
  });

  it('are answered in full where it is another one, that of another encoding too', async () => {
    const gzipTag = await tagOf('/', 'gzip');
    for (const known of [gzipTag, '"other"', gzipTag.replaceAll('"', '')]) {
      const response = await ask('/', { headers: { 'accept-encoding': 'br', 'if-none-match': known } });
      expect(response.status).toBe(200);
    }
  });

  it('know a shell with other settings for another one', async () => {
    expect(await tagOf('/', 'br', serve({ title: 'Others' }))).not.toBe(await tagOf('/', 'br'));
    expect(await tagOf('/', 'br', serve())).toBe(await tagOf('/', 'br'));
  });
});

describe('methods', () => {
  it('are GET and HEAD, whose answer is that of GET without its body', async () => {
    for (const path of ['/', await scriptPath(), '/nowhere']) {
      const headers = { 'accept-encoding': 'br' };
      const [get, head] = [await ask(path, { headers }), await ask(path, { method: 'HEAD', headers })];
      expect([head.status, [...head.headers]]).toEqual([get.status, [...get.headers]]);
      expect(await head.text()).toBe('');
    }
  });

  it.each(['POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'])('are not %s', async (method) => {
    const response = await ask('/', { method });
    expect([response.status, response.headers.get('allow')]).toEqual([405, 'GET, HEAD']);
  });
});

describe('the headers', () => {
  it('of every answer keep what was not foreseen from being done with it', async () => {
    const answers = [
      await ask('/'),
      await ask(await scriptPath()),
      await ask('/nowhere'),
      await ask('/', { method: 'POST' }),
      await serve({ basePath: '/webhooks' })('/webhooks'),
    ];
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 404, 405, 308]);
    for (const { headers } of answers) {
      expect(Object.fromEntries(headers)).toMatchObject({
        'content-security-policy': CSP,
        'cross-origin-opener-policy': 'same-origin',
        'cross-origin-resource-policy': 'same-origin',
        'referrer-policy': 'no-referrer',
        'x-content-type-options': 'nosniff',
        'x-frame-options': 'DENY',
      });
    }
  });

  it('let the page connect to the origin of an absolute adminUrl alone', async () => {
    const { headers } = await serve({ adminUrl: 'https://Hooks.example.com:8443/a/b' })('/');
    expect(headers.get('content-security-policy')).toBe(
      CSP.replace("connect-src 'self'", 'connect-src https://hooks.example.com:8443'),
    );
  });

  it.each([
    [["'self'"], "'self'", 'SAMEORIGIN'],
    [['https://portal.example.com'], 'https://portal.example.com', null],
    [["'self'", 'https://*.example.com:*'], "'self' https://*.example.com:*", null],
  ])('let %j show it in a frame', async (frameAncestors, sources, frameOptions) => {
    const { headers } = await serve({ frameAncestors })('/');
    expect(headers.get('content-security-policy')).toContain(`; frame-ancestors ${sources}`);
    expect(headers.get('x-frame-options')).toBe(frameOptions);
  });
});

describe('the bundle', () => {
  it('has nobody else’s code but that of two packages, whose licenses stand beside it', () => {
    const licenses = readFileSync(resolve('dist/dashboard/third-party.md'), 'utf8');
    const packages = [...licenses.matchAll(/^## (\S+) - .* \((.*)\)$/gm)].map(([, ...found]) => found);
    expect(packages).toEqual([
      ['preact', 'MIT'],
      ['uplot', 'MIT'],
    ]);
    expect(licenses.match(/Permission is hereby granted/g)).toHaveLength(2);
  });
});

describe('a theme', () => {
  it('is a style sheet of its own behind that of the page', async () => {
    const theme = { '--hp-accent': 'light-dark(#0a7d4f, #4fd99a)', '--hp-font': '"Inter", sans-serif' };
    const themed = serve({ theme });
    const html = await (await themed('/')).text();
    const sheets = [...html.matchAll(/<link rel="stylesheet"[^>]*href="([^"]*)"/g)].map(([, href]) => href);
    expect(sheets).toEqual([expect.stringMatching(/^\.\/assets\/.*\.css$/), './theme.css']);
    const response = await themed('/theme.css');
    expect(response.headers.get('content-type')).toBe('text/css; charset=utf-8');
    expect(response.headers.get('cache-control')).toBe('no-cache');
    expect(await response.text()).toBe(
      ':root {\n  --hp-accent: light-dark(#0a7d4f, #4fd99a);\n  --hp-font: "Inter", sans-serif;\n}\n',
    );
  });

  it('that is empty is none', async () => {
    expect(await (await serve({ theme: {} })('/')).text()).not.toContain('theme.css');
  });
});

function unescapeHtml(text: string): string {
  const characters: Record<string, string> = { amp: '&', lt: '<', gt: '>', quot: '"', '#39': "'" };
  return text.replace(/&(\w+|#\d+);/g, (_, name: string) => characters[name]!);
}
