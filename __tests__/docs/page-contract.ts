import * as clientEntry from '../../lib/client/index.js';
import * as dashboardEntry from '../../lib/dashboard/index.js';
import type { Sender } from '../../lib/index.js';
import * as nestEntry from '../../lib/nest/index.js';
import * as testingEntry from '../../lib/testing/index.js';
import { runApplication } from '../support/application.js';
import { startSender } from '../support/sender.js';
import { readCommands, readCurl, type ScriptRun, type Snippet } from '../support/snippets.js';
import { ADMIN_TOKEN, authorize, liveServer, ORIGIN } from './live-server.js';
import { brokenLinks, compilerErrors, isCommand, type Page, unknownCommands } from './page.js';

export interface SnippetRun extends ScriptRun {
  /** The one that the snippet has made; otherwise the one it was given, which delivers nothing. */
  sender: Sender;
  log: Record<'error' | 'warn' | 'info' | 'debug', jest.Mock>;
}

/** What a snippet has to have done. */
export interface Check {
  /** A text that is in no other snippet of the page. */
  mark: string;
  /** Comes before the snippet. May answer what in it stands for something that is not there, and what there is instead. */
  // biome-ignore lint/suspicious/noConfusingVoidType: most have nothing to answer.
  prepare?(): Promise<Record<string, string> | void>;
  /** What it may use without declaring it, beside `sender`, `authorize` and `log`. */
  variables?: Readonly<Record<string, unknown>>;
  run(run: SnippetRun): unknown;
}

export interface PageSetting {
  checks?: readonly Check[];
  /** Runs a script of the page, where that is not by `checks`. */
  runScript?(snippet: Snippet): Promise<unknown>;
  /** TypeScript types of what the snippets use without declaring it. */
  declared?: Record<string, string>;
  paths?: Record<string, string[]>;
}

/** What holds of every page: each snippet is executed, scripts compile, commands and links lead somewhere. */
export function pageContract(
  page: Page,
  { checks = [], runScript, declared, paths }: PageSetting = {},
): void {
  const { snippets } = page;
  const scripts = snippets.filter(({ language }) => language === 'js' || language === 'ts');

  if (snippets.length > 0) {
    it.each(snippets.map((snippet) => [snippet.title, snippet] as const))('%s', async (_, snippet) => {
      switch (snippet.language) {
        case 'js':
        case 'ts':
          await (runScript ? runScript(snippet) : runByCheck(checks, snippet));
          return;
        case 'sh':
          await runShell(page, snippet);
          return;
        default:
          throw new Error(`Nothing executes a snippet of ${snippet.language || 'no language'}`);
      }
    });
  }

  if (checks.length > 0) {
    it('has a script for every check', () => {
      const idle = checks.filter(
        ({ mark }) => scripts.filter(({ code }) => code.includes(mark)).length !== 1,
      );
      expect(idle.map(({ mark }) => mark)).toEqual([]);
    });
  }

  if (scripts.some(({ language }) => language === 'ts')) {
    it('has scripts that compile, strictly', () => {
      expect(compilerErrors(page, { declared, paths })).toEqual([]);
    });
  }

  it('names commands that there are', () => {
    expect(unknownCommands(page)).toEqual([]);
  });

  it('links to files and headings that there are', () => {
    expect(brokenLinks(page)).toEqual([]);
  });
}

async function runByCheck(checks: readonly Check[], { code }: Snippet): Promise<void> {
  const check = checks.find(({ mark }) => code.includes(mark));
  if (!check) throw new Error('Nothing looks at what this script does: add it to the checks of its page');
  let adapted = code.includes(ORIGIN) ? code.replaceAll(ORIGIN, (await liveServer()).url) : code;
  for (const [text, replacement] of Object.entries((await check.prepare?.()) ?? {})) {
    adapted = adapted.replaceAll(text, replacement);
  }
  await check.run(await runSnippet(adapted, check.variables));
}

/** Runs a script against the sources, in a folder of its own. */
async function runSnippet(code: string, variables: Check['variables']): Promise<SnippetRun> {
  const log = { error: jest.fn(), warn: jest.fn(), info: jest.fn(), debug: jest.fn() };
  const sender = await startSender({ started: false });
  process.env.ADMIN_TOKEN = ADMIN_TOKEN;
  const run = await runApplication(code, {
    modules: {
      'hookplane/client': clientEntry,
      'hookplane/dashboard': dashboardEntry,
      'hookplane/nest': nestEntry,
      'hookplane/testing': testingEntry,
    },
    variables: { sender, authorize, log, ...variables },
  });
  return { ...run, sender: (run.values.sender as Sender | undefined) ?? sender, log };
}

/** Runs the commands of a block, after the assignments of those before it. */
async function runShell(page: Page, snippet: Snippet): Promise<void> {
  const { url, endpointId, messageId } = await liveServer();
  const variables = { ENDPOINT_ID: endpointId, MESSAGE_ID: messageId };
  const blocks = page.snippets.filter(({ language }) => language === 'sh');
  for (const earlier of blocks.slice(0, blocks.indexOf(snippet))) readCommands(earlier.code, variables);
  for (const { words } of readCommands(snippet.code, variables)) {
    if (words[0] === 'curl') await runCurl(words, url);
    else if (words.length > 0) expect([words, isCommand(words, page)]).toEqual([words, true]);
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
