import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { brokenLinks, readPage, root } from './page.js';

const page = readPage('ARCHITECTURE.md');

describe('ARCHITECTURE.md', () => {
  it('names the files of lib, and no others; those of folders that are named as a whole aside', () => {
    const named = new Set(page.snippets[0]!.code.match(/[\w.-]+\.ts\b/g));
    const files = readdirSync(join(root, 'lib'), { recursive: true, withFileTypes: true })
      .filter(
        (entry) => entry.isFile() && !/(?:routes|migrations|dashboard\/app(?:\/.*)?)$/.test(entry.parentPath),
      )
      .map(({ name }) => name);
    expect([...named].sort()).toEqual([...new Set(files)].sort());
  });

  it('links to files and headings that there are', () => {
    expect(brokenLinks(page)).toEqual([]);
  });
});
