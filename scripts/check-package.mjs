// Checks the package as users get it: packs it, has the tarball judged by publint and attw, and then uses it from a
// folder of its own, by import and by require, with and without the optional packages, and from TypeScript.
import { spawnSync } from 'node:child_process';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';

const root = fileURLToPath(new URL('..', import.meta.url));
const manifest = readManifest(root);
const required = Object.keys(manifest.dependencies ?? {});
const optional = [
  ...Object.keys(manifest.optionalDependencies ?? {}),
  ...Object.keys(manifest.peerDependencies ?? {}),
];
/** What an entry point is there for, and may therefore load at once. Everything else optional waits for its use. */
const entryPoints = {
  '.': [],
  './postgres': [],
  './express': ['express'],
  './nest': ['@nestjs/common', '@nestjs/core'],
  './client': [],
  './dashboard': [],
  './testing': [],
};

class Failure extends Error {}

const work = realpathSync(mkdtempSync(join(tmpdir(), 'hookplane-package-')));
try {
  run('the build', process.execPath, [join(root, 'scripts/build.mjs'), '--quiet']);
  checkEntryPoints();
  const tarball = pack();
  step('publint', () => run('publint', process.execPath, [tool('publint'), 'run', tarball, '--strict']));
  step('attw', () =>
    run('attw', process.execPath, [
      tool('@arethetypeswrong/cli'),
      tarball,
      '--profile',
      'node16',
      '--no-emoji',
    ]),
  );
  const unpacked = unpack(tarball);
  const bare = install('bare', unpacked, required);
  const full = install('full', unpacked, [...required, ...optional]);
  step('loads without the optional packages', () =>
    checkLoading(bare, ['.', './postgres', './client', './dashboard', './testing']),
  );
  step('serves the dashboard by import and by require', () => checkDashboard(bare));
  step('loads by import and by require, and no optional package with it', () =>
    checkLoading(full, Object.keys(entryPoints)),
  );
  step('has a program that runs', () => checkProgram(full));
  step('typechecks without the optional packages', () => checkTypes(bare, bareProgram()));
  step('typechecks in an Express application', () => checkTypes(full, expressProgram()));
  step('typechecks in a NestJS application', () => checkTypes(full, nestProgram()));
} catch (error) {
  if (!(error instanceof Failure)) throw error;
  console.error(`The package check failed: ${error.message}`);
  process.exitCode = 1;
} finally {
  rmSync(work, { recursive: true, force: true });
}

function checkEntryPoints() {
  const exported = Object.keys(manifest.exports).filter((name) => name !== './package.json');
  const known = Object.keys(entryPoints);
  if (exported.sort().join() !== known.sort().join()) {
    throw new Failure(
      `package.json exports ${exported.join(', ')}, but scripts/check-package.mjs knows ${known.join(', ')}.`,
    );
  }
}

function pack() {
  const args = ['pack', '--ignore-scripts', '--silent', '--pack-destination', work];
  run('npm pack', 'npm', args);
  const name = readdirSync(work).find((file) => file.endsWith('.tgz'));
  if (!name) throw new Failure('npm pack made no tarball.');
  return join(work, name);
}

function unpack(tarball) {
  run('tar', 'tar', ['-xzf', tarball, '-C', work]);
  return join(work, 'package');
}

/**
 * Installs the package beside the named ones. A copy cannot see the repository's node_modules, so a package that is
 * not declared is missing here as it is for users; links save the download.
 */
function install(name, unpacked, packages) {
  const folder = join(work, name);
  const modules = join(folder, 'node_modules');
  cpSync(unpacked, join(modules, manifest.name), { recursive: true });
  const types = packages.map((dependency) => `@types/${dependency.replace(/^@/, '').replace('/', '__')}`);
  for (const dependency of ['@types/node', ...packages, ...types]) {
    const source = join(root, 'node_modules', dependency);
    if (!existsSync(source)) continue;
    mkdirSync(dirname(join(modules, dependency)), { recursive: true });
    symlinkSync(source, join(modules, dependency), 'junction');
  }
  const probe =
    'console.log(JSON.stringify({ names: Object.keys(entry).sort(), files: Object.keys(require.cache) }));';
  writeFileSync(join(folder, 'probe.cjs'), `const entry = require(process.argv[2]);\n${probe}\n`);
  writeFileSync(
    join(folder, 'probe.mjs'),
    `import { createRequire } from 'node:module';
const require = createRequire(import.meta.url);
const entry = await import(process.argv[2]);
${probe}
`,
  );
  return folder;
}

function checkLoading(folder, entries) {
  for (const entry of entries) {
    const name = join(manifest.name, entry).split(sep).join('/');
    const required = load(folder, 'probe.cjs', name, `require('${name}')`, entryPoints[entry]);
    const imported = load(folder, 'probe.mjs', name, `import '${name}'`, entryPoints[entry]);
    if (required.length === 0) throw new Failure(`'${name}' exports nothing.`);
    if (required.join() !== imported.join()) {
      throw new Failure(
        `'${name}' exports ${required.join(', ')} by require, but ${imported.join(', ')} by import.`,
      );
    }
  }
}

/** The page is no code of the package's own: it has to be found from either format. */
function checkDashboard(folder) {
  const program = `
const handler = createDashboardHandler({ adminUrl: '/admin' });
const ask = (path) => handler(new Request('http://localhost' + path));
const html = await (await ask('/')).text();
for (const [, path] of html.matchAll(/(?:src|href)="\\.([^"]*)"/g)) {
  const { status, headers } = await ask(path);
  console.log(status, headers.get('content-length'), path);
}`;
  writeFileSync(
    join(folder, 'dashboard.mjs'),
    `import { createDashboardHandler } from '${manifest.name}/dashboard';\n${program}\n`,
  );
  writeFileSync(
    join(folder, 'dashboard.cjs'),
    `const { createDashboardHandler } = require('${manifest.name}/dashboard');\n(async () => {${program}\n})();\n`,
  );
  for (const file of ['dashboard.mjs', 'dashboard.cjs']) {
    const output = run(file, process.execPath, [file], { cwd: folder, timeout: 30_000 });
    const files = output.trim().split('\n');
    if (files.length < 3 || !files.every((line) => /^200 [1-9]\d* \/assets\//.test(line))) {
      throw new Failure(`the dashboard lacks files (${file}):\n${output}`);
    }
  }
}

function load(folder, probe, name, what, allowed) {
  const output = run(what, process.execPath, [probe, name], { cwd: folder, timeout: 30_000 });
  const { names, files } = JSON.parse(output);
  for (const dependency of optional.filter((candidate) => !allowed.includes(candidate))) {
    const part = `${sep}node_modules${sep}${dependency.replace('/', sep)}${sep}`;
    const file = files.find((candidate) => candidate.includes(part));
    if (file) throw new Failure(`${what} loads ${dependency}, which is optional (${file}).`);
  }
  return names;
}

function checkProgram(folder) {
  for (const [name, file] of Object.entries(manifest.bin)) {
    const program = join(folder, 'node_modules', manifest.name, file);
    const options = { cwd: folder, timeout: 30_000 };
    const version = run(`${name} --version`, process.execPath, [program, '--version'], options).trim();
    if (version !== manifest.version) throw new Failure(`${name} --version says ${version}.`);
    run(`${name} migrate`, process.execPath, [program, 'migrate', '--sqlite', 'store.sqlite'], options);
  }
}

/** Only the program and this package's declarations are judged: the others' are theirs. */
function checkTypes(folder, program) {
  const files = ['program.mts', 'program.cts'].map((file) => join(folder, file));
  for (const file of files) writeFileSync(file, program);
  const compiled = ts.createProgram(files, {
    module: ts.ModuleKind.Node16,
    target: ts.ScriptTarget.ES2022,
    types: ['node'],
    typeRoots: [join(folder, 'node_modules/@types')],
    strict: true,
    exactOptionalPropertyTypes: true,
    esModuleInterop: true,
    experimentalDecorators: true,
    noEmit: true,
  });
  const ours = compiled
    .getSourceFiles()
    .filter((file) => file.fileName.startsWith(folder.split(sep).join('/')));
  const problems = [
    ...compiled.getOptionsDiagnostics(),
    ...compiled.getGlobalDiagnostics(),
    ...ours.flatMap((file) => [
      ...compiled.getSyntacticDiagnostics(file),
      ...compiled.getSemanticDiagnostics(file),
    ]),
  ];
  if (problems.length > 0) {
    const host = {
      getCanonicalFileName: (name) => name,
      getCurrentDirectory: () => folder,
      getNewLine: () => '\n',
    };
    throw new Failure(
      `the declarations are wrong for users of TypeScript.\n${ts.formatDiagnostics(problems, host)}`,
    );
  }
}

function bareProgram() {
  return `import { createSender, HookplaneError, sqliteStore } from 'hookplane';

export const sender = createSender({ store: sqliteStore({ file: ':memory:' }) });

export async function main(): Promise<string> {
  try {
    await sender.start();
    const sent = await sender.send({ type: 'order.created', data: { id: 1 } });
    return sent.id;
  } catch (error) {
    if (error instanceof HookplaneError) return error.code;
    throw error;
  } finally {
    await sender.stop();
  }
}
`;
}

function expressProgram() {
  return `import express from 'express';
import { createSender, sqliteStore } from 'hookplane';
import { createAdminClient, type Endpoint } from 'hookplane/client';
import { createDashboardHandler } from 'hookplane/dashboard';
import { adminMiddleware, dashboardMiddleware } from 'hookplane/express';
import { createTestSender } from 'hookplane/testing';

const sender = createSender({ store: sqliteStore({ file: ':memory:' }) });
export const app = express();
app.use('/admin', adminMiddleware(sender, { authorize: () => true }));
app.use('/webhooks', dashboardMiddleware({ adminUrl: '/admin', theme: { '--hp-accent': 'red' } }));
export const shell: Promise<Response> = createDashboardHandler({ adminUrl: '/admin' })(new Request('http://a.test/'));

export async function check(): Promise<Endpoint[]> {
  const testSender = await createTestSender({ startAt: '2026-01-01T00:00:00Z' });
  app.use('/test', adminMiddleware(testSender, { authorize: () => true }));
  const client = createAdminClient({ baseUrl: 'http://127.0.0.1:3000/test', fetch, headers: { a: 'b' } });
  return (await client.endpoints.list({ limit: 1 })).endpoints;
}
`;
}

function nestProgram() {
  return `import { type DynamicModule, Injectable, Module } from '@nestjs/common';
import { type Sender, sqliteStore } from 'hookplane';
import { HOOKPLANE_SENDER, HookplaneModule, InjectSender } from 'hookplane/nest';

@Injectable()
export class Config {
  constructor(@InjectSender() readonly sender: Sender) {}
  token = 'Bearer change-me';
}

export const given: DynamicModule = HookplaneModule.forRoot({
  store: sqliteStore({ file: ':memory:' }),
  authorize: () => true,
  isGlobal: false,
});

@Module({
  imports: [
    HookplaneModule.forRootAsync({
      inject: [Config],
      useFactory: async ({ token }: Config) => ({
        path: '/hooks',
        dashboardPath: '/webhooks',
        dashboard: { title: 'Acme' },
        concurrency: 10,
        authorize: (request) => request.headers.get('authorization') === token,
      }),
    }),
  ],
  providers: [{ provide: 'sender', useExisting: HOOKPLANE_SENDER }],
})
export class AppModule {}
`;
}

function step(name, action) {
  action();
  console.log(`ok: ${name}`);
}

function run(what, command, args, options = {}) {
  const result = spawnSync(command, args, { cwd: root, encoding: 'utf8', timeout: 120_000, ...options });
  if (result.error?.code === 'ENOENT')
    throw new Failure(`it needs the command ${command}, which is not there.`);
  if (result.error?.code === 'ETIMEDOUT') throw new Failure(`${what} does not come to an end.`);
  if (result.error) throw result.error;
  if (result.status !== 0) throw new Failure(`${what} failed.\n${result.stdout}${result.stderr}`);
  return result.stdout;
}

function tool(name) {
  const folder = join(root, 'node_modules', name);
  const { bin } = readManifest(folder);
  return join(folder, typeof bin === 'string' ? bin : Object.values(bin)[0]);
}

function readManifest(folder) {
  return JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
}
