import type { Decision } from '../../lib/admin/authorize.js';
import type { HookplaneModuleOptions } from '../../lib/nest/options.js';
import { resolveSettings } from '../../lib/nest/options.js';
import { useBuiltPage } from '../dashboard/built-page.js';
import { startSender, type TestSender } from '../support/sender.js';
import { type AppOptions, type RunningApp, stacks, startApp } from './kit.js';

useBuiltPage();

describe.each(stacks)('the dashboard in $name', (stack) => {
  let sender: TestSender;
  beforeEach(async () => {
    sender = await startSender({ started: false });
  });

  const start = (options: Partial<HookplaneModuleOptions>, app?: AppOptions): Promise<RunningApp> => {
    const all = { sender, authorize: (): Decision => true, start: false, ...options };
    return startApp(stack, stack.kit.hookplane.HookplaneModule.forRoot(all as HookplaneModuleOptions), app);
  };

  /** Follows the shell to the control plane, as the page does. */
  async function findPlane({ url }: RunningApp, path: string): Promise<string> {
    const shell = await fetch(url + path);
    expect([shell.status, shell.url]).toEqual([200, `${url}${path}/`]);
    const content = /<meta name="hookplane" content="([^"]*)">/.exec(await shell.text())![1]!;
    const { adminUrl } = JSON.parse(content.replaceAll('&quot;', '"')) as { adminUrl: string };
    const endpoints = new URL(`${adminUrl}/endpoints`, shell.url);
    expect((await fetch(endpoints)).status).toBe(200);
    return endpoints.pathname;
  }

  it.each([
    [{ dashboardPath: '/webhooks' }, '/webhooks', '/admin/endpoints'],
    [{ dashboardPath: 'tools/webhooks/', path: '/tools/admin' }, '/tools/webhooks', '/tools/admin/endpoints'],
    [{ dashboardPath: '/admin/dashboard' }, '/admin/dashboard', '/admin/endpoints'],
    [{ dashboardPath: '/hooks', path: '/hooks/admin' }, '/hooks', '/hooks/admin/endpoints'],
  ])('with %j finds its control plane', async (options, at, plane) => {
    expect(await findPlane(await start(options), at)).toBe(plane);
  });

  it('finds it out of the global prefix and below it', async () => {
    const prepare: AppOptions['prepare'] = (app) => app.setGlobalPrefix('api/v1');
    const options = { dashboardPath: '/webhooks' };
    expect(await findPlane(await start(options, { prepare }), '/webhooks')).toBe('/admin/endpoints');
    const below = await start({ ...options, useGlobalPrefix: true }, { prepare });
    expect(await findPlane(below, '/api/v1/webhooks')).toBe('/api/v1/admin/endpoints');
    expect((await fetch(`${below.url}/webhooks/`)).status).toBe(404);
  });

  it('has the title that it is given', async () => {
    const { url } = await start({ dashboardPath: '/webhooks', dashboard: { title: 'Acme' } });
    expect(await (await fetch(`${url}/webhooks/`)).text()).toContain('<title>Acme</title>');
  });

  it('is not there unless it is asked for', async () => {
    const { url } = await start({});
    expect((await fetch(`${url}/webhooks/`)).status).toBe(404);
  });

  it('keeps an application with wrong options from starting', async () => {
    const options = { dashboardPath: '/webhooks', dashboard: { title: '' } };
    await expect(start(options)).rejects.toMatchObject({
      code: 'INVALID_OPTIONS',
      message: expect.stringContaining('The dashboard needs a title'),
    });
  });
});

describe('the options of the dashboard', () => {
  const resolved = (options: object) => resolveSettings(options as HookplaneModuleOptions).dashboard;

  it.each([
    ['/webhooks', '/admin', '../admin'],
    ['/a/webhooks', '/admin', '../../admin'],
    ['/a/b', '/a/c/d', '../c/d'],
    ['/a/b/c', '/a', '../../../a'],
    ['/a', '/a/b/c', './b/c'],
  ])('lead from %s to %s by %s', (dashboardPath, path, adminUrl) => {
    expect(resolved({ dashboardPath, path })).toMatchObject({ path: dashboardPath, options: { adminUrl } });
    expect(new URL(adminUrl, `http://a.test${dashboardPath}/`).pathname).toBe(path);
  });

  it('take an adminUrl of another process, where there is no control plane here', () => {
    const adminUrl = 'https://hooks.example.com/admin';
    const options = { path: false, dashboardPath: '/webhooks', dashboard: { adminUrl } };
    expect(resolved(options)).toMatchObject({ options: { adminUrl } });
  });

  it.each<[object, RegExp]>([
    [
      { dashboardPath: '/webhooks', path: false },
      /^dashboardPath needs dashboard\.adminUrl, as path is false/,
    ],
    [{ dashboardPath: '/admin' }, /^dashboardPath must be another path than path, \/admin$/],
    [{ dashboardPath: '/:id' }, /^dashboardPath must be false or a literal path below the root/],
    [{ dashboardPath: true }, /^dashboardPath must be false or a literal path below the root/],
    [{ dashboard: { title: 'Acme' } }, /^dashboard has no effect without dashboardPath/],
  ])('refuse %j', (options, message) => {
    expect(() => resolved(options)).toThrow(
      expect.objectContaining({ code: 'INVALID_OPTIONS', message: expect.stringMatching(message) }),
    );
  });
});
