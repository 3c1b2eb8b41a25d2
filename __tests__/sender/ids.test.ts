import fc from 'fast-check';
import { createId, firstIdAt, type IdPrefix, timeOfId } from '../../lib/model/ids.js';

const PREFIXES: IdPrefix[] = ['ep', 'msg', 'att', 'sec', 'wrk', 'req', 'aud'];
const ms = fc.integer({ min: 0, max: 2 ** 48 - 1 });

test('an id is its prefix and 26 letters and digits', () => {
  fc.assert(
    fc.property(fc.constantFrom(...PREFIXES), ms, (prefix, at) => {
      expect(createId(prefix, at)).toMatch(new RegExp(`^${prefix}_[0-9a-v]{26}$`));
    }),
  );
});

test('no id holds a full stop, which would end it early in what is signed', () => {
  for (const prefix of PREFIXES) expect(createId(prefix, 1)).not.toContain('.');
});

test('ids sort by the time they are given', () => {
  fc.assert(
    fc.property(ms, ms, (a, b) => {
      fc.pre(a !== b);
      const [ofA, ofB] = [createId('msg', a), createId('msg', b)];
      expect(ofA < ofB).toBe(a < b);
    }),
  );
});

test('an id tells when it was made', () => {
  fc.assert(
    fc.property(fc.constantFrom(...PREFIXES), ms, (prefix, at) => {
      expect(timeOfId(createId(prefix, at))).toBe(at);
    }),
  );
});

test('the first id of a time lies between all that were made before it and all others', () => {
  fc.assert(
    fc.property(ms, ms, (at, made) => {
      expect(createId('msg', made) >= firstIdAt('msg', at)).toBe(made >= at);
    }),
  );
});

test('the first id of a time between two milliseconds is that of the later one', () => {
  const at = 1_777_000_000_000;
  expect(firstIdAt('msg', at + 0.25)).toBe(firstIdAt('msg', at + 1));
});

test('of times that no id can have, the first one is still before or behind all ids', () => {
  const made = createId('msg', 1_777_000_000_000);
  for (const early of [-1, -8.64e15, Number.MIN_SAFE_INTEGER])
    expect(firstIdAt('msg', early) < made).toBe(true);
  for (const late of [8.64e15, Number.MAX_SAFE_INTEGER]) expect(firstIdAt('msg', late) > made).toBe(true);
});

test('ids of one millisecond keep the order in which they were made', () => {
  const ids = Array.from({ length: 5000 }, () => createId('msg', 1_777_000_000_000));
  expect([...ids].sort()).toEqual(ids);
  expect(new Set(ids).size).toBe(ids.length);
});

test('they keep it when ids of other things and other milliseconds are made in between', () => {
  const made: string[] = [];
  for (let turn = 0; turn < 300; turn++) {
    made.push(createId('msg', 1_777_000_000_000));
    createId('att', 1_776_999_999_990 + (turn % 20));
  }
  expect([...made].sort()).toEqual(made);
});

test('ids of one millisecond begin at random: they cannot be told from each other', () => {
  const begins = Array.from({ length: 500 }, (_each, index) => createId('msg', index).slice(-16));
  expect(new Set(begins).size).toBe(500);
  expect(new Set(begins.map((each) => each.slice(0, 8))).size).toBe(500);
});
