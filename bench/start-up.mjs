// What it costs to have it: the time until a process that loads it can answer, and what an installation brings.
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdir, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { median, say, table, temporaryFolder } from './support.mjs';

const ROUNDS = Number(process.env.BENCH_ROUNDS ?? 5) * 2;
const ROOT = fileURLToPath(new URL('../', import.meta.url));

const FIRST_ANSWER = {
  'hookplane, SQLite': `
    const { createSender, sqliteStore, createAdminHandler } = require('hookplane');
    const sender = createSender({ store: sqliteStore({ file: process.argv[1] }), secretKey: Buffer.alloc(32, 7).toString('base64') });
    const handle = createAdminHandler(sender, { authorize: () => true });
    handle(new Request('http://localhost/endpoints')).then((response) => response.json()).then(done);`,
  express: `
    const express = require('express');
    const app = express();
    app.get('/endpoints', (request, response) => response.json({ endpoints: [] }));
    const server = app.listen(0, '127.0.0.1', () =>
      fetch('http://127.0.0.1:' + server.address().port + '/endpoints').then((response) => response.json()).then(done));`,
};

const INSTALLED = {
  hookplane: null,
  'graphile-worker': 'graphile-worker@0.16.6',
  'pg-boss': 'pg-boss@10.4.2',
  'BullMQ, with ioredis': 'bullmq@6.7.0 ioredis@5.11.1',
};

function millisecondsOf(script, file) {
  const code = `const began = performance.now(); const done = () => { console.log(performance.now() - began); process.exit(); };${script}`;
  const { stdout, stderr } = spawnSync(process.execPath, ['-e', code, file], { cwd: ROOT, encoding: 'utf8' });
  if (!stdout) throw new Error(stderr);
  return Number(stdout);
}

async function install(folder, what) {
  await mkdir(folder);
  await writeFile(join(folder, 'package.json'), '{"private":true}');
  const options = ['install', '--omit=peer', '--no-audit', '--no-fund', '--silent', ...what.split(' ')];
  execFileSync('npm', options, { cwd: folder, stdio: ['ignore', 'ignore', 'inherit'] });
  const lock = JSON.parse(
    execFileSync('npm', ['ls', '--all', '--json', '--package-lock-only'], { cwd: folder }),
  );
  const names = new Set();
  const walk = (dependencies = {}) => {
    for (const [name, { version, dependencies: more }] of Object.entries(dependencies)) {
      names.add(`${name}@${version}`);
      walk(more);
    }
  };
  walk(lock.dependencies);
  const [size] = execFileSync('du', ['-sk', join(folder, 'node_modules')], { encoding: 'utf8' }).split('\t');
  return { packages: names.size, mebibytes: Number(size) / 1024 };
}

export async function run() {
  const { folder, remove } = await temporaryFolder();
  try {
    say('## Start-up and size\n');
    const rows = Object.entries(FIRST_ANSWER).map(([name, script]) => {
      const times = Array.from({ length: ROUNDS }, (_, round) =>
        millisecondsOf(script, join(folder, `${name.length}-${round}.sqlite`)),
      );
      return [name, `${Math.round(median(times))} ms`];
    });
    table(['', `from require to the first answer, median of ${ROUNDS}`], rows);

    execFileSync('npm', ['pack', '--silent', '--ignore-scripts', '--pack-destination', folder], {
      cwd: ROOT,
    });
    const [tarball] = (await readdir(folder)).filter((file) => file.endsWith('.tgz'));
    const sizes = [];
    for (const [index, [name, what]] of Object.entries(INSTALLED).entries()) {
      const { packages, mebibytes } = await install(
        join(folder, `install-${index}`),
        what ?? join(folder, tarball),
      );
      sizes.push([name, String(packages), `${mebibytes.toFixed(1)} MiB`]);
    }
    table(['', 'packages installed', 'on the disk'], sizes);
  } finally {
    await remove();
  }
}

if (process.argv[1] === import.meta.filename) await run();
