import connect from 'connect';
import express from 'express';
import { mountPath, parseTarget, publicUrl } from '../../lib/express/target.js';
import { fetchMiddleware } from '../support/fetch-middleware.js';
import { type Echo, echo } from './echo.js';
import { exchange, send, servers } from './http.js';

const serve = servers();
const middleware = fetchMiddleware(echo);

/** The head is written to a bare socket, since HTTP clients refuse to send what is tested here. */
async function heard(port: number, head: string): Promise<Echo> {
  const answer = await exchange(port, `${head}\r\nConnection: close\r\n\r\n`);
  return JSON.parse(answer.slice(answer.indexOf('{'), answer.lastIndexOf('}') + 1)) as Echo;
}

describe('the path', () => {
  it.each([
    ['/a/b', '/a/b', ''],
    ['/a?b=c?d', '/a', '?b=c?d'],
    ['/a?', '/a', '?'],
    ['/a#b?c=d', '/a', ''],
    ['/a?b=c#d', '/a', '?b=c'],
    ['//evil.test/a', '//evil.test/a', ''],
    ['/?u=http://evil.test/b', '/', '?u=http://evil.test/b'],
    ['http://evil.test/a?b=c', '/a', '?b=c'],
    ['HTTPS://user:pass@evil.test:8443/a', '/a', ''],
    ['http://evil.test', '/', ''],
    ['http://evil.test?b=c', '/', '?b=c'],
    ['*', '/*', ''],
    ['', '/', ''],
    ['?b=c', '/', '?b=c'],
    ['/..\\a/%2e%2e/%00', '/..\\a/%2e%2e/%00', ''],
  ])('of the target %p is %p, with the query %p', (url, path, search) => {
    expect(parseTarget(url)).toEqual({ path, search });
  });

  it.each([
    ['Express', express().use('/admin', middleware)],
    ['connect', connect().use('/admin', middleware)],
  ])('of an absolute-form target is below the mount in %s', async (_name, app) => {
    const port = await serve(app);
    const { path, url } = await heard(port, 'GET http://evil.test/admin/x?a=b HTTP/1.1\r\nHost: good.test');
    expect([path, url]).toEqual(['/x', 'http://good.test/admin/x?a=b']);
  });

  it('is not what the normalised URL says', async () => {
    const port = await serve(express().use('/admin', middleware));
    const { path, url } = await heard(port, 'GET /admin/../secret HTTP/1.1\r\nHost: good.test');
    expect([path, url]).toEqual(['/../secret', 'http://good.test/secret']);
  });

  it('is a path for OPTIONS *, too', async () => {
    const port = await serve(middleware);
    const { path, url } = await heard(port, 'OPTIONS * HTTP/1.1\r\nHost: good.test');
    expect([path, url]).toEqual(['/*', 'http://good.test/*']);
  });
});

describe('the authority of the URL', () => {
  it.each(['good.test', 'good.test:8080', '127.0.0.1:3000', '[::1]:3000', 'a-b_c.test'])(
    'is the Host %s',
    async (host) => {
      const port = await serve(middleware);
      expect((await heard(port, `GET /x HTTP/1.1\r\nHost: ${host}`)).url).toBe(`http://${host}/x`);
    },
  );

  it.each([
    'evil.test/foo?',
    'evil.test/health#',
    'user@evil.test',
    'a:99999',
    'a b<c',
    '[::1',
    '[zz]',
    '999.999.999.999',
    'evil.test\\@good.test',
    '%65vil.test',
    '',
  ])('is localhost when the Host is %p, which leaves the path alone', async (host) => {
    const port = await serve(middleware);
    const { path, url } = await heard(port, `DELETE /tenants/t1 HTTP/1.1\r\nHost: ${host}`);
    expect([path, url]).toEqual(['/tenants/t1', 'http://localhost/tenants/t1']);
  });

  it('is localhost when there are several Host headers', async () => {
    const port = await serve(middleware);
    const { url } = await heard(port, 'GET /x HTTP/1.1\r\nHost: good.test\r\nhost: evil.test');
    expect(url).toBe('http://localhost/x');
  });

  it('is localhost when there is no Host', async () => {
    const port = await serve(middleware);
    expect((await heard(port, 'GET /x HTTP/1.0')).url).toBe('http://localhost/x');
  });
});

describe('the scheme of the URL', () => {
  const forwarded = { 'x-forwarded-proto': 'https' };

  it('is http when a client merely claims to have come by https', async () => {
    const port = await serve(express().use(middleware));
    const { url } = JSON.parse((await send(port, { headers: forwarded })).text) as Echo;
    expect(url).toMatch(/^http:/);
  });

  it('is https when Express trusts the proxy that says so', async () => {
    const port = await serve(express().set('trust proxy', true).use(middleware));
    const { url } = JSON.parse((await send(port, { headers: forwarded })).text) as Echo;
    expect(url).toMatch(/^https:/);
  });

  it('is http for any other protocol that a trusted proxy names', async () => {
    const port = await serve(express().set('trust proxy', true).use(middleware));
    const { url } = JSON.parse(
      (await send(port, { headers: { 'x-forwarded-proto': 'file://x' } })).text,
    ) as Echo;
    expect(url).toMatch(/^http:\/\/127/);
  });

  it('is https on an encrypted socket', async () => {
    const port = await serve((req, res) => {
      Object.assign(req.socket, { encrypted: true });
      res.end(publicUrl(req, parseTarget(req.url ?? '')));
    });
    expect((await send(port, { path: '/x' })).text).toBe(`https://127.0.0.1:${port}/x`);
  });
});

describe('the path of the mount', () => {
  const told = async (changes: object): Promise<string> => {
    const port = await serve((req, res) => {
      res.end(mountPath(Object.assign(req, changes)));
    });
    return (await send(port)).text;
  };

  it.each([
    ['/admin/x', '/x', '/admin'],
    ['/admin', '/', '/admin'],
    ['/admin?a=b', '/?a=b', '/admin'],
    ['/admin/', '/', '/admin'],
    ['/', '/', ''],
    ['/rewritten', '/x', ''],
  ])('without a baseUrl is what %p has in front of %p: %p', async (originalUrl, url, base) => {
    expect(await told({ originalUrl, url })).toBe(base);
  });

  it('is the baseUrl that Express gives, also when the rest has been rewritten', async () => {
    expect(await told({ baseUrl: '/admin', originalUrl: '/admin/old', url: '/new' })).toBe('/admin');
  });
});
