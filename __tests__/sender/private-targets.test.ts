import { createServer as createTcpServer, type Server } from 'node:net';
import { parseUrl } from '../../lib/model/url.js';
import { createHttpClient, type HttpClient } from '../../lib/sender/delivery/http-client.js';
import { createTargetGuard, type TargetGuard } from '../../lib/sender/delivery/target-guard.js';
import { onCleanUp } from '../support/clean-up.js';
import { startSender, type TestSender } from '../support/sender.js';
import { NOT_PUBLIC, words } from './not-public.js';

/**
 * Every spelling of a target that is not public, from the outside in: an endpoint with it is not created, one that has
 * it all the same is not delivered to, and were no URL ever judged, no connection would be made.
 */
const HOSTS = [
  ...NOT_PUBLIC,
  ...words(`
    0x7F.0x0.0x0.0x1 0177.1 127.0x1 0000177.0.0.1 127.00.00.01 0x7f000001. 127.0.0.1%2e 127.0.0.1．
    ⑯⑨.②⑤④.⑯⑨.②⑤④ 169.254.43518 0251.254.169.254 0xa9.0xfe.0xa9.0xfe [::ffff:0xa9fe:a9fe] [::ffff:2852039166]
    [0000:0000:0000:0000:0000:ffff:7f00:0001] [::FFFF:127.0.0.1] [::1%25lo] [::1%lo] [fe80::1%25eth0] [2002:a9fe:a9fe::]
    [2001:0:7f00:1::] [64:ff9b::a9fe:a9fe] [::ffff:100.64.0.1] 0144.64.0.1 1681915904 A.LOCALHOST. ｌocalhost
    localhost%2e x.y.localhost LOCALHOST%00 [::] [0:0::0] 0.0.0.0. 00 0x0.0
  `),
];

/** The same target by what stands beside the host. */
const URLS = (port: number): string[] => [
  `https://user:password@127.0.0.1:${port}/`,
  `https://example.com@127.0.0.1:${port}/`,
  `https://example.com:443@127.0.0.1:${port}/`,
  `https://127.0.0.1:${port}#@example.com/`,
  `https://example.com\\@127.0.0.1:${port}/`,
  `https://127.0.0.1\t:${port}/`,
  `https://127.0.0.1:${port}\n/`,
  `https:127.0.0.1:${port}/`,
  `https:/127.0.0.1:${port}/`,
  `https:\\\\127.0.0.1:${port}/`,
  `//127.0.0.1:${port}/`,
  `http://127.0.0.1:${port}/`,
  `HTTPS://127.0.0.1:${port}/`,
  `https://127.0.0.1:0${port}/`,
  `ws://127.0.0.1:${port}/`,
  `wss://127.0.0.1:${port}/`,
  `ftp://127.0.0.1:${port}/`,
  `gopher://127.0.0.1:${port}/_POST`,
  `file://127.0.0.1/etc/passwd`,
  `unix:/var/run/docker.sock:/`,
  `http+unix://%2Fvar%2Frun%2Fdocker.sock/`,
  `jar:https://127.0.0.1:${port}/!/`,
  `https://127.0.0.1:22/`,
  `https://127.0.0.1:6667/`,
  `https://127.0.0.1:0/`,
  `https://127.0.0.1:65536/`,
  `https://127.0.0.1:-1/`,
];

test('the tables hold more than they repeat', () => {
  expect(new Set(HOSTS).size).toBeGreaterThan(120);
});

describe('with a server that listens on every loopback address', () => {
  let port: number;
  let connections = 0;
  let sender: TestSender;
  let endpointId: string;
  let careful: HttpClient;
  let trusting: HttpClient;

  beforeAll(async () => {
    const count = (): Server => createTcpServer().on('connection', () => void connections++);
    const servers = [count(), count()] as const;
    port = await listening(servers[0], '127.0.0.1', 0);
    await listening(servers[1], '::1', port);
    for (const server of servers) {
      onCleanUp('file', 'receiver', () => new Promise((resolve) => server.close(resolve)));
    }
    sender = await startSender({ started: false, lifetime: 'file', allowTargets: [] });
    endpointId = (await sender.endpoints.create({ url: 'https://example.com/' })).id;
    const guard = createTargetGuard({ allowHttp: true, allowTargets: [] });
    careful = clientOf(guard);
    trusting = clientOf({ ...guard, checkUrl: (url) => ({ url }) });
  });

  /** As a hosts file would have it, on every machine. */
  const resolve = async () => [
    { address: '127.0.0.1', family: 4 },
    { address: '::1', family: 6 },
  ];

  function clientOf(guard: TargetGuard): HttpClient {
    const client = createHttpClient({ guard, resolve });
    onCleanUp('file', 'sender', client.close);
    return client;
  }

  async function refusedEverywhere(url: string): Promise<void> {
    const refusal = { code: 'ENDPOINT_VALIDATION', issues: [{ path: 'url', message: expect.any(String) }] };
    await expect(sender.endpoints.create({ url })).rejects.toMatchObject(refusal);
    await expect(sender.endpoints.update(endpointId, { url })).rejects.toMatchObject(refusal);
    const request = { url, headers: {}, body: Buffer.from('{}'), timeoutMs: 2000 };
    const blocked = { errorKind: 'blocked_address', remoteAddress: null, status: null };
    expect(await careful.post(request)).toMatchObject(blocked);
  }

  afterEach(() => expect(connections).toBe(0));

  test.each(HOSTS)('%s', async (host) => {
    for (const scheme of ['http', 'https']) {
      const url = `${scheme}://${host}:${port}/`;
      await refusedEverywhere(url);
      if (parseUrl(url) === null) continue;
      const request = { url, headers: {}, body: Buffer.from('{}'), timeoutMs: 2000 };
      expect(await trusting.post(request)).toMatchObject({
        errorKind: 'blocked_address',
        remoteAddress: null,
      });
    }
  });

  test.each(URLS(9999))('%s', async (url) => {
    await refusedEverywhere(url.replaceAll('9999', String(port)));
  });
});

function listening(server: Server, host: string, port: number): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, () => resolve((server.address() as { port: number }).port));
  });
}
