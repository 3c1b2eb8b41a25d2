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

/** What a suite imports that has a store. The others of its folder would do the same twice. */
const KIT_WITH_STORE = /\/(support\/sender|support\/test-store|plane|contracts\/served-plane)\.js'/;

const suitesOf = (folder) =>
  readdirSync(join(__dirname, '__tests__', folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.test.ts'))
    .map((name) => `__tests__/${folder}/${name.replaceAll('\\', '/')}`);

/** What `npm run test:postgres` runs, on PostgreSQL alone; the contract of a store is one test on each. */
const WITH_STORE = [
  ...['sender', 'admin', 'express']
    .flatMap(suitesOf)
    .filter((path) => KIT_WITH_STORE.test(readFileSync(join(__dirname, path), 'utf8'))),
  '__tests__/hosts/express.test.ts',
];
/** What is run on both stores each time: what a store has most part in. */
const EACH_TIME =
  /sender\/(delivery|fan-out|idempotency|rate-limits|replay|retention|send|tenant-deletion)\.|admin\/(spec-.*|tenant-isolation|audit)\.|express\/story\./;
const onBoth = WITH_STORE.filter((path) => EACH_TIME.test(path));
// One that is renamed or loses its store must not drop out of it without a word.
if (onBoth.length < 17)
  throw new Error(`Only ${onBoth.length} suites are run on both stores: ${onBoth.join(', ')}`);
const isPostgresAlone = process.env.HOOKPLANE_TEST_STORE === 'postgres';

const onSqlite = {
  ...common,
  displayName: 'on SQLite',
  testMatch: ['<rootDir>/{__tests__,examples}/**/*.test.ts'],
};
const onPostgres = {
  ...common,
  displayName: 'on PostgreSQL',
  setupFiles: ['<rootDir>/__tests__/support/postgres/use-postgres.ts'],
  testMatch: (isPostgresAlone ? WITH_STORE : onBoth).map((path) => `<rootDir>/${path}`),
};

module.exports = {
  watchman: false,
  // Many tests wait most of their time: for a browser, another process, a deadline.
  maxWorkers: Math.ceil(availableParallelism() * 1.5),
  testTimeout: 30_000,
  projects: isPostgresAlone ? [onPostgres] : [onSqlite, onPostgres],
};
