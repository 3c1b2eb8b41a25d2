import { AdminClientError, createAdminClient, isAdminClientError } from '../../lib/client/index.js';
import { BASE_URL, connect, rejection, scripted } from './connected.js';

const once = { retries: 0 };

function answered(body: BodyInit | null, init: ResponseInit = {}) {
  const { fetch } = scripted(() => new Response(body, init));
  return createAdminClient({ baseUrl: BASE_URL, fetch, ...once });
}

describe('an error of the control plane', () => {
  it('has its code, status and message', async () => {
    const { client } = await connect();
    const error = await rejection(client.endpoints.get('ep_none'));
    expect(error).toBeInstanceOf(AdminClientError);
    expect(error).toMatchObject({
      name: 'AdminClientError',
      code: 'ENDPOINT_NOT_FOUND',
      status: 404,
      message: 'There is no endpoint "ep_none"',
      issues: undefined,
      requestId: undefined,
    });
  });

  it('has the issues of a validation', async () => {
    const { client } = await connect();
    const error = await rejection(client.endpoints.create({ url: 'https://example.com/', types: [] }));
    expect(error).toMatchObject({
      code: 'ENDPOINT_VALIDATION',
      status: 422,
      issues: [{ path: 'types', message: expect.stringContaining('at least one') }],
    });
  });

  it('has the request id under which the log has the cause', async () => {
    const { client, plane } = await connect({ client: once });
    await plane.sender.stop();
    const error = await rejection(client.tenants.list());
    expect(error).toMatchObject({ code: 'STORE_UNAVAILABLE', status: 503 });
    expect((error as AdminClientError).requestId).toBe(plane.faults[0]!.requestId);
  });

  it.each([
    ['UNAUTHORIZED', 401, { allow: false, status: 401 as const }],
    ['FORBIDDEN', 403, false],
  ])('tells %s', async (code, status, decision) => {
    const { client } = await connect({ admin: { authorize: () => decision } });
    expect(await rejection(client.tenants.list())).toMatchObject({ code, status });
  });

  it('is known by its code and name, whichever copy of the package has made it', () => {
    const error = new AdminClientError('FORBIDDEN', 'No access', { status: 403 });
    const foreign = Object.assign(new Error('No access'), { name: 'AdminClientError', code: 'FORBIDDEN' });
    expect([error, foreign, new Error('No access'), null, 'FORBIDDEN'].map(isAdminClientError)).toEqual([
      true,
      true,
      false,
      false,
      false,
    ]);
  });
});

describe('an answer of something else', () => {
  it.each([
    ['a page of HTML with 200', '<!doctype html><title>App</title>', { status: 200 }],
    ['a page of HTML with 502', '<html>Bad gateway</html>', { status: 502 }],
    ['JSON of another kind with an error', '{"message":"Forbidden"}', { status: 403 }],
    ['JSON that is no object', '[]', { status: 200 }],
    ['nothing at all', null, { status: 200 }],
    ['204 where a record is due', null, { status: 204 }],
    ['half an answer', '{"tenants":[', { status: 200 }],
  ])('%s is an error that shows it', async (_, body, init) => {
    const client = answered(body, { headers: { 'content-type': 'text/html' }, ...init });
    const error = (await rejection(client.tenants.list())) as AdminClientError;
    expect(error).toMatchObject({ code: 'UNEXPECTED_ANSWER', status: init.status });
    expect(error.message).toContain('GET /tenants was answered by something else than the control plane');
    expect(error.message).toContain(`status ${init.status}`);
    expect(error.message).toContain(body === null ? 'an empty body' : JSON.stringify(body));
    expect(error.message).toContain('baseUrl');
  });

  it('is shown in part when it is long', async () => {
    const { message } = (await rejection(
      answered('x'.repeat(10_000), { status: 500 }).tenants.list(),
    )) as Error;
    expect(message.length).toBeLessThan(500);
    expect(message).toContain('xxx…');
  });

  it('to a deletion is not taken for its success', async () => {
    const client = answered('<!doctype html>', { status: 200 });
    expect(await rejection(client.endpoints.delete('ep_1'))).toMatchObject({ code: 'UNEXPECTED_ANSWER' });
  });

  it('to a question for the health is not taken for a record', async () => {
    const client = answered('{"message":"unavailable"}', { status: 503 });
    expect(await rejection(client.health())).toMatchObject({ code: 'UNEXPECTED_ANSWER', status: 503 });
  });

  it('that redirects is not followed, and says where to', async () => {
    const client = answered(null, { status: 302, headers: { location: 'https://login.example.com/' } });
    const error = (await rejection(client.endpoints.create({ url: 'https://example.com/' }))) as Error;
    expect(error).toMatchObject({ code: 'UNEXPECTED_ANSWER', status: 302 });
    expect(error.message).toContain('was redirected to https://login.example.com/');
  });

  it('that redirects in a browser, which shows nothing of it, is told all the same', async () => {
    const opaque = { status: 0, headers: new Headers(), text: async () => '' };
    const client = createAdminClient({ baseUrl: BASE_URL, fetch: async () => opaque });
    expect(await rejection(client.health())).toMatchObject({
      code: 'UNEXPECTED_ANSWER',
      message: expect.stringContaining('GET /health was redirected, which'),
    });
  });
});

describe('no answer', () => {
  it('is an error with the reason and its cause', async () => {
    const cause = new TypeError('fetch failed', { cause: new Error('connect ECONNREFUSED 127.0.0.1:1') });
    const client = createAdminClient({ baseUrl: BASE_URL, fetch: () => Promise.reject(cause), ...once });
    const error = (await rejection(client.health())) as AdminClientError;
    expect(error).toMatchObject({ code: 'NETWORK', status: null });
    expect(error.message).toBe('GET /health got no answer: fetch failed (connect ECONNREFUSED 127.0.0.1:1)');
    expect(error.cause).toBe(cause);
  });

  it('may be told by anything that is thrown', async () => {
    const fetch = () => {
      throw 'offline';
    };
    const client = createAdminClient({ baseUrl: BASE_URL, fetch, ...once });
    expect(await rejection(client.health())).toMatchObject({ message: 'GET /health got no answer: offline' });
  });
});
