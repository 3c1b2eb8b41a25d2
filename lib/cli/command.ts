import type { CliIo } from './io.js';
import type { OptionSpec, Values } from './options.js';
import type { StoreChoice } from './stores.js';
import type { Paint } from './text.js';

export interface CommandRun {
  values: Values;
  store: StoreChoice;
  io: CliIo;
  /** Answer for programs. */
  json: boolean;
  /** For what is written to stdout. */
  paint: Paint;
}

export interface Command {
  name: string;
  /** A line for lists of commands. */
  summary: string;
  /** What follows its name. */
  usage: string;
  /** What it does and what its exit code says; lines of at most 78 characters. */
  description: string;
  options: Readonly<Record<string, OptionSpec>>;
  examples: readonly string[];
  /** @returns the exit code: 0 when all is well, 1 when it is not */
  run(given: CommandRun): Promise<number>;
}
