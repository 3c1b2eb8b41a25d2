import { randomBytes } from 'node:crypto';
import { inspect } from 'node:util';
import {
  createSecretSeal,
  readSecretKeys,
  type SecretKey,
  secretKeyProblems,
} from '../../lib/sender/secrets.js';
import { recordingLogger } from '../support/sender.js';

const KEY = Buffer.from(Array.from({ length: 32 }, (_, index) => index));
const OTHER = Buffer.alloc(32, 'other');
const SECRET = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw';
const ROW = { id: 'sec_1', secret: SECRET };

function sealOf(...keys: SecretKey[]) {
  const logger = recordingLogger();
  return { ...createSecretSeal(readSecretKeys(keys), logger), log: logger.entries };
}

const idOf = (key: SecretKey): string => readSecretKeys(key)[0]!.id;

/** The message of the refusal, which must be the one that operations answer with. */
function refusalOf(open: () => unknown): string {
  try {
    open();
  } catch (error) {
    expect(error).toMatchObject({ code: 'SECRET_SEALED' });
    return (error as Error).message;
  }
  throw new Error('it was opened');
}

describe('what is sealed', () => {
  test('shows the key by its id, and nothing of the secret', () => {
    const { id, secret } = sealOf(KEY).seal('ep_1', ROW);
    expect(id).toBe('sec_1');
    expect(secret).toMatch(/^enc:v1:[0-9a-f]{8}:[\w-]{16}:[\w-]+$/);
    expect(secret.split(':')[2]).toBe(idOf(KEY));
    expect(secret).not.toContain(SECRET.slice(6, 14));
  });

  test('opens in its own row, again and in another process', () => {
    const seal = sealOf(KEY);
    const stored = seal.seal('ep_1', ROW);
    expect([seal.open('ep_1', stored), seal.open('ep_1', stored)]).toEqual([SECRET, SECRET]);
    expect(sealOf(KEY.toString('hex')).open('ep_1', stored)).toBe(SECRET);
  });

  test('differs each time, so that equal secrets cannot be told', () => {
    const seal = sealOf(KEY);
    const texts = Array.from({ length: 100 }, () => seal.seal('ep_1', ROW).secret);
    expect(new Set(texts).size).toBe(100);
  });

  test('opens in no other row: of another endpoint, of another secret, or of names that run together', () => {
    const seal = sealOf(KEY);
    const { secret } = seal.seal('ep_1', ROW);
    seal.open('ep_1', { id: 'sec_1', secret });
    for (const [endpointId, id] of [
      ['ep_2', 'sec_1'],
      ['ep_1', 'sec_2'],
      ['ep_1s', 'ec_1'],
      ['', ''],
    ] as const) {
      const message = refusalOf(() => seal.open(endpointId, { id, secret }));
      expect(message).toMatch(/changed or moved/);
      expect(message).toContain(idOf(KEY));
    }
  });

  test('opens no more once any character of it was changed', () => {
    const seal = sealOf(KEY);
    const { secret } = seal.seal('ep_1', ROW);
    const start = secret.lastIndexOf(':', secret.lastIndexOf(':') - 1) + 1;
    // The last one holds bits that base64 does not use.
    for (let at = start; at < secret.length - 1; at++) {
      if (secret[at] === ':') continue;
      const changed = secret.slice(0, at) + (secret[at] === 'A' ? 'B' : 'A') + secret.slice(at + 1);
      refusalOf(() => seal.open('ep_1', { id: 'sec_1', secret: changed }));
    }
    for (const cut of [secret.slice(0, -4), secret.slice(0, start + 17), secret.slice(0, start + 17 + 22)]) {
      refusalOf(() => seal.open('ep_1', { id: 'sec_1', secret: cut }));
    }
  });

  test('in another form is refused, and not taken for a secret', () => {
    const seal = sealOf(KEY);
    for (const secret of ['enc:', 'enc:v2:a:b:c', `enc:v1:${idOf(KEY)}`, 'enc:v1:::']) {
      expect(refusalOf(() => seal.open('ep_1', { id: 'sec_1', secret }))).toMatch(/form that this version/);
    }
  });
});

describe('keys', () => {
  test('the first seals, and all of them open', () => {
    const before = sealOf(OTHER).seal('ep_1', ROW);
    const seal = sealOf(KEY, OTHER);
    expect(seal.open('ep_1', before)).toBe(SECRET);
    expect(sealOf(KEY).open('ep_1', seal.seal('ep_1', ROW))).toBe(SECRET);
  });

  test('a missing one is named by its id', () => {
    const stored = sealOf(OTHER).seal('ep_1', ROW);
    for (const seal of [sealOf(KEY), sealOf()]) {
      const message = refusalOf(() => seal.open('ep_1', stored));
      expect(message).toBe(
        `The signing secret is sealed by the key "${idOf(OTHER)}", which is not in secretKey`,
      );
    }
  });

  test('another one under the id of the right one opens nothing', () => {
    const stored = sealOf(OTHER).seal('ep_1', ROW);
    const secret = stored.secret.replace(idOf(OTHER), idOf(KEY));
    expect(refusalOf(() => sealOf(KEY).open('ep_1', { id: 'sec_1', secret }))).toMatch(/changed or moved/);
  });

  test('without any, secrets stay as they are', () => {
    const seal = sealOf();
    expect(seal.seal('ep_1', ROW)).toEqual(ROW);
    expect(seal.open('ep_1', ROW)).toBe(SECRET);
    expect(seal.reseal('ep_1', ROW)).toBeNull();
  });

  test('what was stored without one opens with one', () => {
    expect(sealOf(KEY).open('ep_1', ROW)).toBe(SECRET);
  });

  test('sealing anew changes what another key sealed or none, and nothing else', () => {
    const seal = sealOf(KEY, OTHER);
    const current = seal.seal('ep_1', ROW);
    expect(seal.reseal('ep_1', current)).toBeNull();
    for (const stored of [ROW, sealOf(OTHER).seal('ep_1', ROW)]) {
      const secret = seal.reseal('ep_1', stored)!;
      expect(sealOf(KEY).open('ep_1', { id: 'sec_1', secret })).toBe(SECRET);
    }
    refusalOf(() => seal.reseal('ep_2', current));
  });

  test('a secret that does not open is logged once for each trouble, without the secret', () => {
    const seal = sealOf(KEY);
    const missing = sealOf(OTHER).seal('ep_1', ROW);
    const moved = seal.seal('ep_2', ROW);
    for (const stored of [missing, missing, moved, missing, moved]) {
      refusalOf(() => seal.open('ep_1', stored));
    }
    expect(seal.log).toEqual([
      {
        level: 'error',
        message: expect.stringContaining('cannot be opened'),
        fields: {
          error: expect.stringContaining(idOf(OTHER)),
          endpointId: 'ep_1',
          secretId: 'sec_1',
        },
      },
      expect.objectContaining({
        fields: expect.objectContaining({ error: expect.stringMatching(/changed or moved/) }),
      }),
    ]);
  });
});

describe('the option', () => {
  const bytes = randomBytes(32);

  test.each([
    ['base64', bytes.toString('base64')],
    ['base64 without padding', bytes.toString('base64').replace('=', '')],
    ['base64url', bytes.toString('base64url')],
    ['hexadecimal digits', bytes.toString('hex')],
    ['hexadecimal digits in capitals', bytes.toString('hex').toUpperCase()],
    ['a Uint8Array', new Uint8Array(bytes)],
  ])('takes a key as %s', (_form, key) => {
    expect(secretKeyProblems(key)).toEqual([]);
    expect(secretKeyProblems([OTHER, key])).toEqual([]);
    expect(idOf(key)).toBe(idOf(bytes));
  });

  test.each([
    ['nothing', '', /holds 0/],
    ['a passphrase', 'correct horse battery staple', /must be 32 random bytes/],
    ['16 bytes', Buffer.alloc(16), /holds 16/],
    ['33 bytes', Buffer.alloc(33).toString('base64'), /holds 33/],
    ['half of the digits', 'ab'.repeat(16), /holds 24/],
    ['two in one string', `${KEY.toString('base64')},${OTHER.toString('base64')}`, /must be 32 random bytes/],
    ['a line break', `${KEY.toString('base64')}\n`, /must be 32 random bytes/],
    ['null', null, /must be 32 random bytes/],
    ['a number', 7, /must be 32 random bytes/],
    ['an object', { id: 'a', key: KEY }, /must be 32 random bytes/],
  ])('refuses %s, and says what to change without repeating it', (_what, given, message) => {
    for (const [problem] of [secretKeyProblems(given), secretKeyProblems([OTHER, given])]) {
      expect(problem!.message).toMatch(message);
      expect(problem!.message).toContain('randomBytes');
      if (typeof given === 'string' && given !== '') expect(problem!.message).not.toContain(given.trim());
    }
    expect(secretKeyProblems([OTHER, given])).toMatchObject([{ path: [1] }]);
  });

  test('refuses no key at all, and one that is given twice', () => {
    expect(secretKeyProblems([])).toMatchObject([{ path: [], message: expect.stringContaining('leave it') }]);
    expect(secretKeyProblems([KEY, OTHER, KEY.toString('base64')])).toEqual([
      { path: [2], message: 'is given twice' },
    ]);
  });

  test('a key that was read shows itself to nothing that prints it', () => {
    const keys = readSecretKeys([KEY.toString('hex')]);
    const shown = inspect(keys, { depth: 9, showHidden: true }) + JSON.stringify(keys);
    for (const form of ['hex', 'base64', 'latin1'] as const) expect(shown).not.toContain(KEY.toString(form));
    expect(shown).not.toMatch(/04,? ?05,? ?06/);
  });
});
