import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import ts from 'typescript';
import manifest from '../../package.json';
import { onCleanUp } from '../support/clean-up.js';
import { startSender, temporaryFolder } from '../support/sender.js';
import { eventually } from '../support/wait-for.js';

const root = resolve(__dirname, '../..');

/** What the program may import, as the layers say. */
const PARTS = /^(?:cli|model|store|sender|create-sender)\b/;

let program: string;
beforeAll(async () => {
  const folder = await temporaryFolder('file');
  const lib = join(root, 'lib');
  // As the build does it, and where `bin` says.
  const dist = dirname(dirname(join(folder, manifest.bin.hookplane)));
  for (const file of readdirSync(lib, { recursive: true, encoding: 'utf8' })) {
    if (!file.endsWith('.ts') || !PARTS.test(file)) continue;
    const { outputText } = ts.transpileModule(readFileSync(join(lib, file), 'utf8'), {
      compilerOptions: {
        module: ts.ModuleKind.CommonJS,
        target: ts.ScriptTarget.ES2022,
        esModuleInterop: true,
      },
    });
    const to = join(dist, file.replace(/\.ts$/, '.js'));
    mkdirSync(dirname(to), { recursive: true });
    writeFileSync(to, outputText);
  }
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'), 'junction');
  program = join(folder, manifest.bin.hookplane);
});

interface Started {
  child: ChildProcess;
  stdout(): string;
  stderr(): string;
  /** The exit code, or the signal that ended it. */
  ended: Promise<number | string>;
}

function start(args: string[], env: Record<string, string> = {}): Started {
  const child = spawn(process.execPath, [program, ...args], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { PATH: process.env.PATH, ...env },
  });
  onCleanUp('test', 'sender', async () => void child.kill('SIGKILL'));
  const texts = { stdout: '', stderr: '' };
  for (const name of ['stdout', 'stderr'] as const) {
    child[name]!.on('data', (chunk) => {
      texts[name] += chunk;
    });
  }
  const ended = once(child, 'close').then(([code, signal]) => (code ?? signal) as number | string);
  return { child, stdout: () => texts.stdout, stderr: () => texts.stderr, ended };
}

describe('the file that npm installs as hookplane', () => {
  it('begins with the line by which a shell runs it', () => {
    expect(readFileSync(program, 'utf8')).toMatch(/^#!\/usr\/bin\/env node\n/);
  });

  it('ends by itself, with the exit code, and leaves warnings out', async () => {
    const file = join(await temporaryFolder(), 'store.sqlite');
    const env = { HOOKPLANE_STORE: `sqlite:${file}` };
    for (const [args, code, output] of [
      [['--version'], 0, manifest.version],
      [['migrate', '--check'], 1, 'would be applied'],
      [['migrate'], 0, '1 initial'],
      [['migrate', '--check'], 0, 'up to date'],
      [['health'], 1, 'no worker'],
      [['health', '--nonsense'], 2, ''],
      [['tail', '--once'], 0, ''],
    ] as const) {
      const started = start([...args], env);
      expect([args, await started.ended]).toEqual([args, code]);
      expect(started.stdout()).toContain(output);
      if (code !== 2) expect(started.stderr()).toBe('');
    }
  });

  it.each(['SIGINT', 'SIGTERM'] as const)('lets tail end well at a %s', async (signal) => {
    const sender = await startSender({ started: false });
    await sender.forCaller({}).endpoints.create({ url: 'https://example.com/' });
    const tail = start(['tail', '--audit', '--since', '1h', '--sqlite', sender.file]);
    await eventually(() => expect(tail.stdout()).toContain('endpoints.create'));
    tail.child.kill(signal);
    expect(await tail.ended).toBe(0);
  });

  it('ends without a word when nobody reads on', async () => {
    const sender = await startSender({ started: false });
    const create = () => sender.forCaller({}).endpoints.create({ url: 'https://example.com/' });
    await create();
    const tail = start(['tail', '--audit', '--since', '1h', '--interval', '0.1', '--sqlite', sender.file]);
    await eventually(() => expect(tail.stdout()).toContain('endpoints.create'));
    tail.child.stdout!.destroy();
    await create();
    expect(await tail.ended).toBe(0);
    expect(tail.stderr()).toBe('');
  });
});
