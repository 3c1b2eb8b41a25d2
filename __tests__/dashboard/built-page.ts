import { execFile } from 'node:child_process';
import { resolve } from 'node:path';
import { promisify } from 'node:util';

const LIMIT_MS = 120_000;

/** Has the page built from its present source before the first test of the file, where it is not. */
export function useBuiltPage(): void {
  beforeAll(
    () => promisify(execFile)(process.execPath, [resolve('scripts/build-dashboard.mjs'), '--quiet']),
    LIMIT_MS,
  );
}
