import { createAdminClient } from '../../lib/client/index.js';
import { readRetryAfter, repeatDelayMs } from '../../lib/client/repeat.js';
import { BASE_URL, connect, rejection, scripted } from './connected.js';

const PAGE = { tenants: [], nextCursor: null };
const fine = () => Response.json(PAGE);
const lost = () => Promise.reject(new TypeError('fetch failed', { cause: new Error('ECONNRESET') }));
/** An answer that says when to come back. */
const busy =
  (status: number, retryAfter = '0') =>
  () =>
    Response.json(
      { errorCode: 'STORE_UNAVAILABLE', error: 'The store does not answer', requestId: 'req_1' },
      { status, headers: { 'retry-after': retryAfter } },
    );

function clientOf(fetch: ReturnType<typeof scripted>['fetch'], options = {}) {
  return createAdminClient({ baseUrl: BASE_URL, fetch, ...options });
}

describe('a read', () => {
  it.each([
    ['no answer', lost],
    ['429', busy(429)],
    ['502', busy(502)],
    ['503', busy(503)],
    ['504', busy(504)],
    ["a proxy's 502", () => new Response('<html>Bad gateway</html>', { status: 502 })],
  ])('is repeated after %s', async (_, failure) => {
    const { fetch, urls } = scripted(failure, failure, fine);
    expect(await clientOf(fetch).tenants.list()).toEqual(PAGE);
    expect(urls).toEqual(Array(3).fill(`${BASE_URL}/tenants`));
  });

  it.each([400, 401, 403, 404, 409, 422, 500, 501])('is not repeated after %i', async (status) => {
    const { fetch, urls } = scripted(busy(status));
    expect(await rejection(clientOf(fetch).tenants.list())).toMatchObject({ status });
    expect(urls).toHaveLength(1);
  });

  it('is given up after as many repetitions as are allowed, with what it was answered last', async () => {
    const { fetch, urls } = scripted(busy(503));
    expect(await rejection(clientOf(fetch, { retries: 1 }).tenants.list())).toMatchObject({
      code: 'STORE_UNAVAILABLE',
      status: 503,
      requestId: 'req_1',
    });
    expect(urls).toHaveLength(2);
    expect(await rejection(clientOf(fetch).tenants.list({}, { retries: 0 }))).toMatchObject({ status: 503 });
    expect(urls).toHaveLength(3);
  });

  it('asks for its headers anew each time', async () => {
    const { fetch, inits } = scripted(lost, fine);
    let asked = 0;
    await clientOf(fetch, { headers: () => ({ authorization: String(++asked) }) }).tenants.list();
    expect(inits.map(({ headers }) => (headers as Record<string, string>).authorization)).toEqual(['1', '2']);
  });

  it('waits as long as Retry-After says', async () => {
    const { fetch } = scripted(busy(429, '1'), fine);
    const started = performance.now();
    await clientOf(fetch).tenants.list();
    expect(performance.now() - started).toBeGreaterThanOrEqual(1000);
  });

  it('does not begin a wait that its time limit leaves no room for', async () => {
    const { fetch, urls } = scripted(busy(503, '3600'));
    expect(await rejection(clientOf(fetch).tenants.list())).toMatchObject({ status: 503 });
    expect(urls).toHaveLength(1);
  });

  it('of the health is not repeated when the record is not ok', async () => {
    const record = { ok: false, outboxDepth: 0, oldestPendingAge: null, workerCount: 0, reason: 'no_worker' };
    const { fetch, urls } = scripted(() => Response.json(record, { status: 503 }));
    expect(await clientOf(fetch).health()).toEqual(record);
    expect(urls).toHaveLength(1);
  });

  it('of the health is repeated when something else than the control plane answers 503', async () => {
    const { fetch, urls } = scripted(
      () => new Response('down', { status: 503 }),
      () => Response.json({ ok: true }),
    );
    expect(await clientOf(fetch).health()).toEqual({ ok: true });
    expect(urls).toHaveLength(2);
  });
});

describe('a write', () => {
  it.each([
    ['no answer', lost, 'NETWORK'],
    ['503', busy(503), 'STORE_UNAVAILABLE'],
  ])('is not repeated after %s: it may have been done', async (_, failure, code) => {
    const { fetch, urls } = scripted(failure);
    const client = clientOf(fetch);
    const writes = [
      client.endpoints.create({ url: 'https://example.com/' }),
      client.endpoints.update('ep_1', {}),
      client.endpoints.delete('ep_1'),
      client.endpoints.rotateSecret('ep_1'),
      client.endpoints.test('ep_1'),
      client.replay({ messageId: 'msg_1' }),
      client.tenants.delete('acme'),
      client.keys.generateSymmetric(),
      client.send({ type: 'a', data: 1 }),
      client.send({ type: 'a', data: 1, idempotencyKey: null }),
    ];
    for (const write of writes) expect(await rejection(write)).toMatchObject({ code });
    expect(urls).toHaveLength(writes.length);
  });

  it('with an idempotency key is repeated, and done once', async () => {
    const { plane } = await connect();
    let asked = 0;
    const client = createAdminClient({
      baseUrl: BASE_URL,
      // The answer to the first is lost on its way back.
      fetch: async (url, init) => {
        const response = await plane.handler(new Request(url, init));
        asked += 1;
        return asked === 1 ? lost() : response;
      },
    });
    const sent = await client.send({ type: 'a.b', data: { a: 1 }, idempotencyKey: 'key-1' });
    expect(asked).toBe(2);
    expect(sent.duplicate).toBe(true);
    expect((await plane.sender.messages.list()).messages).toMatchObject([{ id: sent.id }]);
  });

  it('that only reads, as reconcile does, is repeated', async () => {
    const { fetch, urls } = scripted(lost, () => Response.json({ messageIds: [], nextCursor: null }));
    await clientOf(fetch).reconcile({ endpointId: 'ep_1', since: '2026-01-01' });
    expect(urls).toHaveLength(2);
  });
});

describe('the time limit', () => {
  /** Never answers, and heeds no signal. */
  const silent = () => new Promise<Response>(() => {});
  const hangingBody = () => new Response(new ReadableStream({ start() {} }));

  it.each([
    ['no answer', silent],
    ['an answer that does not end', hangingBody],
  ])('ends a call with %s', async (_, answer) => {
    const { fetch, inits } = scripted(answer);
    const error = await rejection(clientOf(fetch, { timeoutMs: 50 }).tenants.list());
    expect(error).toMatchObject({
      name: 'AdminClientError',
      code: 'TIMEOUT',
      status: null,
      message: 'GET /tenants was not answered within 50 ms',
    });
    expect(inits[0]!.signal!.aborted).toBe(true);
  });

  it('of a call comes before that of the client, and counts all repetitions', async () => {
    const { fetch, urls } = scripted(lost, silent);
    const error = await rejection(clientOf(fetch).tenants.list({}, { timeoutMs: 600 }));
    expect(error).toMatchObject({ code: 'TIMEOUT', message: expect.stringContaining('600 ms') });
    expect(urls).toHaveLength(2);
  });

  it('covers the headers that are waited for', async () => {
    const { fetch, urls } = scripted(fine);
    const headers = () => new Promise<Record<string, string>>(() => {});
    const call = clientOf(fetch, { headers, timeoutMs: 30 }).tenants.list();
    expect(await rejection(call)).toMatchObject({ code: 'TIMEOUT' });
    expect(urls).toEqual([]);
  });
});

describe('a signal', () => {
  const reason = new Error('the user has left');

  it('ends a call that waits for its answer, with its own reason', async () => {
    const controller = new AbortController();
    const { fetch, inits } = scripted(() => {
      setTimeout(() => controller.abort(reason), 10);
      return new Promise<Response>(() => {});
    });
    expect(await rejection(clientOf(fetch).health({ signal: controller.signal }))).toBe(reason);
    expect(inits[0]!.signal!.reason).toBe(reason);
  });

  it('ends a call that waits before it asks again', async () => {
    const controller = new AbortController();
    const { fetch, urls } = scripted(busy(503, '20'));
    const call = clientOf(fetch).tenants.list({}, { signal: controller.signal });
    setTimeout(() => controller.abort(reason), 30);
    expect(await rejection(call)).toBe(reason);
    expect(urls).toHaveLength(1);
  });

  it('that is aborted already keeps the call from being made', async () => {
    const { fetch, urls } = scripted(fine);
    expect(await rejection(clientOf(fetch).tenants.list({}, { signal: AbortSignal.abort(reason) }))).toBe(
      reason,
    );
    expect(urls).toEqual([]);
  });

  it('is let go of when the call has ended', async () => {
    const { signal } = new AbortController();
    const add = jest.spyOn(signal, 'addEventListener');
    const remove = jest.spyOn(signal, 'removeEventListener');
    await clientOf(scripted(fine).fetch).tenants.list({}, { signal });
    expect(add).toHaveBeenCalledTimes(1);
    expect(remove.mock.calls.map(([, listener]) => listener)).toEqual(
      add.mock.calls.map(([, listener]) => listener),
    );
  });
});

describe('the waits', () => {
  it('double, are moved at random by up to half, and end at 8 seconds', () => {
    const waits = (random: number) =>
      [1, 2, 3, 6, 10].map((failures) => repeatDelayMs(failures, null, () => random));
    expect(waits(0)).toEqual([125, 250, 500, 4000, 4000]);
    expect(waits(0.999_999)).toEqual([250, 500, 1000, 8000, 8000]);
  });

  it('are never shorter than the server wants them', () => {
    expect(repeatDelayMs(1, 5000, () => 0)).toBe(5125);
  });

  it.each([
    ['120', 120_000],
    [' 0 ', 0],
    ['Thu, 01 Jan 1970 00:00:10 GMT', 9000],
    ['Wed, 31 Dec 1969 23:59:59 GMT', 0],
    ['soon', null],
    ['-1', null],
    ['1.5', null],
    ['', null],
    [null, null],
  ])('read Retry-After: %j is %j ms', (value, ms) => {
    expect(readRetryAfter(value, 1000)).toBe(ms);
  });
});
