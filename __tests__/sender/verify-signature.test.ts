import fc from 'fast-check';
import { Webhook } from 'standardwebhooks';
import { signatureHeader } from '../../lib/sender/delivery/signature.js';
import { generateAsymmetric, generateSymmetric } from '../../lib/sender/keys.js';
import { verifySignature, WebhookVerificationError } from '../../lib/sender/verify-signature.js';

const { secret } = generateSymmetric();
const pair = generateAsymmetric();
const BODY = '{"type":"invoice.paid","data":{"name":"Zoë"}}';
const NOW = 1_700_000_000;
const now = () => NOW * 1000;

function signed(secrets = [secret], body: string | Buffer = BODY, timestamp = NOW) {
  return {
    'webhook-id': 'msg_abc',
    'webhook-timestamp': String(timestamp),
    'webhook-signature': signatureHeader(secrets, 'msg_abc', timestamp, Buffer.from(body)),
  };
}

function codeOf(run: () => unknown): string {
  try {
    run();
  } catch (error) {
    if (error instanceof WebhookVerificationError) return error.code;
    throw error;
  }
  return 'verified';
}

test('a signed request verifies and tells its id and its time', () => {
  expect(verifySignature({ headers: signed(), body: BODY, secret, now })).toEqual({
    id: 'msg_abc',
    timestamp: NOW,
  });
});

test.each([
  ['a Fetch Headers object', new Headers(signed())],
  ['a plain object', signed()],
  [
    'a plain object with other case',
    Object.fromEntries(Object.entries(signed()).map(([name, value]) => [name.toUpperCase(), value])),
  ],
  ['lists of values', Object.fromEntries(Object.entries(signed()).map(([name, value]) => [name, [value]]))],
])('headers may be %s', (_what, headers) => {
  expect(verifySignature({ headers, body: BODY, secret, now }).id).toBe('msg_abc');
});

test('the body may be text, a Buffer or a Uint8Array', () => {
  for (const body of [BODY, Buffer.from(BODY), new Uint8Array(Buffer.from(BODY))]) {
    expect(verifySignature({ headers: signed(), body, secret, now }).id).toBe('msg_abc');
  }
});

test('an ed25519 signature verifies with the public key and with the private one', () => {
  const headers = signed([pair.privateKey]);
  for (const key of [pair.publicKey, pair.privateKey]) {
    expect(verifySignature({ headers, body: BODY, secret: key, now }).id).toBe('msg_abc');
  }
  expect(codeOf(() => verifySignature({ headers, body: BODY, secret, now }))).toBe('NO_MATCH');
});

test('any of several secrets may match any of several signatures', () => {
  const other = generateSymmetric().secret;
  const headers = signed([other, pair.privateKey, secret]);
  for (const secrets of [[secret], [generateSymmetric().secret, other], [pair.publicKey]]) {
    expect(verifySignature({ headers, body: BODY, secrets, now }).id).toBe('msg_abc');
  }
});

test('what the reference library signs verifies here', () => {
  fc.assert(
    fc.property(fc.json(), (body) => {
      const signature = new Webhook(secret).sign('msg_ref', new Date(now()), body);
      const headers = {
        'webhook-id': 'msg_ref',
        'webhook-timestamp': String(NOW),
        'webhook-signature': signature,
      };
      expect(verifySignature({ headers, body, secret, now }).id).toBe('msg_ref');
    }),
  );
});

test('one changed bit anywhere in what is signed is found', () => {
  const body = Buffer.from(BODY);
  const headers = signed([secret, pair.privateKey]);
  for (let bit = 0; bit < body.length * 8; bit += 7) {
    const changed = Buffer.from(body);
    changed[bit >> 3] = (changed[bit >> 3] as number) ^ (1 << (bit & 7));
    const secrets = [secret, pair.publicKey];
    expect(codeOf(() => verifySignature({ headers, body: changed, secrets, now }))).toBe('NO_MATCH');
  }
  for (const changed of [
    { ...headers, 'webhook-id': 'msg_abd' },
    { ...headers, 'webhook-timestamp': String(NOW + 1) },
  ]) {
    expect(codeOf(() => verifySignature({ headers: changed, body, secret, now }))).toBe('NO_MATCH');
  }
});

test.each(['webhook-id', 'webhook-timestamp', 'webhook-signature'])(
  'a request without %s is refused',
  (name) => {
    const run = (headers: Record<string, string>) =>
      codeOf(() => verifySignature({ headers, body: BODY, secret, now }));
    const { [name as 'webhook-id']: _left, ...rest } = signed();
    expect(run(rest)).toBe('MISSING_HEADER');
    expect(run({ ...rest, [name]: '' })).toBe('MISSING_HEADER');
  },
);

test.each(['abc', '1.5', '-1', '1e9', ' 1', '99999999999999'])('the timestamp %j is refused', (timestamp) => {
  const headers = { ...signed(), 'webhook-timestamp': timestamp };
  expect(codeOf(() => verifySignature({ headers, body: BODY, secret, now }))).toBe('INVALID_TIMESTAMP');
});

test.each([
  [-300, 'verified'],
  [300, 'verified'],
  [-301, 'STALE_TIMESTAMP'],
  [301, 'STALE_TIMESTAMP'],
])('a timestamp %i seconds away is %s', (offset, outcome) => {
  const headers = signed([secret], BODY, NOW + offset);
  expect(codeOf(() => verifySignature({ headers, body: BODY, secret, now }))).toBe(outcome);
});

test('the tolerance can be set', () => {
  const headers = signed([secret], BODY, NOW - 60);
  const run = (toleranceSeconds: number) =>
    codeOf(() => verifySignature({ headers, body: BODY, secret, now, toleranceSeconds }));
  expect([run(59), run(60), run(Number.POSITIVE_INFINITY)]).toEqual([
    'STALE_TIMESTAMP',
    'verified',
    'verified',
  ]);
  for (const tolerance of [-1, Number.NaN]) expect(() => run(tolerance)).toThrow(TypeError);
});

test.each([
  'v1',
  'v1,',
  ',',
  'v2,AAAA',
  'v1,AAAA',
  'v1a,AAAA',
  '  ',
  signed()['webhook-signature'].replace('v1,', 'v1a,'),
  signed()['webhook-signature'].replace('v1,', ''),
  signed()['webhook-signature'].slice(0, -5),
  `v1,${Buffer.alloc(32).toString('base64')}`,
  `v1a,${Buffer.alloc(64).toString('base64')}`,
])('the signature header %j does not verify', (header) => {
  const headers = { ...signed(), 'webhook-signature': header };
  const secrets = [secret, pair.publicKey];
  expect(codeOf(() => verifySignature({ headers, body: BODY, secrets, now }))).toBe('NO_MATCH');
});

test('a header of thousands of tokens is not looked at beyond the first ones', () => {
  const flood = `${'v1a,AAAA '.repeat(5000)}${signed()['webhook-signature']}`;
  const headers = { ...signed(), 'webhook-signature': flood };
  expect(codeOf(() => verifySignature({ headers, body: BODY, secret, now }))).toBe('NO_MATCH');
});

test("the receiver's own mistakes are type errors, not refusals", () => {
  const headers = signed();
  const parsed = JSON.parse(BODY) as string;
  expect(() => verifySignature({ headers, body: BODY, now })).toThrow(TypeError);
  expect(() => verifySignature({ headers, body: BODY, secret: undefined, now })).toThrow(TypeError);
  expect(() => verifySignature({ headers, body: BODY, secret: '', now })).toThrow(TypeError);
  expect(() => verifySignature({ headers, body: BODY, secret: 'whsec_AAAA', now })).toThrow(TypeError);
  expect(() => verifySignature({ headers, body: parsed, secret, now })).toThrow(/raw request body/);
});
