import type { z } from 'zod';

const KINDS: Record<string, string> = {
  int: 'a whole number',
  number: 'a finite number',
  string: 'a string',
  boolean: 'true or false',
  array: 'a list',
  object: 'an object',
};

/**
 * Says what is wrong as the other half of a sentence that begins with the name of the field, where a schema has no words
 * of its own. To be given to each parse, since zod's configuration belongs to the application as well.
 */
export function wording(issue: z.core.$ZodRawIssue): string | undefined {
  switch (issue.code) {
    case 'invalid_type':
      if (issue.input === undefined) return 'is required';
      return `must be ${KINDS[issue.expected] ?? issue.expected}`;
    case 'too_small':
      if (isLength(issue)) return issue.minimum === 1 ? 'must not be empty' : undefined;
      return `must be ${issue.inclusive ? 'at least' : 'more than'} ${issue.minimum}`;
    case 'too_big':
      if (!isLength(issue)) return `must be at most ${issue.maximum}`;
      return `must have at most ${issue.maximum} ${issue.origin === 'string' ? 'characters' : 'entries'}`;
    case 'invalid_value':
      return `must be one of ${issue.values.join(', ')}`;
    default:
      return undefined;
  }
}

function isLength({ origin }: { origin: string }): boolean {
  return origin === 'string' || origin === 'array';
}
