import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Lifetime, onCleanUp } from './clean-up.js';

/** A folder that is removed when its lifetime ends. */
export async function temporaryFolder(lifetime: Lifetime = 'test'): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'hookplane-'));
  onCleanUp(lifetime, 'folder', () => rm(folder, { recursive: true, force: true }));
  return folder;
}
