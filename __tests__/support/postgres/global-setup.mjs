import { randomBytes } from 'node:crypto';
import { startServer } from './start-server.mjs';

/** What the server need not do for those who never take it down, and throw away what they wrote. */
const SETTINGS = ['synchronous_commit=off', 'autovacuum=off'];

/** Starts a PostgreSQL server for the test run, unless `HOOKPLANE_TEST_POSTGRES_URL` names one that may be used. */
export default async function start() {
  process.env.HOOKPLANE_TEST_DATABASES = `hookplane_test_${randomBytes(8).toString('hex')}_`;
  if (process.env.HOOKPLANE_TEST_POSTGRES_URL) return;
  const server = await startServer(...SETTINGS).catch((cause) => {
    throw new Error('No PostgreSQL: set HOOKPLANE_TEST_POSTGRES_URL to use one of your own', { cause });
  });
  process.env.HOOKPLANE_TEST_POSTGRES_URL = server.url;
  globalThis.hookplanePostgres = server;
}
