import type { Command } from './command.js';
import type { SchemaState } from '../store/store.js';
import { counted, jsonLine } from './text.js';

export const migrateCommand: Command = {
  name: 'migrate',
  summary: 'Bring the schema of the store up to date',
  usage: '[--check]',
  description: `Applies what is missing, in one transaction, and says what that was. Several may
run at once; where there is nothing to do, it does nothing. There is no way back
but a backup: take one before.

Exit code: 0 when the schema is up to date; with --check, 1 when it is not.`,
  options: {
    check: { help: 'Say what would be done, and do nothing' },
  },
  examples: [
    'hookplane migrate --sqlite hookplane.sqlite --check',
    'hookplane migrate --sqlite hookplane.sqlite',
  ],

  async run({ values, store: choice, io, json, paint }) {
    if (values.check) {
      const state = await (await choice.look()).schema();
      const upToDate = state.version === state.wanted;
      await io.stdout.write(json ? jsonLine({ ...state, upToDate }) : told(state, 'would be applied'));
      return upToDate ? 0 : 1;
    }
    const store = await choice.make({ migrate: true });
    const before = await store.schema();
    try {
      await store.open();
    } finally {
      await store.close();
    }
    const done = { ...before, version: before.wanted };
    await io.stdout.write(
      json
        ? jsonLine({ version: done.version, applied: before.pending })
        : before.pending.length === 0
          ? told(done, '')
          : paint.good(told(before, 'applied')),
    );
    return 0;
  },
};

function told({ version, wanted, pending }: SchemaState, what: string): string {
  if (version > wanted) {
    return `The schema has version ${version}, newer than the ${wanted} of this hookplane: upgrade hookplane.\n`;
  }
  if (pending.length === 0) return `The schema is up to date: version ${version}.\n`;
  const names = pending.map(({ version, name }) => `  ${version} ${name}\n`).join('');
  return `Version ${version} to ${wanted}: ${counted(pending.length, 'migration')} ${what}:\n${names}`;
}
