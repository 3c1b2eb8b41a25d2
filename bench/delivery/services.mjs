// The servers that contenders keep their work in, as durable as they are by default, for as long as a benchmark runs.
import { spawn, spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { connect, createServer } from 'node:net';
import { once } from 'node:events';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { startServer } from '../../__tests__/support/postgres/start-server.mjs';

const PEERS = new URL('../peers/', import.meta.url);

/** Installs what the peers are made of, where it is not there. */
export function installPeers() {
  if (existsSync(new URL('node_modules/bullmq', PEERS))) return;
  const { status } = spawnSync('npm', ['ci', '--ignore-scripts', '--silent'], {
    cwd: PEERS,
    stdio: 'inherit',
  });
  if (status !== 0) throw new Error('The peers could not be installed: run npm ci in bench/peers');
}

export async function startPostgres() {
  const server = await startServer('fsync=on', 'full_page_writes=on');
  let databases = 0;
  return {
    /** The URL of a database that nobody has used. */
    async newDatabase() {
      const client = new pg.Client(server.url);
      await client.connect();
      const name = `bench_${++databases}`;
      await client.query(`create database ${name}`);
      await client.end();
      return Object.assign(new URL(server.url), { pathname: name }).href;
    },
    stop: () => server.stop(),
  };
}

/** Null where there is no Redis. Writes its log once a second, as is usual. */
export async function startRedis(folder) {
  if (spawnSync('redis-server', ['--version']).status !== 0) return null;
  const port = await freePort();
  const dir = join(folder, 'redis');
  await mkdir(dir);
  const given = {
    port,
    dir,
    bind: '127.0.0.1',
    appendonly: 'yes',
    save: '',
    'maxmemory-policy': 'noeviction',
  };
  const server = spawn(
    'redis-server',
    Object.entries(given).flatMap(([name, value]) => [`--${name}`, value]),
    {
      stdio: 'ignore',
    },
  );
  while (!(await answers(port))) await sleep(20);
  return {
    port,
    async stop() {
      const ended = once(server, 'exit');
      server.kill();
      await ended;
    },
  };
}

async function answers(port) {
  const socket = connect(port, '127.0.0.1');
  try {
    await once(socket, 'connect');
    return true;
  } catch {
    return false;
  } finally {
    socket.destroy();
  }
}

async function freePort() {
  const probe = createServer().listen(0, '127.0.0.1');
  await once(probe, 'listening');
  const { port } = probe.address();
  probe.close();
  await once(probe, 'close');
  return port;
}
