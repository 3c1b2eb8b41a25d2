import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

/** Starts a PostgreSQL server for the test run, unless `HOOKPLANE_TEST_POSTGRES_URL` names one that may be used. */
export default async function start() {
  if (process.env.HOOKPLANE_TEST_POSTGRES_URL) return;
  const server = spawn(process.execPath, [fileURLToPath(new URL('server.mjs', import.meta.url))], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const up = once(createInterface(server.stdout), 'line').then(([url]) => url);
  const failed = once(server, 'exit').then(() => null);
  const url = await Promise.race([up, failed]);
  if (url === null) throw new Error('No PostgreSQL: set HOOKPLANE_TEST_POSTGRES_URL to use one of your own');
  process.env.HOOKPLANE_TEST_POSTGRES_URL = url;
  globalThis.hookplanePostgres = server;
}
