import { beginningAt, endingAt } from '../../lib/store/sql/page-bounds.js';

test('the first page searches the whole range', () => {
  expect(beginningAt(100, null)).toBe(100);
  expect(endingAt(900, null)).toBe(900);
});

test('a later page searches from where the one before ended, in whose millisecond there may be more', () => {
  expect(beginningAt(100, { ms: 500, id: 'msg_a' })).toBe(500);
  expect(endingAt(900, { ms: 500, id: 'msg_a' })).toBe(501);
});

test('a position out of the range widens nothing', () => {
  expect(beginningAt(100, { ms: 50, id: 'msg_a' })).toBe(100);
  expect(endingAt(900, { ms: 950, id: 'msg_a' })).toBe(900);
});
