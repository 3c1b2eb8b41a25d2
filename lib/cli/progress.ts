import type { CliIo } from './io.js';
import { duration, grouped } from './text.js';

export interface Progress {
  /** Says how much is done, of how much where that is known. */
  update(done: number): Promise<void>;
  /** Leaves the line free for what comes next. */
  end(): Promise<void>;
}

const BAR = 24;
/** How often somebody who reads lines is told something. */
const LINE_EVERY_MS = 2000;
const DRAW_EVERY_MS = 100;

/** Tells on stderr how far something is: by a bar on a terminal, by lines otherwise. */
export function createProgress(
  { stderr }: CliIo,
  verb: string,
  total: number | null,
  now = Date.now,
): Progress {
  const began = now();
  let shownAt = stderr.isTTY ? 0 : began;
  let drawn = false;

  function text(done: number): string {
    const seconds = Math.max(1, now() - began) / 1000;
    const rate = done / seconds;
    const speed = `${grouped(Math.round(rate))}/s`;
    if (total === null || total === 0) return `${verb} ${grouped(done)}  ${speed}`;
    const share = Math.min(1, done / total);
    const left = rate > 0 && done < total ? `  ${duration(((total - done) / rate) * 1000)} left` : '';
    const numbers = `${grouped(done)} of ${grouped(total)}  ${Math.floor(share * 100)} %  ${speed}${left}`;
    if (!stderr.isTTY) return `${verb} ${numbers}`;
    const filled = Math.round(share * BAR);
    return `${verb} [${'#'.repeat(filled)}${'.'.repeat(BAR - filled)}] ${numbers}`;
  }

  return {
    async update(done) {
      const at = now();
      if (at - shownAt < (stderr.isTTY ? DRAW_EVERY_MS : LINE_EVERY_MS)) return;
      shownAt = at;
      drawn = stderr.isTTY;
      // A line that is wider than the terminal could not be drawn over.
      const line = stderr.isTTY ? text(done).slice(0, Math.max(20, stderr.columns - 1)) : text(done);
      await stderr.write(stderr.isTTY ? `\r\u001b[K${line}` : `${line}\n`);
    },
    async end() {
      if (drawn) await stderr.write('\r\u001b[K');
      drawn = false;
    },
  };
}
