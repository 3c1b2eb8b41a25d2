const { readdirSync, readFileSync, statfsSync } = require('node:fs');
const { availableParallelism } = require('node:os');
const { join } = require('node:path');

/** What tests write outlives none of them: in memory they do not wait for a disk. */
const MEMORY = '/dev/shm';
const ROOM_BYTES = 2 ** 31;
if (roomIn(MEMORY) >= ROOM_BYTES) process.env.TMPDIR ??= MEMORY;

function roomIn(folder) {
  try {
    const { bavail, bsize } = statfsSync(folder);
    return bavail * bsize;
  } catch {
    return 0;
  }
}

const common = {
  testEnvironment: 'node',
  roots: ['<rootDir>/lib', '<rootDir>/__tests__', '<rootDir>/examples'],
  transform: { '^.+\\.ts$': ['ts-jest', { tsconfig: 'tsconfig.json' }] },
  globalSetup: '<rootDir>/__tests__/support/postgres/global-setup.mjs',
  globalTeardown: '<rootDir>/__tests__/support/postgres/global-teardown.mjs',
  setupFilesAfterEnv: [
    '<rootDir>/__tests__/support/check-secrets.ts',
    '<rootDir>/__tests__/support/check-answers.ts',
  ],
  moduleNameMapper: {
    '^(\\.{1,2}/.*)\\.js$': '$1',
    '^hookplane$': '<rootDir>/lib/index.ts',
    '^hookplane/(.*)$': '<rootDir>/lib/$1/index.ts',
  },
};

/** What a suite imports that has a store, and what it would call to have one without. */
const KIT_WITH_STORE = /\/(support\/sender|support\/test-store|plane|contracts\/served-plane)\.js'/;
const WITHOUT_KIT = /\b(createSender|createTestSender|sqliteStore|postgresStore)\(/;

const suites = ['sender', 'admin', 'express'].flatMap((folder) =>
  readdirSync(join(__dirname, '__tests__', folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.test.ts'))
    .map((name) => `${folder}/${name.replaceAll('\\', '/')}`),
);
function hasStore(name) {
  const text = readFileSync(join(__dirname, '__tests__', name), 'utf8');
  if (KIT_WITH_STORE.test(text)) return true;
  if (WITHOUT_KIT.test(text))
    throw new Error(`__tests__/${name} has a store on SQLite alone: open it by the kit`);
  return false;
}
/** It asks a browser, whose time it takes, what reaches a control plane at all. */
const IN_BROWSER = 'express/csrf-browser.test.ts';
/** Of the hosts, which keep to one contract, one is enough. */
const onBoth = [...suites.filter((name) => name !== IN_BROWSER && hasStore(name)), 'hosts/express.test.ts'];

const onSqlite = {
  ...common,
  displayName: 'on SQLite',
  testMatch: ['<rootDir>/{__tests__,examples}/**/*.test.ts'],
};
const onPostgres = {
  ...common,
  displayName: 'on PostgreSQL',
  setupFiles: ['<rootDir>/__tests__/support/postgres/use-postgres.ts'],
  testMatch: onBoth.map((name) => `<rootDir>/__tests__/${name}`),
};

module.exports = {
  watchman: false,
  // Many tests wait most of their time: for a browser, another process, a deadline, a statement.
  maxWorkers: availableParallelism() * 2,
  testSequencer: '<rootDir>/__tests__/support/longest-first.js',
  // Modules that many suites have loaded are not let go of: a worker that has grown is replaced.
  workerIdleMemoryLimit: '1.5GB',
  testTimeout: 30_000,
  projects: [onSqlite, onPostgres],
};
