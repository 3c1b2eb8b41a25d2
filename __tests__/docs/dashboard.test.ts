import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createDashboardHandler } from '../../lib/dashboard/index.js';
import { resolveDashboard } from '../../lib/dashboard/options.js';
import { useBuiltPage } from '../dashboard/built-page.js';
import { asAdmin } from './live-server.js';
import { membersOf, readPage, root, tableRows } from './page.js';
import { type Check, pageContract, type SnippetRun } from './page-contract.js';

const page = readPage('docs/dashboard.md');

describe('docs/dashboard.md', () => {
  useBuiltPage();

  pageContract(
    // A block of headers is nothing to execute: it is compared below.
    { ...page, snippets: page.snippets.filter(({ language }) => language !== 'http') },
    { checks: checks() },
  );

  it('lists every option, with its default', () => {
    const listed = tableRows(page, 'option').map(([name, fallback]) => [name!, fallback!] as const);
    expect(listed.map(([name]) => name)).toEqual(
      membersOf('lib/dashboard/options.ts', 'DashboardHandlerOptions'),
    );
    const defaults = resolveDashboard({ adminUrl: '/admin' });
    const { basePath, title } = Object.fromEntries(listed);
    expect({ basePath, title }).toEqual({ basePath: defaults.basePath, title: defaults.title });
  });

  it('shows the headers as they are', async () => {
    const { code } = page.snippets.find(({ language }) => language === 'http')!;
    const shown = code
      .trim()
      .split('\n')
      .map((line) => /^([^:]+): (.*)$/.exec(line)!.slice(1));
    const { headers } = await createDashboardHandler({ adminUrl: '/admin' })(new Request('http://a.test/'));
    expect(Object.fromEntries(headers)).toMatchObject(Object.fromEntries(shown));
    expect(shown.length).toBeGreaterThan(5);
  });

  it('names properties that the style sheet of the page has', () => {
    const styles = readFileSync(join(root, 'lib/dashboard/app/styles/base.css'), 'utf8');
    const missing = tableRows(page, 'property').filter(([name]) => !styles.includes(`  ${name}: `));
    expect(missing).toEqual([]);
  });
});

function checks(): Check[] {
  const isMounted = async ({ urls }: SnippetRun) => {
    const shell = await fetch(`${urls[0]}/webhooks`);
    expect([shell.status, shell.url]).toEqual([200, `${urls[0]}/webhooks/`]);
    expect(await shell.text()).toContain('&quot;adminUrl&quot;:&quot;/admin&quot;');
    expect((await fetch(`${urls[0]}/admin/endpoints`, asAdmin)).status).toBe(200);
    expect((await fetch(`${urls[0]}/admin/endpoints`)).ok).toBe(false);
  };
  return [
    { mark: 'adminMiddleware(sender, { authorize }));', run: isMounted },
    { mark: 'createServer((req, res)', run: isMounted },
    { mark: 'new Hono()', run: isMounted },
    {
      mark: 'Acme webhooks',
      async run({ urls }) {
        expect(await (await fetch(`${urls[0]}/webhooks/`)).text()).toContain('<title>Acme webhooks</title>');
        expect(await (await fetch(`${urls[0]}/webhooks/theme.css`)).text()).toContain(
          '  --hp-radius: 3px;\n',
        );
      },
    },
  ];
}
