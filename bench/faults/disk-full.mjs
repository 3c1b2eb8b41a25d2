import { unlink, open } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { startFleet } from './fleet.mjs';

/** Enough for anything to happen that is going to. */
const PATIENCE_MS = 20_000;

/**
 * Fills the disk under a producer and a worker that is busy with retries, and makes room again: sends are refused
 * meanwhile, whole and with a word, and both go on without a restart.
 * @param options.folder a small file system to fill; without it, each process is allowed no more pages than there are
 */
export async function diskFull({ seed, store, folder }) {
  const fleet = await startFleet({ seed, store, within: folder });
  const { ledger } = fleet;
  const late = [];
  try {
    await fleet.register();
    const fillable = folder === undefined;
    const producer = await fleet.producer({ again: [], pauseMs: 60, flood: 0, fillable });
    const worker = await fleet.worker({ fillable });
    await worker.started;
    const disk = folder === undefined ? pagesOf([producer, worker]) : fileIn(folder);
    fleet.mood('failing');
    await until(() => ledger.acked.size > 50);
    await disk.fill();
    // Each retry is recorded, so that the worker too is short of room before long.
    const noticed = await until(() => ledger.refused.length >= 10 && ledger.troubles.length >= 2);
    if (!noticed) late.push('the disk was full, and sends or turns went on');
    await disk.empty();
    fleet.mood('moody');
    const before = ledger.acked.size;
    if (!(await until(() => ledger.acked.size > before + 10)))
      late.push('sends are refused though there is room');
    await producer.stop();
    await fleet.untilNothingIsOwed();
    if ((await fleet.owed()) > 0) late.push('the worker does not go on');
    await worker.stop();
    const result = await fleet.settleUp();
    const stored = result.figures['of those stored'];
    if (stored > 0) late.push(`${stored} that were refused are stored`);
    for (const error of result.refused) if (!/^STORE_UNAVAILABLE: .*full/.test(error)) late.push(error);
    result.findings.late = { count: late.length, examples: late };
    return result;
  } finally {
    await fleet.close();
  }
}

function pagesOf(processes) {
  const tell = (full) => {
    for (const each of processes) each.tell({ kind: 'disk', full });
  };
  return { fill: () => tell(true), empty: () => tell(false) };
}

/** All room that there is, to the last byte. */
function fileIn(folder) {
  const path = join(folder, 'filling');
  return {
    async fill() {
      const file = await open(path, 'w');
      try {
        for (const size of [1 << 20, 1 << 12, 1]) {
          const block = Buffer.alloc(size);
          await (async () => {
            for (;;) await file.write(block);
          })().catch((error) => {
            if (error.code !== 'ENOSPC') throw error;
          });
        }
      } finally {
        await file.close();
      }
    },
    empty: () => unlink(path),
  };
}

async function until(condition) {
  const end = Date.now() + PATIENCE_MS;
  while (!(await condition())) {
    if (Date.now() > end) return false;
    await sleep(20);
  }
  return true;
}
