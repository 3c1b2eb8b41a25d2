import { createHash } from 'node:crypto';
import fc from 'fast-check';
import { Webhook } from 'standardwebhooks';
import { signatureHeader } from '../../lib/sender/delivery/signature.js';
import { rememberLast } from '../../lib/sender/key-cache.js';
import { generateAsymmetric, generateSymmetric } from '../../lib/sender/keys.js';
import { verifySignature } from '../../lib/sender/verify-signature.js';

const K24 = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw';
const K32 = 'whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=';
const KOLD = 'whsec_q6urq6urq6urq6urq6urq6urq6urq6ur';
const K64 = 'whsec_//79/Pv6+fj39vX08/Lx8O/u7ezr6uno5+bl5OPi4eDf3t3c29rZ2NfW1dTT0tHQz87NzMvKycjHxsXEw8LBwA==';
const PRIVATE =
  'whsk_6Xb/dCcHpPea21PS1N9VY/NZW723CEc77N4rJCubMbfVKIDij2HKpMKkioLlX0dRqSKJp4AJ6p9lMicMFs6Kvg==';
const UNICODE = '{"type":"user.created","data":{"name":"Zoë Ångström","city":"東京","emoji":"👩🏽‍🚀"}}';

const VECTORS: {
  name: string;
  secrets: string[];
  id: string;
  timestamp: number;
  body: string;
  header: string;
}[] = [
  {
    name: 'the published one',
    secrets: [K24],
    id: 'msg_p5jXN8AQM9LWM0D4loKWxJek',
    timestamp: 1614265330,
    body: '{"test": 2432232314}',
    header: 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
  },
  {
    name: 'text beyond ASCII',
    secrets: [K32],
    id: 'msg_unicode',
    timestamp: 1674087231,
    body: UNICODE,
    header: 'v1,mWEJN4uATHb46MSgsNLY8cqZY6TkOlcDCflSY7EM0NM=',
  },
  {
    name: 'a key of 64 bytes',
    secrets: [K64],
    id: 'msg_2KWPBgLlAfxdpx2AI54pPJ85f4W',
    timestamp: 1674087231,
    body: '{"type":"contact.created","timestamp":"2022-11-03T20:26:10.344522Z","data":{"id":"1f81eb52-5198-4599-803e-771906343485"}}',
    header: 'v1,kbW0eZLOEo8ZaZPhkwKzG5hhFkw0/K29eTsW3O1HMsc=',
  },
  {
    name: 'an empty body at the epoch',
    secrets: [KOLD],
    id: 'msg_empty',
    timestamp: 0,
    body: '',
    header: 'v1,vq9WqS01I1JxhkVnOMhaIhynRFsCmMIaLEN+1HzmKsU=',
  },
  {
    name: 'line separators and a byte order mark',
    secrets: [K32],
    id: 'msg_ls',
    timestamp: 1700000000,
    body: '{"a":"\u2028\u2029\uFEFF"}',
    header: 'v1,mLUXEdyCVxdo/NYZQjOQzMfxZY3j2Bt4ZYtVESdcFVA=',
  },
  {
    name: 'two secrets',
    secrets: [K32, KOLD],
    id: 'evt_rotate_1',
    timestamp: 1767225600,
    body: '{"type":"invoice.paid","data":{"amount":1099}}',
    header: 'v1,ThitvNEn9WIsFHyMYjF3zlYNeksQRjaWB/pSxG9yVWA= v1,gGTxg4cFixxZ1ifBOvNmg6Pcmmf37zgg0yFEKPjJeh8=',
  },
  {
    name: 'ed25519',
    secrets: [PRIVATE],
    id: 'msg_p5jXN8AQM9LWM0D4loKWxJek',
    timestamp: 1614265330,
    body: '{"test": 2432232314}',
    header: 'v1a,hnO3f9T8Ytu9HwrXslvumlUpqtNVqkhqw/enGzPCXe5BdqzCInXqYXFymVJaA7AZdpXwVLPo3mNl8EM+m7TBAg==',
  },
];

const now = () => Math.floor(Date.now() / 1000);

test.each(VECTORS)('signs $name as the reference does', ({ secrets, id, timestamp, body, header }) => {
  expect(signatureHeader(secrets, id, timestamp, Buffer.from(body))).toBe(header);
});

test('the vectors hold the bytes they were made of', () => {
  expect(Buffer.byteLength(UNICODE)).toBe(99);
  expect(createHash('sha256').update(UNICODE).digest('hex')).toMatch(/^376872ab35345366/);
  expect(Buffer.byteLength('{"a":"\u2028\u2029\uFEFF"}')).toBe(17);
});

test('a secret that is in force twice signs once', () => {
  const once = signatureHeader([K32, KOLD], 'msg_a', 1, Buffer.from('{}'));
  expect(signatureHeader([K32, KOLD, K32], 'msg_a', 1, Buffer.from('{}'))).toBe(once);
});

test('a header with both versions keeps the order of its secrets and one space between them', () => {
  const header = signatureHeader([K32, PRIVATE, KOLD], 'msg_a', 1, Buffer.from('{}'));
  expect(header).toMatch(/^v1,\S{44} v1a,\S{88} v1,\S{44}$/);
});

test('the reference library verifies what is signed here', () => {
  const secret = generateSymmetric().secret;
  const webhook = new Webhook(secret);
  fc.assert(
    fc.property(fc.json(), fc.stringMatching(/^msg_[A-Za-z0-9]{22}$/), (body, id) => {
      const timestamp = now();
      const headers = {
        'webhook-id': id,
        'webhook-timestamp': String(timestamp),
        'webhook-signature': signatureHeader([secret], id, timestamp, Buffer.from(body)),
      };
      expect(webhook.verify(body, headers)).toEqual(JSON.parse(body));
      expect(webhook.sign(id, new Date(timestamp * 1000), body)).toBe(headers['webhook-signature']);
    }),
    { numRuns: 200 },
  );
});

test('the reference library verifies with either secret during a rotation, beside an ed25519 signature too', () => {
  const timestamp = now();
  const headers = {
    'webhook-id': 'msg_rotated',
    'webhook-timestamp': String(timestamp),
    'webhook-signature': signatureHeader(
      [PRIVATE, K32, KOLD],
      'msg_rotated',
      timestamp,
      Buffer.from(UNICODE),
    ),
  };
  for (const secret of [K32, KOLD]) {
    expect(new Webhook(secret).verify(UNICODE, headers)).toEqual(JSON.parse(UNICODE));
  }
  expect(() => new Webhook(K24).verify(UNICODE, headers)).toThrow();
});

test('a payload of 1 MiB is signed as the reference signs it', () => {
  const body = JSON.stringify({ data: 'é'.repeat(524_288) });
  expect(Buffer.byteLength(body)).toBeGreaterThan(1_048_576);
  const header = signatureHeader([K32, PRIVATE], 'msg_large', 1700000000, Buffer.from(body));
  expect(header.split(' ')[0]).toBe(new Webhook(K32).sign('msg_large', new Date(1700000000_000), body));
  const headers = {
    'webhook-id': 'msg_large',
    'webhook-timestamp': '1700000000',
    'webhook-signature': header,
  };
  expect(verifySignature({ headers, body, secret: PRIVATE, now: () => 1700000000_000 }).id).toBe('msg_large');
});

test('bytes that are no UTF-8 are signed as they are', () => {
  const header = signatureHeader([K32], 'msg_raw', 5, Buffer.from([0xff, 0x00, 0xfe]));
  const headers = { 'webhook-id': 'msg_raw', 'webhook-timestamp': '5', 'webhook-signature': header };
  const body = Buffer.from([0xff, 0x00, 0xfe]);
  expect(verifySignature({ headers, body, secret: K32, now: () => 5000 })).toEqual({
    id: 'msg_raw',
    timestamp: 5,
  });
});

test('without a secret, or with one that is not usable, nothing is signed', () => {
  for (const secrets of [
    [],
    ['whsec_AAAA'],
    [K32, 'nonsense'],
    ['whsk_AAAA'],
    [generateAsymmetric().publicKey],
  ]) {
    expect(() => signatureHeader(secrets, 'msg_a', 1, Buffer.from('{}'))).toThrow(TypeError);
  }
});

test('the memory of keys is bounded, drops the least recently used one, and remembers no failure', () => {
  const loaded: string[] = [];
  const key = rememberLast(2, (text) => {
    loaded.push(text);
    if (text === 'bad') throw new Error('bad');
    return text.toUpperCase();
  });
  expect(['a', 'b', 'a', 'c', 'a', 'b'].map(key)).toEqual(['A', 'B', 'A', 'C', 'A', 'B']);
  expect(loaded).toEqual(['a', 'b', 'c', 'b']);
  expect(() => key('bad')).toThrow();
  expect(() => key('bad')).toThrow();
  expect(loaded.slice(4)).toEqual(['bad', 'bad']);
});
