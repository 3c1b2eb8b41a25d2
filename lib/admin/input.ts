import { z } from 'zod';
import { HookplaneError } from '../model/errors.js';
import type { AttemptStatus } from '../model/message.js';
import { DEFAULT_LIMIT, MAX_LIMIT } from '../model/page.js';
import { STATS_INTERVALS, type StatsInterval } from '../model/stats.js';
import { tenantId } from '../model/tenant.js';
import { wording } from '../model/wording.js';
import type { RequestHead } from './lazy-request.js';
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
  limit: {
    schema: limit,
    shownAs: z.int().min(1).default(DEFAULT_LIMIT),
    description: `How many rows a page has; above ${MAX_LIMIT} it means ${MAX_LIMIT}.`,
  },
  cursor: {
    schema: z.string().min(1),
    description: 'The `nextCursor` of the page before, with the same filters.',
  },
} satisfies Record<string, QueryParameter>;

export const tenantQuery = {
  tenantId: {
    schema: tenantId,
    description: 'Only what is this tenant’s. A caller that is bound to another may not say so.',
  },
} satisfies Record<string, QueryParameter>;

/** A range of time, which the operation reads. */
export const rangeQuery = {
  since: {
    schema: z.string().min(1),
    description:
      'What happened then or later: an RFC 3339 time with an offset, or a date, which means midnight UTC.',
  },
  until: { schema: z.string().min(1), description: 'What happened before then, in the same forms.' },
} satisfies Record<string, QueryParameter>;

export const statsQuery = {
  interval: {
    schema: oneOf(Object.keys(STATS_INTERVALS) as StatsInterval[]),
    description: 'How long each interval is. Default: `hour`.',
  },
} satisfies Record<string, QueryParameter>;

/** One of the given words. */
export function oneOf<const Word extends string>(words: readonly Word[]): z.ZodType<Word, string> {
  return z.enum(words, `must be one of ${words.join(', ')}`) as z.ZodType<Word, string>;
}

/** The spec narrows by delivery status: `delivered` is the word for an attempt that succeeded. */
const ATTEMPT_WORDS: Record<'succeeded' | 'failed' | 'delivered', AttemptStatus> = {
  succeeded: 'succeeded',
  failed: 'failed',
  delivered: 'succeeded',
};

export const attemptQuery = {
  status: {
    schema: oneOf(Object.keys(ATTEMPT_WORDS) as (keyof typeof ATTEMPT_WORDS)[]),
    description: 'Only attempts that ended so; `delivered` is another word for `succeeded`.',
  },
} satisfies Record<string, QueryParameter>;

/** The query of a list of attempts, with their status in place of the word for it. */
export function readAttemptStatus({ status: word, ...query }: Record<string, unknown>) {
  const status = word === undefined ? undefined : ATTEMPT_WORDS[word as keyof typeof ATTEMPT_WORDS];
  return { ...query, status };
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
      const read = parameter.schema.safeParse(text, { error: wording });
      if (!read.success) throw invalid(`${name} ${read.error.issues[0]!.message}`);
      return read.data;
    });
    query[name] = parameter.many ? values : values[0];
  }
  return query;
}

/** The headers that the route looks at. */
export function readHeaders(route: Route, headers: RequestHead['headers']): Record<string, string> {
  const names = Object.keys(route.headers ?? {});
  return Object.fromEntries(
    names.flatMap((name) => {
      const value = headers.get(name);
      return value === null ? [] : [[name, value]];
    }),
  );
}

function invalid(message: string): HookplaneError {
  return new HookplaneError('INVALID_QUERY', message);
}
