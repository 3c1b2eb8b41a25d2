import manifest from '../../package.json';
import { readPage } from './page.js';
import { pageContract } from './page-contract.js';

const page = readPage('CHANGELOG.md');

describe('CHANGELOG.md', () => {
  pageContract(page);

  it('names every entry point of the package', () => {
    for (const entry of Object.keys(manifest.exports).filter((name) => /^\.\/\w+$/.test(name)))
      expect(page.text).toContain(`\`hookplane${entry.slice(1)}\``);
  });
});
