import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { readCommands } from '../support/snippets.js';
import { brokenLinks, readPage, root, tableRows, unknownCommands } from './page.js';

const page = readPage('examples/README.md');
const folder = join(root, 'examples');

/** The name of each example and how it is run. */
const listed = tableRows(page, 'example').map(([link, command]) => ({
  name: /^\[(.+?)\]/.exec(link!)![1]!,
  command: command!,
}));

describe('examples/README.md', () => {
  it('lists every example', () => {
    const folders = readdirSync(folder, { withFileTypes: true }).filter((entry) => entry.isDirectory());
    expect(listed.map(({ name }) => name).sort()).toEqual(folders.map(({ name }) => name).sort());
  });

  it('runs examples by files that are in them', () => {
    const byFile = listed.filter(({ command }) => command.startsWith('node '));
    for (const { name, command } of byFile)
      expect(existsSync(join(folder, name, command.slice(5)))).toBe(true);
    const commands = page.snippets.flatMap(({ code }) => readCommands(code, {}));
    expect(commands.map(({ words }) => words.join(' '))).toEqual([byFile[0]!.command]);
  });

  it('gives a token that is long enough', () => {
    const [{ assignments }] = readCommands(page.snippets[0]!.code, {}) as [
      ReturnType<typeof readCommands>[0],
    ];
    expect(assignments.ADMIN_TOKEN!.length).toBeGreaterThanOrEqual(16);
  });

  it('names commands that there are', () => {
    expect(unknownCommands(page)).toEqual([]);
  });

  it('links to files and headings that there are', () => {
    expect(brokenLinks(page)).toEqual([]);
  });
});
