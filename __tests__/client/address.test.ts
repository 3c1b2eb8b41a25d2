import { createAdminClient } from '../../lib/client/index.js';
import { BASE_URL, connect, rejection, scripted } from './connected.js';

const answer = () => Response.json({ ok: true });

describe('ids', () => {
  it.each(['a/b', 'a b', 'ü', '東京', '%2e%2e', '%', 'a?b#c', 'a\\b', "a'b", '...', '.a', 'a+b', '~'])(
    '%j is one segment of the path, and arrives as it is',
    async (id) => {
      const { client } = await connect();
      await client.tenants.setRateLimit(id, { perSecond: 1 });
      expect(await client.tenants.get(id)).toMatchObject({ id });
      await client.tenants.delete(id);
    },
  );

  it.each(['.', '..', 'a/..', '../a', 'a/../b', 'a\\..\\b', 'a/.'])(
    '%j never climbs: it is refused before anything is asked',
    async (id) => {
      const { client, asked } = await connect();
      for (const call of [
        client.tenants.delete(id),
        client.endpoints.delete(id),
        client.endpoints.rotateSecret(id),
        client.messages.attempts(id),
      ]) {
        expect(await rejection(call)).toMatchObject({ name: 'AdminClientError', code: 'INVALID_ARGUMENT' });
      }
      expect(asked).toEqual([]);
    },
  );

  it.each([
    ['an empty one, which would ask for the list', ''],
    ['undefined', undefined],
    ['null', null],
    ['a number', 7],
    ['a BigInt', 7n],
    ['a lone surrogate', '\ud800'],
  ])('refuses %s', async (_, id) => {
    const { client, asked } = await connect();
    const call = client.endpoints.get(id as unknown as string);
    expect(await rejection(call)).toMatchObject({ code: 'INVALID_ARGUMENT', status: null });
    expect(asked).toEqual([]);
  });
});

describe('baseUrl', () => {
  it.each([
    ['https://app.example.com/admin', 'https://app.example.com/admin/health'],
    ['https://app.example.com/admin/', 'https://app.example.com/admin/health'],
    ['https://app.example.com/a%20b//', 'https://app.example.com/a%20b/health'],
    ['http://localhost:3000', 'http://localhost:3000/health'],
    [new URL('https://app.example.com'), 'https://app.example.com/health'],
    ['/admin', '/admin/health'],
    ['/admin/', '/admin/health'],
    ['/', '/health'],
  ])('%s: the health is at %s', async (baseUrl, url) => {
    const { fetch, urls } = scripted(answer);
    await createAdminClient({ baseUrl, fetch }).health();
    expect(urls).toEqual([url]);
  });

  it.each([
    ['is missing', ''],
    ['is missing', undefined],
    ['must have no query', 'https://app.example.com/admin?a=1'],
    ['must have no query', '/admin#a'],
    ['is not a URL', 'https://'],
    ['must begin with', 'ftp://app.example.com/admin'],
    ['must begin with', 'localhost:3000/admin'],
    ['must hold no credentials', 'https://user:secret@app.example.com/admin'],
  ])('%s: %s is refused', (problem, baseUrl) => {
    const make = () => createAdminClient({ baseUrl: baseUrl as string, fetch: scripted(answer).fetch });
    expect(make).toThrow(expect.objectContaining({ code: 'INVALID_ARGUMENT' }));
    expect(make).toThrow(problem);
    expect(make).not.toThrow('secret');
  });

  it('may be relative in a browser alone, unless a fetch is given that knows better', () => {
    expect(() => createAdminClient({ baseUrl: '/admin' })).toThrow('must be absolute outside a browser');
    Object.assign(globalThis, { location: { href: 'https://app.example.com/' } });
    try {
      expect(() => createAdminClient({ baseUrl: '/admin' })).not.toThrow();
    } finally {
      delete (globalThis as { location?: unknown }).location;
    }
  });

  it('is the same for everybody: two clients share nothing', async () => {
    const first = scripted(answer);
    const second = scripted(answer);
    const one = createAdminClient({ baseUrl: BASE_URL, fetch: first.fetch, headers: { a: '1' } });
    const two = createAdminClient({ baseUrl: '/other', fetch: second.fetch });
    await Promise.all([one.health(), two.health()]);
    expect([first.urls, second.urls]).toEqual([[`${BASE_URL}/health`], ['/other/health']]);
    expect(second.inits[0]!.headers).not.toHaveProperty('a');
  });
});

describe('retries and timeoutMs', () => {
  it.each([
    [{ retries: -1 }],
    [{ retries: 1.5 }],
    [{ retries: 11 }],
    [{ timeoutMs: 0 }],
    [{ timeoutMs: Number.NaN }],
    [{ timeoutMs: Number.POSITIVE_INFINITY }],
  ])('%j is refused, for a client and for a call', async (options) => {
    const { fetch, urls } = scripted(answer);
    const make = () => createAdminClient({ baseUrl: BASE_URL, fetch, ...options });
    expect(make).toThrow(Object.keys(options)[0]);
    const client = createAdminClient({ baseUrl: BASE_URL, fetch });
    expect(await rejection(client.health(options))).toMatchObject({ code: 'INVALID_ARGUMENT' });
    expect(urls).toEqual([]);
  });
});
