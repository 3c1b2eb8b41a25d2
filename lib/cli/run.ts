import { isHookplaneError } from '../model/errors.js';
import { PACKAGE_VERSION } from '../model/version.js';
import type { Command } from './command.js';
import { healthCommand } from './health.js';
import { COMMON_OPTIONS, helpOf, overview } from './help.js';
import type { CliIo } from './io.js';
import { migrateCommand } from './migrate.js';
import { readOptions, UsageError } from './options.js';
import { replayCommand } from './replay.js';
import { chooseStore } from './stores.js';
import { tailCommand } from './tail.js';
import { jsonLine, paintFor, printable } from './text.js';

export const COMMANDS: readonly Command[] = [migrateCommand, healthCommand, tailCommand, replayCommand];

/**
 * Runs the program.
 * @param args without the names of the interpreter and of the program
 * @returns the exit code: 0 when all is well, 1 when it failed or is not well, 2 when it was not understood
 */
export async function runCli(args: readonly string[], io: CliIo): Promise<number> {
  const json = args.includes('--json');
  try {
    return await dispatch(args, io);
  } catch (error) {
    if (error instanceof UsageError) {
      await io.stderr.write(`hookplane: ${printable(error.message)}. See hookplane --help\n`);
      return 2;
    }
    const { code, message, issues } = told(error);
    await io.stderr.write(
      json
        ? jsonLine({ errorCode: code, error: message, ...(issues && { issues }) })
        : `${paintFor(io.stderr, io.env).bad('hookplane:')} ${printable(message)}\n`,
    );
    return issues ? 2 : 1;
  }
}

async function dispatch(args: readonly string[], io: CliIo): Promise<number> {
  const [first, ...rest] = args;
  if (first === undefined) {
    await io.stderr.write(overview(COMMANDS));
    return 2;
  }
  if (first === '--version' || first === '-v') {
    await io.stdout.write(`${PACKAGE_VERSION}\n`);
    return 0;
  }
  const asksHelp = ['help', '--help', '-h'].includes(first);
  if (asksHelp && rest.length === 0) {
    await io.stdout.write(overview(COMMANDS));
    return 0;
  }
  const name = asksHelp ? rest[0]! : first;
  const command = COMMANDS.find((each) => each.name === name);
  if (!command) {
    const names = COMMANDS.map((each) => each.name).join(', ');
    throw new UsageError(`There is no such command; there are ${names}`);
  }
  // Also beside options that are wrong.
  if (asksHelp || rest.includes('--help') || rest.includes('-h')) {
    await io.stdout.write(helpOf(command));
    return 0;
  }
  const values = readOptions(rest, { ...command.options, ...COMMON_OPTIONS });
  const store = chooseStore(values, io.env);
  return command.run({ values, store, io, json: values.json === true, paint: paintFor(io.stdout, io.env) });
}

function told(error: unknown): { code: string; message: string; issues?: readonly unknown[] } {
  if (!isHookplaneError(error)) {
    return { code: 'INTERNAL', message: error instanceof Error ? error.message : String(error) };
  }
  const { code, message, cause } = error;
  // By its field: an error of a native module is not of this realm's classes under every test runner.
  const reason = (cause as { message?: unknown } | undefined)?.message;
  const because = typeof reason === 'string' ? `: ${reason}` : '';
  // A cursor of another replay has no issues, and is the caller's mistake all the same.
  const issues = error.issues ?? (code === 'INVALID_QUERY' ? [] : undefined);
  return { code, message: `${message}${because}`, ...(issues && { issues }) };
}
