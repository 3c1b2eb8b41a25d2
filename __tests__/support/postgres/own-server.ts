import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { onCleanUp } from '../clean-up.js';

export interface OwnServer {
  url: string;
  /** `kill` as by `kill -9`, `crash` stops without a checkpoint; it is done when this resolves. */
  tell(command: 'kill' | 'crash' | 'start'): Promise<void>;
}

/** A PostgreSQL server that only this test file has, so that it may take it down. */
export async function startOwnServer(): Promise<OwnServer> {
  const child = spawn(process.execPath, [join(__dirname, 'server.mjs')], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const gone = once(child, 'exit');
  onCleanUp('file', 'folder', async () => {
    child.stdin.end();
    await gone;
  });
  const lines = createInterface(child.stdout)[Symbol.asyncIterator]();
  const next = async () => {
    const { value, done } = await lines.next();
    if (done) throw new Error('The PostgreSQL server of this test is gone');
    return value;
  };
  return {
    url: await next(),
    async tell(command) {
      child.stdin.write(`${command}\n`);
      await next();
    },
  };
}
