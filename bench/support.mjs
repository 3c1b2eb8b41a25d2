import { fork } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { cpus, tmpdir } from 'node:os';
import { join } from 'node:path';

/** A receiver in a process of its own, which answers 200. A GET tells how many requests have been answered. */
export async function startReceiver() {
  const child = fork(new URL('./delivery/receiver.mjs', import.meta.url));
  const [{ port }] = await once(child, 'message');
  const url = `http://127.0.0.1:${port}/`;
  return {
    url,
    pid: child.pid,
    /** URLs of it that are answered after so many milliseconds. */
    endpoints: (count, delayMs) =>
      Array.from({ length: count }, (_, index) => `${url}${index}?delay=${delayMs}`),
    /** Milliseconds from send to arrival of the paced messages since it was last asked. */
    async takeLatencies() {
      child.send('take');
      const [{ latencies }] = await once(child, 'message');
      return latencies;
    },
    stop: () => child.connected && child.disconnect(),
  };
}

export async function temporaryFolder() {
  const folder = await mkdtemp(join(tmpdir(), 'hookplane-bench-'));
  return { folder, remove: () => rm(folder, { recursive: true, force: true }) };
}

const said = [];

/** Prints it, and keeps it for the results. */
export function say(text) {
  said.push(text);
  console.log(text);
}

/** Everything that was said, as Markdown. */
export const results = () => `${said.join('\n')}\n`;

/** Rows of text, as a table of Markdown. */
export function table(head, rows) {
  const widths = head.map((_, column) => Math.max(...[head, ...rows].map((row) => row[column].length)));
  const line = (row) =>
    `| ${row.map((cell, column) => (column === 0 ? cell.padEnd(widths[column]) : cell.padStart(widths[column]))).join(' | ')} |`;
  const rule = `| ${widths.map((width, column) => (column === 0 ? '-'.repeat(width) : `${'-'.repeat(width - 1)}:`)).join(' | ')} |`;
  say([line(head), rule, ...rows.map(line), ''].join('\n'));
}

export function median(values) {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = Math.floor(sorted.length / 2);
  return sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

export function machine() {
  return `Node ${process.version}, ${cpus().length} × ${cpus()[0].model.trim()}`;
}

/** Of /proc. */
const TICKS_PER_SECOND = 100;

/** Of /proc/PID/stat, from the state on; undefined for a process that is gone. */
export function statOf(pid) {
  try {
    return readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1].split(' ');
  } catch {
    return undefined;
  }
}

/**
 * Seconds of processor time that processes have had; those that are gone count 0.
 * @param withGone whether their children that are gone count too
 */
export function cpuOf(pids, withGone = false) {
  return pids.reduce((total, pid) => {
    const ticks = (statOf(pid)?.slice(11, withGone ? 15 : 13) ?? []).map(Number);
    return total + ticks.reduce((sum, each) => sum + each, 0) / TICKS_PER_SECOND;
  }, 0);
}

/** Runs the contenders in turn, several rounds, so that a slow spell of the machine meets all of them. */
export async function rounds(count, contenders) {
  const results = Object.fromEntries(Object.keys(contenders).map((name) => [name, []]));
  for (let round = 0; round < count; round++) {
    for (const [name, run] of Object.entries(contenders)) results[name].push(await run());
  }
  return Object.fromEntries(
    Object.entries(results).map(([name, values]) => [name, { median: median(values), values }]),
  );
}

export function quantile(values, share) {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.ceil(sorted.length * share) - 1)];
}

/** An id of the form that the sender makes: lists go by the time in it. @param last 16 letters and digits */
export function idAt(prefix, at, last) {
  return `${prefix}_${at.toString(32).padStart(10, '0')}${last}`;
}

/** The id of the message number `index` to an endpoint, which was made at `at`. */
export function storedId(at, endpointId, index) {
  return idAt('msg', at, `${endpointId.slice(-8)}${String(index).padStart(8, '0')}`);
}

/** Messages that are stored by the store itself, a thousand at a time, each owed to the endpoints that are named. */
export async function fillOutbox(store, { tenantId, endpointIds, count, createdAt = () => Date.now() }) {
  const BATCH = 1000;
  for (let first = 0; first < count; first += BATCH) {
    const messages = Array.from({ length: Math.min(BATCH, count - first) }, (_, offset) => {
      const at = createdAt(first + offset);
      return {
        id: storedId(at, endpointIds[0], first + offset),
        tenantId,
        type: 'bench.stored',
        channels: null,
        idempotencyKey: null,
        fingerprint: '',
        payload: `{"type":"bench.stored","timestamp":"${new Date(at).toISOString()}","data":{}}`,
        traceContext: null,
        createdAt: at,
        expiresAt: at + 30 * 86_400_000,
        owedTo: endpointIds,
      };
    });
    await store.messages.insert(messages, true);
  }
}
