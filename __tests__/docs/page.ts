import { existsSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import ts from 'typescript';
import manifest from '../../package.json';
import { COMMON_OPTIONS } from '../../lib/cli/help.js';
import { readOptions } from '../../lib/cli/options.js';
import { COMMANDS } from '../../lib/cli/run.js';
import { readSnippets, type Snippet, typeErrors } from '../support/snippets.js';

export const root = resolve(__dirname, '../..');

/** A Markdown file of the repository. */
export interface Page {
  /** From the root of the repository. */
  name: string;
  text: string;
  snippets: Snippet[];
}

export function readPage(name: string): Page {
  const text = readFileSync(join(root, name), 'utf8');
  return { name, text, snippets: readSnippets(text) };
}

/** The rows of the table whose first column is headed so, without the code marks. */
export function tableRows({ name, text }: Page, heading: string): string[][] {
  const cells = (line: string): string[] =>
    line
      .split('|')
      .slice(1, -1)
      .map((cell) => cell.replaceAll('`', '').trim());
  const lines = text.split('\n');
  const start = lines.findIndex((line) => cells(line)[0] === heading);
  if (start === -1) throw new Error(`${name} has no table of ${heading}`);
  const end = lines.findIndex((line, index) => index > start && !line.startsWith('|'));
  return lines.slice(start + 2, end).map(cells);
}

/** What stands between code marks, outside of blocks. */
export function codeSpans({ text }: Page): string[] {
  return [...withoutBlocks(text).matchAll(/`([^`\n]+)`/g)].map(([, code]) => code!);
}

/** Links to files that there are not, that whoever installs the package does not have, and to no heading. */
export function brokenLinks(page: Page): string[] {
  const links = [...withoutBlocks(page.text).matchAll(/\]\(([^)\s]+)\)/g)].map(([, target]) => target!);
  return links.filter((link) => {
    if (link.startsWith('https://')) return false;
    const [file = '', heading] = link.split('#');
    const path = file === '' ? join(root, page.name) : join(root, dirname(page.name), file);
    if (!existsSync(path)) return true;
    if (!isPublished(relative(root, path))) return true;
    return heading !== undefined && !anchorsOf(readFileSync(path, 'utf8')).includes(heading);
  });
}

/** `npm …` that there is not. */
export function unknownCommands(page: Page): string[] {
  const commands = codeSpans(page).filter((code) => /^npm \w/.test(code));
  return commands.filter((command) => !isCommand(command.split(' '), page));
}

/** Whether a command that would take too long here names what there is. */
export function isCommand([command, ...words]: readonly string[], { snippets }: Page): boolean {
  const [first = '', ...rest] = words;
  if (command === 'node') return snippets.some(({ code }) => code.startsWith(`// ${first}\n`));
  if (command === 'export') return rest.length === 0 && /^[A-Z_]+=./.test(first);
  if (command === 'npx') return first === manifest.name && isProgramCall(rest);
  if (command !== 'npm') return false;
  if (first === 'ci') return rest.length === 0 && existsSync(join(root, 'package-lock.json'));
  if (first === 'install') {
    const { name, peerDependencies, optionalDependencies } = manifest;
    const known = [name, ...Object.keys(peerDependencies), ...Object.keys(optionalDependencies)];
    return rest.length > 0 && rest.every((each) => known.includes(each));
  }
  return Object.hasOwn(manifest.scripts, first === 'run' ? (rest[0] ?? '') : first);
}

/** Where the sources of each entry point of the package are. */
const SOURCES = Object.fromEntries(
  Object.keys(manifest.exports)
    .filter((entry) => entry !== './package.json')
    .map((entry) => [join('hookplane', entry), [join(root, 'lib', entry, 'index.ts')]]),
);

/** Whether the program of the package understands it. */
function isProgramCall([name, ...args]: readonly string[]): boolean {
  const command = COMMANDS.find((each) => each.name === name);
  if (!command) return false;
  readOptions(args, { ...command.options, ...COMMON_OPTIONS });
  return true;
}

/**
 * What the compiler says of the TypeScript of a page.
 * @param declared types of what the snippets use without declaring it, beside those that every page has
 */
export function compilerErrors(
  { snippets }: Page,
  { declared = {}, paths = {} }: { declared?: Record<string, string>; paths?: Record<string, string[]> } = {},
): string[] {
  const typescript = snippets.filter(({ language }) => language === 'ts');
  const common = {
    sender: "import('hookplane').Sender",
    authorize: "import('hookplane').Authorize",
    log: "import('hookplane').Logger",
  };
  return typeErrors(typescript, { ...SOURCES, ...paths }, { ...common, ...declared }, root);
}

function withoutBlocks(text: string): string {
  return text.replaceAll(/^```.*?^```$/gms, '');
}

function anchorsOf(text: string): string[] {
  return [...withoutBlocks(text).matchAll(/^#+ (.*)$/gm)].map(([, heading]) =>
    heading!
      .toLowerCase()
      .replace(/[^\w -]/g, '')
      .replaceAll(' ', '-'),
  );
}

/** Examples are looked at where they can be run. npm adds the three that are named here to `files` by itself. */
function isPublished(path: string): boolean {
  return ['examples', 'README.md', 'LICENSE', 'package.json', ...manifest.files].some(
    (each) => path === each || path.startsWith(`${each}/`),
  );
}

/** The names that an interface of the sources has, in their order. */
export function membersOf(file: string, name: string): string[] {
  const text = readFileSync(join(root, file), 'utf8');
  const { statements } = ts.createSourceFile(file, text, ts.ScriptTarget.ES2022);
  const found = statements.filter(ts.isInterfaceDeclaration).find((each) => each.name.text === name);
  if (!found) throw new Error(`${file} has no interface ${name}`);
  return found.members.map((member) => (member.name as ts.Identifier).text);
}
