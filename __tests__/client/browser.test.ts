import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { createContext, Script } from 'node:vm';
import ts from 'typescript';
import type * as clientEntry from '../../lib/client/index.js';
import { openPlane } from '../admin/plane.js';

const lib = resolve(__dirname, '../../lib');
const folder = join(lib, 'client');
const files = readdirSync(folder).map((name) => join(folder, name));

/** What the package's build makes of a file. */
function build(file: string, module: ts.ModuleKind): string {
  const compilerOptions = { module, target: ts.ScriptTarget.ES2022, esModuleInterop: true };
  return ts.transpileModule(readFileSync(file, 'utf8'), { compilerOptions, fileName: file }).outputText;
}

/** The names by which the code of a module asks for others. */
function importsOf(code: string): string[] {
  return ts.preProcessFile(code, true, true).importedFiles.map(({ fileName }) => fileName);
}

it.each([
  ['import', ts.ModuleKind.ESNext],
  ['require', ts.ModuleKind.CommonJS],
])('imports nothing but itself, as it is built for %s', (_, module) => {
  const imports = files.flatMap((file) => importsOf(build(file, module)));
  expect(imports.length).toBeGreaterThan(5);
  expect(imports.filter((name) => !/^\.\/[\w-]+\.js$/.test(name))).toEqual([]);
});

it('works with what a browser has, and nothing else', async () => {
  const plane = await openPlane({ admin: { basePath: '/admin' } });
  await plane.sender.send({ type: 'a.b', data: 1 });
  const asked: string[] = [];
  const context = createContext({
    URL,
    URLSearchParams,
    AbortController,
    setTimeout,
    clearTimeout,
    location: { href: 'https://app.example.com/dashboard' },
    ask(url: string, init: RequestInit) {
      asked.push(url);
      // As a page does, which knows what a path is relative to.
      return plane.handler(new Request(new URL(url, 'https://app.example.com/dashboard'), init));
    },
  });
  // Browsers want the window for a receiver, or none.
  new Script(`{
    const { ask } = globalThis;
    delete globalThis.ask;
    globalThis.fetch = function (...args) {
      if (this !== undefined && this !== globalThis) throw new TypeError('Illegal invocation');
      return ask(...args);
    };
  }`).runInContext(context);
  const loaded = new Map<string, unknown>();
  const load = (file: string): unknown => {
    if (loaded.has(file)) return loaded.get(file);
    const exports = {};
    loaded.set(file, exports);
    const code = build(file, ts.ModuleKind.CommonJS);
    const run = new Script(`(exports, require) => {${code}\n}`).runInContext(context);
    run(exports, (name: string) => load(join(dirname(file), name.replace(/\.js$/, '.ts'))));
    return exports;
  };
  const { createAdminClient } = load(join(folder, 'index.ts')) as typeof clientEntry;

  const client = createAdminClient({ baseUrl: '/admin' });
  const types: string[] = [];
  for await (const { type } of client.messages.listAll({ types: ['a.b'] })) types.push(type);
  expect(types).toEqual(['a.b']);
  await expect(client.endpoints.get('ep_1')).rejects.toMatchObject({ code: 'ENDPOINT_NOT_FOUND' });
  expect(asked).toEqual(['/admin/messages?type=a.b', '/admin/endpoints/ep_1']);
});

it("compiles with a browser's types alone, and takes its fetch", () => {
  const program = `import { createAdminClient, isAdminClientError, type Message } from './index.js';
const client = createAdminClient({ baseUrl: '/admin', fetch: window.fetch, credentials: 'include' });
export const failed = async (): Promise<Message[]> => (await client.messages.list({ statuses: ['failed'] })).messages;
client.health({ signal: AbortSignal.timeout(1) }).catch((error) => isAdminClientError(error) && error.code === 'TIMEOUT');
`;
  const name = join(folder, 'program.ts');
  const options: ts.CompilerOptions = {
    module: ts.ModuleKind.ESNext,
    moduleResolution: ts.ModuleResolutionKind.Bundler,
    target: ts.ScriptTarget.ES2022,
    lib: ['lib.es2022.d.ts', 'lib.dom.d.ts', 'lib.dom.iterable.d.ts', 'lib.dom.asynciterable.d.ts'],
    types: [],
    strict: true,
    exactOptionalPropertyTypes: true,
    skipLibCheck: true,
    noEmit: true,
  };
  const host = ts.createCompilerHost(options);
  const { getSourceFile, fileExists } = host;
  host.fileExists = (file) => file === name || fileExists(file);
  host.getSourceFile = (file, target, ...rest) =>
    file === name ? ts.createSourceFile(file, program, target) : getSourceFile(file, target, ...rest);
  const compiled = ts.createProgram([name], options, host);
  const problems = compiled
    .getSourceFiles()
    .filter(({ fileName }) => fileName.startsWith(folder))
    .flatMap((file) => [...compiled.getSyntacticDiagnostics(file), ...compiled.getSemanticDiagnostics(file)]);
  expect(problems.map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, ' '))).toEqual([]);
});
