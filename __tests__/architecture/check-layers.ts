import { isBuiltin } from 'node:module';
import { posix } from 'node:path';
import ts from 'typescript';

/** What one layer may import beside itself. */
export interface Layer {
  /** Layers, or single files of one (`store/store`); `types` where nothing may be left of it at run time. */
  imports?: Readonly<Record<string, 'all' | 'types'>>;
  /** The only packages it may import. Left out: any that package.json declares. */
  packages?: readonly string[];
  /** Packages that the build takes into what it makes of the layer, so that no user needs them. */
  bundled?: readonly string[];
  /** Optional packages that it may load at once, because its entry point exists for their users. */
  eager?: readonly string[];
  /** False where the code has to run outside Node. */
  node?: boolean;
  /** True where printing is the purpose. */
  console?: boolean;
}

export interface Rules {
  /**
   * By folder, the innermost that is named here; a file beside the folders is a layer of its own, named without its
   * extension.
   */
  layers: Readonly<Record<string, Layer>>;
  /** Imports inside one layer that are not allowed all the same. */
  forbidden: readonly { from: string; to: readonly string[] }[];
  /** What package.json declares for users: what comes with every installation, and what may be absent. */
  packages: { required: readonly string[]; optional: readonly string[] };
  /** The names beginning with # that package.json gives to files of the build. */
  internal: readonly string[];
  maxLines: number;
}

interface Import {
  /** Null when the name is computed at run time. */
  specifier: string | null;
  line: number;
  typesOnly: boolean;
  /** Loaded when the code gets there, not when the file is loaded. */
  late: boolean;
}

const CODE = /\.[cm]?[jt]sx?$/;
const KEBAB_CASE = /^[a-z0-9]+(-[a-z0-9]+)*(\.[a-z0-9]+)*$/;

/** Says, in one sentence each, where a source tree (path below lib/ → text) breaks the rules. */
export function checkTree(files: ReadonlyMap<string, string>, rules: Rules): string[] {
  const problems: string[] = [];
  const graph = new Map<string, Set<string>>();
  for (const [file, text] of files) {
    problems.push(...checkFile(file, text, rules.maxLines));
    const layerName = layerOf(file, rules.layers);
    const layer = rules.layers[layerName];
    if (!layer) problems.push(`${file} belongs to no layer`);
    if (!layer || !CODE.test(file)) continue;

    const source = ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true);
    if (!layer.console) problems.push(...consoleLines(source).map((line) => `${file}:${line} uses console`));
    const targets = new Set<string>();
    graph.set(file, targets);
    for (const found of importsOf(source)) {
      const where = `${file}:${found.line}`;
      if (found.specifier === null) {
        problems.push(`${where} imports a computed name, which nothing can check`);
      } else if (!found.specifier.startsWith('.')) {
        const problem = packageProblem(found, found.specifier, layerName, layer, rules);
        if (problem) problems.push(`${where} imports ${problem}`);
      } else {
        const target = resolve(file, found.specifier, files);
        if (target) targets.add(target);
        const problem = target
          ? layerProblem(found, file, target, layer, rules)
          : `${found.specifier}, which is not a file of lib`;
        if (problem) problems.push(`${where} imports ${problem}`);
      }
    }
  }
  return [...problems, ...cycles(graph).map((cycle) => `${cycle.join(' → ')} is a cycle`)];
}

function checkFile(file: string, text: string, maxLines: number): string[] {
  const problems: string[] = [];
  const lines = text.split('\n').length - (text.endsWith('\n') ? 1 : 0);
  if (lines > maxLines) problems.push(`${file} has ${lines} lines, more than ${maxLines}`);
  if (!file.split('/').every((part) => KEBAB_CASE.test(part))) problems.push(`${file} is not in kebab-case`);
  return problems;
}

function layerOf(file: string, layers: Rules['layers']): string {
  const [outermost, ...folders] = file.split('/').slice(0, -1);
  if (outermost === undefined) return withoutExtension(file);
  let layer = outermost;
  let folder = outermost;
  for (const each of folders) {
    folder = `${folder}/${each}`;
    if (layers[folder]) layer = folder;
  }
  return layer;
}

function withoutExtension(file: string): string {
  return file.replace(CODE, '');
}

function resolve(from: string, specifier: string, files: ReadonlyMap<string, string>): string | undefined {
  const path = posix.join(posix.dirname(from), specifier);
  const candidates = [path, path.replace(/\.js$/, '.ts'), path.replace(/\.js$/, '.tsx')];
  return candidates.find((candidate) => files.has(candidate));
}

function layerProblem(
  found: Import,
  from: string,
  to: string,
  layer: Layer,
  rules: Rules,
): string | undefined {
  const rule = rules.forbidden.find((entry) => from.startsWith(entry.from) && entry.to.includes(to));
  if (rule) return `${to}, which nothing in ${rule.from} may`;
  const source = layerOf(from, rules.layers);
  const target = layerOf(to, rules.layers);
  if (target === source) return undefined;
  const granted = layer.imports?.[target] ?? layer.imports?.[withoutExtension(to)];
  if (!granted) return `${to}, which the layer ${source} may not`;
  if (granted === 'types' && !found.typesOnly) {
    return `${to} as code, of which the layer ${source} may import only types`;
  }
  return undefined;
}

function packageProblem(
  found: Import,
  specifier: string,
  layerName: string,
  layer: Layer,
  { packages, internal }: Pick<Rules, 'packages' | 'internal'>,
): string | undefined {
  if (specifier.startsWith('#')) {
    return internal.includes(specifier) ? undefined : `${specifier}, which package.json does not name`;
  }
  if (isBuiltin(specifier)) {
    return layer.node === false
      ? `${specifier}, but the layer ${layerName} has to run outside Node`
      : undefined;
  }
  const name = specifier.split('/', specifier.startsWith('@') ? 2 : 1).join('/');
  if (layer.bundled?.includes(name)) return undefined;
  if (layer.packages && !layer.packages.includes(name)) {
    return `${name}, which the layer ${layerName} may not`;
  }
  if (packages.optional.includes(name)) {
    return found.typesOnly || found.late || layer.eager?.includes(name)
      ? undefined
      : `${name} at once; it is optional, so only its types or an import() at the time of use will do`;
  }
  return packages.required.includes(name)
    ? undefined
    : `${name}, which package.json does not declare for users`;
}

function importsOf(source: ts.SourceFile): Import[] {
  const imports: Import[] = [];
  const add = (node: ts.Node, name: ts.Node | undefined, how: { typesOnly?: boolean; late?: boolean }) => {
    imports.push({
      specifier: name && ts.isStringLiteralLike(name) ? name.text : null,
      line: lineOf(source, node),
      typesOnly: how.typesOnly ?? false,
      late: how.late ?? false,
    });
  };
  const visit = (node: ts.Node): void => {
    if (ts.isImportDeclaration(node)) {
      add(node, node.moduleSpecifier, { typesOnly: importsTypesOnly(node.importClause) });
    } else if (ts.isExportDeclaration(node) && node.moduleSpecifier) {
      const names = node.exportClause && ts.isNamedExports(node.exportClause) ? node.exportClause : undefined;
      add(node, node.moduleSpecifier, { typesOnly: node.isTypeOnly || namesTypesOnly(names) });
    } else if (ts.isImportEqualsDeclaration(node) && ts.isExternalModuleReference(node.moduleReference)) {
      add(node, node.moduleReference.expression, { typesOnly: node.isTypeOnly });
    } else if (ts.isImportTypeNode(node)) {
      const name = ts.isLiteralTypeNode(node.argument) ? node.argument.literal : undefined;
      add(node, name, { typesOnly: true });
    } else if (ts.isModuleDeclaration(node) && ts.isStringLiteral(node.name)) {
      add(node, node.name, { typesOnly: true });
    } else if (ts.isCallExpression(node) && isLoad(node.expression)) {
      add(node, node.arguments[0], { late: isInsideFunction(node) });
    }
    ts.forEachChild(node, visit);
  };
  visit(source);
  return imports;
}

function importsTypesOnly(clause: ts.ImportClause | undefined): boolean {
  if (!clause) return false;
  if (clause.phaseModifier === ts.SyntaxKind.TypeKeyword) return true;
  const bindings = clause.namedBindings;
  return !clause.name && bindings !== undefined && ts.isNamedImports(bindings) && namesTypesOnly(bindings);
}

/** Of `import { type A, type B }` the compiler leaves nothing, just as of `import type { A, B }`. */
function namesTypesOnly(names: ts.NamedImports | ts.NamedExports | undefined): boolean {
  return names?.elements.every((element) => element.isTypeOnly) ?? false;
}

function isLoad(callee: ts.Expression): boolean {
  return (
    callee.kind === ts.SyntaxKind.ImportKeyword || (ts.isIdentifier(callee) && callee.text === 'require')
  );
}

function isInsideFunction(node: ts.Node): boolean {
  return ts.findAncestor(node, ts.isFunctionLike) !== undefined;
}

function consoleLines(source: ts.SourceFile): number[] {
  const lines: number[] = [];
  const visit = (node: ts.Node): void => {
    if (ts.isIdentifier(node) && node.text === 'console' && !isOtherName(node))
      lines.push(lineOf(source, node));
    ts.forEachChild(node, visit);
  };
  visit(source);
  return lines;
}

/** Whether the identifier only names a property of something else (`options.console`, `{ console: … }`). */
function isOtherName(node: ts.Identifier): boolean {
  const parent = node.parent;
  if (ts.isPropertyAccessExpression(parent) && parent.name === node) {
    return !(ts.isIdentifier(parent.expression) && /^global(This)?$/.test(parent.expression.text));
  }
  return (ts.isPropertyAssignment(parent) || ts.isPropertySignature(parent)) && parent.name === node;
}

function lineOf(source: ts.SourceFile, node: ts.Node): number {
  return source.getLineAndCharacterOfPosition(node.getStart(source)).line + 1;
}

/** For every edge that leads back onto the path being walked, the files from its target round to it again. */
function cycles(graph: ReadonlyMap<string, ReadonlySet<string>>): string[][] {
  const found: string[][] = [];
  const path: string[] = [];
  const done = new Set<string>();
  const walk = (file: string): void => {
    const start = path.indexOf(file);
    if (start !== -1) found.push([...path.slice(start), file]);
    if (start !== -1 || done.has(file)) return;
    path.push(file);
    for (const target of graph.get(file) ?? []) walk(target);
    path.pop();
    done.add(file);
  };
  for (const file of graph.keys()) walk(file);
  return found;
}
