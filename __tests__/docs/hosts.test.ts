import { join } from 'node:path';
import { type INestApplication, Logger } from '@nestjs/common';
import type { Authorize } from '../../lib/admin/authorize.js';
import * as nestEntry from '../../lib/nest/index.js';
import { resolveSettings } from '../../lib/nest/options.js';
import { close, listen } from '../express/http.js';
import { createFetchServer, type FetchHandler } from '../hosts/fetch-server.js';
import { runApplication } from '../support/application.js';
import { onCleanUp } from '../support/clean-up.js';
import { startSender, type TestSender } from '../support/sender.js';
import type { ScriptRun } from '../support/snippets.js';
import { membersOf, readPage, root, tableRows } from './page.js';
import { pageContract } from './page-contract.js';

const page = readPage('docs/hosts.md');

const authorization = 'Bearer change-me';
const authorize: Authorize = (request) => request.headers.get('authorization') === authorization;

/** What the runtimes that are no Node.js have in the snippets' place of it. */
const RUNTIMES = {
  Bun: `{
    serve(options: {
      port: number;
      routes: Record<string, (request: Request, server: object) => Response | Promise<Response>>;
      fetch(request: Request, server: object): Response | Promise<Response>;
    }): unknown;
  }`,
  Deno: `{
    serve(
      options: { port: number },
      handler: (request: Request, info: { remoteAddr: object }) => Response | Promise<Response>,
    ): unknown;
  }`,
};

describe('docs/hosts.md', () => {
  pageContract(page, {
    runScript: ({ language, code }) => {
      expect(language).toBe('ts');
      return code.includes('HookplaneModule') ? checkNest(code) : checkHost(code);
    },
    declared: RUNTIMES,
    paths: {
      'npm:hookplane': [join(root, 'lib/index.ts')],
      '@/webhooks': [join(root, 'examples/next/webhooks.ts')],
    },
  });

  it('lists every option of the module that is neither the sender’s nor the control plane’s', () => {
    const listed = Object.fromEntries(tableRows(page, 'option of forRoot'));
    const own = [
      ...membersOf('lib/nest/options.ts', 'OwnOptions'),
      ...membersOf('lib/nest/options.ts', 'ModuleScope'),
    ];
    expect(Object.keys(listed)).toEqual(own);
    const { path, useGlobalPrefix, dashboard, start } = resolveSettings({});
    expect(dashboard).toBeNull();
    expect(listed).toMatchObject({
      path: String(path),
      useGlobalPrefix: String(useGlobalPrefix),
      dashboardPath: 'false',
      start: String(start),
    });
  });
});

/** The control plane is where the snippet says, for administrators alone. */
async function checkHost(code: string): Promise<void> {
  const { sender, ask } = await serve(code);
  const created = await ask('/admin/endpoints', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: '{"url":"https://receiver.test/hook"}',
  });
  const { endpoints } = await sender.endpoints.list({});
  expect([created.status, endpoints]).toMatchObject([201, [{ url: 'https://receiver.test/hook' }]]);
  const listed = await ask('/admin/endpoints?limit=1');
  expect([listed.status, await listed.json()]).toEqual([200, { endpoints, nextCursor: null }]);
  expect((await ask('/admin/endpoints', { headers: { authorization: 'Bearer other' } })).status).toBe(403);
  expect((await ask('/admin/nowhere')).status).toBe(404);
  expect((await ask('/endpoints')).status).toBe(404);
}

/** The module makes a sender of its own, by which the application sends. */
async function checkNest(code: string): Promise<void> {
  Logger.overrideLogger(false);
  const { urls, values } = await runApplication(code, {
    modules: { 'hookplane/nest': nestEntry },
    variables: { authorize },
  });
  onCleanUp('test', 'receiver', () => (values.app as INestApplication).close());
  const order = { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{"id":1}' };
  const { id } = (await (await fetch(`${urls[0]}/orders`, order)).json()) as { id: string };
  const read = await fetch(`${urls[0]}/admin/messages/${id}`, { headers: { authorization } });
  expect(await read.json()).toMatchObject({ type: 'order.created', tenantId: 'acme' });
  expect((await fetch(`${urls[0]}/admin/health`)).status).toBe(403);
}

interface Served {
  sender: TestSender;
  ask(path: string, init?: RequestInit): Promise<Response>;
}

/** Runs a snippet, and asks what it serves as an administrator. */
async function serve(code: string): Promise<Served> {
  const sender = await startSender({ started: false });
  const given: FetchHandler[] = [];
  const run = await runApplication(code, {
    modules: { 'npm:hookplane': jest.requireActual('../../lib/index.js'), '@/webhooks': { sender } },
    variables: {
      sender,
      authorize,
      Bun: { serve: (options: BunOptions) => given.push(bunHandler(options)) },
      Deno: { serve: (_options: object, handler: FetchHandler) => given.push(handler) },
    },
  });
  const handler = given[0] ?? routeHandler(run);
  const url = run.urls[0] ?? (await startFetchServer(handler!));
  return {
    sender,
    ask: (path, init) =>
      fetch(`${url}${path}`, { ...init, headers: { authorization, ...(init?.headers as object) } }),
  };
}

interface BunOptions {
  routes: Record<string, FetchHandler>;
  fetch: FetchHandler;
}

function bunHandler({ routes, fetch }: BunOptions): FetchHandler {
  return (request) => {
    const { pathname } = new URL(request.url);
    const route = Object.keys(routes).find((pattern) => pathname.startsWith(pattern.replace(/\*$/, '')));
    return (route === undefined ? fetch : routes[route]!)(request);
  };
}

/** The functions that a route of Next.js exports, by method. */
function routeHandler({ values }: ScriptRun): FetchHandler | undefined {
  if (typeof values.GET !== 'function') return undefined;
  return (request) =>
    new URL(request.url).pathname.startsWith('/admin/')
      ? (values as Record<string, FetchHandler>)[request.method]!(request)
      : new Response('Not found', { status: 404 });
}

async function startFetchServer(handler: FetchHandler): Promise<string> {
  const server = createFetchServer(handler);
  onCleanUp('test', 'receiver', () => close(server));
  return `http://127.0.0.1:${await listen(server)}`;
}
