import type { Command } from './command.js';
import type { OptionSpec } from './options.js';
import { STORE_HELP, STORE_OPTIONS } from './stores.js';

/** What every command takes. */
export const COMMON_OPTIONS: Readonly<Record<string, OptionSpec>> = {
  ...STORE_OPTIONS,
  json: { help: 'Answer in JSON, for programs' },
  help: { short: 'h', help: 'Show this help' },
};

export function helpOf({ name, usage, summary, description, options, examples }: Command): string {
  return `${summary}.

Usage: hookplane ${name} ${usage}

${description}

Options:
${optionLines(options)}${optionLines(COMMON_OPTIONS)}
${STORE_HELP}

Examples:
${examples.map((example) => `  ${example}\n`).join('')}`;
}

export function overview(commands: readonly Command[]): string {
  const width = Math.max(...commands.map(({ name }) => name.length)) + 3;
  return `Looks after the store of a hookplane sender. It never delivers anything itself.

Usage: hookplane COMMAND [options]

Commands:
${commands.map(({ name, summary }) => `  ${name.padEnd(width)}${summary}\n`).join('')}
hookplane COMMAND --help tells what a command takes, hookplane --version the version.
${STORE_HELP}

Exit codes: 0 when all is well, 1 when it failed or is not well, 2 when the
command was not understood. Colours are left out with NO_COLOR, and where nobody
looks.
`;
}

const COLUMN = 22;

function optionLines(options: Readonly<Record<string, OptionSpec>>): string {
  return Object.entries(options)
    .map(([name, { value, short, help }]) => {
      const flag = `  ${short ? `-${short}, ` : ''}--${name}${value ? ` ${value}` : ''}`;
      return `${flag.length < COLUMN ? flag.padEnd(COLUMN) : `${flag}\n${' '.repeat(COLUMN)}`}${help}\n`;
    })
    .join('');
}
