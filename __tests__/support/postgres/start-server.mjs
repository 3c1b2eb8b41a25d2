import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

/**
 * Starts a PostgreSQL server that ends with this process.
 * @param settings of the server: `fsync=on`
 */
export async function startServer(...settings) {
  const child = spawn(
    process.execPath,
    [fileURLToPath(new URL('server.mjs', import.meta.url)), ...settings],
    {
      stdio: ['pipe', 'pipe', 'inherit'],
    },
  );
  const gone = once(child, 'exit');
  const lines = createInterface(child.stdout)[Symbol.asyncIterator]();
  const { value: url, done } = await lines.next();
  if (done) throw new Error('PostgreSQL did not start');
  return {
    url,
    /** @param command `kill`, `crash` or `start`; it is done when this resolves */
    async tell(command) {
      child.stdin.write(`${command}\n`);
      if ((await lines.next()).done) throw new Error(`PostgreSQL did not ${command}`);
    },
    async stop() {
      child.stdin.end();
      await gone;
    },
  };
}
