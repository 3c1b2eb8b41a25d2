import fc from 'fast-check';
import { matchesFilter } from '../../lib/model/filter.js';

const DATA = {
  status: 'paid',
  amount: 10.5,
  zero: 0,
  nothing: null,
  no: false,
  empty: '',
  order: { lines: [{ sku: 'a', tags: ['x', 'y'] }, { sku: 'b' }], 'a.b': 1 },
  '': 'unnamed',
};

const holds = (dataPath: string, equals: unknown, data: unknown = DATA): boolean =>
  matchesFilter({ dataPath, equals }, data);

describe('a clause', () => {
  test.each([
    ['status', 'paid'],
    ['amount', 10.5],
    ['zero', 0],
    ['nothing', null],
    ['no', false],
    ['empty', ''],
    ['order.lines.0.sku', 'a'],
    ['order.lines.1', { sku: 'b' }],
    ['order.lines.0', { tags: ['x', 'y'], sku: 'a' }],
    ['order.lines.0.tags', ['x', 'y']],
  ])('holds where the value at %j equals %j', (dataPath, equals) => {
    expect(holds(dataPath, equals)).toBe(true);
  });

  test.each([
    ['status', 'PAID'],
    ['status', null],
    ['amount', '10.5'],
    ['zero', false],
    ['zero', null],
    ['zero', ''],
    ['nothing', false],
    ['no', 0],
    ['missing', null],
    ['missing.deeper', null],
    ['status.deeper', null],
    ['nothing.deeper', null],
    ['order.lines.2', null],
    ['order.lines.1', { sku: 'b', more: 1 }],
    ['order.lines.0', { sku: 'a' }],
    ['order.lines.0.tags', ['y', 'x']],
    ['order.lines.0.tags', ['x']],
    ['order.lines.0.tags', { 0: 'x', 1: 'y' }],
    ['order.lines', []],
    ['order.a.b', 1],
  ])('does not hold where the value at %j is not %j', (dataPath, equals) => {
    expect(holds(dataPath, equals)).toBe(false);
  });

  test.each([
    'constructor',
    'constructor.name',
    '__proto__',
    'toString',
    'hasOwnProperty',
    'order.lines.length',
  ])('reaches own properties only: %s is none', (dataPath) => {
    for (const equals of [null, 'Object', 2, {}, undefined]) expect(holds(dataPath, equals)).toBe(false);
  });

  test('reads array indexes in their usual spelling only', () => {
    const data = { list: ['a', 'b'] };
    expect(holds('list.1', 'b', data)).toBe(true);
    for (const index of ['01', '+1', '1.0', ' 1', '-1', '1e0', 'length']) {
      expect(holds(`list.${index}`, 'b', data)).toBe(false);
    }
  });

  test('takes an object whose names are numbers as an object', () => {
    expect(holds('map.01', 'b', { map: { '01': 'b' } })).toBe(true);
  });

  test.each([null, 'text', 7, true])('holds for no path into %j', (data) => {
    for (const path of ['a', '0', 'length']) expect(holds(path, null, data)).toBe(false);
  });

  test('finds an own property that shadows an inherited one', () => {
    expect(holds('constructor', 1, JSON.parse('{"constructor":1}'))).toBe(true);
    expect(holds('__proto__.a', 1, JSON.parse('{"__proto__":{"a":1}}'))).toBe(true);
  });
});

describe('a filter', () => {
  test('of null passes everything', () => {
    for (const data of [null, 1, {}, [], DATA]) expect(matchesFilter(null, data)).toBe(true);
  });

  test('of several clauses wants every one of them', () => {
    const clauses = [
      { dataPath: 'status', equals: 'paid' },
      { dataPath: 'zero', equals: 0 },
    ];
    expect(matchesFilter(clauses, DATA)).toBe(true);
    expect(matchesFilter([...clauses, { dataPath: 'no', equals: true }], DATA)).toBe(false);
  });
});

test('every value of any JSON is found by its own path and equals itself', () => {
  const key = fc.stringMatching(/^[a-z]{1,5}$/);
  const { tree } = fc.letrec<{ tree: unknown }>((tie) => ({
    tree: fc.oneof(
      { maxDepth: 4 },
      fc.oneof(
        fc.string(),
        fc.double({ noNaN: true, noDefaultInfinity: true }),
        fc.boolean(),
        fc.constant(null),
      ),
      fc.array(tie('tree'), { maxLength: 4 }),
      fc.dictionary(key, tie('tree'), { maxKeys: 4 }),
    ),
  }));
  const check = (root: unknown, value: unknown, path: string[]): void => {
    if (path.length > 0) {
      const copy: unknown = JSON.parse(JSON.stringify(value));
      expect(matchesFilter({ dataPath: path.join('.'), equals: copy }, root)).toBe(true);
      expect(matchesFilter({ dataPath: path.join('.'), equals: { other: [copy] } }, root)).toBe(false);
    }
    if (typeof value === 'object' && value !== null) {
      for (const [name, child] of Object.entries(value)) check(root, child, [...path, name]);
    }
  };
  fc.assert(
    fc.property(tree, (root) => check(root, root, [])),
    { numRuns: 200 },
  );
});
