// Compiles lib/ into dist/cjs and dist/esm, and bundles the page of the dashboard into dist/dashboard. Does nothing
// where dist is newer than all that it is made from.
//   --force   build in any case
//   --quiet   print errors only
import { spawn } from 'node:child_process';
import { mkdirSync, readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { buildDashboard } from './build-dashboard.mjs';
import { modifiedAt, newest } from './freshness.mjs';

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
const force = process.argv.includes('--force');

if (!force && isFresh()) {
  log('dist/cjs and dist/esm are up to date.');
} else {
  process.exitCode = await build();
}
if (!process.exitCode) process.exitCode = await bundle();

async function build() {
  const started = new Date();
  // Not the page: tests that run meanwhile serve it.
  for (const name of Object.keys(formats)) rmSync(join(dist, name), { recursive: true, force: true });
  const results = await Promise.all(Object.entries(formats).map(([name, options]) => compile(name, options)));
  const failed = results.find((result) => result.code !== 0);
  if (failed) {
    // A mistake shows in both passes; one report of it is enough. What was written is of no use, and `npm pack`
    // would take it.
    rmSync(dist, { recursive: true, force: true });
    console.error(`${failed.output}The build failed (dist/${failed.name}).`);
    return 1;
  }
  for (const name of Object.keys(formats)) nameBuiltPage(name);
  mkdirSync(join(dist, 'esm'), { recursive: true });
  writeFileSync(stamp, '{ "type": "module" }\n');
  // A source that changed while the compiler ran has to count as newer.
  utimesSync(stamp, started, started);
  log(`Built dist/cjs and dist/esm in ${((Date.now() - started) / 1000).toFixed(1)} s.`);
  return 0;
}

async function bundle() {
  try {
    await buildDashboard({ force, log });
    return 0;
  } catch (error) {
    rmSync(dist, { recursive: true, force: true });
    console.error(`${error.message}\nThe build failed (dist/dashboard).`);
    return 1;
  }
}

// The sources say #dashboard-page. Such a name is looked up in the nearest package.json, which for dist/esm is not the
// package's own; and it leads tests, which run the sources, to the same file.
function nameBuiltPage(name) {
  const file = join(dist, name, 'dashboard', 'page.js');
  const code = readFileSync(file, 'utf8');
  const parts = code.split('#dashboard-page');
  if (parts.length !== 2) throw new Error(`${file} was to import #dashboard-page, once.`);
  writeFileSync(file, parts.join('../../dashboard/page.cjs'));
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
  const built = modifiedAt(stamp);
  if (built === undefined) return false;
  const sources = [
    'package.json',
    'tsconfig.json',
    'tsconfig.build.json',
    'scripts/build.mjs',
    'scripts/freshness.mjs',
  ];
  // The page is bundled, not compiled.
  const lib = newest(join(root, 'lib'), [join(root, 'lib', 'dashboard', 'app')]);
  return sources.every((file) => modifiedAt(join(root, file)) < built) && lib < built;
}
