// When files were changed last, to tell whether what was made from them is still good.
import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';

/**
 * The time of the newest file in a folder, and of the folders: a file that was removed or renamed leaves its mark on no
 * other file.
 * @param without folders and files, by their path, that do not count
 */
export function newest(folder, without = []) {
  let latest = modifiedAt(folder);
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name);
    if (without.includes(path)) continue;
    latest = Math.max(latest, entry.isDirectory() ? newest(path, without) : modifiedAt(path));
  }
  return latest;
}

/** In milliseconds; undefined for what is not there. */
export function modifiedAt(path) {
  return statSync(path, { throwIfNoEntry: false })?.mtimeMs;
}
