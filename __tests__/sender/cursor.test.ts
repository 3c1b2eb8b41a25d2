import fc from 'fast-check';
import { HookplaneError } from '../../lib/model/errors.js';
import { decodeCursor, encodeCursor, pageLimit } from '../../lib/sender/cursor.js';

const LISTING = { name: 'messages', filters: { types: ['a'], status: undefined } };
const POSITION = { ms: 1_777_000_000_000, id: 'msg_abc' };

function problemOf(listing: Parameters<typeof decodeCursor>[0], cursor: unknown): string {
  try {
    decodeCursor(listing, cursor);
  } catch (error) {
    expect(error).toBeInstanceOf(HookplaneError);
    expect(error).toMatchObject({ code: 'INVALID_QUERY' });
    return (error as Error).message;
  }
  throw new Error('the cursor was read');
}

test('a cursor brings its position back, whatever id it holds', () => {
  const id = fc.string({ unit: 'binary', maxLength: 100 });
  fc.assert(
    fc.property(fc.maxSafeInteger(), id, (ms, each) => {
      const cursor = encodeCursor(LISTING, { ms, id: each });
      expect(cursor).toMatch(/^[A-Za-z0-9_-]+$/);
      expect(decodeCursor(LISTING, cursor)).toEqual({ ms, id: each });
    }),
  );
});

test('the longest id there can be fits', () => {
  for (const id of ['a'.repeat(255), '東'.repeat(255), '👩'.repeat(127), '"'.repeat(255)]) {
    expect(decodeCursor(LISTING, encodeCursor(LISTING, { ms: 1, id }))).toEqual({ ms: 1, id });
  }
});

test('the end of a list has none, and none is its start', () => {
  expect(encodeCursor(LISTING, null)).toBeNull();
  expect(decodeCursor(LISTING, undefined)).toBeNull();
});

test('it says nothing of the filters', () => {
  const cursor = encodeCursor({ name: 'messages', filters: { secret: 'hidden' } }, POSITION);
  expect(Buffer.from(cursor!, 'base64url').toString()).not.toContain('hidden');
});

test('a filter that is not given and one that is undefined are the same, in any order', () => {
  const cursor = encodeCursor({ name: 'a', filters: { x: 1, y: 2, z: undefined } }, POSITION);
  expect(decodeCursor({ name: 'a', filters: { y: 2, x: 1 } }, cursor)).toEqual(POSITION);
  expect(decodeCursor({ name: 'b', filters: {} }, encodeCursor({ name: 'b' }, POSITION))).toEqual(POSITION);
});

test('it belongs to its list', () => {
  expect(problemOf({ ...LISTING, name: 'attempts' }, encodeCursor(LISTING, POSITION))).toMatch(
    /another list/,
  );
});

test.each([
  [undefined],
  [{}],
  [{ types: ['b'] }],
  [{ types: ['a', 'b'] }],
  [{ types: 'a' }],
  [{ types: ['a'], since: '2026-01-01' }],
])('with the filters %j it is refused', (filters) => {
  expect(problemOf({ name: 'messages', filters }, encodeCursor(LISTING, POSITION))).toMatch(/other filters/);
});

test('what this version did not write is malformed', () => {
  const cursor = encodeCursor(LISTING, POSITION)!;
  const [version, name, hash, ms, id, ...rest] = JSON.parse(
    Buffer.from(cursor, 'base64url').toString(),
  ) as unknown[];
  const written = (fields: unknown) => Buffer.from(JSON.stringify(fields)).toString('base64url');
  const malformed: unknown[] = [
    '',
    ' ',
    'x',
    '0',
    'null',
    `${cursor}=`,
    ` ${cursor}`,
    `${cursor}A`,
    cursor.slice(0, -1),
    'a'.repeat(10_000),
    'é',
    null,
    7,
    {},
    [cursor],
    written(null),
    written({}),
    written([version, name, hash, ms]),
    written([99, name, hash, ms, id, ...rest]),
    written([version, name, hash, Number(ms) + 1, id, ...rest]),
    written([version, name, hash, ms, `${id}a`, ...rest]),
    written([version, name, hash, ms, id, ...rest, 1]),
    written([version, name, hash, String(ms), id, ...rest]),
    written([version, name, hash, 1.5, id, ...rest]),
    written([version, name, hash, null, id, ...rest]),
    written([version, name, hash, 2 ** 53, id, ...rest]),
    written([version, name, hash, ms, 7, ...rest]),
    written([String(version), name, hash, ms, id, ...rest]),
    Buffer.from(`[${JSON.stringify(version)}, "messages","x",1,"a"]`).toString('base64url'),
  ];
  for (const each of malformed) expect(problemOf(LISTING, each)).toMatch(/malformed/);
});

test('one that was damaged is not taken for another place', () => {
  const cursor = encodeCursor(LISTING, POSITION)!;
  const at = fc.integer({ min: 0, max: cursor.length - 1 });
  const character = fc.stringMatching(/^[A-Za-z0-9_-]$/);
  fc.assert(
    fc.property(at, character, (index, letter) => {
      fc.pre(cursor[index] !== letter);
      const damaged = cursor.slice(0, index) + letter + cursor.slice(index + 1);
      expect(problemOf(LISTING, damaged)).not.toBe('');
    }),
  );
});

test('nothing that is passed for a cursor throws anything else', () => {
  fc.assert(
    fc.property(fc.anything(), (cursor) => {
      fc.pre(cursor !== undefined);
      expect(problemOf(LISTING, cursor)).not.toBe('');
    }),
  );
});

test('a page is 100 rows, as many as were asked for, and never more than 1000', () => {
  expect(pageLimit(undefined)).toBe(100);
  expect([1, 2, 999, 1000, 1001, 1e9].map(pageLimit)).toEqual([1, 2, 999, 1000, 1000, 1000]);
  for (const limit of [0, -1, 1.5, Number.NaN, Number.POSITIVE_INFINITY, '5', null, [], true]) {
    expect(() => pageLimit(limit)).toThrow(expect.objectContaining({ code: 'INVALID_QUERY' }));
  }
});
