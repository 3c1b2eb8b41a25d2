import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import express from 'express';
import manifest from '../../package.json';
import { STATUS_BY_CODE } from '../../lib/admin/response.js';
import { ROUTES } from '../../lib/admin/routes.js';
import * as expressEntry from '../../lib/express/index.js';
import * as mainEntry from '../../lib/index.js';
import { endpointCreate } from '../../lib/model/endpoint.js';
import { resolveOptions } from '../../lib/sender/options.js';
import { onCleanUp } from '../support/clean-up.js';
import { startReceiver } from '../support/receiver.js';
import { startSender, temporaryFolder } from '../support/sender.js';
import {
  readCommands,
  readCurl,
  readSnippets,
  runScript,
  type ScriptRun,
  typeErrors,
} from '../support/snippets.js';
import { eventually, waitFor } from '../support/wait-for.js';

const { createAdminHandler, sqliteStore } = mainEntry;
type Sender = mainEntry.Sender;

const root = resolve(__dirname, '../..');
const readme = readFileSync(join(root, 'README.md'), 'utf8');
const snippets = readSnippets(readme);
const scripts = snippets.filter(({ language }) => language === 'js' || language === 'ts');

/** The one that the README has its readers change. */
const ADMIN_TOKEN = 'change-me';
const WEBHOOK_SECRET = `whsec_${randomBytes(32).toString('base64')}`;
const authorization = `Bearer ${ADMIN_TOKEN}`;
const authorize = (request: Request) => request.headers.get('authorization') === authorization;
const asAdmin = { headers: { authorization } };

/** What the README's server listens at. */
const ORIGIN = 'http://127.0.0.1:3000';

describe('README.md', () => {
  beforeAll(() => Object.assign(process.env, { ADMIN_TOKEN, WEBHOOK_SECRET }));

  it.each(snippets.map((snippet) => [snippet.title, snippet] as const))(
    '%s',
    async (_, { language, code }) => {
      switch (language) {
        case 'js':
        case 'ts': {
          const check = CHECKS.find(({ mark }) => code.includes(mark));
          if (!check) throw new Error('Nothing looks at what this script does: add it to CHECKS');
          await check.run(await run(code));
          return;
        }
        case 'sh':
          await runShell(code);
          return;
        default:
          throw new Error(`Nothing executes a snippet of ${language || 'no language'}`);
      }
    },
  );

  it('has a script for every check', () => {
    const idle = CHECKS.filter(({ mark }) => scripts.filter(({ code }) => code.includes(mark)).length !== 1);
    expect(idle.map(({ mark }) => mark)).toEqual([]);
  });

  it('begins with an application of at most 30 lines', () => {
    expect(scripts[0]!.code.trimEnd().split('\n').length).toBeLessThanOrEqual(30);
  });

  it('has scripts that compile, strictly', () => {
    const typescript = scripts.filter(({ language }) => language === 'ts');
    const paths = {
      hookplane: [join(root, 'lib/index.ts')],
      'hookplane/express': [join(root, 'lib/express/index.ts')],
    };
    const declared = {
      sender: "import('hookplane').Sender",
      authorize: "import('hookplane').Authorize",
      log: "import('hookplane').Logger",
    };
    expect(typeErrors(typescript, paths, declared, root)).toEqual([]);
  });

  it('lists every route, with its operation', () => {
    expect(tableRows('route').map(([route, operation]) => `${route} ${operation}`)).toEqual(
      ROUTES.map(({ method, path, operation }) => `${method} ${path} ${operation}`),
    );
  });

  it('lists what each route with a query takes', () => {
    for (const [route, , takes] of tableRows('route')) {
      const { query } = ROUTES.find(({ method, path }) => `${method} ${path}` === route)!;
      if (query) expect([route, takes!.split(' ').sort()]).toEqual([route, Object.keys(query).sort()]);
    }
  });

  it('lists every field of an endpoint', () => {
    const listed = tableRows('field').flatMap(([fields]) => fields!.split(' '));
    expect(listed.sort()).toEqual(Object.keys(endpointCreate.shape).sort());
  });

  it('lists every error code with its status', () => {
    const listed = tableRows('code').map(([code, status]) => [code, Number(status)]);
    expect(Object.fromEntries(listed)).toEqual(STATUS_BY_CODE);
  });

  it('lists every option of createSender, with its default where that is a value', () => {
    const listed = Object.fromEntries(tableRows('option of createSender'));
    const resolved = resolveOptions({ store: sqliteStore({ file: ':memory:' }) });
    expect(Object.keys(listed)).toEqual(Object.keys(resolved));
    for (const [name, value] of Object.entries(resolved)) {
      if (typeof value === 'number' || typeof value === 'boolean')
        expect([name, listed[name]]).toEqual([name, String(value)]);
    }
  });

  it('names commands that there are', () => {
    const commands = [...readme.matchAll(/`(npm [^`\n]+)`/g)].map(([, command]) => command!);
    expect(commands.filter((command) => !runnable(command.split(' ')))).toEqual([]);
  });

  it('links to files that exist and to headings of its own', () => {
    const anchors = [...readme.matchAll(/^#+ (.*)$/gm)].map(
      ([, text]) =>
        `#${text!
          .toLowerCase()
          .replace(/[^\w -]/g, '')
          .replaceAll(' ', '-')}`,
    );
    const links = [...readme.matchAll(/\]\(([^)]+)\)/g)].map(([, target]) => target!);
    const broken = links.filter((target) =>
      target.startsWith('#')
        ? !anchors.includes(target)
        : !target.startsWith('https://') && !existsSync(join(root, target)),
    );
    expect(broken).toEqual([]);
  });
});

describe('ARCHITECTURE.md', () => {
  it('names the files of lib, and no others', () => {
    const [tree] = readSnippets(readFileSync(join(root, 'ARCHITECTURE.md'), 'utf8'));
    const named = new Set(tree!.code.match(/[\w-]+\.ts\b/g));
    const files = readdirSync(join(root, 'lib'), { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile() && !/(?:routes|migrations)$/.test(entry.parentPath))
      .map(({ name }) => name);
    expect([...named].sort()).toEqual([...new Set(files)].sort());
  });
});

/** Runs a script against the sources, with a sender that delivers nothing beside it, in a folder of its own. */
async function run(code: string): Promise<ScriptRun & { sender: Sender; log: Record<string, jest.Mock> }> {
  const before = process.cwd();
  process.chdir(await temporaryFolder());
  onCleanUp('test', 'sender', async () => process.chdir(before));
  const log = { error: jest.fn(), warn: jest.fn(), info: jest.fn(), debug: jest.fn() };
  const sender = await startSender({ started: false });
  const modules = { hookplane: mainEntry, 'hookplane/express': expressEntry };
  const result = await runScript(code, modules, { sender, authorize, log });
  for (const server of result.servers) {
    onCleanUp('test', 'receiver', () => new Promise((closed) => server.close(closed)));
  }
  const made = result.values.sender as Sender | undefined;
  if (made) onCleanUp('test', 'sender', () => made.stop());
  return { ...result, sender: made ?? sender, log };
}

/** What each script has to have done; a script is told by a text that is in no other. */
const CHECKS: { mark: string; run(result: Awaited<ReturnType<typeof run>>): unknown }[] = [
  {
    mark: '// server.mjs',
    async run({ urls: [url], servers: [server], sender, signal }) {
      const order = { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{"id":1}' };
      const placed = await fetch(`${url}/orders`, order);
      expect([placed.status, await placed.json()]).toEqual([
        202,
        { messageId: expect.stringMatching(/^msg_/) },
      ]);
      expect((await fetch(`${url}/admin/health`, asAdmin)).status).toBe(200);
      expect((await fetch(`${url}/admin/health`)).status).toBe(403);
      signal('SIGTERM');
      await once(server!, 'close');
      await eventually(async () =>
        expect(await sender.health()).toMatchObject({ reason: 'store_unavailable' }),
      );
    },
  },
  {
    mark: "'operator' | 'customer'",
    async run({ values, sender }) {
      const handler = createAdminHandler(sender, {
        authorize: values.authorize as mainEntry.Authorize,
        onError: () => {},
      });
      const ask = async (user: unknown, method = 'GET', path = '/endpoints') =>
        (await handler(new Request(`${ORIGIN}${path}`, { method }), { host: { req: { user } } })).status;
      expect(await ask(undefined)).toBe(401);
      expect(await ask({ role: 'operator' }, 'GET', '/tenants/acme')).toBe(404);
      expect(await ask({ role: 'customer', orgId: 'acme' })).toBe(200);
      expect(await ask({ role: 'customer', orgId: 'acme' }, 'DELETE', '/tenants/acme')).toBe(403);
      // The trap that the text speaks of.
      expect(await ask({ role: 'customer' })).toBe(403);
    },
  },
  {
    mark: "idempotencyKey: 'inv_1-paid'",
    async run({ values: { endpoint, message }, sender }) {
      const { id, secret } = endpoint as mainEntry.EndpointWithSecret;
      expect(secret).toMatch(/^whsec_/);
      const sent = message as mainEntry.SentMessage;
      expect(sent).toMatchObject({ status: 'pending', duplicate: false });
      const { deliveries, payload } = await sender.messages.get(sent.id);
      expect(deliveries).toMatchObject([{ endpointId: id }]);
      const again = {
        tenantId: 'acme',
        type: sent.type,
        data: payload.data,
        idempotencyKey: sent.idempotencyKey,
      };
      expect(await sender.send(again)).toMatchObject({ id: sent.id, duplicate: true });
    },
  },
  {
    mark: 'endpointHooks',
    async run({ sender }) {
      await sender.endpoints.create({ url: 'https://example.com/', metadata: { format: 'chat' } });
      expect(await sender.send({ type: 'a', data: { total: 999 } })).toMatchObject({ status: 'unrouted' });
      expect(await sender.send({ type: 'a', data: { total: 1000 } })).toMatchObject({ status: 'pending' });
    },
  },
  { mark: '// receiver.mjs', run: ({ urls: [url] }) => checkReceiver(url!) },
  { mark: "from 'standardwebhooks'", run: ({ urls: [url] }) => checkReceiver(url!) },
  {
    mark: "sender.on('attempt'",
    async run({ sender, log }) {
      const receiver = await startReceiver();
      receiver.answer('/', 410);
      await sender.endpoints.create({ url: receiver.url('/'), retry: { delaysSeconds: [] } });
      await sender.send({ type: 'a', data: 1 });
      await sender.start();
      await eventually(() => expect(log.error).toHaveBeenCalledTimes(2));
      expect(log.info!.mock.calls).toEqual([
        ['a: failed', { attempt: expect.objectContaining({ responseStatus: 410 }) }],
      ]);
      expect(log.error!.mock.calls).toContainEqual(['A delivery was given up', expect.anything()]);
      expect(log.error!.mock.calls).toContainEqual([`Paused (gone): ${receiver.url('/')}`]);
    },
  },
  {
    mark: 'node:http alone',
    run: async ({ urls: [url] }) => expect((await fetch(`${url}/endpoints`, asAdmin)).status).toBe(200),
  },
  {
    mark: "app.all('/admin/*path'",
    run: async ({ urls: [url] }) => expect((await fetch(`${url}/admin/endpoints`, asAdmin)).status).toBe(200),
  },
  {
    mark: 'createAdminHandler',
    run: ({ values }) => expect((values.response as Response).status).toBe(200),
  },
];

/** A receiver takes what a sender delivers to it, and refuses what is signed by another secret. */
async function checkReceiver(url: string): Promise<void> {
  const sender = await startSender();
  const settings = { url: `${url}/webhooks`, retry: { delaysSeconds: [] } };
  const { id } = await sender.endpoints.create({ ...settings, secret: WEBHOOK_SECRET });
  const { id: foreign } = await sender.endpoints.create(settings);
  const { id: messageId } = await sender.send({ type: 'user.created', data: { name: 'Zoë' } });
  const attempts = await waitFor(async () => {
    const { attempts } = await sender.messages.attempts(messageId);
    return attempts.length === 2 && attempts;
  });
  expect(attempts).toContainEqual(
    expect.objectContaining({
      endpointId: id,
      responseStatus: 200,
      responseBody: expect.stringMatching(/"received":"(msg_|user.created")/),
    }),
  );
  expect(attempts).toContainEqual(expect.objectContaining({ endpointId: foreign, responseStatus: 401 }));
}

/** Runs the commands of a block, after the assignments of those before it. */
async function runShell(code: string): Promise<void> {
  const { url, endpointId, messageId } = await liveServer();
  const variables = { ENDPOINT_ID: endpointId, MESSAGE_ID: messageId };
  const blocks = snippets.filter(({ language }) => language === 'sh').map((snippet) => snippet.code);
  for (const earlier of blocks.slice(0, blocks.indexOf(code))) readCommands(earlier, variables);
  for (const { words } of readCommands(code, variables)) {
    if (words[0] === 'curl') await runCurl(words, url);
    else if (words.length > 0) expect(runnable(words)).toBe(true);
  }
}

async function runCurl(words: readonly string[], origin: string): Promise<void> {
  const { url, init } = readCurl(words);
  expect(url).toMatch(`${ORIGIN}/`);
  const response = await fetch(url.replace(ORIGIN, origin), init);
  const answer = `${response.status} ${await response.text()}`;
  // A string, so that a failure shows the command and what was answered.
  if (!response.ok) throw new Error(`${words.join(' ')}\n${answer}`);
}

/** Whether a command that would take too long here names what there is. */
function runnable([command, ...words]: readonly string[]): boolean {
  const [first = '', ...rest] = words;
  if (command === 'node') return snippets.some(({ code }) => code.startsWith(`// ${first}\n`));
  if (command !== 'npm') return false;
  if (first === 'ci') return rest.length === 0 && existsSync(join(root, 'package-lock.json'));
  if (first === 'install') {
    const { name, peerDependencies, optionalDependencies } = manifest;
    const known = [name, ...Object.keys(peerDependencies), ...Object.keys(optionalDependencies)];
    return rest.length > 0 && rest.every((each) => known.includes(each));
  }
  return Object.hasOwn(manifest.scripts, first === 'run' ? (rest[0] ?? '') : first);
}

let live: Promise<{ url: string; endpointId: string; messageId: string }> | undefined;

/** The application that the README's curl commands are for, with an endpoint and a message that failed at it once. */
function liveServer() {
  live ??= (async () => {
    const receiver = await startReceiver('file');
    receiver.answer('/', 500, 200);
    const sender = await startSender({ lifetime: 'file' });
    await sender.tenants.setMetadata('acme', {});
    const tenantId = 'globex';
    const endpoint = await sender.endpoints.create({
      tenantId,
      url: receiver.url('/'),
      retry: { delaysSeconds: [] },
    });
    const message = await sender.send({ tenantId, type: 'invoice.paid', data: { id: 'inv_1' } });
    await eventually(async () => expect((await sender.messages.get(message.id)).status).toBe('failed'));
    const app = express().use('/admin', expressEntry.adminMiddleware(sender, { authorize }));
    const { servers, urls } = await runScript('app.listen(3000);', {}, { app });
    onCleanUp('file', 'receiver', () => new Promise((closed) => servers[0]!.close(closed)));
    return { url: urls[0]!, endpointId: endpoint.id, messageId: message.id };
  })();
  return live;
}

/** The rows of the table whose first column is headed so, without the code marks. */
function tableRows(heading: string): string[][] {
  const cells = (line: string): string[] =>
    line
      .split('|')
      .slice(1, -1)
      .map((cell) => cell.replaceAll('`', '').trim());
  const lines = readme.split('\n');
  const start = lines.findIndex((line) => cells(line)[0] === heading);
  if (start === -1) throw new Error(`README.md has no table of ${heading}`);
  const end = lines.findIndex((line, index) => index > start && !line.startsWith('|'));
  return lines.slice(start + 2, end).map(cells);
}
