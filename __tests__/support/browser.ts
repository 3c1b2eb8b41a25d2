import { execFile } from 'node:child_process';
import { constants } from 'node:fs';
import { access } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';
import { type Browser, chromium } from 'playwright-core';

const NAMES = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable'];
const INSTALL_LIMIT_MS = 600_000;
const INSTALL = 'apt-get update && DEBIAN_FRONTEND=noninteractive apt-get install -y chromium';

export interface BrowserOptions {
  /** Switches of Chromium, beside `--no-sandbox`. */
  args?: string[];
}

/**
 * A Chromium for all tests of the file, which is started before the first of them and closed after the last. The
 * first file that asks for one on a fresh machine may wait for its installation.
 */
export function useBrowser({ args = [] }: BrowserOptions = {}): () => Browser {
  let browser: Browser | undefined;
  beforeAll(async () => {
    // As root Chromium refuses to run in its sandbox, and containers often have none.
    const executablePath = await requireChromium();
    browser = await chromium.launch({ executablePath, args: ['--no-sandbox', ...args] });
  }, INSTALL_LIMIT_MS);
  afterAll(() => browser?.close());
  return () => {
    if (!browser) throw new Error('The browser is started before the first test of the file, not earlier');
    return browser;
  };
}

/** The path of Chromium. It is installed when it is absent, which takes Debian's `apt-get` and root. */
export async function requireChromium(): Promise<string> {
  const found = (await findChromium()) ?? (await installChromium());
  if (found) return found;
  throw new Error(
    `The tests in a browser need Chromium: install it, or name its file in CHROMIUM_PATH (looked for ${NAMES.join(', ')} in PATH)`,
  );
}

async function findChromium(): Promise<string | undefined> {
  const { CHROMIUM_PATH: named, PATH = '' } = process.env;
  const inPath = PATH.split(delimiter).flatMap((folder) => NAMES.map((name) => join(folder, name)));
  for (const file of named ? [named] : inPath) {
    if (await isExecutable(file)) return file;
  }
  if (named) throw new Error(`CHROMIUM_PATH names ${named}, which cannot be run`);
  return undefined;
}

async function isExecutable(file: string): Promise<boolean> {
  return access(file, constants.X_OK).then(
    () => true,
    () => false,
  );
}

/** Undefined where this cannot be done. */
async function installChromium(): Promise<string | undefined> {
  if (process.getuid?.() !== 0 || !(await isExecutable('/usr/bin/apt-get'))) return undefined;
  // Two test files may find it absent at once: the second waits for the first, and then finds it.
  const lock = join(tmpdir(), 'hookplane-chromium.lock');
  const install = `command -v chromium >/dev/null || { ${INSTALL}; }`;
  try {
    await promisify(execFile)('flock', [lock, 'sh', '-c', install], { maxBuffer: 2 ** 26 });
  } catch (cause) {
    const { stderr = '' } = cause as { stderr?: string };
    throw new Error(`Chromium could not be installed: ${stderr.trim().split('\n').slice(-5).join(' ')}`, {
      cause,
    });
  }
  return findChromium();
}
