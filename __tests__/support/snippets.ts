import { once } from 'node:events';
import { type AddressInfo, Server } from 'node:net';
import { join } from 'node:path';
import ts from 'typescript';

/** A fenced block of a Markdown file. */
export interface Snippet {
  /** The heading it stands under, and the line it begins at. */
  title: string;
  language: string;
  code: string;
}

export function readSnippets(markdown: string): Snippet[] {
  const snippets: Snippet[] = [];
  let heading = '';
  let open: { language: string; line: number; lines: string[] } | null = null;
  for (const [index, line] of markdown.split('\n').entries()) {
    if (open && line === '```') {
      const title = `${heading}, line ${open.line}`;
      snippets.push({ title, language: open.language, code: `${open.lines.join('\n')}\n` });
      open = null;
    } else if (open) open.lines.push(line);
    else if (line.startsWith('```')) open = { language: line.slice(3).trim(), line: index + 1, lines: [] };
    else if (/^#+ /.test(line)) heading = line.replace(/^#+ /, '');
  }
  if (open) throw new Error(`The block at line ${open.line} does not end`);
  return snippets;
}

export interface ScriptRun {
  /** What the script declares at its top level or exports, by name. */
  values: Record<string, unknown>;
  /** The base URLs of the servers it listens with, whatever port it names. */
  urls: string[];
  servers: Server[];
  /** Does what the script asked for at a signal. */
  signal(name: NodeJS.Signals): void;
}

/**
 * Runs a module of JavaScript or TypeScript, top-level `await` included.
 * @param modules what an import of these names gives; all others are the installed packages
 * @param variables what the script may use without declaring it
 */
export async function runScript(
  code: string,
  modules: Readonly<Record<string, unknown>>,
  variables: Readonly<Record<string, unknown>>,
): Promise<ScriptRun> {
  const { outputText } = ts.transpileModule(code, {
    compilerOptions: {
      module: ts.ModuleKind.CommonJS,
      target: ts.ScriptTarget.ES2022,
      esModuleInterop: true,
      experimentalDecorators: true,
    },
  });
  const declared = declaredNames(code);
  const given = Object.entries(variables).filter(([name]) => !declared.includes(name));
  const AsyncFunction = Object.getPrototypeOf(async () => {}).constructor;
  const run = new AsyncFunction(
    'require',
    'exports',
    ...given.map(([name]) => name),
    `${outputText}\nreturn { ...exports, ${declaredNames(code, { compiled: true }).join(', ')} };`,
  );
  const load = (name: string): unknown => (Object.hasOwn(modules, name) ? modules[name] : require(name));
  const { servers, restore } = catchServers();
  const listeners = new Map(SIGNALS.map((name) => [name, process.listeners(name)]));
  let values: Record<string, unknown>;
  try {
    values = await run(load, {}, ...given.map(([, value]) => value));
    for (const server of servers) if (!server.listening) await once(server, 'listening');
  } catch (error) {
    for (const server of servers) server.close();
    throw error;
  } finally {
    restore();
  }
  const handlers = SIGNALS.flatMap((name) =>
    process
      .listeners(name)
      .filter((listener) => !listeners.get(name)?.includes(listener))
      .map((listener) => {
        process.removeListener(name, listener);
        return { name, listener };
      }),
  );
  return {
    values,
    servers,
    urls: servers.map((server) => `http://127.0.0.1:${(server.address() as AddressInfo).port}`),
    signal: (wanted) => {
      for (const { name, listener } of handlers) if (name === wanted) listener(name);
    },
  };
}

const SIGNALS = ['SIGINT', 'SIGTERM'] as const;

/** Has every server listen on a free port of the loopback address. */
function catchServers(): { servers: Server[]; restore(): void } {
  const servers: Server[] = [];
  const { listen } = Server.prototype;
  Server.prototype.listen = function (this: Server, ...args: unknown[]) {
    servers.push(this);
    const callback = args.find((arg) => typeof arg === 'function') as (() => void) | undefined;
    return listen.call(this, { port: 0, host: '127.0.0.1' }, callback);
  } as typeof listen;
  return {
    servers,
    restore: () => {
      Server.prototype.listen = listen;
    },
  };
}

/** With `compiled`, only those that are still variables when the compiler has made imports and exports into properties. */
function declaredNames(code: string, { compiled = false } = {}): string[] {
  const names: string[] = [];
  const add = (name: ts.BindingName): void => {
    if (ts.isIdentifier(name)) names.push(name.text);
    else for (const element of name.elements) if (ts.isBindingElement(element)) add(element.name);
  };
  for (const statement of ts.createSourceFile('snippet.ts', code, ts.ScriptTarget.ES2022).statements) {
    if (ts.isVariableStatement(statement)) {
      if (compiled && statement.modifiers?.some(({ kind }) => kind === ts.SyntaxKind.ExportKeyword)) continue;
      for (const { name } of statement.declarationList.declarations) add(name);
    } else if (ts.isImportDeclaration(statement) && !compiled) {
      const { name, namedBindings } = statement.importClause ?? {};
      if (name) names.push(name.text);
      if (namedBindings && ts.isNamedImports(namedBindings)) {
        names.push(...namedBindings.elements.map((element) => element.name.text));
      }
    } else if ((ts.isFunctionDeclaration(statement) || ts.isClassDeclaration(statement)) && statement.name) {
      add(statement.name);
    }
  }
  return names;
}

/** Every file on the disk that was compiled with, by its name: all projects have the same options but for paths. */
const sources = new Map<string, ts.SourceFile | undefined>();

/**
 * What the compiler says of modules as their readers would write them, each in a strict project of its own.
 * @param paths where the sources of a package are
 * @param declared TypeScript types of what a module may use without declaring it
 */
export function typeErrors(
  snippets: readonly Snippet[],
  paths: Record<string, string[]>,
  declared: Record<string, string>,
  root: string,
): string[] {
  const files = new Map(
    snippets.map(({ code }, index) => {
      const names = declaredNames(code);
      const ambient = Object.entries(declared)
        .filter(([name]) => !names.includes(name))
        .map(([name, type]) => `declare const ${name}: ${type};`);
      // On one line, so that the lines of the snippet keep their numbers.
      return [join(root, `snippet-${index}.ts`), `${ambient.join('')}export {};${code}`];
    }),
  );
  const options: ts.CompilerOptions = {
    module: ts.ModuleKind.ESNext,
    moduleResolution: ts.ModuleResolutionKind.Bundler,
    target: ts.ScriptTarget.ES2022,
    lib: ['lib.es2023.d.ts', 'lib.esnext.disposable.d.ts'],
    types: ['node'],
    typeRoots: [join(root, 'node_modules/@types')],
    strict: true,
    skipLibCheck: true,
    experimentalDecorators: true,
    noEmit: true,
    paths,
  };
  const host = ts.createCompilerHost(options);
  const { getSourceFile, fileExists, readFile } = host;
  host.fileExists = (name) => files.has(name) || fileExists(name);
  host.readFile = (name) => files.get(name) ?? readFile(name);
  host.getSourceFile = (name, target, ...rest) => {
    const text = files.get(name);
    if (text !== undefined) return ts.createSourceFile(name, text, target);
    if (!sources.has(name)) sources.set(name, getSourceFile(name, target, ...rest));
    return sources.get(name);
  };
  const program = ts.createProgram([...files.keys()], options, host);
  return [...files.keys()].flatMap((name, index) => {
    const file = program.getSourceFile(name)!;
    return [...program.getSyntacticDiagnostics(file), ...program.getSemanticDiagnostics(file)].map(
      ({ start = 0, messageText }) => {
        const line = ts.getLineAndCharacterOfPosition(file, start).line + 1;
        return `${snippets[index]!.title}+${line}: ${ts.flattenDiagnosticMessageText(messageText, ' ')}`;
      },
    );
  });
}

/** One command of a shell script: its words, and the variables that are set for it or, without words, by it. */
export interface Command {
  assignments: Record<string, string>;
  words: string[];
}

/**
 * Reads simple commands: quotes, variables, comments, continued lines and `&&`.
 * @param variables what is set; assignments are added to it
 * @throws for what a shell would do differently
 */
export function readCommands(script: string, variables: Record<string, string>): Command[] {
  const lines = script.replaceAll('\\\n', ' ').split('\n');
  return lines.flatMap((line) => {
    const commands: Command[] = [];
    let command: Command = { assignments: {}, words: [] };
    for (const word of [...splitWords(line, variables), '&&']) {
      const assignment = /^([A-Za-z_]\w*)=(.*)$/s.exec(word);
      if (word === '&&') {
        if (command.words.length > 0 || Object.keys(command.assignments).length > 0) commands.push(command);
        if (command.words.length === 0) Object.assign(variables, command.assignments);
        command = { assignments: {}, words: [] };
      } else if (assignment && command.words.length === 0)
        command.assignments[assignment[1]!] = assignment[2]!;
      else command.words.push(word);
    }
    return commands;
  });
}

const TOKEN = /'([^']*)'|"((?:[^"\\]|\\.)*)"|(\s+|#.*$)|(&&|[^\s'"`|;&<>()*?\\]+)/y;

function splitWords(line: string, variables: Readonly<Record<string, string>>): string[] {
  const expand = (text: string, quoted: boolean): string =>
    text.replace(/\$(?:\{(\w+)\}|(\w+))/g, (name, braced?: string, bare?: string) => {
      const value = variables[(braced ?? bare)!];
      if (value === undefined) throw new Error(`${name} is not set: ${line}`);
      if (!quoted && /[\s*?]/.test(value)) throw new Error(`${name} is several words unless quoted: ${line}`);
      return value;
    });
  const words: string[] = [];
  let word: string | null = null;
  const text = line.trim();
  for (TOKEN.lastIndex = 0; TOKEN.lastIndex < text.length; ) {
    const at = TOKEN.lastIndex;
    const match = TOKEN.exec(text);
    if (!match) throw new Error(`It cannot be read from here on: ${text.slice(at)}`);
    const [, single, double, gap, bare] = match;
    if (gap !== undefined && !(gap.startsWith('#') && word !== null)) {
      if (word !== null) words.push(word);
      word = null;
    } else {
      const unescaped = double?.replaceAll(/\\(["\\$])/g, '$1');
      const part = unescaped === undefined ? expand(bare ?? gap ?? '', false) : expand(unescaped, true);
      word = (word ?? '') + (single ?? part);
    }
  }
  if (word !== null) words.push(word);
  return words;
}

/** A curl command as the request that it makes. @throws for an option that is not known here */
export function readCurl([name, ...words]: readonly string[]): { url: string; init: RequestInit } {
  if (name !== 'curl') throw new Error(`${name} is not curl`);
  const headers = new Headers();
  let method: string | undefined;
  let body: string | undefined;
  const urls: string[] = [];
  for (let index = 0; index < words.length; index += 1) {
    const word = words[index]!;
    const value = (): string => {
      index += 1;
      const next = words[index];
      if (next === undefined) throw new Error(`curl: ${word} lacks its value`);
      return next;
    };
    if (word === '-s') continue;
    if (word === '-X') method = value();
    else if (word === '-d') body = value();
    else if (word === '-H') {
      const [field, ...rest] = value().split(':');
      headers.set(field!, rest.join(':').trim());
    } else if (word.startsWith('-')) throw new Error(`curl: ${word} is not known to this test`);
    else urls.push(word);
  }
  if (urls.length !== 1) throw new Error(`curl: one URL is expected, not ${urls.length}`);
  if (body !== undefined && !headers.has('content-type')) {
    headers.set('content-type', 'application/x-www-form-urlencoded');
  }
  return {
    url: urls[0]!,
    init: {
      method: method ?? (body === undefined ? 'GET' : 'POST'),
      headers,
      ...(body === undefined ? {} : { body }),
    },
  };
}
