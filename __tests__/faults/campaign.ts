import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join, resolve } from 'node:path';
import { text } from 'node:stream/consumers';
import { promisify } from 'node:util';
import { onCleanUp } from '../support/clean-up.js';
import { temporaryFolder } from '../support/sender.js';

const root = resolve(__dirname, '../..');

/** What a campaign of `bench/faults` tells of itself. */
export interface Campaign {
  name: string;
  figures: Record<string, number>;
  /** How many processes were killed, by role and place. */
  kills: Record<string, number>;
  /** By check; a check that found nothing has 0. */
  findings: Record<string, { count: number; examples: string[] }>;
  /** The checks that found something. */
  found: string[];
  /** What refused sends and failed turns said, each once. */
  refused: string[];
  troubles: string[];
}

/**
 * Runs campaigns in their short form, at the same time, on the sources as they are: bundled once into a folder that is
 * removed at the end of the test file.
 */
export async function runCampaigns(seed: string, ...names: string[]): Promise<Map<string, Campaign>> {
  const folder = await temporaryFolder('file');
  await bundle(folder);
  const file = join(root, 'bench/faults/run.mjs');
  const child = spawn(process.execPath, [file, ...names, '--seed', seed, '--short', '--json'], {
    env: { ...process.env, HOOKPLANE_PACKAGE: folder },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  onCleanUp('file', 'sender', async () => void child.kill('SIGKILL'));
  const [output, errors, [code, signal]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, 'exit'),
  ]);
  if (output === '') throw new Error(`The campaigns ended with ${signal ?? `code ${code}`}: ${errors}`);
  return new Map((JSON.parse(output) as Campaign[]).map((campaign) => [campaign.name, campaign]));
}

/** The package as it is in a folder, bundled in a process of its own: the bundler is an ES module. */
export async function bundle(folder: string): Promise<void> {
  await promisify(execFile)(process.execPath, [join(__dirname, 'bundle.mjs'), folder]);
}
