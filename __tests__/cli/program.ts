import type { CliIo, Output } from '../../lib/cli/io.js';
import { runCli } from '../../lib/cli/run.js';

export interface Ran {
  code: number;
  stdout: string;
  stderr: string;
}

export interface ProgramOptions {
  env?: Record<string, string | undefined>;
  /** Whether a terminal is at the other end. */
  tty?: boolean;
}

export interface Running {
  /** What was written so far. */
  stdout(): string;
  stderr(): string;
  /** What Ctrl-C does. */
  interrupt(): void;
  done: Promise<Ran>;
}

/** Starts the program in this process. */
export function startProgram(
  args: readonly string[],
  { env = {}, tty = false }: ProgramOptions = {},
): Running {
  const texts = { stdout: '', stderr: '' };
  const listeners = new Set<() => void>();
  const outputOf = (name: keyof typeof texts): Output => ({
    async write(text) {
      texts[name] += text;
    },
    isTTY: tty,
    columns: 80,
  });
  const io: CliIo = {
    stdout: outputOf('stdout'),
    stderr: outputOf('stderr'),
    env,
    onInterrupt(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
  return {
    stdout: () => texts.stdout,
    stderr: () => texts.stderr,
    interrupt() {
      for (const listener of [...listeners]) listener();
    },
    done: runCli(args, io).then((code) => ({ code, ...texts })),
  };
}

/** Runs the program in this process, to its end. */
export function run(args: readonly string[], options?: ProgramOptions): Promise<Ran> {
  return startProgram(args, options).done;
}

/** The lines of NDJSON. */
export function jsonLines(text: string): Record<string, unknown>[] {
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Record<string, unknown>);
}
