// Runs the demo as a newcomer would: starts it, waits until it has delivered something, asks its control plane for an
// answer, and stops it with what Ctrl-C sends. It has to end by itself and with code 0.
import { execFileSync, spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

const START_LIMIT_MS = 30_000;
const STOP_LIMIT_MS = 15_000;

const root = fileURLToPath(new URL('..', import.meta.url));
const server = prepare();
const data = mkdtempSync(join(tmpdir(), 'hookplane-demo-'));
const demo = start(server);
try {
  const { url } = await within(
    START_LIMIT_MS,
    'It did not deliver anything, or did not name its control plane,',
    demo.delivering,
  );
  console.log(`ok: the demo delivers; its control plane is at ${url}`);
  const response = await fetch(url, { signal: AbortSignal.timeout(10_000) });
  if (response.status >= 500) throw new Error(`Its control plane answered ${response.status}.`);
  console.log(`ok: the control plane answers (${response.status})`);
  const page = await fetch(new URL('/webhooks', url), { signal: AbortSignal.timeout(10_000) });
  if (!page.ok || !(await page.text()).includes('<div id="app">')) {
    throw new Error(`Its dashboard answered ${page.status}, or with something else.`);
  }
  console.log(`ok: the dashboard is at ${page.url}`);
  demo.signal('SIGINT');
  const { code, signal } = await within(STOP_LIMIT_MS, 'It did not end after SIGINT', demo.ended);
  if (code !== 0) throw new Error(`It ended with ${signal ?? `code ${code}`} after SIGINT, not with code 0.`);
  console.log('ok: it ends with code 0 after SIGINT');
} catch (error) {
  console.error(`The demo failed: ${error.message}\n--- what it printed ---\n${demo.output()}`);
  process.exitCode = 1;
} finally {
  demo.signal('SIGKILL');
  rmSync(data, { recursive: true, force: true });
}

/**
 * Takes the steps of `npm run demo` up to the last, the server. They are not left to npm, because after Ctrl-C it ends
 * by the signal itself, whatever the demo's own code was.
 */
function prepare() {
  const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  const steps = scripts.demo.split('&&').map((step) => step.trim().split(/\s+/));
  const server = steps.pop();
  for (const [command, ...args] of steps) execFileSync(command, args, { cwd: root, stdio: 'inherit' });
  return server;
}

function start([command, ...args]) {
  const child = spawn(command, args, {
    cwd: root,
    env: { ...process.env, PORT: '0', DEMO_DATA_DIR: data },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const lines = [];
  const ended = new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code, signal) => resolve({ code, signal }));
  });
  const delivering = new Promise((resolve, reject) => {
    let url;
    let delivered = false;
    for (const stream of [child.stdout, child.stderr]) {
      createInterface({ input: stream }).on('line', (line) => {
        lines.push(line);
        if (/control plane/i.test(line)) url ??= /https?:\/\/[^\s"'<>)]+/.exec(line)?.[0];
        if (/\bdelivered/i.test(line)) delivered = true;
        if (url && delivered) resolve({ url });
      });
    }
    ended.then(
      ({ code }) => reject(new Error(`It ended with code ${code} before it delivered anything.`)),
      reject,
    );
  });
  return { delivering, ended, output: () => lines.join('\n'), signal: (name) => child.kill(name) };
}

async function within(ms, complaint, promise) {
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(`${complaint} within ${ms / 1000} s.`)), ms);
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}
