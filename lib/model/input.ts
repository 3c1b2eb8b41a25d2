import { z } from 'zod';
import { type ErrorCode, type Issue, validationError } from './errors.js';
import { wording } from './wording.js';

/** Names that reach an object's prototype in careless code; refused as keys wherever a caller's object is kept. */
const FORBIDDEN_KEYS = new Set(['__proto__', 'constructor', 'prototype']);

export function isForbiddenKey(name: string): boolean {
  return FORBIDDEN_KEYS.has(name);
}

/** Any JSON value without keys that reach a prototype. */
export const jsonValue = z.unknown().superRefine((value, context) => {
  if (value === undefined) return;
  for (const issue of jsonProblems(value, [])) context.addIssue({ code: 'custom', ...issue });
});

/** A JSON object without keys that reach a prototype. */
export const jsonObject = z
  .custom<Record<string, unknown>>(isPlainObject, 'must be an object')
  .superRefine((value, context) => {
    for (const issue of jsonProblems(value, [])) context.addIssue({ code: 'custom', ...issue });
  })
  // In JSON Schema, which cannot say what code checks.
  .meta({ type: 'object' });

export function isPlainObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function* jsonProblems(value: unknown, path: string[]): Generator<{ path: string[]; message: string }> {
  if (path.length > 32) {
    yield { path, message: 'is nested too deep (at most 32 levels)' };
  } else if (typeof value === 'object' && value !== null) {
    for (const [key, child] of Object.entries(value)) {
      if (isForbiddenKey(key)) yield { path: [...path, key], message: 'is not allowed as a name' };
      else yield* jsonProblems(child, [...path, key]);
    }
  } else if (
    typeof value === 'number'
      ? !Number.isFinite(value)
      : !['string', 'boolean', 'object'].includes(typeof value)
  ) {
    yield { path, message: 'is not a JSON value' };
  }
}

/**
 * Reads `value` by the schema.
 * @param unknownField what to say of a field that the schema does not have
 * @throws HookplaneError with `code` and one issue for each wrong or unknown field
 */
export function parseInput<S extends z.ZodType>(
  schema: S,
  value: unknown,
  code: ErrorCode,
  what: string,
  unknownField: (name: string) => string = () => `is not a field of ${what.toLowerCase()}`,
): z.output<S> {
  const forbidden = isPlainObject(value) ? Object.keys(value).filter((key) => isForbiddenKey(key)) : [];
  let parsed = schema.safeParse(value);
  if (parsed.success && forbidden.length === 0) return parsed.data;
  // Once more for the words: with them, what is right would take longer too.
  if (!parsed.success) parsed = schema.safeParse(value, { error: wording });
  const issues = (parsed.error?.issues ?? []).flatMap((issue) => toIssues(issue, unknownField));
  const seen = new Set(issues.map((issue) => issue.path));
  for (const key of forbidden)
    if (!seen.has(key)) issues.push({ path: key, message: 'is not allowed as a name' });
  throw validationError(code, what, issues);
}

function toIssues(issue: z.core.$ZodIssue, unknownField: (name: string) => string): Issue[] {
  const path = issue.path.map(String);
  if (issue.code === 'unrecognized_keys') {
    return issue.keys.map((key) => ({
      path: [...path, key].join('.'),
      message: path.length === 0 ? unknownField(key) : 'is not a known field',
    }));
  }
  if (issue.code === 'invalid_union') {
    // The branch that got furthest says the most; one that wants another kind of value says nothing.
    const best = issue.errors
      .filter((branch) => branch.some(({ code, path: at }) => code !== 'invalid_type' || at.length > 0))
      .map((branch) => branch.flatMap((inner) => toIssues(inner, unknownField)))
      .sort((a, b) => a.length - b.length)[0];
    if (best)
      return best.map((inner) => ({ ...inner, path: [...path, inner.path].filter(Boolean).join('.') }));
  }
  return [{ path: path.join('.'), message: issue.message }];
}
