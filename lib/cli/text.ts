import type { CliIo, Output } from './io.js';

/** Colours, or none where they would only be in the way. */
export interface Paint {
  good(text: string): string;
  bad(text: string): string;
  dim(text: string): string;
  bold(text: string): string;
}

/** By https://no-color.org: any value of NO_COLOR that is not empty turns colours off. */
export function paintFor({ isTTY }: Output, env: CliIo['env']): Paint {
  const coloured = isTTY && !env.NO_COLOR && env.TERM !== 'dumb';
  const by = (code: number) => (text: string) => (coloured ? `\u001b[${code}m${text}\u001b[0m` : text);
  return { good: by(32), bad: by(31), dim: by(2), bold: by(1) };
}

/** What a terminal takes for commands, or by which it shows text in another order than it stands. */
const UNPRINTABLE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;

/** Text that others have written, on one line and harmless to a terminal. */
export function printable(text: string): string {
  return text.replace(UNPRINTABLE, (character) => `\\u{${character.codePointAt(0)!.toString(16)}}`);
}

/** One line of JSON, as harmless. */
export function jsonLine(value: unknown): string {
  const escaped = JSON.stringify(value).replace(UNPRINTABLE, (character) =>
    // A character may be two units, each of which JSON escapes.
    character.replace(/[\s\S]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`),
  );
  return `${escaped}\n`;
}

export function grouped(count: number): string {
  return count.toLocaleString('en-US');
}

/** `1 message`, `2 messages`. */
export function counted(count: number, noun: string, plural = `${noun}s`): string {
  return `${grouped(count)} ${count === 1 ? noun : plural}`;
}

const UNITS: readonly [ms: number, unit: string][] = [
  [86_400_000, 'd'],
  [3_600_000, 'h'],
  [60_000, 'min'],
  [1000, 's'],
];

/** `3 h 20 min`: the two largest units of a time in milliseconds. */
export function duration(ms: number): string {
  if (ms < 1000) return `${Math.round(ms)} ms`;
  const parts: string[] = [];
  let rest = Math.round(ms / 1000) * 1000;
  for (const [size, unit] of UNITS) {
    const whole = Math.floor(rest / size);
    if (whole > 0) parts.push(`${whole} ${unit}`);
    rest -= whole * size;
    // What is smaller says nothing beside what is so much larger.
    if (parts.length === 2 || (parts.length === 1 && whole === 0)) break;
  }
  return parts.join(' ');
}
