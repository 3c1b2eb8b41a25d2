// Compiles lib/ into dist/cjs and dist/esm. Does nothing when dist is newer than all that it is made from.
//   --force   build in any case
//   --quiet   print errors only
import { spawn } from 'node:child_process';
import { mkdirSync, readdirSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const dist = join(root, 'dist');
// Written last, so that it stands for a build that went through. It also makes Node read dist/esm as ES modules.
const stamp = join(dist, 'esm', 'package.json');

// With `node16` an `import()` would stay in the CommonJS files, and Jest cannot run one there. As `commonjs` it
// becomes a `require` made at the same late moment.
const formats = {
  cjs: ['--module', 'commonjs', '--moduleResolution', 'bundler'],
  esm: ['--module', 'esnext', '--moduleResolution', 'bundler'],
};

const log = process.argv.includes('--quiet') ? () => {} : console.log;

if (!process.argv.includes('--force') && isFresh()) {
  log('dist is up to date.');
} else {
  process.exitCode = await build();
}

async function build() {
  const started = new Date();
  rmSync(dist, { recursive: true, force: true });
  const results = await Promise.all(Object.entries(formats).map(([name, options]) => compile(name, options)));
  const failed = results.find((result) => result.code !== 0);
  if (failed) {
    // A mistake shows in both passes; one report of it is enough. What was written is of no use, and `npm pack`
    // would take it.
    rmSync(dist, { recursive: true, force: true });
    console.error(`${failed.output}The build failed (dist/${failed.name}).`);
    return 1;
  }
  mkdirSync(join(dist, 'esm'), { recursive: true });
  writeFileSync(stamp, '{ "type": "module" }\n');
  // A source that changed while the compiler ran has to count as newer.
  utimesSync(stamp, started, started);
  log(`Built dist/cjs and dist/esm in ${((Date.now() - started) / 1000).toFixed(1)} s.`);
  return 0;
}

function compile(name, options) {
  const tsc = join(root, 'node_modules', 'typescript', 'bin', 'tsc');
  const args = [tsc, '-p', 'tsconfig.build.json', ...options, '--outDir', join('dist', name)];
  return new Promise((resolve) => {
    const child = spawn(process.execPath, args, { cwd: root });
    let output = '';
    child.stdout.on('data', (chunk) => {
      output += chunk;
    });
    child.stderr.on('data', (chunk) => {
      output += chunk;
    });
    child.on('close', (code) => resolve({ name, code, output }));
  });
}

function isFresh() {
  const built = statSync(stamp, { throwIfNoEntry: false })?.mtimeMs;
  if (built === undefined) return false;
  const sources = ['package.json', 'tsconfig.json', 'tsconfig.build.json', 'scripts/build.mjs'];
  return sources.every((file) => modifiedAt(join(root, file)) < built) && newest(join(root, 'lib')) < built;
}

// Folders count too: a file that was removed or renamed leaves its mark on no other file.
function newest(folder) {
  let latest = modifiedAt(folder);
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name);
    latest = Math.max(latest, entry.isDirectory() ? newest(path) : modifiedAt(path));
  }
  return latest;
}

function modifiedAt(path) {
  return statSync(path).mtimeMs;
}
