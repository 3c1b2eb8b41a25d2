const { statfsSync } = require('node:fs');
const { availableParallelism } = require('node:os');

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

/** What is run on both stores each time; `npm run test:postgres` runs all that a store has a part in. */
const ON_BOTH = [
  'delivery',
  'fan-out',
  'idempotency',
  'rate-limits',
  'replay',
  'retention',
  'send',
  'tenant-deletion',
].map((name) => `<rootDir>/__tests__/sender/${name}.test.ts`);

const onPostgres = {
  ...common,
  displayName: 'on PostgreSQL',
  setupFiles: ['<rootDir>/__tests__/support/postgres/use-postgres.ts'],
};

module.exports = {
  watchman: false,
  // Many tests wait most of their time: for a browser, another process, a deadline.
  maxWorkers: Math.ceil(availableParallelism() * 1.5),
  testTimeout: 30_000,
  projects:
    process.env.HOOKPLANE_TEST_STORE === 'postgres'
      ? [{ ...onPostgres, testMatch: ['<rootDir>/__tests__/{sender,admin,express}/**/*.test.ts'] }]
      : [
          { ...common, displayName: 'on SQLite', testMatch: ['<rootDir>/{__tests__,examples}/**/*.test.ts'] },
          {
            ...onPostgres,
            testMatch: [
              ...ON_BOTH,
              '<rootDir>/__tests__/admin/tenant-isolation.test.ts',
              '<rootDir>/__tests__/express/story.test.ts',
            ],
          },
        ],
};
