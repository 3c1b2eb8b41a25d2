import fc from 'fast-check';
import { matchesChannels, matchesTypes, MESSAGE_TYPE, TYPE_PATTERN } from '../../lib/model/types.js';

const segment = fc.stringMatching(/^[A-Za-z0-9_-]{1,8}$/);
const type = fc.array(segment, { minLength: 1, maxLength: 5 }).map((segments) => segments.join('.'));

describe('patterns', () => {
  test.each([
    [null, 'order.paid', true],
    [[], 'order.paid', false],
    [['*'], 'order.paid', true],
    [['*'], 'order', true],
    [['order.paid'], 'order.paid', true],
    [['order.paid'], 'order.paid.late', false],
    [['order.paid'], 'order', false],
    [['order.paid'], 'Order.paid', false],
    [['order.*'], 'order.paid', true],
    [['order.*'], 'order.paid.late', true],
    [['order.*'], 'order', false],
    [['order.*'], 'orders.paid', false],
    [['order.*'], 'preorder.paid', false],
    [['order.*'], 'order.', false],
    [['order.paid.*'], 'order.paid', false],
    [['order.paid.*'], 'order.paid.late', true],
    [['a', 'b.*'], 'b.c', true],
    [['a', 'b.*'], 'c', false],
  ])('%j and the type %j: %j', (patterns, messageType, expected) => {
    expect(matchesTypes(patterns, messageType)).toBe(expected);
  });

  test('a type matches itself, everything, and every prefix of whole segments but itself', () => {
    fc.assert(
      fc.property(type, (each) => {
        expect(matchesTypes([each], each)).toBe(true);
        expect(matchesTypes(['*'], each)).toBe(true);
        expect(matchesTypes([`${each}.*`], each)).toBe(false);
        const segments = each.split('.');
        for (let length = 1; length < segments.length; length++) {
          expect(matchesTypes([`${segments.slice(0, length).join('.')}.*`], each)).toBe(true);
        }
      }),
    );
  });

  test('no pattern is read as anything but text', () => {
    fc.assert(
      fc.property(fc.string(), type, (text, each) => {
        fc.pre(text !== '*' && text !== each && !text.endsWith('.*'));
        expect(matchesTypes([text], each)).toBe(false);
      }),
    );
    expect(matchesTypes(['.*'], 'order')).toBe(false);
    expect(matchesTypes(['ord.r'], 'order')).toBe(false);
  });
});

describe('what is a type, and what is a pattern', () => {
  test.each(['order', 'order.paid', 'a.b.c.d', 'A_1-x', '0'])('%j is a type and a pattern', (text) => {
    expect(MESSAGE_TYPE.test(text)).toBe(true);
    expect(TYPE_PATTERN.test(text)).toBe(true);
  });

  test.each(['*', 'order.*', 'a.b.*'])('%j is a pattern and no type', (text) => {
    expect(MESSAGE_TYPE.test(text)).toBe(false);
    expect(TYPE_PATTERN.test(text)).toBe(true);
  });

  test.each([
    '',
    '.',
    '.a',
    'a.',
    'a..b',
    'a b',
    'a/b',
    'é',
    'a\n',
    '\na',
    '*.a',
    'a.*.b',
    'a*',
    '.*',
    '**',
    'a.**',
  ])('%j is neither', (text) => {
    expect(MESSAGE_TYPE.test(text)).toBe(false);
    expect(TYPE_PATTERN.test(text)).toBe(false);
  });
});

test.each([
  [null, null, true],
  [null, ['eu'], true],
  [['eu'], null, false],
  [['eu'], [], false],
  [['eu'], ['eu'], true],
  [['eu', 'us'], ['asia', 'us'], true],
  [['eu'], ['us'], false],
  [['eu'], ['EU'], false],
])('an endpoint on channels %j and a message on %j: %j', (wanted, channels, expected) => {
  expect(matchesChannels(wanted, channels)).toBe(expected);
});
