import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  copyFileSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  realpathSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { Webhook } from 'standardwebhooks';
import ts from 'typescript';
import manifest from '../../package.json';
import { onCleanUp } from '../support/clean-up.js';
import { startReceiver } from '../support/receiver.js';
import { temporaryFolder } from '../support/sender.js';
import { waitFor } from '../support/wait-for.js';

const root = resolve(__dirname, '../..');
const NEST_12 = join(__dirname, 'nest-12/node_modules');

const FORMATS = {
  import: { module: ts.ModuleKind.ESNext, folder: 'esm', type: 'module' },
  require: { module: ts.ModuleKind.CommonJS, folder: 'cjs', type: 'commonjs' },
} as const;
type Format = keyof typeof FORMATS;

const { options: compilerOptions } = ts.getParsedCommandLineOfConfigFile(
  join(root, 'tsconfig.build.json'),
  {},
  { ...ts.sys, onUnRecoverableConfigFileDiagnostic: () => {} },
)!;

/** An application as `nest-12/app.ts` tells of it. */
interface App {
  name: string;
  admin: string;
  orders: string;
}

const headers = { authorization: 'Bearer ada', 'content-type': 'application/json' };

// Nest 12 has ES modules alone, which Node.js can require since 20.19 and 22.12.
const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
const canRequire = major > 22 || (major === 22 && minor >= 12) || (major === 20 && minor >= 19);
const formats: Format[] = canRequire ? ['import', 'require'] : ['import'];

describe.each(formats)('Nest 12 by %s', (format) => {
  let child: ChildProcess;
  let apps: App[];
  let output = '';

  beforeAll(async () => {
    const folder = await temporaryFolder('file');
    install(folder, format);
    child = spawn(process.execPath, [join(folder, 'app.js')], {
      cwd: folder,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    onCleanUp('file', 'sender', async () => void child.kill('SIGKILL'));
    child.stderr!.on('data', (chunk) => {
      output += chunk;
    });
    const lines = createInterface({ input: child.stdout! });
    const started = once(lines, 'line') as Promise<[string]>;
    const ended = once(child, 'exit').then(([code]) => {
      throw new Error(`The application ended with code ${code}: ${output}`);
    });
    const [line] = await Promise.race([started, ended]);
    ended.catch(() => {});
    apps = JSON.parse(line) as App[];
  });

  const everywhere = async (check: (app: App) => Promise<void>): Promise<void> => {
    for (const app of apps) {
      await check(app).catch((cause) => {
        throw new Error(`${app.name}: ${String(cause)}`, { cause });
      });
    }
  };

  it('runs on Express and on Fastify, with and without a global prefix', () => {
    expect(apps.map(({ name }) => name)).toEqual([
      'Express, at /admin',
      'Fastify, at /admin',
      'Express, at /admin with the global prefix api',
      'Fastify, at /admin with the global prefix api',
      'Express, at /api/admin with the global prefix api',
      'Fastify, at /api/admin with the global prefix api',
    ]);
    expect(output).toBe('');
  });

  it('asks authorize behind the middleware of the application', () =>
    everywhere(async ({ admin }) => {
      const statuses = [undefined, 'Bearer eve', 'Bearer ada'].map(
        async (authorization) =>
          (await fetch(`${admin}/endpoints`, { headers: authorization ? { authorization } : {} })).status,
      );
      expect(await Promise.all(statuses)).toEqual([403, 403, 200]);
    }));

  it('answers all that is below its path, and nothing else', () =>
    everywhere(async ({ admin }) => {
      const answers = [admin, `${admin}/nowhere`, `${admin}x/endpoints`].map(async (url) => {
        const response = await fetch(url, { headers });
        return [response.status, (await response.text()).includes('ROUTE_NOT_FOUND')];
      });
      expect(await Promise.all(answers)).toEqual([
        [404, true],
        [404, true],
        [404, false],
      ]);
    }));

  it('delivers what a provider sends to what the control plane was told of', async () => {
    const receiver = await startReceiver();
    await everywhere(async ({ name, admin, orders }) => {
      const path = `/${apps.findIndex((app) => app.name === name)}`;
      const post = (url: string, body: object) =>
        fetch(url, { method: 'POST', headers, body: JSON.stringify(body) });
      const created = await post(`${admin}/endpoints`, { url: receiver.url(path) });
      expect(created.status).toBe(201);
      const { secret } = (await created.json()) as { secret: string };
      const placed = await post(orders, { total: 1 });
      const { messageId } = (await placed.json()) as { messageId: string };
      const [request] = await receiver.waitFor(1, path);
      const event = new Webhook(secret).verify(
        request!.rawBody.toString(),
        request!.headers as Record<string, string>,
      );
      expect([event, request!.headers['webhook-id']]).toMatchObject([{ data: { total: 1 } }, messageId]);
    });
  });

  it('ends at a signal, when what is under way has ended', async () => {
    const receiver = await startReceiver();
    const held = receiver.hold('/held');
    const { admin, orders } = apps[0]!;
    const body = JSON.stringify({ url: receiver.url('/held') });
    await fetch(`${admin}/endpoints`, { method: 'POST', headers, body });
    await fetch(orders, { method: 'POST', headers, body: '{}' });
    await receiver.waitFor(1, '/held');
    const exited = once(child, 'exit');
    child.kill('SIGTERM');
    await waitFor(() =>
      fetch(admin).then(
        () => false,
        () => true,
      ),
    );
    expect(child.exitCode).toBeNull();
    held.release();
    const [code, signal] = await exited;
    // Nest ends the process by the signal itself once its hooks are done.
    expect([code, signal, output]).toEqual([null, 'SIGTERM', '']);
  });
});

it.each([10, 12])('the module fits the types of Nest %d', (version) => {
  const packages = realpathSync(join(__dirname, `nest-${version}/node_modules`));
  const program = ts.createProgram([join(root, 'lib/nest/index.ts')], {
    ...compilerOptions,
    noEmit: true,
    paths: { '@nestjs/*': [join(packages, '@nestjs/*')] },
  });
  const files = (folder: string) =>
    program.getSourceFiles().filter(({ fileName }) => fileName.startsWith(folder));
  expect(files(packages).length).toBeGreaterThan(0);
  const problems = files(join(root, 'lib/nest'))
    .flatMap((file) => program.getSemanticDiagnostics(file))
    .map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, ' '));
  expect(problems).toEqual([]);
});

/** The application, and beside it Nest 12 and hookplane, compiled as the build does. */
function install(folder: string, format: Format): void {
  const modules = join(folder, 'node_modules');
  const hookplane = join(modules, 'hookplane');
  const lib = join(root, 'lib');
  const { type, folder: dist } = FORMATS[format];
  for (const file of readdirSync(lib, { recursive: true, encoding: 'utf8' })) {
    if (!file.endsWith('.ts') || file.endsWith('.d.ts')) continue;
    compile(join(lib, file), join(hookplane, 'dist', dist, file.replace(/\.ts$/, '.js')), format, {});
  }
  copyFileSync(join(root, 'package.json'), join(hookplane, 'package.json'));
  writeFileSync(join(hookplane, 'dist', dist, 'package.json'), JSON.stringify({ type }));
  compile(join(__dirname, 'nest-12/app.ts'), join(folder, 'app.js'), format, { emitDecoratorMetadata: true });
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ type }));

  const link = (name: string, from: string): void => {
    mkdirSync(dirname(join(modules, name)), { recursive: true });
    symlinkSync(join(from, name), join(modules, name), 'junction');
  };
  link('@nestjs', NEST_12);
  for (const name of [...Object.keys(manifest.dependencies), 'better-sqlite3'])
    link(name, join(root, 'node_modules'));
}

function compile(from: string, to: string, format: Format, more: ts.CompilerOptions): void {
  const { outputText } = ts.transpileModule(readFileSync(from, 'utf8'), {
    compilerOptions: { ...compilerOptions, module: FORMATS[format].module, ...more },
    fileName: from,
  });
  mkdirSync(dirname(to), { recursive: true });
  writeFileSync(to, outputText);
}
