import { firstIdAt } from '../../lib/model/ids.js';
import { boundsOf } from '../../lib/store/sql/page-bounds.js';

const range = { since: 100, until: 900, after: null };
const at = (ms: number) => firstIdAt('msg', ms);

describe('a page of a list, newest first,', () => {
  const since = { id: at(100), inclusive: true };
  const after = { ms: 500, id: `${at(500)}a` };

  test('has no bounds where none are asked for', () => {
    expect(boundsOf('msg', { since: undefined, until: undefined, after: null })).toEqual({
      from: null,
      to: null,
    });
  });

  test('lies between the beginning, which belongs to it, and the end, which does not', () => {
    expect(boundsOf('msg', range)).toEqual({ from: since, to: at(900) });
    expect(boundsOf('att', range).to).toBe(firstIdAt('att', 900));
  });

  test('ends before the page before it', () => {
    expect(boundsOf('msg', { ...range, after })).toEqual({ from: since, to: after.id });
    expect(boundsOf('msg', { ...range, until: undefined, after }).to).toBe(after.id);
  });

  test('is not widened by a position out of the range', () => {
    expect(boundsOf('msg', { ...range, after: { ms: 900, id: `${at(900)}a` } }).to).toBe(at(900));
  });

  test('begins behind what all of the list comes after, unless that lies before the range', () => {
    const behind = `${at(100)}b`;
    const from = { id: behind, inclusive: false };
    expect(boundsOf('msg', range, behind).from).toEqual(from);
    expect(boundsOf('msg', { ...range, since: undefined }, behind).from).toEqual(from);
    expect(boundsOf('msg', { ...range, since: 101 }, behind).from).toEqual({ id: at(101), inclusive: true });
  });
});
