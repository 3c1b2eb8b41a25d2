import { beginningAt, boundsOf } from '../../lib/store/sql/page-bounds.js';

const range = { since: 100, until: 900, after: null };
const after = { ms: 500, id: 'msg_a' };

describe('a walk in the order of time', () => {
  test('searches the whole range for its first page', () => {
    expect(beginningAt(100, null)).toBe(100);
  });

  test('searches from where the page before ended, in whose millisecond there may be more', () => {
    expect(beginningAt(100, after)).toBe(500);
  });

  test('is not widened by a position out of the range', () => {
    expect(beginningAt(100, { ms: 50, id: 'msg_a' })).toBe(100);
  });
});

describe('a page of a list, newest first,', () => {
  const since = { ms: 100, id: '', inclusive: true };

  test('has no bounds where none are asked for', () => {
    expect(boundsOf({ since: undefined, until: undefined, after: null })).toEqual({ from: null, to: null });
  });

  test('lies between the beginning, which belongs to it, and the end, which does not', () => {
    expect(boundsOf(range)).toEqual({ from: since, to: { ms: 900, id: '' } });
  });

  test('ends before the page before it', () => {
    expect(boundsOf({ ...range, after })).toEqual({ from: since, to: after });
    expect(boundsOf({ ...range, until: undefined, after }).to).toEqual(after);
  });

  test('is not widened by a position out of the range', () => {
    expect(boundsOf({ ...range, after: { ms: 900, id: 'msg_a' } }).to).toEqual({ ms: 900, id: '' });
  });

  test('begins behind what all of the list comes after, unless that lies before the range', () => {
    const behind = { ms: 100, id: 'msg_b' };
    expect(boundsOf(range, behind).from).toEqual({ ...behind, inclusive: false });
    expect(boundsOf({ ...range, since: undefined }, behind).from).toEqual({ ...behind, inclusive: false });
    expect(boundsOf({ ...range, since: 101 }, behind).from).toEqual({ ...since, ms: 101 });
  });
});
