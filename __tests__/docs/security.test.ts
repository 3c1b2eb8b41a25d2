import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { readPage } from './page.js';
import { pageContract } from './page-contract.js';

const page = readPage('SECURITY.md');

describe('SECURITY.md', () => {
  pageContract(page);

  it('names tests that there are', () => {
    const named = [...page.text.matchAll(/`([a-z]+\/[a-z-]+\.test\.ts)`/g)].map(([, file]) => file!);
    expect(named.length).toBeGreaterThan(20);
    expect(named.filter((file) => !existsSync(resolve(__dirname, '..', file)))).toEqual([]);
  });
});
