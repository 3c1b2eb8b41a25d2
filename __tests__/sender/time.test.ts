import fc from 'fast-check';
import { isoTime, isoTimeOrNull, parseTime } from '../../lib/model/time.js';

const NOON = Date.UTC(2026, 0, 31, 12);

test.each([
  ['2026-01-31T12:00:00Z', NOON],
  ['2026-01-31t12:00:00z', NOON],
  ['2026-01-31T12:00:00.000Z', NOON],
  ['2026-01-31T12:00:00.5Z', NOON + 500],
  ['2026-01-31T12:00:00.123456789Z', NOON + 123],
  ['2026-01-31T12:00:00.999999999Z', NOON + 999],
  ['2026-01-31T14:00:00+02:00', NOON],
  ['2026-01-31T06:30:00-05:30', NOON],
  ['2026-01-31T12:00:00+00:00', NOON],
  ['2026-01-31T12:00:00-00:00', NOON],
  ['2026-01-31', Date.UTC(2026, 0, 31)],
  ['2024-02-29', Date.UTC(2024, 1, 29)],
  ['1970-01-01T00:00:00Z', 0],
  ['1969-12-31T23:59:59.999Z', -1],
  ['2026-12-31T23:59:59-23:59', Date.UTC(2027, 0, 1, 23, 58, 59)],
])('%s is a time', (text, ms) => {
  expect(parseTime(text)).toEqual({ ms });
});

test.each([
  '2026-02-29',
  '2026-02-30T00:00:00Z',
  '2026-04-31',
  '2026-13-01',
  '2026-00-01',
  '2026-01-00',
  '2026-01-32',
  '2026-01-31T24:00:00Z',
  '2026-01-31T12:60:00Z',
  '2026-01-31T12:00:60Z',
  '2026-01-31T12:00:00+24:00',
  '2026-01-31T12:00:00+02:60',
])('%s names a time that does not exist', (text) => {
  expect(parseTime(text)).toEqual({ problem: expect.stringMatching(/does not exist/) });
});

test.each(['2026-01-31T12:00:00', '2026-01-31 12:00:00', '2026-01-31T12:00', '2026-01-31t12:00:00.5'])(
  '%s lacks its offset, and is told so',
  (text) => {
    expect(parseTime(text)).toEqual({ problem: expect.stringMatching(/no offset/) });
  },
);

test('a plus that arrived as a space is told to be encoded', () => {
  expect(parseTime('2026-01-31T12:00:00 02:00')).toEqual({ problem: expect.stringMatching(/%2B/) });
});

test.each([
  '',
  ' ',
  'now',
  'yesterday',
  '1769860800',
  '1769860800000',
  '01/02/2026',
  '2026-1-31',
  '2026-01',
  '2026',
  '26-01-31',
  '2026-W05',
  '2026-01-31Z',
  '2026-01-31T12:00:00.Z',
  '2026-01-31T12:00:00.1234567890Z',
  '2026-01-31T12:00:00+0200',
  '2026-01-31T12:00:00+2',
  '2026-01-31T12:00:00 GMT',
  ' 2026-01-31',
  '2026-01-31\n',
  '+002026-01-31',
  'Sat, 31 Jan 2026 12:00:00 GMT',
  '٢٠٢٦-٠١-٣١',
])('%j is no time', (text) => {
  expect(parseTime(text)).toEqual({ problem: expect.any(String) });
});

test('what is written is read back', () => {
  fc.assert(
    fc.property(fc.integer({ min: -62_135_596_800_000, max: 253_402_300_799_999 }), (ms) => {
      expect(isoTime(ms)).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
      expect(parseTime(isoTime(ms))).toEqual({ ms });
    }),
  );
});

test('an offset moves the time by itself', () => {
  const offset = fc.tuple(
    fc.constantFrom('+', '-'),
    fc.integer({ min: 0, max: 23 }),
    fc.integer({ min: 0, max: 59 }),
  );
  fc.assert(
    fc.property(offset, ([sign, hours, minutes]) => {
      const two = (value: number) => String(value).padStart(2, '0');
      const moved = (sign === '-' ? 1 : -1) * (hours * 60 + minutes) * 60_000;
      expect(parseTime(`2026-01-31T12:00:00${sign}${two(hours)}:${two(minutes)}`)).toEqual({
        ms: NOON + moved,
      });
    }),
  );
});

test('nothing that is read throws, or comes out as no number', () => {
  fc.assert(
    fc.property(
      fc.oneof(fc.string(), fc.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(Z|[+-]\d\d:\d\d)$/)),
      (text) => {
        const time = parseTime(text);
        if ('ms' in time) expect(Number.isSafeInteger(time.ms)).toBe(true);
        else expect(time.problem).not.toBe('');
      },
    ),
  );
});

test('no time is null', () => {
  expect(isoTimeOrNull(null)).toBeNull();
  expect(isoTimeOrNull(0)).toBe('1970-01-01T00:00:00.000Z');
});
