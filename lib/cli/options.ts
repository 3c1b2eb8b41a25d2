import { parseArgs } from 'node:util';
import { parseTime } from '../model/time.js';

/** What was asked for cannot be understood: the program ends with 2. */
export class UsageError extends Error {}

export interface OptionSpec {
  /** What its value is called in the help; an option without one is a switch. */
  value?: string;
  short?: string;
  /** It may be given more than once. */
  multiple?: true;
  help: string;
}

/** The options that were given, by name: texts, lists of texts, or true. */
export type Values = Readonly<Record<string, string | boolean | string[] | undefined>>;

/** @throws UsageError */
export function readOptions(args: readonly string[], specs: Readonly<Record<string, OptionSpec>>): Values {
  const options = Object.fromEntries(
    Object.entries(specs).map(([name, { value, short, multiple = false }]) => [
      name,
      {
        type: value === undefined ? ('boolean' as const) : ('string' as const),
        multiple,
        ...(short && { short }),
      },
    ]),
  );
  try {
    const { values, positionals, tokens } = parseArgs({
      args: [...args],
      options,
      allowPositionals: true,
      tokens: true,
    });
    // It is not repeated: it may be a URL with a password, for which an option was forgotten.
    if (positionals.length > 0) throw new UsageError('There is an argument that belongs to no option');
    const names = tokens.flatMap((token) => (token.kind === 'option' ? [token.name] : []));
    const twice = names.find((name, index) => names.indexOf(name) < index && !specs[name]?.multiple);
    if (twice !== undefined) throw new UsageError(`--${twice} is given more than once`);
    return values as Values;
  } catch (error) {
    const { code, message } = error as { code?: unknown; message: string };
    if (typeof code !== 'string' || !code.startsWith('ERR_PARSE_ARGS_')) throw error;
    throw new UsageError(message.split(/\. |\n/)[0]!);
  }
}

export function textOf(values: Values, name: string): string | undefined {
  const value = values[name];
  if (value === '') throw new UsageError(`--${name} is empty`);
  return value as string | undefined;
}

/** @throws UsageError */
export function oneOf<const Word extends string>(
  values: Values,
  name: string,
  words: readonly Word[],
): Word | undefined {
  const text = textOf(values, name);
  if (text === undefined || (words as readonly string[]).includes(text)) return text as Word | undefined;
  throw new UsageError(`--${name} must be one of ${words.join(', ')}`);
}

/** @throws UsageError */
export function numberOf(
  values: Values,
  name: string,
  { min, max }: { min: number; max: number },
): number | undefined {
  const text = textOf(values, name);
  if (text === undefined) return undefined;
  const number = Number(text);
  if (/^\d+(\.\d+)?$/.test(text) && number >= min && number <= max) return number;
  throw new UsageError(`--${name} must be a number from ${min} to ${max}`);
}

const AGO: Readonly<Record<string, number>> = { s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/**
 * A time as RFC 3339, or as how long ago it was: `90s`, `15m`, `2h`, `7d`.
 * @returns the time in milliseconds
 * @throws UsageError
 */
export function timeOf(values: Values, name: string, now: number): number | undefined {
  const text = textOf(values, name);
  if (text === undefined) return undefined;
  const [, count, unit] = /^(\d{1,6})([smhd])$/.exec(text) ?? [];
  if (count !== undefined && unit !== undefined) return now - Number(count) * AGO[unit]!;
  const time = parseTime(text);
  if ('ms' in time) return time.ms;
  throw new UsageError(`--${name} ${time.problem}; or how long ago it was, such as 15m, 2h or 7d`);
}
