import { createServer as createTlsServer } from 'node:https';
import { createServer as createTcpServer } from 'node:net';
import {
  createHttpClient,
  type HttpClientOptions,
  type PostRequest,
} from '../../lib/sender/delivery/http-client.js';
import { readEgressProxy } from '../../lib/sender/delivery/egress-proxy.js';
import { createTargetGuard } from '../../lib/sender/delivery/target-guard.js';
import { startConnectProxy } from '../support/connect-proxy.js';
import { startReceiver } from '../support/receiver.js';
import { startSender } from '../support/sender.js';
import { eventually } from '../support/wait-for.js';
import { endlessly, listen, rawReceiver } from './loopback-receiver.js';
import { untilAttempts } from './probe.js';
import { certificate, certificateKey, loopbackCertificate } from './tls-fixture.js';

const opened: { close(): Promise<void> }[] = [];

afterEach(async () => {
  await Promise.all(opened.splice(0).map((one) => one.close()));
});

function track<T extends { close(): Promise<void> }>(one: T): T {
  opened.push(one);
  return one;
}

/** Nothing is admitted but what is public, and names resolve to nothing: whatever arrives went through the proxy. */
const guard = createTargetGuard({ allowHttp: true, allowTargets: [] });
const unresolved = () => Promise.reject(Object.assign(new Error('no DNS here'), { code: 'ENOTFOUND' }));

function clientOf(
  proxy: Parameters<typeof readEgressProxy>[0],
  options: Partial<Omit<HttpClientOptions, 'proxy'>> = {},
) {
  const client = track(
    createHttpClient({ guard, resolve: unresolved, ...options, proxy: readEgressProxy(proxy) }),
  );
  return (url: string, request: Partial<PostRequest> = {}) =>
    client.post({ url, headers: {}, body: Buffer.from('{}'), timeoutMs: 5000, ...request });
}

async function tlsReceiver() {
  const received: string[] = [];
  const server = createTlsServer({ cert: certificate, key: certificateKey }, (request, response) => {
    received.push(`${request.method} ${request.headers.host}${request.url}`);
    request.resume().on('end', () => response.end('ok'));
  });
  return { ...track(await listen(server)), received };
}

describe('through an egress proxy', () => {
  test('an https delivery is encrypted to the receiver, whose name the proxy resolves', async () => {
    const receiver = await tlsReceiver();
    const proxy = await startConnectProxy();
    const post = clientOf(proxy.url(), { ca: certificate, connectionsPerOrigin: 1 });
    const authority = `hooks.example.test:${receiver.port}`;
    for (let round = 0; round < 3; round += 1) {
      const result = await post(`https://${authority}/hook`);
      expect(result).toMatchObject({ status: 200, body: 'ok', errorKind: null, remoteAddress: null });
    }
    expect(receiver.received).toEqual(Array(3).fill(`POST ${authority}/hook`));
    expect(proxy.asked).toEqual([{ authority, authorization: undefined }]);
  });

  test('an http delivery goes through a tunnel as well, and arrives as it would without', async () => {
    const receiver = await startReceiver();
    const proxy = await startConnectProxy();
    const result = await clientOf(proxy.url())(`http://hooks.example.test:${receiver.port}/a?b`, {
      headers: { 'webhook-id': 'msg_1' },
    });
    expect(result).toMatchObject({ status: 200, errorKind: null });
    const [request] = receiver.requests('/a?b');
    expect(request?.headers).toEqual({
      host: `hooks.example.test:${receiver.port}`,
      connection: 'keep-alive',
      'content-length': '2',
      'webhook-id': 'msg_1',
    });
    expect([proxy.asked.length, proxy.others]).toEqual([1, []]);
  });

  test.each([
    ['http://hooks.example.test/', 'hooks.example.test:80'],
    ['https://hooks.example.test/', 'hooks.example.test:443'],
    ['https://93.184.215.14:8443/', '93.184.215.14:8443'],
    ['https://[2606:4700::1111]/', '[2606:4700::1111]:443'],
  ])('%s is asked for as %s', async (url, authority) => {
    const proxy = await startConnectProxy({ answer: (client) => client.end('HTTP/1.1 403 No\r\n\r\n') });
    expect(await clientOf(proxy.url())(url)).toMatchObject({ errorKind: 'connect', status: null });
    expect(proxy.asked).toEqual([{ authority, authorization: undefined }]);
  });

  test('credentials are decoded and sent to the proxy, and to nobody else', async () => {
    const receiver = await startReceiver();
    const proxy = await startConnectProxy({ credentials: 'us er:p@ss:wörd' });
    const post = clientOf(proxy.url(`us%20er:${encodeURIComponent('p@ss:wörd')}`));
    expect(await post(`http://hooks.example.test:${receiver.port}/`)).toMatchObject({ status: 200 });
    expect(receiver.requests()[0]?.headers).not.toHaveProperty('proxy-authorization');
  });

  test('a proxy may be reached by TLS, for https in it as well', async () => {
    const receiver = await tlsReceiver();
    const proxy = await startConnectProxy({ tls: { cert: loopbackCertificate, key: certificateKey } });
    const ca = `${loopbackCertificate}\n${certificate}`;
    const post = clientOf(proxy.url(), { ca, connectionsPerOrigin: 1 });
    for (let round = 0; round < 2; round += 1) {
      const result = await post(`https://hooks.example.test:${receiver.port}/`);
      expect(result).toMatchObject({ status: 200, body: 'ok' });
    }
    expect(proxy.asked).toHaveLength(1);
  });

  test('the certificate of a proxy is checked', async () => {
    const proxy = await startConnectProxy({ tls: { cert: certificate, key: certificateKey } });
    const result = await clientOf(proxy.url(), { ca: certificate })('http://hooks.example.test/');
    expect(result).toMatchObject({
      errorKind: 'connect',
      error: 'The egress proxy could not be reached (ERR_TLS_CERT_ALTNAME_INVALID).',
    });
    expect(proxy.asked).toEqual([]);
  });

  test.each([
    'http://127.0.0.1/',
    'http://2130706433/',
    'http://[::ffff:10.0.0.1]/',
    'http://localhost/',
    'http://a.localhost/',
    'http://169.254.169.254/latest/',
    'http://user@example.com/',
    'ftp://example.com/',
  ])('%s is refused before the proxy is asked', async (url) => {
    const proxy = await startConnectProxy();
    const result = await clientOf(proxy.url())(url);
    expect(result).toMatchObject({ errorKind: 'blocked_address', status: null });
    expect([proxy.asked, proxy.open()]).toEqual([[], 0]);
  });

  test('requests share at most the connections of their origin', async () => {
    const receiver = await startReceiver();
    const proxy = await startConnectProxy();
    const post = clientOf(proxy.url(), { connectionsPerOrigin: 3 });
    const url = `http://hooks.example.test:${receiver.port}/`;
    const results = await Promise.all(Array.from({ length: 60 }, () => post(url)));
    expect(results.every(({ status }) => status === 200)).toBe(true);
    expect(receiver.requests()).toHaveLength(60);
    expect(proxy.asked.length).toBeLessThanOrEqual(3);
  });

  test('a receiver is as bounded as without: interim responses, body, redirects', async () => {
    const proxy = await startConnectProxy();
    const post = clientOf(proxy.url());
    const to = async (answer: Parameters<typeof rawReceiver>[0]) => {
      const { port } = track(await rawReceiver(answer));
      return post(`http://hooks.example.test:${port}/`);
    };
    expect(
      await to((socket) => endlessly(socket, 'HTTP/1.1 103 Early Hints\r\nLink: <a>\r\n\r\n')),
    ).toMatchObject({ errorKind: 'invalid_response' });
    expect(
      await to((socket) => endlessly(socket, 'a'.repeat(8192), 'HTTP/1.1 200 OK\r\n\r\n')),
    ).toMatchObject({ status: 200, errorKind: null, body: 'a'.repeat(4096) });
    expect(
      await to((socket) => socket.write('HTTP/1.1 302 Found\r\nLocation: /a\r\nContent-Length: 0\r\n\r\n')),
    ).toMatchObject({ status: 302, errorKind: 'redirect' });
    expect(await to((socket) => socket.resetAndDestroy())).toMatchObject({ errorKind: 'reset' });
    expect(proxy.asked).toHaveLength(4);
  });

  test('a certificate for another name is the fault of the receiver, not of the proxy', async () => {
    const receiver = await tlsReceiver();
    const proxy = await startConnectProxy();
    const result = await clientOf(proxy.url(), { ca: certificate })(
      `https://other.example.test:${receiver.port}/`,
    );
    expect(result).toMatchObject({ errorKind: 'tls', error: expect.stringContaining('another host name') });
  });
});

describe('names that are resolved here', () => {
  const local = (url: string) => ({ url, resolve: 'local' as const });
  const answers =
    (...addresses: string[]): NonNullable<HttpClientOptions['resolve']> =>
    async () =>
      addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 }));

  test('are told to the proxy by an address that was judged, with the name for TLS', async () => {
    const receiver = await tlsReceiver();
    const proxy = await startConnectProxy();
    const resolve = answers('10.0.0.1', '93.184.215.14');
    const result = await clientOf(local(proxy.url()), { resolve, ca: certificate })(
      `https://hooks.example.test:${receiver.port}/`,
    );
    expect(result).toMatchObject({ status: 200, remoteAddress: '93.184.215.14' });
    expect(proxy.asked.map(({ authority }) => authority)).toEqual([`93.184.215.14:${receiver.port}`]);
    expect(receiver.received).toEqual([`POST hooks.example.test:${receiver.port}/`]);
  });

  test('are tried address by address', async () => {
    const receiver = await startReceiver();
    const proxy = await startConnectProxy({
      route: (host) => (host === '[2606:4700::1111]' ? '127.0.0.1' : '127.0.0.2'),
    });
    const resolve = answers('93.184.215.14', '2606:4700::1111');
    const result = await clientOf(local(proxy.url()), { resolve })(
      `http://hooks.example.test:${receiver.port}/`,
    );
    expect(result).toMatchObject({ status: 200, remoteAddress: '2606:4700::1111' });
    expect(proxy.asked).toHaveLength(2);
  });

  test('are refused with private addresses, and not asked for', async () => {
    const proxy = await startConnectProxy();
    const resolve = answers('10.0.0.1', '::1');
    const result = await clientOf(local(proxy.url()), { resolve })('http://hooks.example.test/');
    expect(result).toMatchObject({ errorKind: 'blocked_address', remoteAddress: null });
    expect(proxy.asked).toEqual([]);
  });
});

describe('a proxy that does not help', () => {
  test.each([
    [407, /credentials.*\(it answered 407\)\.$/],
    [403, /did not connect to the receiver \(it answered 403\)\.$/],
    [502, /did not connect to the receiver \(it answered 502\)\.$/],
    [302, /\(it answered 302\)/],
  ])('and answers %i', async (status, error) => {
    const proxy = await startConnectProxy({
      answer: (client) => client.write(`HTTP/1.1 ${status} No\r\nContent-Length: 0\r\n\r\n`),
    });
    const result = await clientOf(proxy.url())('https://hooks.example.test/');
    expect(result).toMatchObject({
      errorKind: 'connect',
      status: null,
      headers: null,
      remoteAddress: null,
      error: expect.stringMatching(error),
    });
    await eventually(() => expect(proxy.open()).toBe(0));
  });

  test.each<[string, Parameters<typeof rawReceiver>[0], RegExp]>([
    ['closes', (socket) => socket.end(), /closed the connection/],
    ['resets', (socket) => socket.resetAndDestroy(), /closed the connection/],
    ['speaks something else', (socket) => socket.end('SSH-2.0-OpenSSH_9.6\r\n'), /valid HTTP/],
    [
      'sends headers without end',
      (socket) => endlessly(socket, `X: ${'y'.repeat(500)}\r\n`, 'HTTP/1.1 200 OK\r\n'),
      /valid HTTP/,
    ],
    ['floods with 103', (socket) => endlessly(socket, 'HTTP/1.1 103 Early Hints\r\n\r\n'), /it answered 103/],
  ])('and %s', async (_what, answer, error) => {
    const { port } = track(await rawReceiver(answer));
    const result = await clientOf(`http://127.0.0.1:${port}`)('https://hooks.example.test/');
    expect(result).toMatchObject({ errorKind: 'connect', error: expect.stringMatching(error) });
    expect(result.error).toMatch(/^The egress proxy /);
  });

  test('and does not listen', async () => {
    const { port, close } = await listen(createTcpServer());
    await close();
    const result = await clientOf(`http://u:p4ss@127.0.0.1:${port}`)('https://hooks.example.test/');
    expect(result).toMatchObject({
      errorKind: 'connect',
      error: 'The egress proxy could not be reached (ECONNREFUSED).',
    });
  });

  test('and never answers: the deadline ends it, and its socket', async () => {
    const proxy = await startConnectProxy({ answer: () => {} });
    const result = await clientOf(proxy.url())('https://hooks.example.test/', { timeoutMs: 200 });
    expect(result).toMatchObject({ errorKind: 'timeout', error: expect.stringContaining('200 ms') });
    expect(result.durationMs).toBeLessThan(450);
    await eventually(() => expect(proxy.open()).toBe(0));
  });

  test('and connects to a receiver that never finishes the handshake: the deadline ends that too', async () => {
    const silent = track(await listen(createTcpServer((socket) => socket.resume())));
    const proxy = await startConnectProxy();
    const result = await clientOf(proxy.url())(`https://hooks.example.test:${silent.port}/`, {
      timeoutMs: 200,
    });
    expect(result).toMatchObject({ errorKind: 'timeout' });
    await eventually(() => expect(proxy.open()).toBe(0));
  });
});

test('a whole sender delivers and tests through it, and its credentials are in no record and no log', async () => {
  const receiver = await startReceiver();
  const proxy = await startConnectProxy({ credentials: 'user:s3cret-pass' });
  const url = `http://hooks.example.test:${receiver.port}/`;
  const sender = await startSender({ egressProxy: proxy.url(), allowTargets: [] });
  const { id } = await sender.endpoints.create({ url, retry: { delaysSeconds: [] } });
  const sent = await sender.send({ type: 'a.b', data: 1 });
  const [attempt] = await untilAttempts(sender, sent, 1);
  expect(attempt).toMatchObject({ status: 'succeeded', responseStatus: 200, remoteAddress: null });
  expect((await sender.endpoints.test(id)).status).toBe('succeeded');

  const stranger = await startSender({ egressProxy: proxy.url('user:wr0ng-pass'), allowTargets: [] });
  await stranger.endpoints.create({ url, retry: { delaysSeconds: [] } });
  const [refused] = await untilAttempts(stranger, await stranger.send({ type: 'a.b', data: 1 }), 1);
  expect(refused).toMatchObject({ errorKind: 'connect', error: expect.stringContaining('407') });

  const told = JSON.stringify([attempt, refused, sender.log, stranger.log]);
  for (const secret of ['s3cret', 'wr0ng', 'user:', Buffer.from('user:s3cret-pass').toString('base64')]) {
    expect(told).not.toContain(secret);
  }
  expect(receiver.requests()).toHaveLength(2);
});
