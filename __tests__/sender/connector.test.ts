import { createServer as createTlsServer } from 'node:https';
import { createServer as createTcpServer } from 'node:net';
import {
  createHttpClient,
  type HttpClientOptions,
  type PostRequest,
} from '../../lib/sender/delivery/http-client.js';
import { createTargetGuard } from '../../lib/sender/delivery/target-guard.js';
import { recordingLogger } from '../support/sender.js';
import { eventually } from '../support/wait-for.js';
import { httpReceiver, listen, type Receiver, rawReceiver } from './loopback-receiver.js';
import { certificate, certificateKey, expiredCertificate } from './tls-fixture.js';

const loopback = createTargetGuard({ allowHttp: true, allowTargets: ['127.0.0.1'] });
const closed = createTargetGuard({ allowHttp: true, allowTargets: [] });
const opened: { close(): Promise<void> }[] = [];

afterEach(async () => {
  await Promise.all(opened.splice(0).map((one) => one.close()));
});

function track<T extends { close(): Promise<void> }>(one: T): T {
  opened.push(one);
  return one;
}

function clientOf(options: Partial<HttpClientOptions> = {}) {
  const client = track(createHttpClient({ guard: loopback, ...options }));
  return (url: string, request: Partial<PostRequest> = {}) =>
    client.post({ url, headers: {}, body: Buffer.from('{}'), timeoutMs: 5000, ...request });
}

async function answering(body = 'ok') {
  return track(await httpReceiver((_request, response) => response.end(body)));
}

/** Answers every name with these addresses, and keeps what it was asked. */
function answers(...addresses: string[]) {
  const asked: { hostname: string; system: boolean }[] = [];
  const resolve: NonNullable<HttpClientOptions['resolve']> = async (hostname, { system }) => {
    asked.push({ hostname, system });
    return addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 }));
  };
  return { resolve, asked };
}

function fails(code: string): NonNullable<HttpClientOptions['resolve']> {
  return () => Promise.reject(Object.assign(new Error(code), { code }));
}

/** A port that nobody listens on. */
async function freePort(): Promise<number> {
  const receiver = await listen(createTcpServer());
  await receiver.close();
  return receiver.port;
}

describe('addresses', () => {
  test.each([
    '127.0.0.1',
    '2130706433',
    '0x7f.1',
    '[::ffff:127.0.0.1]',
    '[::1]',
    'localhost',
    '0.0.0.0',
    '[::]',
  ])('a URL of %s is not connected to when no address is allowed', async (host) => {
    const receiver = await answering();
    const result = await clientOf({ guard: closed })(`http://${host}:${receiver.port}/`);
    expect(result).toMatchObject({ errorKind: 'blocked_address', remoteAddress: null, status: null });
    expect(receiver.connections()).toBe(0);
  });

  test('the connector judges a literal address itself, were the URL never checked', async () => {
    const receiver = await answering();
    const guard = { ...closed, checkUrl: (url: string) => ({ url }) };
    const result = await clientOf({ guard })(receiver.url);
    expect(result).toMatchObject({ errorKind: 'blocked_address', remoteAddress: null });
    expect(receiver.connections()).toBe(0);
  });

  test.each([[['127.0.0.1']], [['::ffff:127.0.0.1', '10.0.0.1']], [['169.254.169.254', '::1']]])(
    'a name that resolves to %j is not connected to, and the customer is not told where it pointed',
    async (addresses) => {
      const receiver = await answering();
      const { resolve, asked } = answers(...addresses);
      const result = await clientOf({ guard: closed, resolve })(
        `http://hooks.example.test:${receiver.port}/`,
      );
      expect(result).toMatchObject({ errorKind: 'blocked_address', remoteAddress: null, status: null });
      for (const address of addresses) expect(JSON.stringify(result)).not.toContain(address);
      expect(receiver.connections()).toBe(0);
      expect(asked).toEqual([{ hostname: 'hooks.example.test', system: false }]);
    },
  );

  test('of a mixed answer the allowed part is connected to, and the rest is logged once', async () => {
    const receiver = await answering();
    const { resolve, asked } = answers('10.0.0.1', '127.0.0.1', '169.254.169.254', '::1');
    const logger = recordingLogger();
    const post = clientOf({ resolve, logger, maxConnectionAgeMs: -1, connectionsPerOrigin: 1 });
    for (let round = 0; round < 3; round += 1) {
      const result = await post(`http://hooks.example.test:${receiver.port}/`);
      expect(result).toMatchObject({ status: 200, remoteAddress: '127.0.0.1' });
    }
    expect(receiver.requests[0]?.headers.host).toBe(`hooks.example.test:${receiver.port}`);
    expect(asked.length).toBeGreaterThan(1);
    expect(logger.entries).toEqual([
      {
        level: 'warn',
        message: expect.stringContaining('resolves to addresses that are no targets'),
        fields: { hostname: 'hooks.example.test', addresses: ['10.0.0.1', '169.254.169.254', '::1'] },
      },
    ]);
  });

  test('a kept connection outlives a change of the DNS, since it goes where it was judged to go', async () => {
    const receiver = await answering();
    let address = '127.0.0.1';
    let queries = 0;
    const resolve: HttpClientOptions['resolve'] = async () => {
      queries += 1;
      return [{ address, family: 4 }];
    };
    const logger = recordingLogger();
    const post = clientOf({ resolve, logger, connectionsPerOrigin: 1 });
    const url = `http://hooks.example.test:${receiver.port}/`;
    expect(await post(url)).toMatchObject({ status: 200 });
    address = '10.0.0.1';
    expect(await post(url)).toMatchObject({ status: 200, remoteAddress: '127.0.0.1' });
    expect([queries, receiver.connections(), logger.entries]).toEqual([1, 1, []]);
    await receiver.hangUp();
    await eventually(async () => expect(await post(url)).toMatchObject({ errorKind: 'blocked_address' }));
    expect(receiver.requests).toHaveLength(2);
    expect(logger.entries).toMatchObject([{ fields: { addresses: ['10.0.0.1'] } }]);
  });

  test('an address that refuses is followed by the next one', async () => {
    const receiver = await answering();
    const guard = createTargetGuard({ allowHttp: true, allowTargets: ['127.0.0.0/8'] });
    const { resolve } = answers('127.0.0.2', '127.0.0.1');
    const result = await clientOf({ guard, resolve })(`http://hooks.example.test:${receiver.port}/`);
    expect(result).toMatchObject({ status: 200, remoteAddress: '127.0.0.1' });
  });

  test('what the socket is connected to is judged again, before a byte is sent', async () => {
    const receiver = await answering();
    let judged = 0;
    const guard = { ...loopback, mayConnect: () => ++judged === 1 };
    const { resolve } = answers('127.0.0.1');
    const result = await clientOf({ guard, resolve })(`http://hooks.example.test:${receiver.port}/`);
    expect(result).toMatchObject({ errorKind: 'blocked_address', status: null });
    expect(judged).toBe(2);
    expect(receiver.requests).toHaveLength(0);
  });

  test('every new connection resolves again, so a name that changes its answer gains nothing', async () => {
    const receiver = await answering();
    let query = 0;
    const resolve: HttpClientOptions['resolve'] = async () => [
      { address: ++query === 1 ? '127.0.0.1' : '10.0.0.1', family: 4 },
    ];
    const post = clientOf({ resolve, maxConnectionAgeMs: -1, connectionsPerOrigin: 1 });
    expect(await post(`http://hooks.example.test:${receiver.port}/`)).toMatchObject({ status: 200 });
    expect(await post(`http://hooks.example.test:${receiver.port}/`)).toMatchObject({ status: 200 });
    expect(await post(`http://hooks.example.test:${receiver.port}/`)).toMatchObject({
      errorKind: 'blocked_address',
    });
  });

  test('only a listed name and localhost are resolved by the operating system', async () => {
    const receiver = await answering();
    const allowTargets = ['127.0.0.1', 'db.internal', '*.svc'];
    const guard = createTargetGuard({ allowHttp: true, allowTargets });
    const { resolve, asked } = answers('127.0.0.1');
    const post = clientOf({ guard, resolve });
    for (const host of ['db.internal', 'a.svc', 'localhost', 'example.test']) {
      await post(`http://${host}:${receiver.port}/`);
    }
    expect(asked.map(({ system }) => system)).toEqual([true, true, true, false]);
    expect(await clientOf({ guard })(`http://localhost:${receiver.port}/`)).toMatchObject({ status: 200 });
  });

  test('a URL that may not be a target is refused with the sentence of the guard', async () => {
    const guard = createTargetGuard({ allowHttp: false, allowTargets: ['127.0.0.1'] });
    const result = await clientOf({ guard })('http://127.0.0.1/');
    expect(result).toMatchObject({
      errorKind: 'blocked_address',
      error: expect.stringContaining('allowHttp'),
    });
  });
});

describe('no connection', () => {
  test.each([
    ['ENOTFOUND', /does not exist/],
    ['ENODATA', /does not exist/],
    ['ETIMEOUT', /did not answer/],
    ['ESERVFAIL', /ESERVFAIL/],
  ])('a name that fails with %s', async (code, error) => {
    const result = await clientOf({ resolve: fails(code) })('http://hooks.example.test/');
    expect(result).toMatchObject({
      errorKind: 'dns',
      error: expect.stringMatching(error),
      remoteAddress: null,
    });
  });

  test('a name without addresses', async () => {
    const result = await clientOf({ resolve: answers().resolve })('http://hooks.example.test/');
    expect(result).toMatchObject({ errorKind: 'dns' });
  });

  test('a name server that never answers ends with the deadline', async () => {
    const resolve = () => new Promise<never>(() => {});
    const result = await clientOf({ resolve })('http://hooks.example.test/', { timeoutMs: 60 });
    expect(result).toMatchObject({ errorKind: 'timeout', error: expect.stringContaining('60 ms') });
  });

  test('a port that nobody listens on', async () => {
    const result = await clientOf()(`http://127.0.0.1:${await freePort()}/`);
    expect(result).toMatchObject({ errorKind: 'connect', error: 'The receiver refused the connection.' });
  });

  test('a port that nobody listens on at any of the addresses', async () => {
    const guard = createTargetGuard({ allowHttp: true, allowTargets: ['127.0.0.0/8'] });
    const { resolve } = answers('127.0.0.2', '127.0.0.1');
    const result = await clientOf({ guard, resolve })(`http://hooks.example.test:${await freePort()}/`);
    expect(result).toMatchObject({ errorKind: 'connect', error: 'The receiver refused the connection.' });
  });

  test('a handshake that is never answered is given up at the deadline, and so is its socket', async () => {
    let gone: () => void = () => {};
    const over = new Promise<void>((resolve) => {
      gone = resolve;
    });
    const silent = track(await listen(createTcpServer((socket) => socket.on('close', gone).resume())));
    const result = await clientOf()(`https://127.0.0.1:${silent.port}/`, { timeoutMs: 300 });
    expect(result).toMatchObject({ errorKind: 'timeout', remoteAddress: '127.0.0.1' });
    await over;
  });
});

describe('TLS', () => {
  async function tlsReceiver(cert = certificate): Promise<Receiver> {
    const server = createTlsServer({ cert, key: certificateKey }, (request, response) => {
      request.resume().on('end', () => response.end('ok'));
    });
    return track(await listen(server));
  }
  const { resolve } = answers('127.0.0.1');

  test('a certificate that is trusted and names the host is accepted, and its connection is kept', async () => {
    const receiver = await tlsReceiver();
    const post = clientOf({ resolve, ca: certificate, connectionsPerOrigin: 1 });
    for (let round = 0; round < 3; round += 1) {
      const result = await post(`https://hooks.example.test:${receiver.port}/`);
      expect(result).toMatchObject({ status: 200, body: 'ok', remoteAddress: '127.0.0.1' });
    }
    expect(receiver.connections()).toBe(1);
  });

  test('a self-signed certificate is refused', async () => {
    const receiver = await tlsReceiver();
    const result = await clientOf({ resolve })(`https://hooks.example.test:${receiver.port}/`);
    expect(result).toMatchObject({
      errorKind: 'tls',
      error: expect.stringContaining('not signed by a trusted authority'),
      remoteAddress: '127.0.0.1',
      status: null,
    });
  });

  test('a certificate for another name is refused, and the address does not count as a name', async () => {
    const receiver = await tlsReceiver();
    for (const host of ['other.example.test', '127.0.0.1']) {
      const result = await clientOf({ resolve, ca: certificate })(`https://${host}:${receiver.port}/`);
      expect(result).toMatchObject({ errorKind: 'tls', error: expect.stringContaining('another host name') });
    }
  });

  test('a certificate that has expired is refused', async () => {
    const receiver = await tlsReceiver(expiredCertificate);
    const post = clientOf({ resolve, ca: expiredCertificate });
    const result = await post(`https://hooks.example.test:${receiver.port}/`);
    expect(result).toMatchObject({
      errorKind: 'tls',
      error: "The receiver's certificate has expired.",
      status: null,
    });
  });

  test('a receiver that speaks plain HTTP', async () => {
    const receiver = await answering();
    const result = await clientOf({ resolve })(`https://hooks.example.test:${receiver.port}/`);
    expect(result).toMatchObject({ errorKind: 'tls', status: null });
    expect(receiver.requests).toHaveLength(0);
  });

  test('a receiver that hangs up during the handshake', async () => {
    const receiver = track(await rawReceiver((socket) => socket.destroy()));
    const result = await clientOf()(`https://127.0.0.1:${receiver.port}/`);
    expect(result).toMatchObject({ errorKind: 'tls' });
  });
});
