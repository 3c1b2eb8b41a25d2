import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Sender } from '../../lib/sender/sender.js';
import { servedPlaneContract } from '../contracts/served-plane.js';
import { close, listen } from '../express/http.js';
import type { ApplicationSetting } from '../support/application.js';
import { onCleanUp } from '../support/clean-up.js';
import { startSender } from '../support/sender.js';
import { typeErrors } from '../support/snippets.js';
import { runExample, TOKEN } from './examples.js';
import { createFetchServer, type FetchHandler } from './fetch-server.js';

const root = join(__dirname, '../..');
const ROUTE = 'next/app/admin/[...path]/route.ts';
const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'] as const;
type RouteHandlers = Record<
  (typeof METHODS)[number],
  (request: Request, context: unknown) => Promise<Response>
>;

async function loadRoute(sender: Sender, setting: ApplicationSetting = {}): Promise<RouteHandlers> {
  const { values } = await runExample(ROUTE, { ...setting, modules: { '@/webhooks': { sender } } });
  return values as RouteHandlers;
}

/** What Next.js does with a route handler: a function for each method, and a 405 of its own where there is none. */
function dispatch(route: RouteHandlers): FetchHandler {
  return (request) => {
    const path = new URL(request.url).pathname.split('/').slice(2);
    const handler = /^\/admin\//.test(new URL(request.url).pathname)
      ? (route as Partial<Record<string, RouteHandlers['GET']>>)[request.method]
      : () => new Response('Not found', { status: 404 });
    return handler?.(request, { params: Promise.resolve({ path }) }) ?? new Response(null, { status: 405 });
  };
}

describe('examples/next', () => {
  const asAdmin = { authorization: `Bearer ${TOKEN}` };
  const context = { params: Promise.resolve({ path: ['endpoints'] }) };

  it('exports a function for each method that Next.js knows', async () => {
    const route = await loadRoute(await startSender({ started: false }));
    for (const method of METHODS) {
      const request = new Request('http://localhost/admin/health', { method, headers: asAdmin });
      const { status } = await route[method](request, context);
      expect([method, status]).toEqual([method, method === 'GET' || method === 'HEAD' ? 503 : 405]);
    }
  });

  it('answers what its functions are called with', async () => {
    const route = await loadRoute(await startSender({ started: false }));
    const url = 'https://app.example.com/admin/endpoints';
    const body = JSON.stringify({ url: 'https://receiver.test/hook' });
    const headers = { ...asAdmin, 'content-type': 'application/json' };
    const created = await route.POST(new Request(url, { method: 'POST', headers, body }), context);
    const { id } = (await created.json()) as { id: string };
    expect([created.status, created.headers.get('location')]).toEqual([201, `/admin/endpoints/${id}`]);
    const read = await route.GET(new Request(`${url}/${id}`, { headers: asAdmin }), context);
    expect(await read.json()).toMatchObject({ id });
    expect((await route.GET(new Request(url), context)).status).toBe(401);
  });

  it('can be loaded without a token, as a build does it', async () => {
    const sender = await startSender({ started: false });
    const route = await loadRoute(sender);
    delete process.env.ADMIN_TOKEN;
    expect(() => route.GET(new Request('http://localhost/admin/health'), context)).toThrow(/bearerToken/);
  });

  it('has one sender, however often its file is loaded, and delivers once the server starts', async () => {
    const kept = globalThis as { webhooks?: Sender };
    const [first, second] = [await runExample('next/webhooks.ts'), await runExample('next/webhooks.ts')];
    expect(first.values.sender).toBe(second.values.sender);
    expect(first.values.sender).toBe(kept.webhooks);
    delete kept.webhooks;
    const sender = first.values.sender as Sender;
    const { values } = await runExample('next/instrumentation.ts', { modules: { '@/webhooks': { sender } } });
    const register = values.register as () => Promise<void>;
    await register();
    expect(await sender.health()).toMatchObject({ workerCount: 0 });
    process.env.NEXT_RUNTIME = 'nodejs';
    await register().finally(() => delete process.env.NEXT_RUNTIME);
    expect(await sender.health()).toMatchObject({ ok: true, workerCount: 1 });
  });

  it('compiles, strictly', () => {
    const files = ['next/webhooks.ts', 'next/instrumentation.ts', ROUTE];
    const snippets = files.map((title) => {
      return { title, language: 'ts', code: readFileSync(join(root, 'examples', title), 'utf8') };
    });
    const paths = {
      hookplane: [join(root, 'lib/index.ts')],
      '@/webhooks': [join(root, 'examples/next/webhooks.ts')],
    };
    expect(typeErrors(snippets, paths, {}, root)).toEqual([]);
  });

  servedPlaneContract({
    prefix: '/admin',
    async serve(sender, admin) {
      const server = createFetchServer(dispatch(await loadRoute(sender, { admin, lifetime: 'file' })));
      onCleanUp('file', 'receiver', () => close(server));
      return listen(server);
    },
  });
});
