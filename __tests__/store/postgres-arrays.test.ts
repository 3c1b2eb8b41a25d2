import { insertStatements } from '../../lib/store/sql/postgres-statements.js';
import { createDatabase } from '../support/postgres/database.js';

/** What the server reads of texts that are handed over as an array. */
async function readBack(texts: readonly (string | null)[]): Promise<unknown[]> {
  const { query } = await createDatabase('test');
  const [statement] = insertStatements([
    {
      into: { table: 'hookplane_payloads', columns: { payload: 'text' } },
      count: texts.length,
      rows: () => texts.map((text) => [text]),
    },
  ]);
  return (await query('select * from unnest($1::text[]) as t(text)', statement!.values)).map(
    ({ text }) => text,
  );
}

test('texts of every kind come to PostgreSQL as they are', async () => {
  const texts = [
    null,
    ...[
      '',
      ' ',
      'null',
      'NULL',
      'Null',
      'nulls',
      'msg_01k8',
      'https://a.b/c-d+e',
      '2026-11-28T00:00:00.000Z',
    ],
    ...[
      '{',
      '}',
      '{}',
      ',',
      'a,b',
      'a b',
      '"',
      '\\',
      '\\"',
      '\\\\n',
      "it's",
      '\u00e9',
      '\u6771\u4eac',
      '\ud83d\ude80',
    ],
    ...[
      'a\nb',
      'a\tb"c',
      '\u0001"\\',
      '\u007f',
      '\u0085',
      '\u2028',
      '\ufeff',
      '{"a":"\\n\\u0000\\ud800 \\\\ \\""}',
    ],
    ...[JSON.stringify({ a: ['x', 1, null], b: '"' }), `\u6771"${'x'.repeat(3000)}\\`],
  ];
  expect(await readBack(texts)).toEqual(texts);
});

test('half of a surrogate pair, which no text of PostgreSQL holds, becomes the sign for it', async () => {
  expect(await readBack(['a\ud800"b', '\udc00'])).toEqual(['a\ufffd"b', '\ufffd']);
});
