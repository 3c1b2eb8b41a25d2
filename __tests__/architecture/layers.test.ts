import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve, sep } from 'node:path';
import manifest from '../../package.json';
import { checkTree, type Rules } from './check-layers.js';

const rules: Rules = {
  layers: {
    model: { packages: ['zod'], node: false },
    store: { imports: { model: 'all' } },
    sender: { imports: { model: 'all', 'store/store': 'types' } },
    admin: { imports: { model: 'all', sender: 'types' } },
    client: { imports: { model: 'types' }, packages: [], node: false },
    dashboard: { imports: { model: 'all' }, packages: [] },
    // What browsers get. It asks the control plane by the client, as any other page would.
    'dashboard/app': {
      imports: { client: 'all', model: 'all' },
      packages: [],
      bundled: ['preact', 'uplot'],
      node: false,
    },
    express: {
      imports: { admin: 'all', dashboard: 'all', model: 'all', sender: 'types' },
      packages: ['@whatwg-node/server', 'express'],
    },
    nest: {
      imports: { express: 'all', admin: 'all', model: 'all', 'create-sender': 'all', sender: 'types' },
      packages: ['@nestjs/common', '@nestjs/core'],
      eager: ['@nestjs/common', '@nestjs/core'],
    },
    cli: {
      imports: { model: 'all', store: 'all', sender: 'types', 'create-sender': 'all' },
      packages: [],
      console: true,
    },
    // A sender as applications have it, on the store that every installation has.
    testing: {
      imports: {
        model: 'all',
        sender: 'all',
        'store/store': 'types',
        'store/sqlite': 'all',
        'create-sender': 'all',
      },
    },
    postgres: { imports: { store: 'all' } },
    // All that needs no optional peer.
    'create-sender': {
      imports: { model: 'all', store: 'all', sender: 'all', admin: 'all', client: 'all', dashboard: 'all' },
    },
    // Nobody lists it: it is for users, and an import of it from inside would pull in everything.
    index: {
      imports: {
        model: 'all',
        store: 'all',
        sender: 'all',
        admin: 'all',
        client: 'all',
        dashboard: 'all',
        'create-sender': 'all',
      },
    },
  },
  forbidden: [{ from: 'store/sql/', to: ['store/sqlite.ts', 'store/postgres.ts'] }],
  packages: declaredPackages(manifest),
  internal: Object.keys(manifest.imports),
  maxLines: 300,
};

describe('lib', () => {
  const files = readTree(resolve(__dirname, '../../lib'));

  it('is where this test looks for it', () => {
    expect([...files.keys()]).toContain('model/errors.ts');
  });

  it('keeps to the layers', () => {
    expect(checkTree(files, rules)).toEqual([]);
  });

  it('asks parseUrl, not URL.canParse, which Node 20 answers wrongly when called often', () => {
    const users = [...files].filter(([, text]) => text.includes('canParse(')).map(([file]) => file);
    expect(users).toEqual([]);
  });
});

describe('the check', () => {
  const check = (files: Record<string, string>, changes: Partial<Rules> = {}) =>
    checkTree(new Map(Object.entries(files)), {
      ...rules,
      packages: { required: ['zod', 'undici', '@scope/name'], optional: ['pg', '@nestjs/common'] },
      internal: ['#page'],
      ...changes,
    });
  const others = {
    'model/types.ts': 'export type Id = string;',
    'store/store.ts': 'export type Store = unknown;',
    'store/rows.ts': 'export const rows = [];',
    'sender/sender.ts': 'export const sender = 1;',
    'admin/handler.ts': 'export const handler = 1;',
    'dashboard/handler.ts': 'export const handler = 1;',
    'dashboard/app/views/view.tsx': 'export const view = <p />;',
    'index.ts': '',
    'create-sender.ts': '',
  };

  it.each([
    ['a layer that the table names', 'admin/a.ts', "import { Id } from '../model/types.js';"],
    ['its own layer', 'sender/delivery/a.ts', "import { sender } from '../sender.js';"],
    ['the types of a layer', 'admin/a.ts', "import type { sender } from '../sender/sender.js';"],
    ['types one by one', 'admin/a.ts', "import { type sender } from '../sender/sender.js';"],
    ['types in order to export them', 'admin/a.ts', "export type { sender } from '../sender/sender.js';"],
    ['types where they are used', 'admin/a.ts', "let a: import('../sender/sender.js').Id | undefined;"],
    ['the types of one file', 'sender/a.ts', "import type { Store } from '../store/store.js';"],
    ['a declared package', 'sender/a.ts', "import { Agent } from 'undici';"],
    ['a part of a scoped package', 'sender/a.ts', "import '@scope/name/part';"],
    ['what Node brings along', 'sender/a.ts', "import { createHash } from 'node:crypto';"],
    ['the types of an optional package', 'store/a.ts', "import type { Pool } from 'pg';"],
    ['an optional package when used', 'store/a.ts', "async () => { await import('pg'); };"],
    ['an optional package at once where granted', 'nest/a.ts', "import '@nestjs/common';"],
    ['what the build makes', 'dashboard/a.ts', "async () => { await import('#page'); };"],
    ['what is bundled', 'dashboard/app/a.tsx', "import { render } from 'preact';"],
    ['its own layer, from a folder of it', 'dashboard/app/a.tsx', "import { view } from './views/view.js';"],
    ['all that needs no optional peer', 'index.ts', "export * from './create-sender.js';"],
    ['nothing, in a comment or a text', 'model/a.ts', "// import 'pg';\nexport const a = \"import 'pg'\";"],
  ])('allows to import %s', (_, file, text) => {
    expect(check({ ...others, [file]: text })).toEqual([]);
  });

  it.each([
    [
      "import { sender } from '../sender/sender.js';",
      'store/a.ts',
      'sender/sender.ts, which the layer store may not',
    ],
    [
      "import type { sender } from '../sender/sender.js';",
      'store/a.ts',
      'sender/sender.ts, which the layer store may not',
    ],
    ["import '../sender/sender.js';", 'model/a.ts', 'sender/sender.ts, which the layer model may not'],
    [
      "import type { rows } from '../store/rows.js';",
      'sender/a.ts',
      'store/rows.ts, which the layer sender may not',
    ],
    ["import '../create-sender.js';", 'sender/a.ts', 'create-sender.ts, which the layer sender may not'],
    ["import '../admin/handler.js';", 'cli/a.ts', 'admin/handler.ts, which the layer cli may not'],
    [
      "import type {} from './index.js';",
      'create-sender.ts',
      'index.ts, which the layer create-sender may not',
    ],
    ["import type {} from '../index.js';", 'express/a.ts', 'index.ts, which the layer express may not'],
    ["import 'undici';", 'model/a.ts', 'undici, which the layer model may not'],
    ["import 'node:crypto';", 'model/a.ts', 'node:crypto, but the layer model has to run outside Node'],
    ["import 'crypto';", 'client/a.ts', 'crypto, but the layer client has to run outside Node'],
    ["import 'undici';", 'express/a.ts', 'undici, which the layer express may not'],
    ["import type { A } from 'jest';", 'sender/a.ts', 'jest, which package.json does not declare for users'],
    ["import '@scope/other';", 'sender/a.ts', '@scope/other, which package.json does not declare for users'],
    ["import 'hookplane';", 'sender/a.ts', 'hookplane, which package.json does not declare for users'],
    ["import '#other';", 'dashboard/a.ts', '#other, which package.json does not name'],
    ["import 'preact';", 'dashboard/a.ts', 'preact, which the layer dashboard may not'],
    ["import 'zod';", 'dashboard/app/a.tsx', 'zod, which the layer dashboard/app may not'],
    [
      "import 'node:fs';",
      'dashboard/app/a.tsx',
      'node:fs, but the layer dashboard/app has to run outside Node',
    ],
    [
      "import { view } from './app/views/view.js';",
      'dashboard/a.ts',
      'dashboard/app/views/view.tsx, which the layer dashboard may not',
    ],
    [
      "import { handler } from '../handler.js';",
      'dashboard/app/a.tsx',
      'dashboard/handler.ts, which the layer dashboard/app may not',
    ],
    ["import './none.js';", 'sender/a.ts', './none.js, which is not a file of lib'],
    ["import './sender';", 'sender/a.ts', './sender, which is not a file of lib'],
    ["import '../../package.json';", 'sender/a.ts', '../../package.json, which is not a file of lib'],
    ['async (name) => import(name);', 'sender/a.ts', 'a computed name, which nothing can check'],
  ])('refuses %s in %s', (text, file, problem) => {
    expect(check({ ...others, [file]: text })).toEqual([`${file}:1 imports ${problem}`]);
  });

  it.each([
    "import { sender } from '../sender/sender.js';",
    "import { type Id, sender } from '../sender/sender.js';",
    "import sender from '../sender/sender.js';",
    "import sender, { type Id } from '../sender/sender.js';",
    "import * as sender from '../sender/sender.js';",
    "import '../sender/sender.js';",
    "import sender = require('../sender/sender.js');",
    "export * from '../sender/sender.js';",
    "export * as sender from '../sender/sender.js';",
    "export { sender } from '../sender/sender.js';",
    "const sender = require('../sender/sender.js');",
    "const load = () => import('../sender/sender.js');",
  ])('knows code from types: %s', (text) => {
    expect(check({ ...others, 'admin/a.ts': text })).toEqual([
      'admin/a.ts:1 imports sender/sender.ts as code, of which the layer admin may import only types',
    ]);
  });

  it.each([
    "import { Pool } from 'pg';",
    "import pg from 'pg/lib/pool.js';",
    "const pg = require('pg');",
    "export const pg = await import('pg');",
  ])('refuses an optional package at once: %s', (text) => {
    expect(check({ 'store/a.ts': text })).toEqual([
      'store/a.ts:1 imports pg at once; it is optional, so only its types or an import() at the time of use will do',
    ]);
  });

  it('refuses a way back from the shared SQL into a dialect', () => {
    const files = {
      'store/sqlite.ts': 'export {};',
      'store/sql/a.ts': "import type {} from '../sqlite.js';",
    };
    expect(check(files)).toEqual([
      'store/sql/a.ts:1 imports store/sqlite.ts, which nothing in store/sql/ may',
    ]);
  });

  it('finds cycles, of types and of late imports too', () => {
    const files = {
      'sender/a.ts': "import type { B } from './b.js';",
      'sender/b.ts': "export * from './c.js';",
      'sender/c.ts': "import { d } from './d.js';\nexport const a = () => import('./a.js');",
      'sender/d.ts': 'export const d = 1;',
      'sender/self.ts': "import type { Self } from './self.js';",
    };
    expect(check(files)).toEqual([
      'sender/a.ts → sender/b.ts → sender/c.ts → sender/a.ts is a cycle',
      'sender/self.ts → sender/self.ts is a cycle',
    ]);
  });

  it('takes two ways to one file for no cycle', () => {
    const files = {
      'sender/a.ts': "import './b.js';\nimport './c.js';",
      'sender/b.ts': "import './d.js';",
      'sender/c.ts': "import './b.js';\nimport './d.js';",
      'sender/d.ts': '',
    };
    expect(check(files)).toEqual([]);
  });

  it('counts lines', () => {
    const files = { 'model/a.ts': '\n'.repeat(300), 'model/b.css': `${'\n'.repeat(300)}x` };
    expect(check(files)).toEqual(['model/b.css has 301 lines, more than 300']);
  });

  it('wants kebab-case, in folders too', () => {
    const files = {
      'nest/admin.module.ts': '',
      'store/sql/migrations/0001-initial.ts': '',
      'model/rateLimit.ts': '',
      'model/rate_limit.ts': '',
      'model/Rules/a.ts': '',
    };
    expect(check(files)).toEqual([
      'model/rateLimit.ts is not in kebab-case',
      'model/rate_limit.ts is not in kebab-case',
      'model/Rules/a.ts is not in kebab-case',
    ]);
  });

  it('wants each file in a layer', () => {
    expect(check({ 'util/a.ts': '', 'helpers.ts': '' })).toEqual([
      'util/a.ts belongs to no layer',
      'helpers.ts belongs to no layer',
    ]);
  });

  it.each([
    'console.log(1);',
    'const { warn } = console;',
    'globalThis.console.warn(1);',
    'export const defaults = { logger: console };',
    'export const globals = { console };',
  ])('finds console: %s', (text) => {
    expect(check({ 'sender/a.ts': text, 'cli/a.ts': text })).toEqual(['sender/a.ts:1 uses console']);
  });

  it('knows console from its namesakes', () => {
    const text =
      '// console.log\nexport const a = (o: { console: 1 }) => ({ console: o.console, b: "console.log" });';
    expect(check({ 'sender/a.ts': text })).toEqual([]);
  });
});

describe('the declared packages', () => {
  it('leave out what users do not get, and tell what they may lack', () => {
    const declared = declaredPackages({
      dependencies: { zod: '1' },
      devDependencies: { jest: '1' },
      optionalDependencies: { sqlite: '1' },
      peerDependencies: { react: '1', express: '1' },
      peerDependenciesMeta: { express: { optional: true } },
    });
    expect(declared).toEqual({ required: ['zod', 'react'], optional: ['sqlite', 'express'] });
  });
});

interface Manifest {
  dependencies?: Record<string, string>;
  devDependencies?: Record<string, string>;
  optionalDependencies?: Record<string, string>;
  peerDependencies?: Record<string, string>;
  peerDependenciesMeta?: Record<string, { optional?: boolean }>;
}

function declaredPackages(manifest: Manifest): Rules['packages'] {
  const peers = Object.keys(manifest.peerDependencies ?? {});
  const isOptional = (name: string) => manifest.peerDependenciesMeta?.[name]?.optional === true;
  return {
    required: [...Object.keys(manifest.dependencies ?? {}), ...peers.filter((name) => !isOptional(name))],
    optional: [...Object.keys(manifest.optionalDependencies ?? {}), ...peers.filter(isOptional)],
  };
}

function readTree(root: string): Map<string, string> {
  const entries = readdirSync(root, { recursive: true, withFileTypes: true }).filter((entry) =>
    entry.isFile(),
  );
  const paths = entries.map((entry) => join(entry.parentPath, entry.name)).sort();
  return new Map(
    paths.map((path) => [
      path
        .slice(root.length + 1)
        .split(sep)
        .join('/'),
      readFileSync(path, 'utf8'),
    ]),
  );
}
