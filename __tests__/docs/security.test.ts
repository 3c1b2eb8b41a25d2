import { readPage } from './page.js';
import { pageContract } from './page-contract.js';

describe('SECURITY.md', () => {
  pageContract(readPage('SECURITY.md'));
});
