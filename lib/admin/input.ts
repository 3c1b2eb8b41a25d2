import { z } from 'zod';
import { HookplaneError } from '../model/errors.js';
import { MAX_LIMIT } from '../model/page.js';
import { tenantId } from '../model/tenant.js';
import type { QueryParameter, Route } from './route.js';

const limit = z
  .string()
  .regex(/^[1-9]\d*$/, 'must be a positive whole number')
  // Above the ceiling it means the ceiling, however many digits it has.
  .transform((digits) => (digits.length > 6 ? MAX_LIMIT : Math.min(Number(digits), MAX_LIMIT)));

/** A database takes a limited number of parameters in one statement. */
const MAX_VALUES = 256;

/** What every list takes. */
export const pageQuery = {
  limit: { schema: limit },
  cursor: { schema: z.string().min(1) },
} satisfies Record<string, QueryParameter>;

export const tenantQuery = { tenantId: { schema: tenantId } } satisfies Record<string, QueryParameter>;

/** One of the given words. */
export function oneOf<const Word extends string>(words: readonly Word[]): z.ZodType<Word, string> {
  return z.string().refine((text): text is Word => (words as readonly string[]).includes(text), {
    message: `must be one of ${words.join(', ')}`,
  }) as unknown as z.ZodType<Word, string>;
}

/**
 * Reads a query by the parameters a route has.
 * @param search from the `?` on, or empty
 * @throws HookplaneError `INVALID_QUERY`
 */
export function readQuery(route: Route, search: string): Record<string, unknown> {
  const query: Record<string, unknown> = {};
  if (search.length < 2) return query;
  const parameters = route.query ?? {};
  const given = new URLSearchParams(search);
  for (const name of new Set(given.keys())) {
    const parameter = Object.hasOwn(parameters, name) ? parameters[name] : undefined;
    if (!parameter) throw invalid(`${JSON.stringify(name)} is not a query parameter of this route`);
    const texts = given.getAll(name);
    if (!parameter.many && texts.length > 1) throw invalid(`${name} is given more than once`);
    const parts = parameter.many ? texts.flatMap((text) => text.split(',')) : texts;
    if (parts.length > MAX_VALUES) throw invalid(`${name} has more than ${MAX_VALUES} values`);
    const values = parts.map((text) => {
      const read = parameter.schema.safeParse(text);
      if (!read.success) throw invalid(`${name} ${read.error.issues[0]!.message}`);
      return read.data;
    });
    query[name] = parameter.many ? values : values[0];
  }
  return query;
}

function invalid(message: string): HookplaneError {
  return new HookplaneError('INVALID_QUERY', message);
}
