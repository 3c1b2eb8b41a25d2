import { once } from 'node:events';

export default async function stop() {
  const server = globalThis.hookplanePostgres;
  if (!server || server.exitCode !== null) return;
  const ended = once(server, 'exit');
  server.stdin.end();
  await ended;
}
