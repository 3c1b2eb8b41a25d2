import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { bundle } from '../faults/campaign.js';
import { onCleanUp } from '../support/clean-up.js';
import { createDatabase } from '../support/postgres/database.js';
import { startReceiver } from '../support/receiver.js';
import { temporaryFolder } from '../support/sender.js';
import { eventually } from '../support/wait-for.js';
import { TOKEN } from './examples.js';

jest.setTimeout(60_000);

const example = join(__dirname, '../../examples/postgres-workers');
const json = { 'content-type': 'application/json' };

/** The example beside the package, which it imports by its name. */
async function copyExample(): Promise<string> {
  const folder = await temporaryFolder();
  await bundle(folder);
  const exports = { '.': './index.js', './*': './*/index.js' };
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ name: 'hookplane', exports }));
  cpSync(example, join(folder, 'example'), { recursive: true });
  return join(folder, 'example');
}

describe('examples/postgres-workers', () => {
  it('sends in one process and delivers in two others, which stop when they are told to', async () => {
    const [folder, { url }, receiver] = await Promise.all([
      copyExample(),
      createDatabase('test'),
      startReceiver(),
    ]);
    function run(file: string) {
      const child = spawn(process.execPath, [file], {
        cwd: folder,
        env: {
          PATH: process.env.PATH,
          DATABASE_URL: url,
          ADMIN_TOKEN: TOKEN,
          ALLOW_TARGETS: '127.0.0.1',
          PORT: '0',
        },
        stdio: ['ignore', 'pipe', 'ignore'],
      });
      onCleanUp('test', 'receiver', async () => void child.kill('SIGKILL'));
      return child;
    }
    const web = run('web.mjs');
    const workers = [run('worker.mjs'), run('worker.mjs')];
    const [address] = await once(createInterface(web.stdout), 'line');
    const admin = { authorization: `Bearer ${TOKEN}`, ...json };
    const health = async () => (await fetch(`${address}/admin/health`, { headers: admin })).json();
    await eventually(async () => expect(await health()).toMatchObject({ ok: true, workerCount: 2 }), 30_000);
    const endpoint = JSON.stringify({ tenantId: 'acme', url: receiver.url() });
    await fetch(`${address}/admin/endpoints`, { method: 'POST', headers: admin, body: endpoint });
    const orders = [1, 2, 3].map(async (number) => {
      const order = { method: 'POST', headers: json, body: JSON.stringify({ number }) };
      const placed = await fetch(`${address}/orders`, order);
      return ((await placed.json()) as { messageId: string }).messageId;
    });
    const sent = await Promise.all(orders);
    const arrived = await receiver.waitFor(3);
    expect(arrived.map(({ headers }) => headers['webhook-id']).sort()).toEqual(sent.sort());
    const ended = [web, ...workers].map((child) => once(child, 'exit'));
    for (const child of [web, ...workers]) child.kill('SIGTERM');
    expect(await Promise.all(ended)).toEqual(Array(3).fill([0, null]));
  });

  it('has a file for Docker that runs what is there, with the variables that it reads', () => {
    const compose = readFileSync(join(example, 'docker-compose.yml'), 'utf8');
    const files = [...compose.matchAll(/command: node (\S+)/g)].map(([, file]) => file!);
    expect(files).toEqual(['web.mjs', 'worker.mjs', 'receiver.mjs']);
    for (const file of files) expect(existsSync(join(example, file))).toBe(true);
    const sources = ['sender.mjs', ...files]
      .map((file) => readFileSync(join(example, file), 'utf8'))
      .join('');
    const read = [...sources.matchAll(/process\.env\.(\w+)/g)].map(([, name]) => name!);
    for (const name of read.filter((each) => each !== 'PORT')) expect(compose).toContain(`    ${name}: `);
  });
});
