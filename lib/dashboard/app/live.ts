import { useCallback, useEffect, useRef, useState } from 'preact/hooks';

const MAX_BACKOFF_MS = 30_000;
const KEPT = 500;

export interface Live<T> {
  data: T | undefined;
  /** Of the last try; what was read before stays in `data`. */
  error: unknown;
  reload(): void;
}

/** What views have read, by key, so that going back shows it at once. */
const kept = new Map<string, unknown>();

export function recall<T>(key: string): T | undefined {
  return kept.get(key) as T | undefined;
}

export function remember(key: string, value: unknown): void {
  kept.delete(key);
  kept.set(key, value);
  const [oldest] = kept.keys();
  if (kept.size > KEPT && oldest !== undefined) kept.delete(oldest);
}

/** For the next visitor of this tab nothing is kept. */
export function forgetAll(): void {
  kept.clear();
}

let paused = false;
const pauseListeners = new Set<() => void>();

export function useLivePause(): [boolean, (paused: boolean) => void] {
  const [value, setValue] = useState(paused);
  useEffect(() => {
    const read = () => setValue(paused);
    pauseListeners.add(read);
    return () => void pauseListeners.delete(read);
  }, []);
  return [
    value,
    (next) => {
      paused = next;
      for (const listener of [...pauseListeners]) listener();
    },
  ];
}

/** Runs `work` again and again, while the tab is seen and the visitor has not paused it. */
export function repeat(work: (signal: AbortSignal) => Promise<boolean>, everyMs: number | null): () => void {
  let timer: ReturnType<typeof setTimeout> | undefined;
  let running: AbortController | undefined;
  let failures = 0;
  let ended = false;
  let first = true;

  async function run(): Promise<void> {
    clearTimeout(timer);
    if (ended || running) return;
    if (!first && (document.hidden || paused)) return;
    first = false;
    running = new AbortController();
    failures = (await work(running.signal)) ? 0 : failures + 1;
    running = undefined;
    if (ended || everyMs === null) return;
    timer = setTimeout(() => void run(), Math.min(MAX_BACKOFF_MS, everyMs * 2 ** failures));
  }

  const wake = () => void (everyMs !== null && run());
  document.addEventListener('visibilitychange', wake);
  pauseListeners.add(wake);
  void run();
  return () => {
    ended = true;
    clearTimeout(timer);
    running?.abort();
    document.removeEventListener('visibilitychange', wake);
    pauseListeners.delete(wake);
  };
}

/**
 * Reads something and keeps it up to date. What has not changed is not rendered again, so that nothing flickers.
 * @param key what is read: another key begins anew
 * @param everyMs null reads it once
 */
export function useLive<T>(
  key: string,
  load: (signal: AbortSignal) => Promise<T>,
  everyMs: number | null = 5000,
): Live<T> {
  const [state, setState] = useState<{ key: string; data: T | undefined; error: unknown }>(() => ({
    key,
    data: recall<T>(key),
    error: undefined,
  }));
  const latest = useRef(load);
  latest.current = load;
  const [turn, setTurn] = useState(0);

  useEffect(() => {
    let text = JSON.stringify(recall(key));
    setState((now) => (now.key === key ? now : { key, data: recall<T>(key), error: undefined }));
    return repeat(async (signal) => {
      try {
        const data = await latest.current(signal);
        if (signal.aborted) return true;
        const next = JSON.stringify(data);
        remember(key, data);
        const same = next === text;
        text = next;
        setState((now) =>
          same && now.key === key && now.data && !now.error ? now : { key, data, error: undefined },
        );
        return true;
      } catch (error) {
        if (!signal.aborted)
          setState((now) => ({ key, data: now.key === key ? now.data : undefined, error }));
        return false;
      }
    }, everyMs);
  }, [key, everyMs, turn]);

  const reload = useCallback(() => setTurn((now) => now + 1), []);
  const current = state.key === key ? state : { data: recall<T>(key), error: undefined };
  return { data: current.data, error: current.error, reload };
}

const clocks = new Set<() => void>();

/** The present time; whoever asks is rendered again every few seconds, all by one timer. */
export function useNow(): number {
  const [, tick] = useState(0);
  useEffect(() => {
    const clock = () => tick((count) => count + 1);
    clocks.add(clock);
    return () => void clocks.delete(clock);
  }, []);
  return Date.now();
}

setInterval(() => {
  if (!document.hidden) for (const clock of [...clocks]) clock();
}, 5000);
