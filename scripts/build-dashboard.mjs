// Bundles the page of the dashboard (lib/dashboard/app) and writes it, compressed, as a module: dist/dashboard/page.cjs.
// What serves it imports that, so no path on a disk has to be found, and bundlers take it along. Does nothing when it is
// newer than all that it is made from.
//   --force   build in any case
//   --quiet   print errors only
import { mkdirSync, renameSync, utimesSync, writeFileSync } from 'node:fs';
import { extname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';
import { modifiedAt, newest } from './freshness.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));
const app = join(root, 'lib', 'dashboard', 'app');
const folder = join(root, 'dist', 'dashboard');
const page = join(folder, 'page.cjs');

const TYPES = {
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.svg': 'image/svg+xml',
};

if (fileURLToPath(import.meta.url) === process.argv[1]) {
  await buildDashboard({
    force: process.argv.includes('--force'),
    log: process.argv.includes('--quiet') ? () => {} : console.log,
  });
}

/** Builds the page where that is needed, and says whether it was. Other processes see the old page or the new one. */
export async function buildDashboard({ force = false, log = () => {} } = {}) {
  if (!force && isDashboardFresh()) {
    log('dist/dashboard is up to date.');
    return false;
  }
  const started = new Date();
  const { html, files, licenses } = await bundle();
  const compressed = {};
  for (const [name, bytes] of files) compressed[name] = await compress(name, bytes);
  mkdirSync(folder, { recursive: true });
  replaceFile('third-party.md', licenses);
  replaceFile('page.cjs', `module.exports = ${JSON.stringify({ html, files: compressed })};\n`);
  // A source that changed while the page was built has to count as newer.
  utimesSync(page, started, started);
  const size = Object.values(compressed).reduce((sum, { br }) => sum + Buffer.byteLength(br, 'base64'), 0);
  const seconds = ((Date.now() - started) / 1000).toFixed(1);
  log(`Built dist/dashboard in ${seconds} s: ${(size / 1024).toFixed(1)} KiB by brotli.`);
  return true;
}

export function isDashboardFresh() {
  const built = modifiedAt(page);
  if (built === undefined) return false;
  const files = ['package.json', 'tsconfig.json', 'scripts/build-dashboard.mjs'];
  return (
    files.every((file) => modifiedAt(join(root, file)) < built) &&
    [app, join(root, 'lib', 'client'), join(root, 'lib', 'model')].every((each) => newest(each) < built)
  );
}

async function bundle() {
  // Not before it is needed: it takes a good part of a second to load.
  const { build } = await import('vite');
  const { default: preact } = await import('@preact/preset-vite');
  const { output } = await build({
    configFile: false,
    root: app,
    // The page is served below any prefix, which only its visitors' browsers know.
    base: './',
    logLevel: 'warn',
    plugins: [preact({ devToolsEnabled: false, prefreshEnabled: false })],
    build: {
      write: false,
      target: 'es2022',
      // What has light-dark(), which older targets would have replaced by something that a theme cannot override.
      cssTarget: ['chrome123', 'firefox120', 'safari17.5'],
      // The content security policy allows neither scripts nor fonts from data: URLs.
      assetsInlineLimit: 0,
      modulePreload: false,
      license: { fileName: 'third-party.md' },
    },
  });
  const files = new Map();
  let html;
  let licenses;
  for (const { fileName, type, code, source } of output) {
    if (fileName === 'index.html') html = String(source);
    else if (fileName === 'third-party.md') licenses = String(source);
    else files.set(fileName, Buffer.from(type === 'chunk' ? code : source));
  }
  if (!html || !licenses) throw new Error('The bundle of the dashboard has no index.html or no licenses.');
  // What lib/dashboard/page.ts replaces.
  for (const part of ['<meta name="hookplane"', '<title>', '</head>']) {
    if (html.split(part).length !== 2) throw new Error(`The index.html of the dashboard needs one ${part}.`);
  }
  return { html, files, licenses };
}

async function compress(name, bytes) {
  const type = TYPES[extname(name)];
  if (!type) throw new Error(`${name}: say in scripts/build-dashboard.mjs which media type it has.`);
  const params = { [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length };
  const [br, gz] = await Promise.all([
    promisify(brotliCompress)(bytes, { params }),
    promisify(gzip)(bytes, { level: 9 }),
  ]);
  return { type, br: br.toString('base64'), gzip: gz.toString('base64') };
}

/** At once, as tests that run beside each other may build at the same time. */
function replaceFile(name, text) {
  const written = join(folder, `${name}.${process.pid}`);
  writeFileSync(written, text);
  renameSync(written, join(folder, name));
}
