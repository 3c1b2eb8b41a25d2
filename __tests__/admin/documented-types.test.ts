import { resolve } from 'node:path';
import { typeErrors } from '../support/snippets.js';

jest.setTimeout(60_000);

const errorsOf = (code: string): string[] =>
  typeErrors([{ title: 'code', language: 'ts', code }], {}, {}, resolve(__dirname, '../..'));

describe('the types keep the document complete', () => {
  it('a schema says exactly what its record says', () => {
    const code = `
      import { z } from 'zod';
      import { component, schemaOf } from './lib/admin/schemas/component.js';

      interface Inner { name: string }
      interface Row { id: string; word: 'a' | 'b'; maybe?: number; inner: Inner | null }
      const inner = z.object({ name: z.string() }).nullable();
      const word = z.enum(['a', 'b']);
      const maybe = z.number().optional();

      const row = schemaOf<Row>()(z.object({ id: z.string(), word, maybe, inner }));
      schemaOf<Row & { more: string }>()(z.intersection(row, z.object({ more: z.string() })));
      // @ts-expect-error of a field that the record does not have
      schemaOf<Row>()(z.object({ id: z.string(), word, maybe, inner, more: z.string() }));
      // @ts-expect-error of a field that is missing
      schemaOf<Row>()(z.object({ word, maybe, inner }));
      // @ts-expect-error of an optional field that is missing
      schemaOf<Row>()(z.object({ id: z.string(), word, inner }));
      // @ts-expect-error of an optional field that is required
      schemaOf<Row>()(z.object({ id: z.string(), word, maybe: z.number(), inner }));
      // @ts-expect-error of a word that is missing
      schemaOf<Row>()(z.object({ id: z.string(), word: z.enum(['a']), maybe, inner }));
      // @ts-expect-error of another type
      schemaOf<Row>()(z.object({ id: z.number(), word, maybe, inner }));
      // @ts-expect-error of a null that cannot be
      schemaOf<Row>()(z.object({ id: z.string().nullable(), word, maybe, inner }));
      // @ts-expect-error of what is further down
      schemaOf<Row>()(z.object({ id: z.string(), word, maybe, inner: z.object({ name: z.string(), more: z.string() }).nullable() }));

      const fields = { id: '', word: '', maybe: '', inner: '' };
      component(row, { id: 'Row', description: '', fields, examples: [{ id: '1', word: 'a', inner: null }] });
      // @ts-expect-error of a field without a word about it
      component(row, { id: 'Row', description: '', fields: { id: '' } });
      // @ts-expect-error of an example that does not fit
      component(row, { id: 'Row', description: '', examples: [{ id: '1', word: 'c', inner: null }] });
    `;
    expect(errorsOf(code)).toEqual([]);
  });

  it('a route says what the document needs of it', () => {
    const code = `
      import { z } from 'zod';
      import type { Route } from './lib/admin/route.js';

      const row = {
        operation: 'things.list',
        method: 'GET',
        path: '/things',
        summary: 'List things',
        answers: { 200: z.object({}) },
        errors: [],
        run: async () => ({ status: 200, body: {} }),
      } as const;
      const whole: Route = row;
      const { summary, ...noSummary } = row;
      const { answers, ...noAnswers } = row;
      const { errors, ...noErrors } = row;
      // @ts-expect-error of the summary
      const first: Route = noSummary;
      // @ts-expect-error of the answers
      const second: Route = noAnswers;
      // @ts-expect-error of the errors
      const third: Route = noErrors;
      // @ts-expect-error of what the body is read by
      const fourth: Route = { ...row, method: 'POST', body: 'required' };
      // @ts-expect-error of what a query parameter means
      const fifth: Route = { ...row, query: { a: { schema: z.string() } } };
    `;
    expect(errorsOf(code)).toEqual([]);
  });
});
