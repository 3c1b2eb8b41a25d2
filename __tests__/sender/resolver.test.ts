import { createSocket } from 'node:dgram';
import { createResolver } from '../../lib/sender/delivery/resolver.js';

type Answer = string[] | 'no such name' | 'no data' | 'broken' | 'silence';
const A = 1;
const AAAA = 28;
const opened: (() => void)[] = [];

afterEach(() => {
  for (const close of opened.splice(0)) close();
});

/** A name server on loopback that knows one answer for A and one for AAAA (RFC 1035, §4.1). */
async function nameServer(a: Answer, aaaa: Answer) {
  const queries: number[] = [];
  const socket = createSocket('udp4', (query, from) => {
    const end = query.indexOf(0, 12) + 5;
    const type = query.readUInt16BE(end - 4);
    queries.push(type);
    const answer = type === A ? a : aaaa;
    if (answer === 'silence') return;
    const records = typeof answer === 'string' ? [] : answer.map((address) => record(type, address));
    const head = Buffer.from(query.subarray(0, 12));
    const code = answer === 'no such name' ? 3 : answer === 'broken' ? 2 : 0;
    head.writeUInt16BE(0x8180 | code, 2);
    head.writeUInt16BE(records.length, 6);
    head.writeUInt32BE(0, 8);
    socket.send(Buffer.concat([head, query.subarray(12, end), ...records]), from.port, from.address);
  });
  await new Promise<void>((resolve) => socket.bind(0, '127.0.0.1', resolve));
  opened.push(() => socket.close());
  return { servers: [`127.0.0.1:${socket.address().port}`], queries };
}

function record(type: number, address: string): Buffer {
  const data =
    type === A
      ? Buffer.from(address.split('.').map(Number))
      : Buffer.from(
          new Uint16Array(address.split(':').map((part) => Number.parseInt(part, 16))).buffer,
        ).swap16();
  const head = Buffer.from([0xc0, 12, 0, type, 0, 1, 0, 0, 0, 60, 0, data.length]);
  return Buffer.concat([head, data]);
}

const V6 = '2606:4700:0:0:0:0:0:1111';

async function outcome(a: Answer, aaaa: Answer, timeoutMs?: number) {
  const { servers } = await nameServer(a, aaaa);
  return createResolver({ servers, timeoutMs })('hooks.example.test', { system: false }).then(
    (addresses) => addresses.map(({ address, family }) => `${family} ${address}`),
    (error: NodeJS.ErrnoException) => error.code,
  );
}

test('both families are asked, and IPv4 comes first', async () => {
  expect(await outcome(['192.0.2.1', '192.0.2.2'], [V6])).toEqual([
    '4 192.0.2.1',
    '4 192.0.2.2',
    '6 2606:4700::1111',
  ]);
});

test.each<[Answer, Answer, string[]]>([
  [['192.0.2.1'], 'no data', ['4 192.0.2.1']],
  ['no data', [V6], ['6 2606:4700::1111']],
  [['192.0.2.1'], 'broken', ['4 192.0.2.1']],
  [['192.0.2.1'], 'silence', ['4 192.0.2.1']],
  ['silence', [V6], ['6 2606:4700::1111']],
])('A %j with AAAA %j gives what there is', async (a, aaaa, addresses) => {
  expect(await outcome(a, aaaa)).toEqual(addresses);
});

test.each<[Answer, Answer, string]>([
  ['no such name', 'no such name', 'ENOTFOUND'],
  ['no data', 'no data', 'ENODATA'],
  ['broken', 'no data', 'ESERVFAIL'],
  ['no data', 'broken', 'ESERVFAIL'],
  ['silence', 'silence', 'ETIMEOUT'],
  ['silence', 'no data', 'ETIMEOUT'],
])('A %j with AAAA %j fails with %s', async (a, aaaa, code) => {
  // Only a silent server is waited for in vain; one that answers may be slow to, on a busy machine.
  expect(await outcome(a, aaaa, code === 'ETIMEOUT' ? 150 : undefined)).toBe(code);
});

test('queries for one name at the same time are one, and the next one asks anew', async () => {
  const { servers, queries } = await nameServer(['192.0.2.1'], 'no data');
  const resolve = createResolver({ servers });
  const ask = () => resolve('hooks.example.test', { system: false });
  await Promise.all(Array.from({ length: 50 }, ask));
  expect(queries.sort()).toEqual([A, AAAA]);
  await ask();
  expect(queries).toHaveLength(4);
});

test('the operating system is asked for names that it alone knows', async () => {
  const { servers, queries } = await nameServer('no such name', 'no such name');
  const addresses = await createResolver({ servers })('localhost', { system: true });
  expect(addresses).toContainEqual({ address: '127.0.0.1', family: 4 });
  expect(queries).toEqual([]);
});
